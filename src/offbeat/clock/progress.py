"""Showing how a check goes on: a bar on a terminal, plain lines elsewhere; on standard error."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from offbeat.clock.wanted import Step

SECONDS_BETWEEN_LINES = 10.0


class CheckProgress:
    """Hears a check (:class:`offbeat.clock.run.Told`); a context manager."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False, soft_wrap=True)
        self._done = self._total = 0
        self._last_line = time.monotonic()
        self._bar: Progress | None = None
        if self._console.is_terminal:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
            )
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._task = self._bar.add_task("asking the library", total=None)

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def say(self, what: str) -> None:
        """Something that takes its time."""
        self._console.print(what, markup=False)

    def doing(self, what: str) -> None:
        """What is being done now; without a terminal, nobody waits for it."""
        if self._bar:
            self._bar.update(self._task, description=what)

    def warn(self, sentence: str) -> None:
        """A warning."""
        self._console.print(f"warning: {sentence}", markup=False)

    def begin(self, done: int, total: int) -> None:
        """Measuring begins."""
        self._done, self._total = done, total
        if done:
            self._console.print(f"{done} of {total} steps are there already", markup=False)
        if self._bar:
            self._bar.update(self._task, completed=done, total=total)

    def finished(self, step: Step, failure: str) -> None:
        """A step is on disk."""
        self._done += 1
        if failure:
            self._console.print(f"failed: {step.id}: {failure}", markup=False)
        if self._bar:
            self._bar.update(self._task, completed=self._done)
        elif time.monotonic() - self._last_line > SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            self._console.print(f"{self._done} of {self._total} steps", markup=False)
