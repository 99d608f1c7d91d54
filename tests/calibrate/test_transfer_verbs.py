"""The driver's verbs for messages between two processes, on real libraries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from raw_commands import ask_raw

from offbeat.libraries.installations import build
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.driver import CommandRefused, Driver
from offbeat.libraries.launch.launch_command import command

PATIENCE_S = 60.0
P = 3


@pytest.fixture(scope="module")
def driver(
    some_mpi_installation: Installation, own_cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Driver]:
    launch = command(some_mpi_installation, [str(build.build_native(some_mpi_installation))], P)
    driver = Driver(launch.argv, launch.environment, tmp_path_factory.mktemp("driver") / "log")
    yield driver
    driver.close()


def ask(driver: Driver, verb: str, **values: object) -> dict[str, list[int]]:
    answer = ask_raw(driver, verb, timeout_s=PATIENCE_S, **values)
    return {key: value for key, value in answer.items() if isinstance(value, list)}


@pytest.mark.parametrize("pair", [{}, {"from": 1, "to": 0}, {"from": 1, "to": 2}, {"from": 2, "to": 1}])
@pytest.mark.parametrize(("size", "cold"), [(0, 0), (1, 0), (100_000, 0), (1000, 1)])
def test_round_trips_between_any_two_processes_are_timed(
    driver: Driver, pair: dict, size: int, cold: int
) -> None:
    answer = ask(driver, "pingpong", bytes=size, repetitions=7, messages=3, cold=cold, **pair)
    assert len(answer["taken_ns"]) == 7
    assert all(0 < taken < PATIENCE_S * 1e9 for taken in answer["taken_ns"])


def test_a_late_receiver_keeps_the_sender_of_a_large_message_waiting(driver: Driver) -> None:
    large = ask(driver, "late", **{"from": 1, "to": 2}, bytes=2**24, delay_ns=50_000_000, repetitions=3)
    assert len(large["send_ns"]) == len(large["receive_ns"]) == 3
    assert max(large["send_ns"]) > 40_000_000


def test_messages_of_several_senders_are_timed_together(driver: Driver) -> None:
    answer = ask(driver, "stream", senders="2", receivers="0", bytes=1000, messages=4, repetitions=5)
    assert len(answer["taken_ns"]) == 5 and min(answer["taken_ns"]) > 0


def test_each_process_of_a_ring_sends_and_receives(driver: Driver) -> None:
    ring = ask(driver, "stream", senders="0,1,2", receivers="1,2,0", bytes=1000, messages=3, repetitions=4)
    cold = ask(driver, "stream", senders="0,1", receivers="1,0", bytes=1000, cold=1, repetitions=2)
    assert len(ring["taken_ns"]) == 4 and len(cold["taken_ns"]) == 2
    assert min(ring["taken_ns"] + cold["taken_ns"]) > 0


def test_work_of_several_processes_is_timed(driver: Driver) -> None:
    small = ask(driver, "work", ranks="1,2", memory=192_000, repetitions=5)["taken_ns"]
    large = ask(driver, "work", ranks="1,2", memory=192_000_000, repetitions=5)["taken_ns"]
    flops = ask(driver, "work", ranks="0", flops=10**8, repetitions=2)["taken_ns"]
    assert 0 < min(small) < min(large) and min(flops) > 0


@pytest.mark.parametrize("work", ["reduce", "copy"])
def test_local_work_is_timed(driver: Driver, work: str) -> None:
    small = ask(driver, "local", work=work, bytes=800, messages=10, repetitions=5)["taken_ns"]
    large = ask(driver, "local", work=work, bytes=8_000_000, messages=10, repetitions=5)["taken_ns"]
    assert 0 < min(small) < min(large)


@pytest.mark.parametrize(
    ("verb", "values", "sentence"),
    [
        ("pingpong", {"from": 0, "to": 0}, "two different ranks"),
        ("pingpong", {"from": 0, "to": P}, "two different ranks"),
        ("pingpong", {"from": -1}, "from must be a whole number"),
        ("late", {"from": 1, "to": 1}, "two different ranks"),
        ("pingpong", {"bytes": 2**31}, "bytes must be a whole number from 0 to 2147483647"),
        ("pingpong", {"bytes": 2**30, "messages": 2**20}, "no memory for the messages"),
        ("stream", {"senders": "0", "receivers": "1,2", "bytes": 1}, "as many ranks"),
        ("stream", {"senders": "0,0", "receivers": "1,2", "bytes": 1}, "each named once"),
        ("stream", {"senders": "0", "receivers": "3", "bytes": 1}, "each named once"),
        ("stream", {"bytes": 1}, "stream needs the key senders"),
        ("local", {"work": "think", "bytes": 8}, "reduce or copy"),
        ("work", {"ranks": f"0,{P}", "memory": 8}, "ranks must be ranks of this launch"),
        ("work", {"ranks": "0", "memory": -1}, "memory must be a whole number"),
    ],
)
def test_invalid_measurements_are_refused_and_the_launch_continues(
    driver: Driver, verb: str, values: dict[str, object], sentence: str
) -> None:
    with pytest.raises(CommandRefused, match=sentence):
        ask(driver, verb, **values)
    assert ask(driver, "pingpong", bytes=8)["taken_ns"]
