"""Showing how a trial goes on."""

from __future__ import annotations

from rich.console import Console

from offbeat.progress_bar import ProgressBar
from offbeat.trial.journal import Run
from offbeat.units import format_time


class TrialProgress(ProgressBar):
    """Hears of every run, and says how long it took; a context manager."""

    def __init__(self, done: int, total: int, console: Console | None = None) -> None:
        super().__init__("running", console)
        self._done = done
        self.restart(done, total)

    def told(self, run: Run) -> None:
        """A run has ended."""
        time = "failed" if run.time_s is None else format_time(run.time_s, 4)
        self.print(f"round {run.round + 1}: {run.choice} {time}")
        self._done += 1
        self.update(done=self._done)
