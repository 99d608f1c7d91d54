"""Showing how a run goes on: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from offbeat.study.case import Case

SECONDS_BETWEEN_LINES = 10.0
ENOUGH_TO_FORECAST = 5
"""Cases to have measured before their mean time says anything about the others."""


class RunProgress:
    """Hears a run (:class:`offbeat.engines.run.Told`) and shows it on standard error; a context manager.

    ``doing`` says what is done to the cases. ``counts`` has the number of cases of this run by status.
    """

    def __init__(self, console: Console | None = None, doing: str = "measure") -> None:
        self._doing = doing
        self.counts: dict[str, int] = {}
        self._console = console or Console(stderr=True)
        self._bar: Progress | None = None
        self._total = self._done = 0
        self._began = self._last_line = time.monotonic()
        self._done_before = 0
        self._messages = 0
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[rate]}"),
                console=self._console,
                transient=True,
            )
            self._task = self._bar.add_task("asking the library", total=None, rate="")

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
        """What is being done now."""
        if self._bar:
            self._bar.update(self._task, description=what[:50].ljust(50))
        elif self._total == 0:
            self._line(what)

    def warn(self, sentence: str) -> None:
        """Something that the user must know to judge the numbers."""
        self._print(f"warning: {sentence}")

    def begin(self, done: int, total: int) -> None:
        """Measuring begins."""
        self._total, self._done, self._done_before = total, done, done
        self._began = time.monotonic()
        if self._bar:
            self._bar.reset(self._task, total=total, completed=done)
        else:
            self._print(f"{total - done} of {total} cases to {self._doing}")

    def simulated(self, messages: int) -> None:
        """So many more messages were simulated."""
        self._messages += messages
        if self._bar:
            self._bar.update(self._task, rate=self.rate().removeprefix(", "))

    def finished(self, case: Case, status: str) -> None:
        """A case is on disk."""
        self._done += 1
        self.counts[status] = self.counts.get(status, 0) + 1
        if self._bar:
            self._bar.update(self._task, completed=self._done)
        else:
            self._line(f"{self._done} of {self._total} cases{self._left()}{self.rate()}")

    def rate(self) -> str:
        """How fast messages are simulated: ``, 12.3 million messages/s``; empty where none are."""
        seconds = time.monotonic() - self._began
        if not self._messages or seconds <= 0:
            return ""
        return f", {self._messages / seconds / 1e6:.3g} million messages/s"

    def _left(self) -> str:
        here = self._done - self._done_before
        if here < ENOUGH_TO_FORECAST:
            return ""
        seconds = (time.monotonic() - self._began) / here * (self._total - self._done)
        return f", about {seconds:.0f} s left" if seconds >= 1 else ""

    def _line(self, text: str) -> None:
        """A line, but not more often than every few seconds, and always the last one."""
        now = time.monotonic()
        if now - self._last_line >= SECONDS_BETWEEN_LINES or (self._total and self._done == self._total):
            self._last_line = now
            self._print(text)

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)
