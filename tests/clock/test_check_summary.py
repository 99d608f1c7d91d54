"""The summary of rows: skews, ratios, durations and errors, and the verdict as a sentence."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from check_factory import comparisons, machine, rows, starts, sync
from pytest import approx

from offbeat.measurement.clock_check.rows import HARMONIZE, Row, Start
from offbeat.measurement.clock_check.summary import Summary, sentence, summary, trusted_s
from offbeat.presentation.pages.clock_check_tables import ranking, ratio_text, tables


def summed(*step_rows: Row, p: int = 4) -> Summary:
    return summary(step_rows, p)


def words(*step_rows: Row, **changes: object) -> str:
    return sentence(summed(*step_rows), machine(**changes))


def test_the_skews_of_all_rounds_are_combined() -> None:
    skew = summed(starts("tree", [1, 3], number=0), starts("tree", [2, 10], number=1)).skew("tree")
    assert skew is not None
    assert skew.starts == 4 and skew.median_s == approx(2.5e-6) and skew.most_s == approx(10e-6)
    assert skew.lags_s == approx(np.arange(4) * 1e-6)


def test_harmonised_starts_that_were_not_on_time_do_not_count() -> None:
    row = starts(HARMONIZE, [0.1, 0.1, 0.1, 0.1, 0.1, 5000, 700], verdicts=[0, 0, 0, 0, 0, 1, 2])
    skew = summed(row).skew(HARMONIZE)
    assert skew is not None and not skew.includes_late
    assert (skew.starts, skew.on_time) == (7, 5) and skew.most_s == approx(1e-7)


def test_if_few_starts_were_on_time_all_count_and_the_verdict_says_so() -> None:
    row = starts(HARMONIZE, [30.0] * 20, verdicts=[0] * 4 + [2] * 16)
    skew = summed(row).skew(HARMONIZE)
    assert skew is not None and skew.includes_late and skew.most_s == approx(30e-6)
    assert trusted_s(summed(row)) is None
    assert words(row).startswith("Harmonised starts are not reliable here: 4 of 20 were on time")


def test_the_clock_s_error_is_added_to_the_start_skew() -> None:
    exact, vague = summed(starts(HARMONIZE, [2.0] * 20)), summed(starts(HARMONIZE, [2.0] * 20, error_us=0.5))
    assert trusted_s(exact) == approx(2e-6) and trusted_s(vague) == approx(2.5e-6)
    text = words(starts(HARMONIZE, [2.0] * 20, error_us=0.5), shared=False)
    assert text.startswith("95th percentile of start skew: 2.5 µs")
    assert "of which 500 ns are the clocks' error" in text


def test_the_verdict_is_one_sentence_with_its_reasons() -> None:
    text = sentence(summary(rows(), 4), machine())
    assert text == (
        "95th percentile of start skew: 240 ns for 4 processes with a harmonised start (100% of 20 starts"
        " were"
        " on time), all processes read one physical clock, which adds no error; with the best barrier"
        " (default)"
        " it is 3.5 µs."
    )
    assert text.count(".") - text.count("3.5") == 1


def test_the_verdict_says_that_the_machine_was_oversubscribed() -> None:
    text = sentence(summary(rows(), 4), machine(oversubscribed=True, cores=2))
    assert "but 4 processes share 2 cores here" in text and text.endswith("with a core for each process.")


def test_a_verdict_from_few_starts_says_so() -> None:
    assert "only 19 starts were on time: measure more" in words(
        starts(HARMONIZE, [1.0] * 30, verdicts=[0] * 19 + [1] * 11)
    )
    assert "measure more" not in words(starts(HARMONIZE, [1.0] * 20))


def test_a_clock_beyond_its_bound_is_not_trusted_and_the_method_is_named() -> None:
    good, bad = (0, 1.0, 0.2, 0.3), (1, 1.0, 9.0, 0.3)
    assert trusted_s(summed(starts(HARMONIZE, [1.0] * 20), comparisons(good))) is not None
    text = words(starts(HARMONIZE, [1.0] * 20), comparisons(good, bad))
    assert text.startswith("Start skew is unknown here: in 1 of 2 comparisons a clock's error exceeded")
    assert "(offset)" in text


@pytest.mark.parametrize(("error_us", "broken"), [(0.34, 0), (-0.34, 0), (0.36, 1), (-0.36, 1), (0.0, 0)])
def test_a_bound_counts_as_exceeded_only_if_the_error_certainly_exceeds_it(
    error_us: float, broken: int
) -> None:
    aged = summed(comparisons((0, 1.0, error_us, 0.3), (0, 1.0, 0.0, 0.3), width_us=0.1)).aged
    assert [one.broken for one in aged] == [broken]


def test_comparisons_are_grouped_by_their_planned_age() -> None:
    row = comparisons(*((0, age, 0.1, 1.0) for age in (0.0, 0.0, 0.01, 0.01, 0.01, 0.03)))
    late = msgspec.structs.replace(
        row, ages_ns=[0, 9_000_000, 10_000_000, 80_000_000, 900_000_000, 30_000_000]
    )
    aged = summed(late).aged
    assert [(one.planned_s, one.count) for one in aged] == [(0, 2), (0.01, 3), (0.03, 1)]
    assert [one.age_s for one in aged] == approx([0.0045, 0.08, 0.03])


def test_a_ratio_is_the_time_after_the_barrier_over_that_after_a_harmonised_start() -> None:
    ratios = summary(rows(), 4).ratios[0]
    assert ratios.ratio("binomial", "double_ring") == approx(2.0)
    assert ratios.ratio("linear", "double_ring") == approx(0.05)
    assert ratios.ratio("linear", "double_ring", longest=True) == approx(0.05)
    assert ratios.ratio("binomial", HARMONIZE) == 1
    assert math.isnan(ratios.ratio("binomial", "no such barrier"))
    assert ratios.latencies["binomial", HARMONIZE].average_s == approx(2e-6)


def test_barriers_that_make_another_algorithm_look_fastest_are_named() -> None:
    ratios = summary(rows(), 4).ratios[0]
    assert ratios.fastest(HARMONIZE) == "binomial" and ratios.fastest("double_ring") == "linear"
    assert ranking(ratios).endswith(
        "after some barriers another algorithm looks fastest: linear after double_ring."
    )


def test_small_differences_do_not_make_another_algorithm_the_fastest() -> None:
    times_us = {("a", HARMONIZE): 2.0, ("b", HARMONIZE): 2.1, ("a", "tree"): 2.1, ("b", "tree"): 2.0}
    start_rows = [
        starts(start, [1.0] * 5, algorithm=name, average_us=x) for (name, start), x in times_us.items()
    ]
    assert "no barrier makes another one look 10% faster" in ranking(summed(*start_rows).ratios[0])
    assert ranking(summed(*start_rows[:1]).ratios[0]) == ""


def test_a_failed_step_is_missing_and_listed() -> None:
    lost = Start(
        step="start 0 tree linear",
        round=0,
        start="tree",
        collective="reduce",
        algorithm="linear",
        bytes=8,
        failure="it hung",
    )
    summed_up = summed(*rows(), lost)
    assert summed_up.failures == [("start 0 tree linear", "it hung")]
    assert ("linear", "tree") not in summed_up.ratios[0].latencies


def test_costs_are_medians_by_method_and_processes() -> None:
    cost = summed(sync("hca3", 2, [900, 10, 11, 12, 13])).costs[0]
    assert (cost.method, cost.processes) == ("hca3", 2) and cost.taken_s == approx(12e-6)


def test_tables_show_everything_that_was_measured_and_nothing_else() -> None:
    assert tables(summed(), machine()) == []
    by_name = {table.name: table for table in tables(summary(rows(), 4), machine())}
    assert set(by_name) == {"skew", "reduce", "sync-bent", "accuracy-bent"}
    assert [row[0] for row in by_name["skew"].rows] == ["harmonised", "default", "double_ring"]
    assert by_name["reduce"].rows[1] == ["linear", "8 µs", "1.00", "0.05"]
    assert [row[0] for row in by_name["accuracy-bent"].rows] == ["at once", "100 ms", "1 s"]
    for table in by_name.values():
        assert all(len(row) == len(table.headings) for row in table.rows), table.name


@pytest.mark.parametrize(("ratio", "text"), [(0.05, "0.05"), (1.0, "1.00"), (9.994, "9.99"), (14.2, "14")])
def test_ratios_are_short(ratio: float, text: str) -> None:
    assert ratio_text(ratio) == text


def test_nothing_measured_is_no_verdict() -> None:
    assert words().startswith("No verdict yet")
    assert trusted_s(summed()) is None
