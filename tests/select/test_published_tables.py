"""Selection from the tables of "MPI Collective Algorithm Selection in the Presence of Process Arrival
Patterns".

``hydra-ft-scenario.csv`` holds the paper's figure 8a, ``hydra-32x32-micro-benchmark.csv`` reduce and alltoall
of its figure 5. Both give times rounded to three decimals.
"""

import csv
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction

import pytest
from measured import FT_SCENARIO, MICRO_BENCHMARK, published, results

from offbeat.selection.choices import selection_rules
from offbeat.selection.choices.choose import choose, select
from offbeat.selection.choices.delay_table import delay_tables


@pytest.fixture(scope="module")
def ft():
    return results(published(FT_SCENARIO))


@pytest.fixture(scope="module")
def micro():
    return results(published(MICRO_BENCHMARK))


def averages_of_the_paper(label):
    with FT_SCENARIO.open(newline="") as file:
        return {
            row["algorithm"]: row["normalized"] for row in csv.DictReader(file) if row["pattern"] == label
        }


def three_digits(number):
    """Rounded to three significant digits, half away from zero."""
    return Context(prec=3, rounding=ROUND_HALF_UP).create_decimal(Decimal(number))


@pytest.mark.parametrize("rule", ["average", "worst", "scenario:ft_scenario"])
def test_pairwise_is_selected_for_ft_by_average_by_worst_case_and_for_its_scenario(ft, rule):
    (choice,) = choose(ft, rule)
    assert choice.algorithm == "Pair"
    assert choice.no_delay_winner == "Lin"
    assert choice.no_delay_tied == ["L-Sync"]


def test_without_delay_linear_is_selected_for_ft_with_the_score_of_linear_sync(ft):
    (choice,) = choose(ft, "no_delay")
    assert (choice.algorithm, choice.tied) == ("Lin", ["L-Sync"])


def test_fts_averages_including_the_scenario_are_the_papers_to_the_last_digit(ft):
    (choice,) = choose(ft, include_scenarios=True)
    printed = averages_of_the_paper("avg (incl. ft_sce.)")
    assert {name: f"{score:.3f}" for name, score in choice.scores.items()} == printed


def test_fts_averages_excluding_the_scenario_are_the_papers_to_three_digits(ft):
    """To three significant digits; the fourth differs for the reason that the next test shows."""
    (choice,) = choose(ft)
    printed = averages_of_the_paper("avg (excl. ft_sce.)")
    assert printed == {"Lin": "1.999", "Pair": "1.005", "M-Bruck": "2.025", "L-Sync": "2.047"}
    for name, score in choice.scores.items():
        assert three_digits(score) == three_digits(printed[name])
        assert score == pytest.approx(float(printed[name]), rel=0.004)
    assert {name: f"{score:.3f}" for name, score in choice.scores.items()} == {
        "Lin": "2.003",
        "Pair": "1.005",
        "M-Bruck": "2.033",
        "L-Sync": "2.052",
    }


def test_the_papers_excluding_average_also_averaged_its_including_average(ft):
    """Its row is the mean of the seven patterns and of the row 'avg (incl.)' above it: within 0.001 for all
    four.

    No rounding of the times explains the difference: the smallest mean over the seven patterns that the
    printed times allow for Linear is 2.0002, and the paper has 1.999.
    """
    (table,) = delay_tables(ft.cases)
    without = selection_rules.parse("average").scores(table)
    including = selection_rules.parse("average", include_scenarios=True).scores(table)
    for name, printed in averages_of_the_paper("avg (excl. ft_sce.)").items():
        assert (7 * without[name] + including[name]) / 8 == pytest.approx(float(printed), abs=0.001)
    assert mean_of_the_smallest_ratios("Lin", "Pair") > 1.9995


def mean_of_the_smallest_ratios(algorithm, fastest):
    """The smallest mean over the shapes that is possible for times that were rounded to a millisecond."""
    with FT_SCENARIO.open(newline="") as file:
        times = {(row["pattern"], row["algorithm"]): row["last_delay_s"] for row in csv.DictReader(file)}
    shapes = ["no_delay", "ascending", "descending", "first_delayed", "last_delayed", "mid_delayed", "random"]
    half = Fraction(1, 2000)
    ratios = [(Fraction(times[s, algorithm]) - half) / (Fraction(times[s, fastest]) + half) for s in shapes]
    return sum(max(ratio, Fraction(1)) for ratio in ratios) / len(ratios)


def printed_micro_benchmark():
    """(collective, bytes) → pattern → algorithm → time, exactly as printed."""
    configurations = {}
    with MICRO_BENCHMARK.open(newline="") as file:
        for row in csv.DictReader(file):
            if not row["pattern"].startswith("avg"):
                configuration = configurations.setdefault((row["collective"], int(row["message_bytes"])), {})
                configuration.setdefault(row["pattern"], {})[row["algorithm"]] = Fraction(
                    row["last_delay_ms"]
                )
    return configurations


def test_the_micro_benchmarks_good_sets_hold_exactly_the_algorithms_within_five_percent(micro):
    printed = printed_micro_benchmark()
    choices = choose(micro)
    assert len(choices) == len(printed) == 6
    for choice in choices:
        rows = printed[choice.configuration.collective, choice.configuration.bytes]
        assert set(choice.good) == set(rows)
        for pattern, row in rows.items():
            limit = min(row.values()) * Fraction(21, 20)
            assert set(choice.good[pattern]) == {name for name, time in row.items() if time <= limit}
            assert row[choice.winners[pattern]] == min(row.values())


def test_the_micro_benchmarks_robustness_classes_are_those_of_the_printed_times(micro):
    printed = printed_micro_benchmark()
    for table in delay_tables(micro.cases):
        rows = printed[table.configuration.collective, table.configuration.bytes]
        classes = table.robustness_class()
        for i, pattern in enumerate(table.patterns):
            for j, name in enumerate(table.algorithms):
                change = rows[pattern][name] / rows["no_delay"][name] - 1
                expected = "same" if abs(change) <= Fraction(1, 4) else "faster" if change < 0 else "slower"
                assert classes[i, j] == expected, (table.configuration, pattern, name, float(change))


def configuration(micro, collective, size):
    selection = select(micro)
    (choice,) = (
        c
        for c in selection.choices
        if (c.configuration.collective, c.configuration.bytes) == (collective, size)
    )
    return choice, selection.tables[choice.configuration]


def test_reduce_of_8_bytes_binomial_wins_without_delay_and_in_order_binary_when_the_last_is_late(micro):
    choice, table = configuration(micro, "reduce", 8)
    assert choice.no_delay_winner == "Binom"
    assert choice.good["no_delay"] == ["Binom"]
    assert choice.winners["last_delayed"] == "In-Bin"
    assert choice.good["last_delayed"] == ["In-Bin"]
    classes = dict(
        zip(table.algorithms, table.robustness_class()[table.patterns.index("last_delayed")], strict=True)
    )
    assert (classes["Binom"], classes["In-Bin"]) == ("same", "faster")


def test_reduce_gets_faster_under_most_patterns_rather_than_slower(micro):
    for size in (8, 1024):
        _, table = configuration(micro, "reduce", size)
        classes = table.robustness_class()
        assert (classes == "slower").sum() == 0
        assert (classes == "faster").sum() >= 17


def test_alltoall_of_1_mib_pairwise_wins_without_delay_and_is_good_under_no_other_pattern(micro):
    """Of the three algorithms in the running it is the slowest there; M-Bruck takes minutes under every
    pattern."""
    choice, table = configuration(micro, "alltoall", 2**20)
    assert choice.no_delay_winner == "Pair"
    assert choice.algorithm == "Lin"
    order = table.algorithms
    for i, pattern in enumerate(table.patterns):
        times = dict(zip(order, table.last_delay_s[i], strict=True))
        if pattern != "no_delay":
            assert "Pair" not in choice.good[pattern]
            assert times["Lin"] < times["Pair"] > times["L-Sync"]
        assert times["M-Bruck"] > 40 * times["Pair"]


def test_alltoall_of_8_bytes_is_stable_under_every_pattern(micro):
    choice, table = configuration(micro, "alltoall", 8)
    assert choice.algorithm == choice.no_delay_winner
    assert (table.robustness_class() == "slower").sum() <= 1


def test_alltoall_of_1_kib_linear_with_sync_is_good_for_some_patterns_and_far_off_when_the_first_is_late(
    micro,
):
    choice, table = configuration(micro, "alltoall", 1024)
    assert sum("L-Sync" in names for names in choice.good.values()) >= 3
    slow = table.normalised_delays()[table.patterns.index("first_delayed"), table.algorithms.index("L-Sync")]
    assert slow > 10
