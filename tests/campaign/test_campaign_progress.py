"""The progress that a campaign shows."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console
from squares import Square, open_squares, square

from offbeat.base import progress_bar
from offbeat.base.campaign.progress import CampaignProgress
from offbeat.base.campaign.steps import run_steps


class SquareProgress(CampaignProgress):
    def report_record(self, record: Square) -> None:
        self.advance()


def shown(directory: Path, count: int, *, terminal: bool = False) -> str:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=100)
    with (
        SquareProgress(console, "compute") as progress,
        open_squares(directory) as campaign,
    ):
        progress.warn("the numbers are small")
        progress.warn("the numbers are small")
        run_steps(campaign, {number: number for number in range(count)}, square, progress)
    return stream.getvalue()


def test_without_a_terminal_progress_is_a_line_at_the_beginning_and_one_at_the_end(tmp_path: Path) -> None:
    lines = ["warning: the numbers are small", "2 of 2 steps to compute", "2 of 2 steps"]
    assert shown(tmp_path, 2).splitlines() == lines
    lines = ["warning: the numbers are small", "4 of 6 steps to compute", "6 of 6 steps"]
    assert shown(tmp_path, 6).splitlines() == lines


def test_the_remaining_time_is_forecast_from_the_steps_of_this_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_bar, "SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setattr(CampaignProgress, "elapsed_s", lambda self: 50.0)
    lines = shown(tmp_path, 6).splitlines()
    assert lines[-3:] == ["4 of 6 steps", "5 of 6 steps, about 10 s left", "6 of 6 steps"]


def test_a_total_that_grows_is_shown_as_a_lower_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_bar, "SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setattr(CampaignProgress, "elapsed_s", lambda self: 60.0)
    stream = io.StringIO()
    with CampaignProgress(Console(file=stream), unit="blocks") as progress:
        progress.begin(0, 7)
        for left in (6, 5, 4, 3, 2, 2, 1, 0):
            progress.advance(left)
    assert stream.getvalue().splitlines()[5:] == [
        "5 of 7 blocks, about 24 s left",
        "6 of at least 8 blocks, at least 20 s left",
        "7 of at least 8 blocks, at least 9 s left",
        "8 of 8 blocks",
    ]


def test_on_a_terminal_a_bar_is_drawn_and_removed(tmp_path: Path) -> None:
    text = shown(tmp_path, 6, terminal=True)
    assert "warning: the numbers are small" in text
    assert "6 of 6 steps" not in text
