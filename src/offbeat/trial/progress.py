"""Showing how a trial goes on: a bar on a terminal, a line a run elsewhere."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from offbeat.trial.journal import Run
from offbeat.units import format_time


class TrialProgress:
    """Hears of every run, on standard error; a context manager."""

    def __init__(self, done: int, total: int, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False, soft_wrap=True)
        self._bar: Progress | None = None
        if self._console.is_terminal:
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
            self._bar = Progress(*columns, TimeRemainingColumn(), console=self._console, transient=True)
            self._task = self._bar.add_task("running", total=total, completed=done)

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def told(self, run: Run) -> None:
        """A run has ended."""
        time = "failed" if run.time_s is None else format_time(run.time_s, 4)
        self._console.print(f"round {run.round + 1}: {run.choice} {time}", markup=False)
        if self._bar:
            self._bar.advance(self._task)
