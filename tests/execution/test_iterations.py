"""Iterations of a trace: their number and their begins, by marks and by call sites."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trace_files as made
from hypothesis import given, settings
from hypothesis import strategies as st
from ring_traces import US, Ring, computing

from offbeat.base.errors import BadInput
from offbeat.programs.iterations.iterations import CALL_SITES, MARKS, NEVER, Iterations, find_iterations
from offbeat.programs.iterations.rank_calls import RankCalls, rank_calls
from offbeat.programs.iterations.repetition import anchors
from offbeat.programs.iterations.report import analyse
from offbeat.trace.files import format as form
from offbeat.trace.files.trace_folder import open_trace


def found(folder: Path, **options: object) -> Iterations:
    return find_iterations(open_trace(folder), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("way", [MARKS, CALL_SITES])
@pytest.mark.parametrize("every", [0, 1, 7])
def test_every_rank_begins_and_ends_each_iteration_when_it_did(tmp_path: Path, way: str, every: int) -> None:
    ring = Ring(computing(30, 6, noise_us=100), allreduce_every=every)
    iterations = found(ring.write(tmp_path / "t", marks=way == MARKS))
    assert iterations.way == way
    assert iterations.counts.tolist() == [30] * 6
    assert iterations.edges_ns[:, 1:].T.tolist() == ring.end_ns.tolist()
    # Without marks, the first iteration begins when the last call before it ends.
    first_ns = ring.begin_ns[0] if way == MARKS else np.full(6, 3010 * US)
    assert iterations.edges_ns[:, 0].tolist() == first_ns.tolist()


def test_marks_are_used_where_there_are_any_and_call_sites_on_request(tmp_path: Path) -> None:
    folder = Ring(computing(20, 3)).write(tmp_path / "t")
    assert found(folder).begun_by == "MPI_Pcontrol(2)"
    by_sites = found(folder, way=CALL_SITES)
    assert by_sites.begun_by.startswith("the computation before MPI_Irecv at app+0x1020")
    assert by_sites.count == 20


def test_a_call_site_named_by_the_user_begins_the_iterations(tmp_path: Path) -> None:
    folder = Ring(computing(20, 3), allreduce_every=4).write(tmp_path / "t")
    iterations = found(folder, anchor="MPI_Allreduce at app+0x1060")
    assert (iterations.way, iterations.count) == (CALL_SITES, 5)


def test_tests_and_probes_whose_number_is_chance_are_no_calls_of_an_iteration(tmp_path: Path) -> None:
    ranks = made.files(2)
    for one in ranks:
        one.definitions += [made.function("MPI_Test")]
        one.message(1000, 1100, peer=1 - one.rank, function="MPI_Isend", request=1, flags=form.ISSUE)
        tested = form.COMPLETION | 5 << form.BY_SHIFT
        one.message(1200, 1300, peer=1 - one.rank, function="MPI_Isend", request=1, flags=tested)
        probe = {"kind": form.PROBE, "function": "MPI_Iprobe"}
        one.message(1400, 1500, peer=1 - one.rank, **probe)
        one.message(1600, 1700, peer=1 - one.rank)
    trace = open_trace(made.write(tmp_path / "t", ranks))
    calls = RankCalls.concatenate(list(rank_calls(trace, 0)))
    assert calls.enter_ns.tolist() == [1000, 1600]


def test_a_sampled_trace_says_what_is_missing(tmp_path: Path) -> None:
    sampled: dict[str, Any] = {"period": 10, "sampling": b"OFFBEAT_TRACE_EVERY=10"}
    folder = Ring(computing(40, 3), allreduce_every=1).write(tmp_path / "t", **sampled)
    report = analyse(open_trace(folder))
    assert report.table.iterations.count == 40
    assert any("the trace was sampled (OFFBEAT_TRACE_EVERY=10)" in note for note in report.notes)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"way": "colours"}, "give marks or sites"),
        ({"way": MARKS, "anchor": "MPI_Irecv"}, "give it without --iterations marks"),
        ({"anchor": "MPI_Gather"}, "no call site matches; there are: MPI_"),
        ({"anchor": "app+0x10"}, "more than one call site matches"),
    ],
)
def test_a_selection_that_cannot_be_right_is_refused(
    tmp_path: Path, options: dict[str, str], sentence: str
) -> None:
    folder = Ring(computing(10, 2)).write(tmp_path / "t")
    with pytest.raises(BadInput, match=sentence.replace("+", r"\+")):
        found(folder, **options)


def test_a_trace_whose_calls_do_not_repeat_has_no_iterations_and_says_what_to_do(tmp_path: Path) -> None:
    ranks = made.files(2)
    for one in ranks:
        for number in range(5):
            one.call(
                (number + 1) * 1000, (number + 1) * 1000 + 10, sequence=number, address=made.CODE + number
            )
    (note,) = found(made.write(tmp_path / "t", ranks)).notes
    assert "call sites do not repeat" in note
    assert "--messages" in note and "MPI_Pcontrol(2)" in note


def test_an_empty_trace_has_no_iterations(tmp_path: Path) -> None:
    iterations = found(made.write(tmp_path / "t", made.files(2)))
    assert (iterations.rows, iterations.count) == (0, 0)
    assert iterations.notes == ["the trace has no calls, and so no iterations"]


def test_asking_for_marks_in_a_trace_without_any_gives_a_sentence(tmp_path: Path) -> None:
    folder = Ring(computing(10, 2)).write(tmp_path / "t", marks=False)
    assert found(folder, way=MARKS).notes == [
        "no iterations were found: no rank has a call of MPI_Pcontrol(2)"
    ]


def test_a_rank_that_was_killed_has_fewer_iterations_and_a_note_names_it(tmp_path: Path) -> None:
    folder = Ring(computing(400, 4)).write(tmp_path / "t")
    path = folder / "rank-000002.trace"
    path.write_bytes(path.read_bytes()[: -2 * form.PAGE_BYTES])  # the last pages are lost
    iterations = found(folder)
    lost = int(iterations.counts[2])
    assert 0 < lost < 400
    assert iterations.counts.tolist() == [400, 400, lost, 400]
    assert f"rank 2 has {lost} iterations, the others 400" in iterations.notes
    assert (iterations.edges_ns[2, lost + 1 :] == NEVER).all()


def test_too_many_iterations_share_rows_and_a_note_says_so(tmp_path: Path) -> None:
    ring = Ring(computing(100, 4, noise_us=50))
    iterations = found(ring.write(tmp_path / "t"), most_cells=4 * 30)
    assert (iterations.each, iterations.rows, iterations.count) == (4, 25, 100)
    assert iterations.edges_ns[:, :-1].T.tolist() == ring.begin_ns[::4].tolist()
    assert iterations.edges_ns[:, -1].tolist() == ring.end_ns[-1].tolist()
    assert "the table of 100 iterations would be too large: a row is 4 iterations" in iterations.notes


def test_rows_of_several_iterations_are_the_same_however_the_file_is_read(tmp_path: Path) -> None:
    ring = Ring(computing(9000, 2, noise_us=50))  # more messages than are read at once
    iterations = found(ring.write(tmp_path / "t"), most_cells=2 * 1200)
    assert (iterations.each, iterations.rows) == (8, 1125)
    assert iterations.edges_ns[:, :-1].T.tolist() == ring.begin_ns[::8].tolist()


def calls_of(sites: list[int], gaps_us: list[float]) -> RankCalls:
    """Calls of 2 µs with these sites and computation before each."""
    enter = np.cumsum(np.array(gaps_us) + 2) * US
    return RankCalls(np.array(sites, np.int64), enter.astype(np.int64), (enter + 2 * US).astype(np.int64))


def number_of_iterations(sites: list[int], gaps_us: list[float]) -> int:
    best = anchors(calls_of(sites, gaps_us))
    return best[0][1] if best else 0


@given(
    iterations=st.integers(6, 40),
    neighbours=st.integers(1, 5),
    inner=st.integers(1, 6),
    every=st.integers(2, 12),
    setup=st.integers(0, 4),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=150)
def test_loops_within_an_iteration_rare_collectives_and_a_setup_do_not_change_the_number(
    iterations: int, neighbours: int, inner: int, every: int, setup: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    sites, gaps = list(range(100, 100 + setup)), [50.0] * setup
    for i in range(iterations):
        gaps.append(500 * random.uniform(0.8, 1.3))
        sites += [1] * neighbours + [2] * neighbours + [3]
        gaps += [1.0] * (2 * neighbours)
        sites += [4] * inner  # the steps of an allreduce over point-to-point messages
        gaps += [5.0] + [0.5] * (inner - 1)
        if (i + 1) % every == 0:
            sites.append(5)
            gaps.append(3.0)
    assert number_of_iterations([*sites, 200, 201], [*gaps, 100.0, 1.0]) == iterations


@pytest.mark.parametrize("packing_us", [1.0, 30.0])
def test_an_exchange_in_three_directions_at_the_same_call_sites_is_one_iteration(packing_us: float) -> None:
    sites, gaps = [], []
    for i in range(30):
        for direction in range(3):
            sites += [1, 2, 3]
            gaps += [packing_us if direction else 400.0 + i % 7, 1.0, 1.0]
    assert number_of_iterations(sites, gaps) == 30


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_sequence_that_is_too_short_has_no_iterations(count: int) -> None:
    assert number_of_iterations([1] * count, [10.0] * count) == 0


@given(iterations=st.integers(12, 80), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_iterations_that_are_disturbed_in_every_third_are_each_found(iterations: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    sites, gaps = [], []
    for _ in range(iterations):
        sites += [1, 2]
        gaps += [2500 * random.uniform(1, 1.3) + 20_000 * random.uniform(0, 1) * (random.uniform() < 0.3), 20]
    assert number_of_iterations(sites, gaps) == iterations


@given(iterations=st.integers(12, 40), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=100)
def test_the_levels_of_a_multigrid_are_no_iterations(iterations: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    sites, gaps = [], []
    for _ in range(iterations):
        for level in (0, 1, 2, 1, 0):
            sites += [1, 2, 3]
            gaps += [2000 / 8**level * random.uniform(0.8, 1.4), 1, 1]
        sites.append(4)
        gaps.append(100)
    assert number_of_iterations(sites, gaps) == iterations
