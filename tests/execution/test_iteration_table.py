"""The table of iterations: every time of a made-up program, exactly; and its memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trace_files as made
from ring_traces import POST_NS, SUM_NS, TRANSFER_NS, Ring, computing

from offbeat.base.errors import BadInput
from offbeat.programs.iterations.iteration_table import IterationTable, read_table
from offbeat.programs.iterations.iterations import find_iterations
from offbeat.programs.iterations.memory_domains import domains_of
from offbeat.programs.iterations.report import analyse
from offbeat.programs.iterations.timelines import COLLECTIVE, MESSAGE, WAITING, timelines_of
from offbeat.trace.files import encode
from offbeat.trace.files import format as form
from offbeat.trace.files.trace_folder import Trace, open_trace


def table_of(folder: Path, **options: int) -> IterationTable:
    trace = open_trace(folder)
    return read_table(trace, find_iterations(trace, **options))  # type: ignore[arg-type]


def seconds(times_ns: np.ndarray) -> np.ndarray:
    return times_ns / 1e9


def test_the_time_of_each_iteration_is_divided_as_it_happened(tmp_path: Path) -> None:
    ring = Ring(computing(24, 6, noise_us=200), allreduce_every=5)
    table = table_of(ring.write(tmp_path / "t"))
    assert table.times_s() == pytest.approx(seconds(ring.end_ns - ring.begin_ns), abs=1e-9)
    posts_and_wait_ns = 4 * POST_NS + ring.exit_ns - ring.wait_ns
    assert table.message_s == pytest.approx(seconds(posts_and_wait_ns), rel=1e-5)
    assert table.late_partner_s == pytest.approx(seconds(ring.waited_ns), rel=1e-5, abs=1e-9)
    has_sum = np.array([ring.has_sum(i) for i in range(24)])[:, None]
    assert table.collective_s == pytest.approx(seconds(ring.end_ns - ring.exit_ns), rel=1e-5, abs=1e-12)
    assert table.collective_waiting_s == pytest.approx(seconds(ring.sum_ns), rel=1e-5, abs=1e-12)
    natural_ns = 4 * POST_NS + TRANSFER_NS + SUM_NS * has_sum
    assert table.natural_s() == pytest.approx(np.broadcast_to(seconds(natural_ns), (24, 6)), rel=1e-3)
    assert table.computed_s() == pytest.approx(seconds(ring.computed_ns), rel=1e-4)


def test_a_row_of_several_iterations_has_their_sums(tmp_path: Path) -> None:
    ring = Ring(computing(64, 4, noise_us=200), allreduce_every=3)
    folder = ring.write(tmp_path / "t")
    single, coarse = table_of(folder), table_of(folder, most_cells=4 * 16)
    assert (coarse.iterations.each, coarse.rows) == (4, 16)
    for name in ("message_s", "collective_s", "late_partner_s", "collective_waiting_s"):
        sums = getattr(single, name).reshape(16, 4, 4).sum(axis=1)
        assert getattr(coarse, name) == pytest.approx(sums, rel=1e-5, abs=1e-9)


def test_a_rank_without_some_iterations_has_no_values_there(tmp_path: Path) -> None:
    folder = Ring(computing(400, 3)).write(tmp_path / "t")
    path = folder / "rank-000001.trace"
    path.write_bytes(path.read_bytes()[: -2 * form.PAGE_BYTES])
    table = table_of(folder)
    lost = int(table.iterations.counts[1])
    assert np.isnan(table.message_s[lost:, 1]).all()
    assert np.isnan(table.times_s()[lost:, 1]).all()
    assert np.isfinite(table.message_s[:, [0, 2]]).all()
    complete = table.complete()
    assert complete.iterations.ranks.tolist() == [0, 2]  # together they have more iterations than all three
    assert complete.times_s().shape == (400, 2)


def test_after_a_kill_the_iterations_that_all_ranks_marked_are_analysed(tmp_path: Path) -> None:
    folder = Ring(computing(400, 3, noise_us=50)).write(tmp_path / "t")
    whole = table_of(folder).times_s()
    for rank, pages in ((1, 1), (2, 2)):
        path = folder / f"rank-{rank:06}.trace"
        path.write_bytes(path.read_bytes()[: -pages * form.PAGE_BYTES])
    report = analyse(open_trace(folder))
    least = int(report.table.iterations.counts[0])
    assert 200 < least < 400
    assert report.table.iterations.ranks.tolist() == [0, 1, 2]
    assert report.table.times_s()[:-1] == pytest.approx(whole[: least - 1])
    assert f"the analysis has the first {least} iterations, which all its ranks have" in report.notes
    assert report.table.timelines


def test_without_a_file_of_a_rank_the_others_are_analysed_and_notes_say_what_is_missing(
    tmp_path: Path,
) -> None:
    folder = Ring(computing(40, 4)).write(tmp_path / "t")
    (folder / "rank-000003.trace").unlink()
    report = analyse(open_trace(folder))
    assert report.table.iterations.ranks.tolist() == [0, 1, 2]
    assert report.performance is not None
    notes = "\n".join(report.notes)
    assert "1 of 4 ranks have no file (3)" in notes
    assert "whose partner is not in the trace" in notes


def test_a_trace_without_iterations_still_shows_its_collectives(tmp_path: Path) -> None:
    ranks = made.files(2)
    for one in ranks:
        one.call(1000 + 500 * one.rank, 2000)
    report = analyse(open_trace(made.write(tmp_path / "t", ranks)))
    assert report.performance is None
    (row,) = report.table.collectives
    assert (row.waited_s, row.operation_s) == (pytest.approx(500e-9), pytest.approx(1e-6))


def test_timelines_have_the_calls_of_the_iterations_that_they_show(tmp_path: Path) -> None:
    ring = Ring(computing(30, 3, noise_us=80), allreduce_every=1)
    trace = open_trace(ring.write(tmp_path / "t"))
    iterations = find_iterations(trace)
    timelines = timelines_of(iterations)
    read_table(trace, iterations, timelines)
    assert [(one.first_row, one.rows) for one in timelines] == [(0, 4), (13, 4), (26, 4)]
    bars = timelines[1].bars()
    for kind, begin_ns, end_ns in (
        (WAITING, ring.exit_ns, ring.exit_ns + ring.sum_ns),
        (COLLECTIVE, ring.exit_ns + ring.sum_ns, ring.end_ns),
    ):
        expected = {
            (rank, int(begin_ns[i, rank]), int(end_ns[i, rank]))
            for i in range(13, 17)
            for rank in range(3)
            if end_ns[i, rank] > begin_ns[i, rank]
        }
        assert expected <= {tuple(bar[:3]) for bar in bars[bars[:, 3] == kind].tolist()}
    waits = {tuple(bar[:3]) for bar in bars[bars[:, 3] == MESSAGE].tolist()}
    assert {(1, int(ring.wait_ns[i, 1]), int(ring.exit_ns[i, 1])) for i in range(13, 17)} <= waits


# --- domains ---


def trace_on_two_nodes(folder: Path) -> Trace:
    ranks = made.files(8)
    for one in ranks:
        one.header = {"host": b"node1" if one.rank % 2 else b"node0"}
    return open_trace(made.write(folder, ranks))


@pytest.mark.parametrize(
    ("options", "domains"),
    [
        ({}, [0, 1, 0, 1, 0, 1, 0, 1]),
        ({"size": 2}, [0, 1, 0, 1, 2, 3, 2, 3]),
        ({"size": 100}, [0, 1, 0, 1, 0, 1, 0, 1]),
        ({"listed": "0-3/4-7"}, [0, 0, 0, 0, 1, 1, 1, 1]),
        ({"listed": "4-,0/1-3"}, [0, 1, 1, 1, 0, 0, 0, 0]),
    ],
)
def test_a_domain_is_a_node_a_part_of_one_or_what_the_user_lists(
    tmp_path: Path, options: dict[str, object], domains: list[int]
) -> None:
    found = domains_of(trace_on_two_nodes(tmp_path / "t"), np.arange(8), **options)  # type: ignore[arg-type]
    assert found.of_rank.tolist() == domains


def test_the_domains_that_a_trace_notes_are_used_unless_the_user_says_otherwise(tmp_path: Path) -> None:
    ranks = made.files(4)
    for one in ranks:
        one.definitions.append(encode.note(f"memory domain {7 - one.rank // 2}"))
    trace = open_trace(made.write(tmp_path / "t", ranks))
    assert trace.notes == []
    assert domains_of(trace, np.arange(4)).of_rank.tolist() == [0, 0, 1, 1]
    assert domains_of(trace, np.arange(4), size=3).of_rank.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"size": 2, "listed": "0-7"}, "give one of them"),
        ({"listed": "0-3/3-7"}, "rank 3 is in two domains"),
        ({"listed": "0-3/4-6"}, "rank 7 is in no domain"),
        ({"listed": "0-3//4-7"}, "a domain has no ranks"),
        ({"listed": "0-3/x"}, "--domains x: give numbers and ranges"),
        ({"listed": "0-7/1000000000000"}, "has none of these ranks"),
    ],
)
def test_domains_that_cannot_be_right_are_refused(
    tmp_path: Path, options: dict[str, object], sentence: str
) -> None:
    with pytest.raises(BadInput, match=sentence):
        domains_of(trace_on_two_nodes(tmp_path / "t"), np.arange(8), **options)  # type: ignore[arg-type]
