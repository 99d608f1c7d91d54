"""Rows of a summary: communicator groups, and ranks that cannot be compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trace_factory as factory

from offbeat.trace.calls.arrivals import samples
from offbeat.trace.calls.communicators import communicator_groups
from offbeat.trace.files.trace_folder import open_trace
from offbeat.trace.recommendation import choose_row
from offbeat.trace.summary import Summary, summarise
from offbeat.trace.summary_tables import head, tables

US = 1e-6


def grid(folder: Path, *, calls: int = 4, named: bool = False) -> Path:
    """Nine ranks as a grid of 3 × 3: calls on rows (3) and on columns (4); rank 2 of each row is late."""
    ranks = factory.files(9)
    for one in ranks:
        row, column = divmod(one.rank, 3)
        one.header = {"host": f"node{row}".encode(), "ended_ns": 1_000_000 * (calls + 1)}
        one.definitions.append(factory.communicator(3, range(3 * row, 3 * row + 3), one.rank, parent=1))
        one.definitions.append(factory.communicator(4, range(column, 9, 3), one.rank, parent=1))
        if named:
            one.definitions += [factory.name(3, "rows"), factory.name(4, "columns")]
        for number in range(calls):
            begin = 1_000_000 * (number + 1)
            late = 1000 * (30 if column == 2 else 10 * column * row)
            one.call(begin + late, begin + 50_000, sequence=number, communicator=3)
            one.call(begin + 100_000, begin + 110_000, sequence=number, communicator=4)
    return factory.write(folder, ranks)


def summary_of(folder: Path) -> Summary:
    return summarise(open_trace(folder))


def test_rows_and_columns_of_a_grid_are_one_communicator_group_each(tmp_path: Path) -> None:
    trace = open_trace(grid(tmp_path / "t"))
    first = communicator_groups(trace.communicators)
    members = {tuple(one.members.tolist()): int(first[one.index]) for one in trace.communicators.table}
    rows = {members[(0, 1, 2)], members[(3, 4, 5)], members[(6, 7, 8)]}
    columns = {members[(0, 3, 6)], members[(1, 4, 7)], members[(2, 5, 8)]}
    assert len(rows) == len(columns) == 1
    assert rows != columns


def test_similar_communicators_are_one_row_with_the_sum_of_their_calls(tmp_path: Path) -> None:
    summary = summary_of(grid(tmp_path / "t"))
    assert len(summary.rows) == 6
    late, even = summary.group_rows
    assert (late.communicator, late.communicators, late.processes) == ("3 × MPI_Comm_split", 3, 3)
    assert (late.calls, late.whole) == (12, 12)
    assert late.delays_s == pytest.approx([0, 10 * US, 30 * US])
    assert late.spent_s == pytest.approx(sum(row.spent_s for row in summary.rows if row.skew.mean_s > 0))
    assert [(one.name, one.last_share) for one in late.latest_ranks] == [("2", 1.0), ("1", 0.0), ("0", 0.0)]
    assert [(one.name, one.last_share) for one in late.latest_nodes] == [
        ("node2", 1.0),
        ("node1", 1.0),
        ("node0", 1.0),
    ]
    assert late.latest_nodes[0].delay_s == pytest.approx((20 + 30) / 3 * US)
    assert even.skew.mean_s == 0


def test_names_distinguish_communicator_groups_and_name_them(tmp_path: Path) -> None:
    summary = summary_of(grid(tmp_path / "t", named=True))
    assert {row.communicator for row in summary.group_rows} == {"3 × rows", "3 × columns"}


def test_the_tables_show_communicator_groups_or_each_communicator(tmp_path: Path) -> None:
    summary = summary_of(grid(tmp_path / "t"))
    assert [len(table.rows) for table in tables(summary)] == [2, 2, 2]
    assert any("3 × MPI_Comm_split" in row for row in tables(summary)[0].rows)
    assert "--apart" in tables(summary)[0].notes[-1]
    assert [len(table.rows) for table in tables(summary, apart=True)] == [6, 6, 6]


def test_a_pattern_is_of_one_communicator(tmp_path: Path) -> None:
    summary = summary_of(grid(tmp_path / "t"))
    row = choose_row(summary, communicator=summary.rows[0].communicator)
    assert row.communicators == 1


def test_samples_are_evenly_spaced_calls_of_a_communicator_group(tmp_path: Path) -> None:
    trace = open_trace(grid(tmp_path / "t", calls=40))
    summary = summarise(trace)
    every, tenth = samples(trace, summary.group_rows), samples(trace, summary.group_rows, most_calls=12)
    assert [len(one.delays_s) for one in every] == [120, 120]
    assert [(len(one.delays_s), one.step) for one in tenth] == [(12, 10), (12, 10)]
    assert np.mean(every[0].delays_s, axis=0) == pytest.approx(summary.group_rows[0].delays_s)
    assert (np.diff(every[0].began_ns) >= 0).all()


def test_a_single_traced_rank_is_not_compared(tmp_path: Path) -> None:
    ranks = factory.files(4)
    ranks[2].call(1000, 9000)
    summary = summary_of(factory.write(tmp_path / "t", ranks[2:3]))
    (row,) = summary.rows
    assert not row.is_compared
    assert np.isnan(row.skew.mean_s) and np.isnan(row.last_delay.mean_s)
    assert len(row.delays_s) == 0
    assert row.spent_s == pytest.approx(8e-6)
    assert any("a single traced rank" in words for words in summary.notes)
    assert "waiting" not in " ".join(head(summary))
    assert tables(summary)[0].rows[0][-2:] == ["–", "–"]
    assert [len(table.rows) for table in tables(summary)] == [1, 0, 0]


def test_a_communicator_with_two_traced_ranks_is_compared_beside_one_with_one(tmp_path: Path) -> None:
    ranks = factory.files(4)
    for one in ranks:
        pair = [one.rank // 2 * 2, one.rank // 2 * 2 + 1]
        one.definitions.append(factory.communicator(3, pair, one.rank, parent=1))
        one.call(1000, 2000, communicator=3)
        one.call(3000, 4000)
    summary = summary_of(factory.write(tmp_path / "t", ranks[:3]))
    compared = {row.communicator_index: row.is_compared for row in summary.rows}
    assert sorted(compared.values()) == [False, True, True]
