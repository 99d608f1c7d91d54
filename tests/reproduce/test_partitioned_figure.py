"""offbeat reproduce partitioned-figure: the studies, the pictures and the paper's claims."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.base.errors import BadInput
from offbeat.libraries.installations.installation import Installation
from offbeat.measurement.results.read import read_study
from offbeat.model.study.case_expansion import groups, pattern_rows
from offbeat.model.study.skew_policy import RATE
from offbeat.presentation.reproduction.claims import all_hold, most_hold
from offbeat.presentation.reproduction.partitioned_claims import CLAIMS, remarks, sentences, theoretical_gain
from offbeat.presentation.reproduction.partitioned_figure import FIGURES, Setting, each_partition, setting
from offbeat.presentation.reproduction.partitioned_lines import Measured, Time, figure_of, measured
from offbeat.presentation.reproduction.partitioned_runs import interfaces, study

pytestmark = pytest.mark.slow

MIB = 2**20


def times_of(one: Setting, time_s) -> Measured:
    """A measured figure; ``time_s(approach, size)`` is None for what was not measured."""
    times: dict[str, dict[int, Time]] = {}
    for name in one.figure.approaches:
        for size in one.sizes:
            middle_s = time_s(name, size)
            if middle_s is not None:
                times.setdefault(name, {})[size] = Time(middle_s, 0.99 * middle_s, 1.01 * middle_s)
    return Measured(setting=one, library="Open MPI 5", times=times)


@pytest.mark.parametrize(
    ("number", "partitions", "threads", "rate"),
    [(4, 1, 1, 0), (5, 32, 32, 0), (6, 32, 32, 0), (7, 128, 4, 0), (8, 4, 4, 100)],
)
def test_with_enough_cores_each_figure_is_the_papers(number, partitions, threads, rate):
    one = setting(number, cores=64)
    requested = study(one, one.figure.approaches, {}).study
    for group in groups(requested):
        assert (group.p, group.partitions, group.threads) == (2, partitions, threads)
    (row,) = pattern_rows(requested, groups(requested)[0])
    assert (row.shape, row.factor) == (("last_delayed", rate) if rate else ("no_delay", 0))
    rule = requested.repetitions
    assert (rule.confidence, rule.confidence_width, rule.maximum) == (0.9, 0.05, 50)


def test_figure_6_has_an_interface_and_a_lane_for_each_thread():
    variables = interfaces(setting(6, cores=64), "MPIR_CVAR_CH4_NUM_VCIS")
    assert variables == {"OFFBEAT_PARTITIONED_LANES": "32", "MPIR_CVAR_CH4_NUM_VCIS": "32"}
    assert interfaces(setting(6, cores=8), "") == {"OFFBEAT_PARTITIONED_LANES": "7"}
    assert interfaces(setting(5, cores=64), "MPIR_CVAR_CH4_NUM_VCIS") == {}


def test_the_delay_of_figure_8_is_the_rate_times_the_size_of_a_partition():
    assert 100 * RATE.reference_s("many", 1e6, {}) == pytest.approx(100e-6)


@pytest.mark.parametrize(
    ("cores", "nodes", "threads", "shares"),
    [(2, 1, 2, True), (8, 1, 7, False), (33, 1, 32, False), (32, 2, 32, False), (1, 1, 2, True)],
)
def test_threads_are_limited_to_the_cores_that_the_receiver_leaves(cores, nodes, threads, shares):
    one = setting(5, cores=cores, nodes=nodes)
    assert (one.threads, one.shares_cores) == (threads, shares)
    said = " ".join(remarks(times_of(one, lambda name, size: 1e-6), ""))
    assert ("share" in said) == shares
    assert (f"The paper has 32 threads; these are {threads}" in said) == (threads != 32)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"number": 9}, "figure 9: the figures with measurements are 4, 5, 6, 7, 8"),
        ({"number": 4, "threads": 2}, "--threads 2: figure 4 has a message in 1 partitions"),
        ({"number": 5, "sizes": ["33 B"]}, "--size 33 B: figure 5 sends 32 equal partitions"),
        ({"number": 5, "sizes": ["0"]}, "--size 0: .*multiple of 32 B"),
        ({"number": 5, "sizes": ["1 XB"]}, "--size 1 XB: .*unit of size"),
        ({"number": 5, "delay_rate": 10}, "--delay-rate 10: figure 5 has no delays; figure 8 has"),
        ({"number": 8, "delay_rate": -1}, "--delay-rate -1: a delay rate is a number above 0"),
    ],
)
def test_what_a_figure_has_not_is_refused(arguments, sentence):
    with pytest.raises(BadInput, match=sentence):
        setting(**arguments)


def as_the_paper(number: int):
    """The times of the paper's machine, roughly: approach, size → seconds."""
    each = each_partition(FIGURES[number].partitions)

    def time_s(name: str, size: int) -> float:
        single = 2e-6 + size / 25e9
        if name == "single":
            return single
        if number == 8 and size >= 100e3:
            return single / 2.5 if name != "library" else 1.2 * single
        factor = {4: {"library": 2.0}, 5: {}, 6: {"many": 1.0, each: 4.0}, 7: {each: 10, "many": 10}, 8: {}}
        slow = {4: 1.0, 5: 30.0, 6: 8.0, 7: 3.0, 8: 3.0}[number]
        if name.startswith("rma"):
            slow = {"rma_passive_many": 3.0 if number == 6 else 9.0}.get(name, 5.0)
        return single + 2e-6 * (factor[number].get(name, slow) - 1)

    return time_s


@pytest.mark.parametrize("number", FIGURES)
def test_the_papers_numbers_confirm_every_claim(number):
    one = setting(number, cores=64)
    lines = sentences(times_of(one, as_the_paper(number)))
    assert len(lines) == len(CLAIMS[number])
    assert [line for line in lines if not line.endswith(": holds.")] == []


@pytest.mark.parametrize("number", FIGURES)
def test_a_claim_that_does_not_hold_says_what_may_be_the_reason(number):
    one = setting(number, cores=64)
    lines = sentences(
        times_of(one, lambda name, size: 1.0 if name == "single" else 2.0 - (number == 5) * 1.5)
    )
    failed = [line for line in lines if "does not hold" in line]
    assert failed
    reasons = [claim.differs for claim in CLAIMS[number] if claim.differs]
    assert any(line.endswith(reason) for line in failed for reason in reasons)


@pytest.mark.parametrize(
    ("low", "middle", "high", "at_least", "at_most", "holds"),
    [
        (0.015, 1.23, 101.0, 0.8, 1.25, None),
        (1.1, 1.2, 1.24, 0.8, 1.25, True),
        (1.3, 1.4, 1.5, 0.8, 1.25, False),
        (0.5, 0.6, 0.7, 0.8, 1.25, False),
        (1.1, 1.2, 1.3, 0.8, 1.25, None),
        (math.nan, 1.2, math.nan, 0.8, 1.25, None),
    ],
)
def test_a_claim_is_undecided_if_the_interval_contains_its_limit(low, middle, high, at_least, at_most, holds):
    assert Time(middle, low, high).is_within(at_least, at_most) is holds


@given(st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=12))
def test_a_verdict_on_many_sizes_is_given_only_if_no_undecided_size_could_change_it(parts):
    decided = [[part if part is not None else verdict for part in parts] for verdict in (True, False)]
    for verdict_of in (all_hold, most_hold):
        outcomes = {verdict_of(one) for one in decided}
        assert None not in outcomes
        expected = outcomes.pop() if len(outcomes) == 1 else None
        assert verdict_of(parts) is expected


def test_claims_about_approaches_that_were_not_measured_are_left_out():
    one = setting(4, cores=64)
    results = times_of(one, lambda name, size: None if name == "library" else 1e-6)
    assert not any("existing implementation" in line for line in sentences(results))
    assert "Not measured with Open MPI 5: library." in remarks(results, "")
    crashed = msgspec.structs.replace(results, reasons={"library": "it hung"})
    assert "Not measured with Open MPI 5: library (it hung)." in remarks(crashed, "")
    assert sentences(msgspec.structs.replace(results, times={})) == []


def test_a_single_block_gives_no_interval():
    assert str(Time(2.0, 1.8, 2.2).over(Time(1.0, 0.9, 1.1))) == "2 (1.64 to 2.44)"
    assert str(Time(2.0, math.nan, math.nan).over(Time(1.0, 0.9, 1.1))) == "2 (interval unknown)"


def test_claims_about_large_messages_are_not_checked_with_small_ones():
    one = setting(8, sizes=["4 KiB"], cores=64)
    (line,) = sentences(times_of(one, as_the_paper(8)))
    assert line.startswith("Small messages are slower in partitions")


def test_the_gain_of_the_paper_is_predicted_from_its_bandwidth():
    one = setting(8, sizes=["16 MiB"], cores=64)
    results = times_of(one, lambda name, size: size / 25e9)
    assert theoretical_gain(results) == pytest.approx(2.67, abs=0.005)


def test_the_picture_names_every_approach_and_its_units():
    one = setting(8, cores=64)
    figure = figure_of(times_of(one, as_the_paper(8)))
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_legend().get_texts()][1] == "Pt2Pt single"
    assert len(axes.lines) == len(one.figure.approaches)
    figure.draw_without_rendering()
    assert any("GB/s" in label.get_text() for label in axes.get_yticklabels())
    assert any("MiB" in label.get_text() for label in axes.get_xticklabels())


def reproduce(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "offbeat", "reproduce", "partitioned-figure", *arguments]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.parametrize("number", [4, 8])  # the others differ from 4 in settings of the study only
def test_a_figure_is_measured_drawn_and_resumed(
    some_mpi_installation: Installation, tmp_path: Path, number: int
):
    words = (str(number), "--size", "4 KiB", "--threads", str(min(2, FIGURES[number].threads)))
    words += ("--mpi", str(some_mpi_installation.mpirun))
    done = reproduce(*words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    directory = tmp_path / f"partitioned-figure{number}"
    assert (directory / "pictures" / f"partitioned-figure{number}.png").stat().st_size > 10_000
    results = read_study(directory)
    shown = measured(setting(number, ["4 KiB"], threads=min(2, FIGURES[number].threads)), results)
    assert {"single", "many", *FIGURES[number].approaches[:1]} <= set(shown.times)
    claims = [line for line in done.stdout.splitlines() if line.startswith("- ")]
    assert claims
    assert all(
        re.search(r": (holds|does not hold|cannot be told, because the interval contains the limit)\.", line)
        for line in claims
    )

    again = reproduce(*words, folder=tmp_path)
    assert again.stdout == done.stdout
    assert read_study(directory).cases.sort("case").equals(results.cases.sort("case"))
    assert results.cases.filter(pl.col("status") == "quarantined").is_empty()


def test_another_size_is_refused_in_the_same_directory(some_mpi_installation: Installation, tmp_path: Path):
    words = ("4", "--mpi", str(some_mpi_installation.mpirun), "--size")
    assert reproduce(*words, "16 B", folder=tmp_path).returncode == 0
    refused = reproduce(*words, "32 B", folder=tmp_path)
    assert refused.returncode == 2
    assert "give another directory with --output" in refused.stderr
