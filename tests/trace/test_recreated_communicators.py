"""Communicators that a program re-creates are one row, one call site and one pattern."""

from __future__ import annotations

import re
import shlex
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trace_factory as factory
from typer.testing import CliRunner

from offbeat.base.errors import BadInput
from offbeat.cli.trace import app
from offbeat.model.pattern import pattern_file
from offbeat.trace.calls.arrivals import collect, samples
from offbeat.trace.files.trace_folder import Trace, open_trace
from offbeat.trace.patterns import call_pattern, cluster_patterns, mean_pattern, recorded_calls
from offbeat.trace.recommendation import choose_row
from offbeat.trace.summary import Summary, summarise
from offbeat.trace.summary_tables import tables

US = 1e-6
STEP_NS = 1_000_000


def steps(folder: Path, number: int, *, calls: int = 2, names: bool = False) -> Path:
    """In each time step, four ranks create a communicator, call on it, and free it; rank 3 is late by
    a microsecond more in every call."""
    ranks = factory.files(4)
    for one in ranks:
        one.header["ended_ns"] = STEP_NS * (number + 2)
        for step in range(number):
            identity = 3 + step
            one.definitions.append(
                factory.communicator(identity, range(4), one.rank, ordinal=1 + step, parent=1)
            )
            if names:
                one.definitions.append(factory.name(identity, f"step {step}"))
            for call in range(calls):
                begin = STEP_NS * (1 + step) + 100_000 * call
                late = 1000 * (step * calls + call) * (one.rank == 3)
                one.call(begin + late, begin + 90_000, sequence=call, communicator=identity)
    return factory.write(folder, ranks)


def opened(folder: Path) -> tuple[Trace, Summary]:
    trace = open_trace(folder)
    return trace, summarise(trace)


def test_communicators_of_every_time_step_are_one_row_with_their_number(tmp_path: Path) -> None:
    _, summary = opened(steps(tmp_path / "t", 10))
    assert len(summary.rows) == len(summary.group_rows) == 1
    (row,) = summary.rows
    assert (row.communicators, row.calls, row.whole, row.all_bytes) == (10, 20, 20, 4 * 8 * 20)
    assert row.communicator == "10 × communicator 2 (MPI_Comm_split)"
    assert row.skew.mean_s == pytest.approx(9.5 * US)
    assert row.total_delay.mean_s == pytest.approx(90 * US)
    assert row.last_delay.mean_s == pytest.approx((90 - 9.5) * US)
    assert row.delays_s == pytest.approx([0, 0, 0, 9.5 * US])
    assert [len(table.rows) for table in tables(summary)] == [1, 1, 1]


def test_a_pattern_and_a_replay_use_all_recreated_communicators_in_order_of_time(tmp_path: Path) -> None:
    trace, summary = opened(steps(tmp_path / "t", 10))
    row = choose_row(summary)
    arrivals = collect(trace, row)
    assert mean_pattern(summary, row).delays_s[3] == pytest.approx(9.5 * US)
    replay = recorded_calls(summary, arrivals)
    assert replay.delays_s[:, 3] == pytest.approx(np.arange(20) * US)
    assert call_pattern(summary, arrivals, 17).delays_s[3] == pytest.approx(17 * US)
    ((_, cluster),) = cluster_patterns(summary, arrivals)
    assert len(cluster.calls) == 20


def test_thinned_calls_on_recreated_communicators_are_numbered_in_order_of_time(tmp_path: Path) -> None:
    trace, summary = opened(steps(tmp_path / "t", 10))
    arrivals = collect(trace, choose_row(summary), most_values=40)
    assert arrivals.step == 2
    assert arrivals.delays_s[:, 3] == pytest.approx(arrivals.number * US)


def test_calls_that_alternate_between_recreated_communicators_are_numbered_in_order_of_time(
    tmp_path: Path,
) -> None:
    ranks = factory.files(2)
    for one in ranks:
        one.definitions += [
            factory.communicator(3 + turn, range(2), one.rank, ordinal=1 + turn, parent=1)
            for turn in range(2)
        ]
        for number in range(20):
            begin, (sequence, turn) = STEP_NS * (1 + number), divmod(number, 2)
            one.call(
                begin + 1000 * number * one.rank, begin + 90_000, sequence=sequence, communicator=3 + turn
            )
    trace, summary = opened(factory.write(tmp_path / "t", ranks))
    for most_values, step in ((100, 1), (20, 2), (10, 4)):
        arrivals = collect(trace, choose_row(summary), most_values=most_values)
        assert arrivals.step == step
        assert arrivals.delays_s[:, 1] == pytest.approx(arrivals.number * US)


def test_persistent_starts_on_recreated_communicators_are_one_row(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        for step in range(5):
            again = factory.communicator(3 + step, range(2), one.rank, ordinal=1 + step, parent=1)
            one.definitions.append(again)
            at = STEP_NS * (step + 1)
            chosen: dict[str, Any] = {"communicator": 3 + step, "function": "MPI_Allreduce_init", "round": 1}
            one.call(at, at + 1000, flags=factory.form.START, **chosen)
            done = factory.form.COMPLETION | 1 << factory.form.BY_SHIFT
            one.call(at + 2000, at + 3000, flags=done, **chosen)
    _, summary = opened(factory.write(tmp_path / "t", ranks))
    assert [(row.kind, row.calls, row.communicators) for row in summary.rows] == [("persistent", 5, 5)]


def test_children_of_recreated_communicators_are_recreated_communicators(tmp_path: Path) -> None:
    ranks = factory.files(4)
    for one in ranks:
        half = [0, 1] if one.rank < 2 else [2, 3]
        for step in range(6):
            outer, inner = 3 + 2 * step, 4 + 2 * step
            one.definitions.append(
                factory.communicator(outer, range(4), one.rank, ordinal=1 + step, parent=1)
            )
            one.definitions.append(factory.communicator(inner, half, one.rank, ordinal=step, parent=outer))
            one.call(STEP_NS * (step + 1), STEP_NS * (step + 1) + 1000, communicator=inner)
    _, summary = opened(factory.write(tmp_path / "t", ranks))
    assert [row.communicators for row in summary.rows] == [6, 6]
    (together,) = summary.group_rows
    assert (together.communicator, together.communicators) == ("12 × MPI_Comm_split", 12)
    assert together.calls == 12


def test_samples_for_pictures_are_from_all_recreated_communicators(tmp_path: Path) -> None:
    trace, summary = opened(steps(tmp_path / "t", 10))
    (sample,) = samples(trace, summary.group_rows)
    assert sample.delays_s[:, 3] == pytest.approx(np.arange(20) * US)


def test_recreated_communicators_can_be_selected_by_their_label(tmp_path: Path) -> None:
    _, summary = opened(steps(tmp_path / "t", 10))
    for words in ("10 × communicator 2 (MPI_Comm_split)", "communicator 2 (MPI_Comm_split)"):
        assert choose_row(summary, communicator=words) is summary.rows[0]


def test_the_page_has_the_command_for_the_pattern_of_recreated_communicators(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = steps(tmp_path / "t", 10)
    CliRunner().invoke(app, ["report", str(folder)], catch_exceptions=False)
    (line,) = re.findall("offbeat trace (pattern [^<]*)", unescape((tmp_path / "t.html").read_text()))
    CliRunner().invoke(app, shlex.split(line), catch_exceptions=False)
    assert pattern_file.read(tmp_path / "allreduce-8B.txt", 4).delays_s[3] == pytest.approx(9.5 * US)


def test_names_ranks_and_parents_distinguish_communicators(tmp_path: Path) -> None:
    _, summary = opened(steps(tmp_path / "named", 3, names=True))
    assert sorted(row.communicator for row in summary.rows) == ["step 0", "step 1", "step 2"]
    ranks = factory.files(4)
    for one in ranks:
        pair = [0, 1] if one.rank < 2 else [2, 3]
        one.definitions.append(factory.communicator(3, pair, one.rank, parent=1))
        one.definitions.append(factory.communicator(4, pair, one.rank, ordinal=1, parent=3))
        one.call(1000, 2000, communicator=3)
        one.call(3000, 4000, communicator=4)
    _, summary = opened(factory.write(tmp_path / "parents", ranks))
    assert [row.communicators for row in summary.rows] == [1, 1, 1, 1]


def dups(folder: Path, called: list[tuple[int, int]], number: int = 2) -> Path:
    """Two ranks copy MPI_COMM_WORLD several times; each call has a site and is on one of the copies."""
    ranks = factory.files(2)
    for one in ranks:
        for copy in range(number):
            one.definitions.append(
                factory.communicator(3 + copy, range(2), one.rank, ordinal=1 + copy, parent=1)
            )
        for place, (site, copy) in enumerate(called):
            begin = STEP_NS * (1 + place)
            one.call(
                begin + 1000 * one.rank,
                begin + 90_000,
                sequence=place,
                communicator=3 + copy,
                address=factory.CODE + 0x10 * (1 + site),
            )
    return factory.write(folder, ranks)


def test_a_row_counts_and_names_the_communicators_that_its_calls_were_on(tmp_path: Path) -> None:
    _, summary = opened(dups(tmp_path / "t", [(0, 0), (1, 1), (0, 0), (1, 1), (2, 0), (2, 1)]))
    for rows in (summary.rows, summary.group_rows):
        communicators_of = {row.site: (row.communicators, row.communicator) for row in rows}
        assert communicators_of == {
            "app+0x1010": (1, "communicator 2 (MPI_Comm_split)"),
            "app+0x1020": (1, "communicator 3 (MPI_Comm_split)"),
            "app+0x1030": (2, "2 × communicator 2 (MPI_Comm_split)"),
        }


def test_only_recreated_communicators_with_calls_count(tmp_path: Path) -> None:
    _, summary = opened(dups(tmp_path / "t", [(0, copy) for copy in range(0, 1000, 100)] * 2, number=1000))
    assert [(row.communicators, row.calls) for row in summary.rows] == [(10, 20)]
    _, again = opened(tmp_path / "t")
    small = summarise(open_trace(tmp_path / "t"), most_records=2)
    assert [row.communicators for row in small.rows] == [row.communicators for row in again.rows]


def test_each_recreated_communicator_with_calls_selects_its_row(tmp_path: Path) -> None:
    trace, summary = opened(dups(tmp_path / "t", [(0, 0), (0, 2), (1, 2)], number=4))
    first, second = (next(row for row in summary.rows if row.site == f"app+0x10{n}0") for n in (1, 2))
    named = [one.label for one in trace.communicators.table if one.constructor]
    assert choose_row(summary, communicator=named[0]) is first
    assert choose_row(summary, site="1010", communicator=named[2]) is first
    assert choose_row(summary, site="1020", communicator=named[2]) is second
    for words in (named[1], named[3]):
        with pytest.raises(BadInput, match=r"no such calls; there are: .* on 2 × communicator"):
            choose_row(summary, communicator=words)


def test_a_thousand_recreated_communicators_are_one_row(tmp_path: Path) -> None:
    _, summary = opened(steps(tmp_path / "t", 1000, calls=1))
    assert [(row.communicators, row.calls) for row in summary.rows] == [(1000, 1000)]
