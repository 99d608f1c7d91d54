"""The driver's verbs for starts, syncs and the accuracy of clocks, on a real library."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from raw_commands import ask_raw

from offbeat.libraries.installations.build import build_native
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.driver import CommandRefused, Driver
from offbeat.libraries.launch.launch_command import command
from offbeat.measurement.clock_check.check_plan import METHODS
from offbeat.measurement.clock_check.measure import distorted_source

PATIENCE_S = 60.0
P = 3


@pytest.fixture(scope="module")
def driver(
    mpi_installation: Installation, own_cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Driver]:
    launch = command(mpi_installation, [str(build_native(mpi_installation))], P)
    driver = Driver(launch.argv, launch.environment, tmp_path_factory.mktemp("driver") / "log")
    yield driver
    driver.close()


@pytest.fixture(scope="module")
def apart(
    some_mpi_installation: Installation, own_cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Driver]:
    """A driver whose own clocks are seconds apart, as on several nodes."""
    launch = command(
        some_mpi_installation,
        [str(build_native(some_mpi_installation))],
        P,
        environment={"OFFBEAT_CLOCK_SOURCE": "virtual:1:offset=5000000000,drift=10;2:offset=-9000000000"},
    )
    driver = Driver(launch.argv, launch.environment, tmp_path_factory.mktemp("driver") / "log")
    yield driver
    driver.close()


def ask(driver: Driver, verb: str, **values: object) -> dict[str, list[int]]:
    answer = ask_raw(driver, verb, timeout_s=PATIENCE_S, **values)
    return {key: value for key, value in answer.items() if isinstance(value, list)}


@pytest.mark.parametrize("by", ["barrier", "harmonize"])
@pytest.mark.parametrize(
    "behind", [{}, {"collective": "reduce", "bytes": 64}, {"collective": "alltoall", "bytes": 8}]
)
def test_the_answer_has_every_start_and_the_collective_after_it(
    driver: Driver, by: str, behind: dict[str, object]
) -> None:
    answer = ask(driver, "start", by=by, repetitions=6, **behind)
    assert len(answer.pop("lags_ns")) == P
    assert {len(times) for times in answer.values()} == {6}
    for least, skew, most in zip(
        answer["least_skew_ns"], answer["skew_ns"], answer["most_skew_ns"], strict=True
    ):
        assert 0 <= least <= skew <= most
    for taken, longest in zip(answer["taken_ns"], answer["longest_ns"], strict=True):
        assert longest <= taken <= P * longest
    assert set(answer["verdicts"]) <= ({0} if by == "barrier" else {0, 1, 2})


def test_skews_on_one_physical_clock_are_exact(driver: Driver) -> None:
    answer = ask(driver, "start", by="barrier", repetitions=5)
    assert answer["least_skew_ns"] == answer["skew_ns"] == answer["most_skew_ns"]


@pytest.mark.parametrize("by", ["barrier", "harmonize"])
def test_distorted_clocks_are_corrected_and_their_error_widens_the_skew(apart: Driver, by: str) -> None:
    answer = ask(apart, "start", by=by, repetitions=20, collective="reduce", bytes=8)
    assert max(answer["most_skew_ns"]) < 4_000_000_000 and max(answer["lags_ns"]) < 4_000_000_000
    for least, skew, most in zip(
        answer["least_skew_ns"], answer["skew_ns"], answer["most_skew_ns"], strict=True
    ):
        assert least <= skew < most


def test_comparisons_by_messages_give_an_interval_that_contains_the_error(apart: Driver) -> None:
    answer = ask_raw(apart, "accuracy", timeout_s=PATIENCE_S, methods="constraints,offset", ages="50000000")
    seen = ask(apart, "accuracy", methods="constraints,offset", ages="50000000")
    assert answer["physical"] is False
    for low, high, bound in zip(seen["low_ns"], seen["high_ns"], seen["bound_ns"], strict=True):
        assert low < high and low <= bound and high >= -bound


@pytest.mark.parametrize("processes", [1, 2, 3])
@pytest.mark.parametrize("method", METHODS)
def test_syncs_are_timed_on_the_first_processes(driver: Driver, method: str, processes: int) -> None:
    source = distorted_source(P, seed=1)
    answer = ask(driver, "sync", method=method, processes=processes, repetitions=4, source=source)
    assert len(answer["taken_ns"]) == 4 and min(answer["taken_ns"]) > 0
    assert min(answer["exchanges"]) >= processes - 1
    assert (min(answer["bound_ns"]) > 0) == (processes > 1)


def test_the_methods_that_a_check_knows_are_those_of_the_library(driver: Driver) -> None:
    with pytest.raises(CommandRefused, match=f"the methods are {' '.join(METHODS)}$"):
        ask(driver, "sync", method="guess")


def test_a_shared_clock_is_distinguished_from_distorted_ones(driver: Driver) -> None:
    assert ask_raw(driver, "sync", timeout_s=PATIENCE_S)["shared"] is True
    assert ask_raw(driver, "sync", timeout_s=PATIENCE_S, source=distorted_source(P, 1))["shared"] is False


def test_every_method_is_compared_at_every_age_in_every_round(driver: Driver) -> None:
    names = ",".join(METHODS)
    source = distorted_source(P, seed=2)
    answer = ask(driver, "accuracy", methods=names, ages="20000000,50000000", rounds=2, source=source)
    assert {len(column) for column in answer.values()} == {len(METHODS) * 3 * 2 * (P - 1)}
    assert set(answer["methods"]) == set(range(len(METHODS))) and set(answer["ranks"]) == {1, 2}
    assert set(answer["rounds"]) == {0, 1}
    assert set(answer["planned_ns"]) == {0, 20_000_000, 50_000_000}
    assert all(
        age > 0.99 * planned for age, planned in zip(answer["ages_ns"], answer["planned_ns"], strict=True)
    )
    for age, low, high, bound in zip(
        answer["ages_ns"], answer["low_ns"], answer["high_ns"], answer["bound_ns"], strict=True
    ):
        assert 0 <= age < 30e9 and low <= high
        assert low <= bound and high >= -bound, "a clock was beyond its bound"


def test_comparisons_detect_an_existing_error(driver: Driver) -> None:
    """A drift of 100 ppm that no method without a slope can know is 10 µs after 100 ms.

    Every interval contains the error, and a busy machine only widens intervals: the narrowest of 16 decide.
    """
    source = "virtual:1:drift=100;2:drift=-100"
    answer = ask(driver, "accuracy", methods="offset", ages="100000000", rounds=16, source=source)
    late = [index for index, age in enumerate(answer["ages_ns"]) if age > 90_000_000]
    assert max(answer["low_ns"][index] for index in late if answer["ranks"][index] == 1) > 2_000
    assert min(answer["high_ns"][index] for index in late if answer["ranks"][index] == 2) < -2_000


def exceeds_its_bound_after_a_step(driver: Driver, step_s: float) -> bool:
    """Whether the error of a clock that steps ``step_s`` from now exceeds its bound at twice that age."""
    source = f"virtual:epoch={time.monotonic_ns()};1:step=500000000@{step_s}"
    ages = f"1000000,{2 * step_s * 1e9:.0f}"
    answer = ask(driver, "accuracy", methods="constraints", ages=ages, source=source)
    return any(
        answer["low_ns"][index] > answer["bound_ns"][index]
        for index, age in enumerate(answer["ages_ns"])
        if answer["ranks"][index] == 1 and age > step_s * 1e9
    )


def test_a_step_of_a_clock_between_syncs_is_detected(driver: Driver) -> None:
    # A busy machine may not have synchronised the clocks before an early step.
    assert any(exceeds_its_bound_after_a_step(driver, step_s) for step_s in (0.15, 1, 4))


@pytest.mark.parametrize(
    ("verb", "values", "sentence"),
    [
        ("start", {"by": "luck"}, "by must be barrier or harmonize"),
        ("start", {"collective": "reduce", "bytes": 3}, "multiple"),
        ("start", {"repetitions": 0}, "repetitions must be a whole number"),
        ("sync", {"processes": P + 1}, "processes must not exceed the number of processes of the launch"),
        ("sync", {"method": "guess"}, "guess"),
        ("sync", {"source": "virtual:what"}, "virtual"),
        ("accuracy", {"methods": "constraints,guess"}, "guess"),
        ("accuracy", {"ages": "1,x"}, "ages must be whole numbers"),
    ],
)
def test_invalid_measurements_are_refused_and_the_launch_continues(
    driver: Driver, verb: str, values: dict[str, object], sentence: str
) -> None:
    with pytest.raises(CommandRefused, match=sentence):
        ask(driver, verb, **values)
    assert ask(driver, "start")["skew_ns"]
