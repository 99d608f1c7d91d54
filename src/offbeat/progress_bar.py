"""The progress of long work, on standard error: a bar on a terminal, otherwise a line every few seconds."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

SECONDS_BETWEEN_LINES = 10.0


class ProgressBar:
    """A context manager that shows a bar and removes it at the end; progress listeners derive from it.

    ``activity`` is the first description. ``counts`` shows how many pieces of the total are done.
    """

    def __init__(self, activity: str, console: Console | None = None, *, counts: bool = True) -> None:
        self._console = console or Console(stderr=True)
        self._bar: Progress | None = None
        self._started = self._last_line = time.monotonic()
        if self._console.is_terminal:
            description = TextColumn("{task.description}", markup=False)
            detail = TextColumn("{task.fields[detail]}", markup=False)
            count = (MofNCompleteColumn(),) if counts else ()
            columns = (description, BarColumn(), *count, TimeRemainingColumn(), detail)
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._task = self._bar.add_task(activity, total=None, detail="")

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
        """Whether there is a terminal to draw the bar on."""
        return self._bar is not None

    def elapsed_s(self) -> float:
        """Seconds since :meth:`restart`, or since the bar was created."""
        return time.monotonic() - self._started

    def restart(self, done: int, total: int) -> None:
        """Start counting at ``done``: the remaining time is estimated from the pieces done from now on."""
        self._started = time.monotonic()
        if self._bar:
            self._bar.reset(self._task, completed=done, total=total)

    def update(
        self,
        *,
        activity: str | None = None,
        done: int | None = None,
        total: int | None = None,
        detail: str = "",
    ) -> None:
        """Redraw the bar, if it is drawn; arguments left out stay as they were, except for ``detail``."""
        if self._bar:
            self._bar.update(self._task, description=activity, completed=done, total=total, detail=detail)

    def print_periodically(self, text: str, *, last: bool = False) -> None:
        """Without a bar: print a line if SECONDS_BETWEEN_LINES have passed or it is the last one."""
        now = time.monotonic()
        if not self._bar and (last or now - self._last_line >= SECONDS_BETWEEN_LINES):
            self._last_line = now
            self.print(text)

    def print(self, text: str) -> None:
        """Print a line, with a bar or without."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)
