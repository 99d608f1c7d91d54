"""Drawn traces are read as they were written, and no damage of them is silent.

The drawn lists are the oracle; ``benchmarks/trace_damage.py`` draws any number of them.
"""

from __future__ import annotations

from pathlib import Path

import drawn_traces as drawn
import numpy as np
import pytest
from page_damage import DamagedPages

from offbeat.trace.files import format as form
from offbeat.trace.files.rank_file import open_file

pytestmark = pytest.mark.slow

READS = 15
"""Of each drawn trace, damaged in another way each time."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return drawn.compiled_writer(tmp_path_factory.mktemp("writer"))


def expected(one: drawn.DrawnTrace) -> dict[int, tuple[bytes, bytes]]:
    lists = {thread: (rows.tobytes(), messages.tobytes()) for thread, (rows, messages) in enumerate(one.rows)}
    return {thread: both for thread, both in lists.items() if any(both)}


@pytest.mark.parametrize("seed", range(12))
def test_what_the_tracer_wrote_is_read_also_if_it_was_killed_or_cut_off(
    tmp_path: Path, program: Path, seed: int
) -> None:
    one = drawn.traced(np.random.default_rng(seed), program, tmp_path)
    file, whole = open_file(one.path), expected(one)
    found = drawn.rows_of(file)
    assert bool(file.faults) == (one.is_killed or file.header.lost_count > 0)
    if not one.is_cut:
        assert found == whole
    lost = 0
    for thread, lists in whole.items():
        for kind, itemsize in enumerate((form.RECORD_BYTES, form.MESSAGE_BYTES)):
            part = found.get(thread, (b"", b""))[kind]
            assert lists[kind].startswith(part)
            lost += (len(lists[kind]) - len(part)) // itemsize
    assert lost == file.header.lost_count


@pytest.mark.parametrize("seed", range(3))
def test_what_simulated_programs_wrote_is_read(tmp_path: Path, seed: int) -> None:
    one = drawn.simulated(np.random.default_rng(seed), None, tmp_path)
    file = open_file(one.path)
    assert (drawn.rows_of(file), file.faults) == (expected(one), [])


@pytest.mark.parametrize("seed", range(6))
def test_no_damage_of_a_trace_is_silent(tmp_path: Path, program: Path, seed: int) -> None:
    rng = np.random.default_rng([seed, 1])
    one = drawn.simulated(rng, None, tmp_path) if seed == 0 else drawn.traced(rng, program, tmp_path)
    content, file = one.path.read_bytes(), open_file(one.path)
    whole = drawn.rows_of(file)
    outcomes = set()
    for _ in range(READS):
        one.path.write_bytes(drawn.damaged(rng, content))
        outcomes.add(drawn.outcome(one.path, whole, file.faults))
    assert "noticed" in outcomes
    assert "silent" not in outcomes


def test_each_damaged_page_is_noticed_or_read_as_before(tmp_path: Path, program: Path) -> None:
    seed = int(np.random.default_rng().integers(0, 2**32))
    rng = np.random.default_rng(seed)
    for make in (drawn.traced, drawn.simulated):
        damaged = DamagedPages(make(rng, program, tmp_path, 8).path)
        outcomes = damaged.read(rng) + damaged.read(rng)
        assert outcomes["silent"] == 0, f"seed {seed}"
        assert outcomes.total() == 2 * len(damaged.numbers)


def test_a_damaged_page_is_named_and_the_others_are_read(tmp_path: Path, program: Path) -> None:
    rows = drawn.drawn_records(np.random.default_rng(5), 0, 12000)
    rows["flags"] = 0
    one = drawn.written(program, tmp_path, [(rows, drawn.drawn_messages(np.random.default_rng(6), 0, 30))])
    file = open_file(one.path)
    content = bytearray(one.path.read_bytes())
    (pages,) = file.lanes.values()
    at = int(pages[0]) * form.PAGE_BYTES
    content[at + 4000] ^= 1
    one.path.write_bytes(content)
    changed = open_file(one.path)
    assert changed.faults == [f"1 damaged page of rank-000000.trace left out, at byte {at}"]
    (left,) = changed.lanes.values()
    assert left.tolist() == pages[1:].tolist()
    assert changed.records(left).tobytes() == file.records(pages[1:]).tobytes()


def test_a_record_in_a_loop_takes_8_bytes(tmp_path: Path, program: Path) -> None:
    rows = np.zeros(200_000, form.RECORD)
    rows["address"] = 16 * (np.arange(len(rows)) % 3)
    rows["communicator"], rows["function"], rows["bytes"] = 1, 1, 8
    rows["sequence"] = np.arange(len(rows))
    rows["enter_ns"] = 1000 * np.arange(len(rows))
    rows["exit_ns"] = rows["enter_ns"] + 400
    one = drawn.written(program, tmp_path, [(rows, np.zeros(0, form.MESSAGE))])
    file = open_file(one.path)
    (pages,) = file.lanes.values()
    assert file.records(pages).tobytes() == rows.tobytes()
    assert one.path.stat().st_size / len(rows) < 9
