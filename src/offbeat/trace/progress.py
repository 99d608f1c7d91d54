"""Showing how the reading of a trace goes on: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

SECONDS_BETWEEN_LINES = 10.0


class ReadProgress:
    """Hears how many records were read, on standard error; a context manager."""

    def __init__(self, doing: str, console: Console | None = None) -> None:
        self._doing = doing
        self._console = console or Console(stderr=True, highlight=False, soft_wrap=True)
        self._began = self._last_line = time.monotonic()
        self._bar: Progress | None = None
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[records]}"),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            self._task = self._bar.add_task(doing, total=None, records="")

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def told(self, done: int, most: int) -> None:
        """So many records were read, of so many at most."""
        now = time.monotonic()
        if self._bar:
            rate = done / max(now - self._began, 1e-9) / 1e6
            words = f"{done / 1e6:.1f} million records, {rate:.1f} million/s"
            self._bar.update(self._task, completed=done, total=max(most, 1), records=words)
        elif now - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = now
            share = done / max(most, 1)
            self._console.print(f"{self._doing}: {done} records, {share:.0%}", markup=False)
