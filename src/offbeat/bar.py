"""How long work goes on: a bar on a terminal, a line now and then elsewhere; on standard error."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

SECONDS_BETWEEN_LINES = 10.0


class Bar:
    """A bar that is gone when the work is over; a context manager. What hears of some work derives from it.

    ``doing`` is what is done first. ``counts`` shows how many pieces are done, of how many.
    """

    def __init__(self, doing: str, console: Console | None = None, *, counts: bool = True) -> None:
        self._console = console or Console(stderr=True)
        self._bar: Progress | None = None
        self._began = self._last_line = time.monotonic()
        if self._console.is_terminal:
            what = TextColumn("{task.description}", markup=False)
            words = TextColumn("{task.fields[words]}", markup=False)
            number = (MofNCompleteColumn(),) if counts else ()
            columns = (what, BarColumn(), *number, TimeRemainingColumn(), words)
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._task = self._bar.add_task(doing, total=None, words="")

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    @property
    def is_drawn(self) -> bool:
        """Whether there is a terminal to draw it on."""
        return self._bar is not None

    def seconds(self) -> float:
        """Since counting began."""
        return time.monotonic() - self._began

    def count_from(self, done: int, total: int) -> None:
        """Counting begins: what is left is worked out from how long the next pieces take."""
        self._began = time.monotonic()
        if self._bar:
            self._bar.reset(self._task, completed=done, total=total)

    def draw(
        self, *, doing: str | None = None, done: int | None = None, total: int | None = None, words: str = ""
    ) -> None:
        """Draw it anew, where it is drawn at all; what is not given stays, except for ``words`` behind it."""
        if self._bar:
            self._bar.update(self._task, description=doing, completed=done, total=total, words=words)

    def line(self, text: str, *, last: bool = False) -> None:
        """A line where no bar is drawn: not more often than every few seconds, but for the last one."""
        now = time.monotonic()
        if not self._bar and (last or now - self._last_line >= SECONDS_BETWEEN_LINES):
            self._last_line = now
            self.print(text)

    def print(self, text: str) -> None:
        """A line, with a bar or without."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)
