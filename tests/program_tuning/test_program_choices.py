"""Which choices a trial compares: where an algorithm is significantly faster, and the gain can be shown."""

from __future__ import annotations

import pytest

from offbeat.predict.measured_configuration import Estimate
from offbeat.program_tuning.program_choices import ExpectedGain, compared, expected_share
from offbeat.select.table import Configuration


def gain(size: int, low: float, middle: float, high: float, algorithm: str = "ring") -> ExpectedGain:
    cell = Configuration(
        library="x", collective="bcast", p=4, nodes=0, ppn=0, bytes=size, op="", datatype="byte", root=0
    )
    change = Estimate(time_s=middle, low_s=low, high_s=high)
    return ExpectedGain(configuration=cell, algorithm=algorithm, change=change, run_s=10.0, calls=[])


def test_an_algorithm_is_used_only_if_the_interval_excludes_zero() -> None:
    assert gain(8, -0.3, -0.2, -0.1).is_used
    assert not gain(8, -0.5, -0.2, 0.1).is_used
    assert not gain(8, -0.3, -0.2, -0.1, "default").is_used


def test_the_expected_gain_counts_used_algorithms_only() -> None:
    gains = [gain(8, -0.5, -0.4, 0.1), gain(64, -0.03, -0.02, -0.01)]
    assert expected_share(gains) == pytest.approx(0.02)
    assert "expected to save 200 ms, 2.0% of the time after MPI_Init (1.0% to 3.0%)" in gains[1].sentence


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
    assert {name: sorted(one.bytes for one in used) for name, used in compared(gains).items()} == tried
