"""Which choices a trial compares: where an algorithm is significantly faster, and the gain can be shown."""

from __future__ import annotations

import pytest
from measured import frame, matrix, results
from msgspec import structs

from offbeat.model.study.communicators import CommunicatorLayout
from offbeat.selection.choices.choose import Choice
from offbeat.selection.choices.delay_table import Configuration, delay_tables
from offbeat.tuning.pipeline.program_choices import ExpectedGain, compared, expected_gains, expected_share
from offbeat.tuning.prediction.measured_configuration import (
    Condition,
    Estimate,
    Measurements,
    configuration_for,
)
from offbeat.tuning.prediction.prediction import Part
from offbeat.tuning.prediction.program_prediction import TracedProgram
from offbeat.tuning.prediction.recorded_calls import RecordedRun, TracedCalls


def gain(size: int, low: float, middle: float, high: float, algorithm: str = "ring") -> ExpectedGain:
    cell = Configuration(
        library="x", collective="bcast", p=4, nodes=0, ppn=0, bytes=size, op="", datatype="byte", root=0
    )
    change = Estimate(time_s=middle, low_s=low, high_s=high)
    return ExpectedGain(configurations=[cell], algorithm=algorithm, change=change, run_s=10.0, calls=[])


def test_an_algorithm_is_used_only_if_the_interval_excludes_zero() -> None:
    assert gain(8, -0.3, -0.2, -0.1).is_used
    assert not gain(8, -0.5, -0.2, 0.1).is_used
    assert not gain(8, -0.3, -0.2, -0.1, "default").is_used


def test_the_expected_gain_counts_used_algorithms_only() -> None:
    gains = [gain(8, -0.5, -0.4, 0.1), gain(64, -0.03, -0.02, -0.01)]
    assert expected_share(gains) == pytest.approx(0.02)
    assert "expected to save 200 ms, 2.0% of the time after MPI_Init (1.0% to 3.0%)" in gains[1].sentence


def test_calls_of_a_rule_that_differ_in_their_sizes_are_named_once() -> None:
    (small,), (large,) = (gain(size, -0.3, -0.2, -0.1).configurations for size in (8, 1024))
    both = structs.replace(gain(8, -0.3, -0.2, -0.1), configurations=[large, small])
    assert both.sentence.startswith("bcast of 8 B and 1 KiB on p=4: ring, expected to save")
    other = structs.replace(small, collective="scatter", p=2)
    assert structs.replace(both, configurations=[large, other, small]).name == (
        "bcast of 8 B and 1 KiB on p=4 and scatter of 8 B on p=2"
    )


@pytest.mark.parametrize(
    ("gains", "tried"),
    [
        ([gain(8, -0.5, -0.4, 0.1), gain(64, -0.3, -0.2, -0.1)], {"tuned": [64]}),
        (
            [gain(8, -0.5, -0.4, 0.1), gain(64, -0.3, -0.2, -0.1), gain(512, -0.2, -0.1, -0.01)],
            {"tuned": [64, 512], "heaviest": [64]},
        ),
        ([gain(64, -0.003, -0.002, -0.001)], {}),
        ([], {}),
    ],
)
def test_what_is_tried(gains: list[ExpectedGain], tried: dict[str, list[int]]) -> None:
    sizes = {
        name: sorted(cell.bytes for one in used for cell in one.configurations)
        for name, used in compared(gains).items()
    }
    assert sizes == tried


ROWS = CommunicatorLayout(p=2, communicators=2, stride=1)
COLUMNS = CommunicatorLayout(p=2, communicators=2, stride=2)


def part(
    layout: CommunicatorLayout,
    number: int,
    delays_s: dict[str, float],
    collective: str = "reduce",
    size: int = 8,
) -> Part:
    """Calls on rows or columns of a grid, and what each algorithm takes under their arrivals."""
    measured = matrix(
        {"calls": delays_s},
        pattern_kind="replay",
        collective=collective,
        p=layout.p,
        communicators=layout.communicators,
        stride=layout.stride,
        bytes=size,
    )
    (table,) = delay_tables(frame(measured))
    calls = TracedCalls(
        description="calls", short="calls", collective=collective, processes=layout.p,
        least_bytes=size, most_bytes=size, size_bytes=size, number=number, share=1.0,
        last_delay_s=delays_s["default"], skew_s=0.0, layout=layout,
    )  # fmt: skip
    return Part(
        calls=calls, table=table, conditions={"replay": Condition(name="replay", pattern="calls", rows=[0])}
    )


def gains_of(parts: list[Part], family: str = "openmpi") -> list[ExpectedGain]:
    run = RecordedRun(program="x", library="x", processes=4, run_s=1.0, calls=[one.calls for one in parts])
    traced = TracedProgram(summary=None, source=None, run=run, parts=parts)  # type: ignore[arg-type]
    best = [
        Choice(configuration=one.table.configuration, algorithm=min(delays, key=lambda name: delays[name]))
        for one in parts
        if (delays := dict(zip(one.table.algorithms, one.table.last_delay_s[0], strict=True)))
    ]
    return expected_gains(traced, best, family)


def test_calls_that_a_file_cannot_tell_apart_get_the_algorithm_that_is_best_for_all() -> None:
    rows = part(ROWS, 100, {"ring": 1e-3, "linear": 3e-3, "binomial": 2e-3, "default": 4e-3})
    columns = part(COLUMNS, 100, {"ring": 9e-3, "linear": 1e-3, "binomial": 1.5e-3, "default": 4e-3})
    (one,) = gains_of([rows, columns])
    assert one.algorithm == "binomial", "2 + 1.5 ms; linear takes 3 + 1, ring 1 + 9"
    assert one.share == pytest.approx(-0.45)
    assert "cannot tell these calls apart: alone, the best would be ring for reduce of 8 B on p=2 of 4" in (
        one.sentence
    )
    assert compared([one])["tuned"] == [one]


@pytest.mark.parametrize(
    ("collective", "family", "rules"),
    [
        ("alltoallv", "openmpi", 1),
        ("alltoallv", "mpich", 1),
        ("alltoallv", "intelmpi", 1),
        ("gather", "openmpi", 1),
        ("gather", "intelmpi", 2),
        ("allreduce", "openmpi", 2),
    ],
)
def test_all_sizes_of_a_collective_have_one_rule_where_the_library_does_not_read_the_size(
    collective: str, family: str, rules: int
) -> None:
    layout = CommunicatorLayout(p=4)
    small = part(layout, 100, {"ring": 1e-3, "linear": 3e-3, "default": 4e-3}, collective, 8)
    large = part(layout, 100, {"ring": 9e-3, "linear": 2e-3, "default": 8e-3}, collective, 4096)
    gains = gains_of([small, large], family)
    assert len(gains) == rules
    if rules == 1:
        assert gains[0].algorithm == "linear", "3 + 2 ms; ring takes 1 + 9"
        assert "cannot tell these calls apart" in gains[0].sentence


def test_files_that_belong_to_launches_cannot_tell_sizes_of_communicators_apart() -> None:
    pairs = part(ROWS, 100, {"ring": 1e-3, "linear": 3e-3, "default": 4e-3})
    everyone = part(CommunicatorLayout(p=4), 100, {"ring": 9e-3, "linear": 1e-3, "default": 4e-3})
    assert len(gains_of([pairs, everyone], "openmpi")) == 2
    (one,) = gains_of([pairs, everyone], "intelmpi")
    assert one.algorithm == "linear", "3 + 1 ms; ring takes 1 + 9"
    assert one.is_used


def test_files_that_belong_to_launches_cannot_set_uneven_communicators() -> None:
    uneven = part(CommunicatorLayout(p=3), 100, {"ring": 1e-3, "default": 4e-3})
    (settable,), (one,) = gains_of([uneven], "mpich"), gains_of([uneven], "intelmpi")
    assert settable.is_used
    assert not one.is_used
    assert "do not divide the program's processes evenly" in one.sentence


def test_the_more_frequent_calls_weigh_more() -> None:
    rows = part(ROWS, 1000, {"ring": 1e-5, "linear": 3e-5, "default": 4e-5})
    columns = part(COLUMNS, 10, {"ring": 9e-5, "linear": 1e-5, "default": 4e-5})
    (one,) = gains_of([rows, columns])
    assert one.algorithm == "ring"


def test_predictions_use_the_layout_of_the_calls() -> None:
    delays_s = {"ring": 1e-3, "default": 2e-3}
    both = [
        *matrix({"no_delay": delays_s}, p=2),
        *matrix({"no_delay": delays_s}, p=2, communicators=2, stride=1),
        *matrix({"no_delay": delays_s}, p=2, communicators=2, stride=2),
    ]
    source = Measurements(results=results(both), tables=delay_tables(frame(both)), notes=[])
    for layout, stride, communicators in ((ROWS, 1, 2), (COLUMNS, 2, 2), (None, 1, 1)):
        calls = structs.replace(part(ROWS, 1, delays_s).calls, layout=layout)
        table, _ = configuration_for(calls, source)
        cell = table.configuration
        assert (cell.communicators, cell.stride) == (communicators, stride)


def test_calls_that_share_a_rule_weigh_as_in_the_trace() -> None:
    """Columns took a tenth of the measured time in the trace, as other columns were late: rows decide."""
    rows = part(ROWS, 100, {"ring": 1e-3, "linear": 3e-3, "default": 2e-3})
    columns = part(COLUMNS, 100, {"ring": 9e-3, "linear": 1e-3, "default": 5e-3})
    late = structs.replace(columns, calls=structs.replace(columns.calls, last_delay_s=0.5e-3))
    assert gains_of([rows, columns])[0].algorithm == "linear", "1 ms more, and 4 ms less"
    (one,) = gains_of([rows, late])
    assert one.algorithm == "ring", "1 ms less, and 0.4 ms more"
    assert one.share == pytest.approx(100 * (-1e-3 + 0.4e-3))


def test_only_delays_that_prolong_the_run_are_gains() -> None:
    calls = part(ROWS, 100, {"ring": 1e-3, "default": 2e-3})
    hidden = structs.replace(calls, calls=structs.replace(calls.calls, critical=0.1))
    assert gains_of([calls])[0].share == pytest.approx(-0.1)
    assert gains_of([hidden])[0].share == pytest.approx(-0.01)
