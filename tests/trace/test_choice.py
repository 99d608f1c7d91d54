"""The default selection of calls: those to tune first, and none that other commands refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trace_factory as factory
from typer.testing import CliRunner

from offbeat.base.errors import BadInput
from offbeat.cli.trace import app
from offbeat.presentation.pages.trace import drawn_rows
from offbeat.trace.calls.call_site_stats import description_of
from offbeat.trace.files import format as form
from offbeat.trace.files.trace_folder import open_trace
from offbeat.trace.recommendation import choose_row, sentence
from offbeat.trace.summary import Summary, summarise

US = 1000
ALLTOALL, BCAST, LATER = (factory.CODE + offset for offset in (0x10, 0x20, 0x30))


def summary_of(folder: Path, ranks: list[factory.MadeFile]) -> Summary:
    return summarise(open_trace(factory.write(folder, ranks)))


def starts(one: factory.MadeFile, number: int, taking: int, **values: Any) -> None:
    """Starts of a persistent allreduce, with the given time until completion."""
    for place in range(number):
        at = 10_000_000 * (place + 1)
        chosen = {"function": "MPI_Allreduce_init", "sequence": 0, "round": place + 1, **values}
        one.call(at, at + 10, flags=form.START, **chosen)
        one.call(at + 20, at + taking, flags=form.COMPLETION | 1 << form.BY_SHIFT, **chosen)


def test_a_persistent_collective_is_never_the_default_selection(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        starts(one, 3, 9_000_000)
        one.call(100, 100 + 5 * US, sequence=1, function="MPI_Alltoall", address=ALLTOALL)
    summary = summary_of(tmp_path / "t", ranks)
    assert choose_row(summary).function == "MPI_Alltoall"
    assert choose_row(summary, collective="allreduce").kind == "persistent"


def test_tunable_calls_come_first_among_the_selected_ones(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        starts(one, 3, 9_000_000)
        one.call(100, 100 + 5 * US, sequence=1)
    assert choose_row(summary_of(tmp_path / "t", ranks), collective="allreduce").kind == "blocking"


def test_the_default_call_site_belongs_to_the_recommended_calls(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        for number, (function, address, taking) in enumerate(
            [("MPI_Bcast", BCAST, 60), ("MPI_Alltoall", ALLTOALL, 50), ("MPI_Alltoall", LATER, 40)]
        ):
            at = 1_000_000 * (number + 1)
            one.call(at, at + taking * US, sequence=number, function=function, address=address)
    summary = summary_of(tmp_path / "t", ranks)
    assert "MPI_Alltoall" in sentence(summary)
    row = choose_row(summary)
    assert (row.function, row.site) == ("MPI_Alltoall", "app+0x1010")


def test_without_tunable_calls_the_sites_are_listed_and_none_is_selected(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        starts(one, 2, 9_000)
    summary = summary_of(tmp_path / "t", ranks)
    with pytest.raises(BadInput) as refused:
        choose_row(summary)
    assert "; choose with --collective" in str(refused.value)
    assert description_of(choose_row(summary, site="app")) in str(refused.value)


def test_constructors_cannot_be_selected(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        one.call(100, 200, function="MPI_Comm_split")
    with pytest.raises(BadInput, match="has no calls on two or more traced ranks"):
        choose_row(summary_of(tmp_path / "t", ranks))


def test_the_command_says_that_it_used_the_recommended_calls(tmp_path: Path) -> None:
    folder = factory.pattern_trace(tmp_path / "t", [[0, 10, 30]])
    unasked = CliRunner().invoke(app, ["pattern", str(folder)], catch_exceptions=False)
    assert "on MPI_COMM_WORLD, the calls to tune first\n" in unasked.stderr
    asked = CliRunner().invoke(app, ["pattern", str(folder), "--site", "app"], catch_exceptions=False)
    assert "tune first" not in asked.stderr


def test_pictures_and_their_commands_are_of_calls_that_can_be_chosen(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        one.call(100, 900_000, function="MPI_Comm_split")
        one.call(1_000_000, 1_000_000 + 5 * US, sequence=1)
    assert [row.function for row in drawn_rows(summary_of(tmp_path / "t", ranks))] == ["MPI_Allreduce"]
