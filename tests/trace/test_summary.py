"""Every number in the summary of a synthetic trace is known beforehand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trace_factory as factory

from offbeat.trace.calls.call_matching import Matcher
from offbeat.trace.files import format as form
from offbeat.trace.files.trace_folder import open_trace
from offbeat.trace.summary import Summary, summarise
from offbeat.trace.summary_tables import head, tables

US = 1e-6


def summary_of(folder: Path, **options: Any) -> Summary:
    return summarise(open_trace(folder), **options)


def test_delays_and_times_of_calls_are_those_of_the_paper(tmp_path: Path) -> None:
    folder = factory.pattern_trace(tmp_path / "t", [[0, 10, 30], [0, 20, 10]])
    (row,) = summary_of(folder).rows
    assert (row.calls, row.whole, row.processes, row.function) == (2, 2, 3, "MPI_Allreduce")
    assert row.delays_s == pytest.approx([0, 15 * US, 20 * US])
    assert row.skew.mean_s == pytest.approx(25 * US)
    assert row.last_delay.mean_s == pytest.approx(5 * US)
    assert row.total_delay.mean_s == pytest.approx(30 * US)
    assert row.waited_s == pytest.approx((30 + 20 + 20 + 10) * US)
    assert row.operation_s == pytest.approx(2 * 3 * 5 * US)
    assert row.all_bytes == 2 * 3 * 8
    assert [late.name for late in row.latest_ranks] == ["2", "1", "0"]
    assert row.latest_ranks[0].last_share == 0.5


def test_the_size_of_read_batches_changes_nothing(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    folder = factory.pattern_trace(tmp_path / "t", rng.uniform(0, 90, (4000, 3)).tolist())
    one, other = summary_of(folder), summary_of(folder, most_records=1)
    (a,), (b,) = one.rows, other.rows
    assert (a.calls, a.whole) == (b.calls, b.whole) == (4000, 4000)
    assert a.delays_s == pytest.approx(b.delays_s, rel=1e-12)
    assert a.skew.quantiles_s == b.skew.quantiles_s
    assert a.waited_s == b.waited_s


def test_quantiles_are_right_to_within_five_percent(tmp_path: Path) -> None:
    skews = np.linspace(1, 100, 2001)
    (row,) = summary_of(factory.pattern_trace(tmp_path / "t", [[0, skew] for skew in skews])).rows
    assert row.skew.quantiles_s == pytest.approx(
        np.quantile(skews, [0.05, 0.25, 0.5, 0.75, 0.95]) * US, rel=0.05
    )


def test_an_early_leaver_waits_only_while_it_is_inside_the_call(tmp_path: Path) -> None:
    ranks = factory.files(2)
    ranks[0].call(1000, 1500, function="MPI_Bcast", root=0)
    ranks[1].call(5000, 6000, function="MPI_Bcast", root=0)
    (row,) = summary_of(factory.write(tmp_path / "t", ranks)).rows
    assert row.waited_s == pytest.approx(500e-9)
    assert row.operation_s == pytest.approx(1000e-9)


def test_sites_communicators_and_sizes_are_distinguished(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        one.definitions.append(factory.communicator(3, [0, 1], one.rank, ordinal=1, parent=1))
        one.definitions.append(factory.name(3, "rows"))
        one.call(1000, 2000, sequence=0)
        one.call(3000, 4000, sequence=1, address=factory.CODE + 0x20)
        one.call(5000, 6000, sequence=2, bytes=4096)
        one.call(7000, 8000, sequence=0, communicator=3)
    rows = summary_of(factory.write(tmp_path / "t", ranks)).rows
    assert {(row.site, row.communicator, row.most_bytes) for row in rows} == {
        ("app+0x1010", "MPI_COMM_WORLD", 8),
        ("app+0x1020", "MPI_COMM_WORLD", 8),
        ("app+0x1010", "MPI_COMM_WORLD", 4096),
        ("app+0x1010", "rows", 8),
    }


def test_the_same_place_at_other_addresses_is_one_site(tmp_path: Path) -> None:
    ranks = factory.files(2)
    ranks[1].definitions.append(factory.mapping(0x7F0000, 0x7F1000, factory.CODE_OFFSET, "/usr/bin/app"))
    ranks[0].call(1000, 2000)
    ranks[1].call(1000, 2000, address=0x7F0010)
    ranks[0].call(3000, 4000, sequence=1)
    ranks[1].call(3000, 4000, sequence=1, address=0x7F0010)
    (row,) = summary_of(factory.write(tmp_path / "t", ranks)).rows
    assert (row.site, row.calls) == ("app+0x1010", 2)


def test_a_nonblocking_call_lasts_from_its_issue_to_its_completion(tmp_path: Path) -> None:
    ranks = factory.files(2)
    issue, completion = form.ISSUE, form.COMPLETION | 2 << form.BY_SHIFT
    for one, late in zip(ranks, (0, 4000), strict=True):
        one.call(1000 + late, 1100 + late, function="MPI_Iallreduce", flags=issue)
        one.call(20_000, 21_000, function="MPI_Iallreduce", flags=completion)
    (row,) = summary_of(factory.write(tmp_path / "t", ranks)).rows
    assert (row.calls, row.whole, row.kind, row.collective) == (1, 1, "nonblocking", "MPI_Allreduce")
    assert row.skew.mean_s == pytest.approx(4e-6)
    assert row.last_delay.mean_s == pytest.approx(16e-6)
    assert row.waited_s == 0
    assert row.spent_s == pytest.approx(2 * 1.1e-6)


def test_one_wait_for_many_requests_is_counted_once(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        for sequence in range(4):
            one.call(
                1000 + 200 * sequence,
                1100 + 200 * sequence,
                sequence=sequence,
                function="MPI_Iallreduce",
                flags=1,
            )
        for sequence in range(4):
            one.call(10_000, 14_000, sequence=sequence, function="MPI_Iallreduce", flags=3 | 2 << 12)
    (row,) = summary_of(factory.write(tmp_path / "t", ranks)).rows
    assert row.calls == 4
    assert row.spent_s == pytest.approx(2 * (400 + 4000) * 1e-9)


def test_starts_of_persistent_calls_are_matched_by_round_in_any_order(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        for sequence in (0, 1):
            one.call(1000 + sequence, 1000 + sequence, sequence=sequence, function="MPI_Allreduce_init")
        order = [(0, 1), (1, 1), (1, 2), (0, 2)] if one.rank else [(1, 1), (0, 1), (0, 2), (1, 2)]
        for place, (sequence, rounds) in enumerate(order):
            at = 10_000 * (place + 1)
            chosen: dict[str, Any] = {"sequence": sequence, "round": rounds, "function": "MPI_Allreduce_init"}
            one.call(at, at + 100, flags=form.START, **chosen)
            one.call(at + 200, at + 300, flags=form.COMPLETION | 1 << form.BY_SHIFT, **chosen)
    rows = {row.kind: row for row in summary_of(factory.write(tmp_path / "t", ranks)).rows}
    assert (rows["persistent"].calls, rows["persistent"].whole) == (4, 4)
    assert (rows["initialisation"].calls, rows["initialisation"].whole) == (2, 2)


def test_a_pattern_that_never_changes_is_stable_and_a_random_one_is_not(tmp_path: Path) -> None:
    steady = factory.pattern_trace(tmp_path / "steady", [[0, 10, 40, 5]] * 50)
    rng = np.random.default_rng(1)
    random = factory.pattern_trace(tmp_path / "random", rng.uniform(0, 50, (400, 4)).tolist())
    assert summary_of(steady).rows[0].stability == pytest.approx(1.0)
    assert summary_of(random).rows[0].stability < 0.02


def test_few_calls_without_a_pattern_have_a_low_stability(tmp_path: Path) -> None:
    delays = np.random.default_rng(1).uniform(0, 50, (5, 64))
    assert summary_of(factory.pattern_trace(tmp_path / "t", delays.tolist())).rows[0].stability < 0.08


def test_a_request_that_is_completed_much_later_is_still_one_call(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        one.definitions.append(factory.communicator(3, [0, 1], one.rank, ordinal=1, parent=1))
        one.call(500, 600, communicator=3, function="MPI_Iallreduce", flags=form.ISSUE)
        one.call(700, 800, communicator=3, sequence=1)
        for sequence in range(4000):
            one.call(1000 * (sequence + 1), 1000 * (sequence + 1) + 500, sequence=sequence)
        one.call(
            5_000_000, 5_000_100, communicator=3, function="MPI_Iallreduce", flags=form.COMPLETION | 1 << 12
        )
    done = summary_of(factory.write(tmp_path / "t", ranks), most_records=1)
    row = next(row for row in done.rows if row.kind == "nonblocking")
    assert (row.calls, row.whole) == (1, 1)
    assert row.last_delay.mean_s == pytest.approx(4999.6e-6)
    assert done.notes == []


def test_a_request_that_is_freed_has_arrivals_and_no_end(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        one.call(500 + 10 * one.rank, 600, function="MPI_Iallreduce", flags=form.ISSUE)
        freed = form.COMPLETION | form.BY_FREE << form.BY_SHIFT
        one.call(700, 800, function="MPI_Iallreduce", flags=freed)
    (row,) = summary_of(factory.write(tmp_path / "t", ranks)).rows
    assert row.skew.mean_s == pytest.approx(10e-9)
    assert np.isnan(row.last_delay.mean_s)


def test_ranks_that_stop_early_leave_incomplete_calls(tmp_path: Path) -> None:
    ranks = factory.files(3)
    for sequence in range(5000):
        for one in ranks:
            if one.rank < 2 or sequence < 100:
                one.call(1000 * (sequence + 1), 1000 * (sequence + 1) + 500, sequence=sequence)
    done = summary_of(factory.write(tmp_path / "t", ranks), most_records=1)
    (row,) = done.rows
    assert (row.calls, row.whole) == (5000, 100)
    assert any("4900 calls without records of some traced ranks" in words for words in done.notes)


def test_few_records_wait_if_one_file_ends_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = factory.files(2)
    for sequence in range(4000):
        for one in ranks:
            if one.rank == 0 or sequence < 10:
                one.call(1000 * (sequence + 1), 1000 * (sequence + 1) + 500, sequence=sequence)
    monkeypatch.setattr("offbeat.trace.calls.call_matching.MOST_PENDING", 1)
    matcher = Matcher(open_trace(factory.write(tmp_path / "t", ranks)), most_records=1)
    assert sum(len(matched.starts) for matched in matcher.batches()) == 4000
    assert matcher.counts.incomplete == 0


def test_records_of_threads_are_merged(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        one.definitions.append(factory.communicator(3, [0, 1], one.rank, ordinal=1, parent=1))
        for sequence in range(3000):
            at = 1000 * (sequence + 1)
            one.call(at, at + 500, sequence=sequence, lane=0)
            one.call(at + 100, at + 700, sequence=sequence, lane=1, communicator=3)
    rows = summary_of(factory.write(tmp_path / "t", ranks), most_records=1).rows
    assert [(row.calls, row.whole) for row in rows] == [(3000, 3000), (3000, 3000)]


def test_drifting_clocks_are_corrected(tmp_path: Path) -> None:
    ranks = factory.files(2, points=False)
    ranks[0].definitions.append(factory.point(1, 1, is_shared=True))
    # Rank 1's clock is 1 s ahead at 0 and gains 100 us a second.
    ranks[1].definitions += [factory.point(10**9, 0, 200), factory.point(2 * 10**9 + 100_000, 10**9, 300)]
    for sequence in range(9):
        at = 100_000_000 * (sequence + 1)
        ranks[0].call(at, at + 50_000, sequence=sequence)
        local = 10**9 + at + round(at * 1e-4)
        ranks[1].call(local + 7000, local + 57_000, sequence=sequence)
    (row,) = summary_of(factory.write(tmp_path / "t", ranks)).rows
    assert row.delays_s[1] == pytest.approx(7e-6, abs=2e-9)
    wander = factory.WANDER * (10**9 + 100_000) ** 2 / 8
    assert row.bound_s == pytest.approx((290 + wander) * 1e-9, rel=0.01)


def test_simultaneous_collectives_of_threads_never_take_more_than_the_run_time(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        one.header["ended_ns"] = 1_000_001
        one.definitions.append(factory.communicator(3, [0, 1], one.rank, ordinal=1, parent=1))
        one.call(1, 990_001, lane=0)
        one.call(1, 970_001, lane=1, communicator=3, function="MPI_Bcast", root=0)
    summary = summary_of(factory.write(tmp_path / "t", ranks))
    assert "collectives take 98.0% of the run time" in head(summary)[1]
    assert [row.share for row in summary.rows] == pytest.approx([0.495, 0.485])
    assert summary.run_s == pytest.approx(2e-3)
    assert any("2 threads of each rank call MPI concurrently" in note for note in tables(summary)[0].notes)
