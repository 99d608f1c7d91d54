"""Where a program's time goes by cause, and what would help more than tuning."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trace_factory import US, files, form, pattern_trace, summary_of, write

from offbeat.presentation.pictures.time_use import time_use_figure
from offbeat.tuning.pipeline.time_use import MOST_BARS, Use, helps, shown_uses, time_use

times = st.integers(0, 100)


def test_time_is_divided_by_collective_and_by_cause(tmp_path: Path) -> None:
    """Two ranks run for 1 ms: 100 µs of alltoall after 40 µs of waiting, and an allreduce that overlaps."""
    made = files(2)
    for one in made:
        one.header["ended_ns"] = 1_000_001
        late = 40 * US * one.rank
        one.call(100_001 + late, 240_001, function="MPI_Alltoall", address=0x400010)
        one.call(300_001, 310_001, function="MPI_Iallreduce", address=0x400020, sequence=1, flags=form.ISSUE)
        one.call(
            700_001, 750_001, function="MPI_Iallreduce", address=0x400020, sequence=1, flags=form.COMPLETION
        )
    use = time_use(summary_of(write(tmp_path, made)))
    assert use is not None
    alltoall, iallreduce = use.collectives
    assert (alltoall.name, iallreduce.name) == ("MPI_Alltoall", "MPI_Iallreduce")
    assert alltoall.tunable == pytest.approx(0.1)
    assert alltoall.waited == pytest.approx(0.02)
    assert alltoall.fixed == 0
    assert iallreduce.fixed == pytest.approx(0.06)
    assert (iallreduce.tunable, iallreduce.waited) == (0, 0)
    assert use.messages is None
    assert use.outside == pytest.approx(0.82)


@given(rows=st.lists(st.lists(times, min_size=3, max_size=3), min_size=1, max_size=4))
def test_the_shares_of_a_run_add_up(tmp_path_factory: pytest.TempPathFactory, rows: list[list[int]]) -> None:
    trace = pattern_trace(tmp_path_factory.mktemp("trace"), rows, operation_us=20)
    use = time_use(summary_of(trace))
    assert use is not None
    assert use.together.total + use.outside == pytest.approx(1)
    assert sum(one.waited for one in use.collectives) == pytest.approx(use.together.waited)
    ends_us = 1000 * (1 + len(rows))
    waited_us = sum(max(row) - delay for row in rows for delay in row) / 3
    assert use.together.waited == pytest.approx(waited_us / ends_us, rel=1e-3, abs=1e-6)


@given(shares=st.lists(st.tuples(*[st.floats(0, 0.01)] * 4), max_size=30))
def test_many_collectives_are_shown_as_a_few_bars_with_all_their_time(
    shares: list[tuple[float, float, float, float]],
) -> None:
    names = ("tunable", "waited", "fixed", "undivided")
    uses = [
        Use(name=f"MPI_{number}", **dict(zip(names, one, strict=True))) for number, one in enumerate(shares)
    ]
    shown = shown_uses(sorted(uses, key=lambda one: -one.total))
    assert len(shown) <= MOST_BARS
    for name in ("total", *names):
        total = sum(getattr(one, name) for one in uses)
        assert sum(getattr(one, name) for one in shown) == pytest.approx(total)


def test_what_helps_is_ranked_by_the_share_that_it_saves(tmp_path: Path) -> None:
    """Rank 1 is late by 300 µs before an allreduce; 120 small allreduces follow."""
    made = files(2)
    for one in made:
        one.header["ended_ns"] = 10_000_001
        one.call(1_000_001 + 300 * US * one.rank, 1_400_001, function="MPI_Alltoall", bytes=1 << 20)
        for number in range(120):
            begin = 2_000_001 + 20 * US * number
            one.call(begin, begin + 10 * US, address=0x400020, sequence=1 + number)
    first, second = helps(summary_of(write(tmp_path, made)))
    assert first.what.startswith("join calls of MPI_Allreduce of 8 B")
    assert first.share == pytest.approx(0.12 * 119 / 120)
    assert "120 small calls of 10 µs each" in first.why
    assert second.what.startswith("balance the work before MPI_Alltoall of 1 MiB")
    assert second.share == pytest.approx(0.015)
    assert "latest ranks: 1: 300 µs (100%)" in second.why


def test_what_delays_other_ranks_in_each_call_is_to_be_found_and_not_balanced(tmp_path: Path) -> None:
    made = files(2)
    for one in made:
        one.header["ended_ns"] = 10_000_001
        for number in range(20):
            is_late = number % 2 == one.rank
            begin = 1_000_001 + 400 * US * number
            one.call(begin + 300 * US * is_late, begin + 350 * US, sequence=number)
    (first, *_) = helps(summary_of(write(tmp_path, made)))
    assert first.what.startswith("find out what delays ranks before MPI_Allreduce of 8 B")
    assert "explain only 0% of the variance" in first.why


def test_a_program_without_collectives_has_nothing_that_helps(tmp_path: Path) -> None:
    made = files(2)
    for one in made:
        one.call(100, 200)
        one.header["ended_ns"] = 10**9
    assert helps(summary_of(write(tmp_path, made))) == []


def test_the_picture_names_collectives_and_the_whole_run(tmp_path: Path) -> None:
    use = time_use(summary_of(pattern_trace(tmp_path, [[0, 30, 10]], operation_us=100)))
    assert use is not None
    figure = time_use_figure(use, "app on 3 ranks")
    names = [label.get_text() for axes in figure.axes for label in axes.get_yticklabels()]
    assert names == ["whole run", "MPI_Allreduce"]
    width, height = figure.get_size_inches()
    assert height < width
