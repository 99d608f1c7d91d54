"""The progress of long work, on standard error: a bar on a terminal, otherwise a line every few seconds.

In a notebook, the bar and the lines are outputs of the cell.
"""

from __future__ import annotations

import html
import importlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

SECONDS_BETWEEN_LINES = 10.0
SECONDS_BETWEEN_DRAWINGS = 0.2
"""In a notebook, where each drawing is a message to the browser."""


_LINES: ContextVar[Console | None] = ContextVar("lines of progress", default=None)


@contextmanager
def redirect_lines(console: Console) -> Iterator[None]:
    """Print the lines of all progress to a console, such as that of a log file; bars stay where they are."""
    token = _LINES.set(console)
    try:
        yield
    finally:
        _LINES.reset(token)


class _NotebookBar:
    """A bar in the output of a notebook's cell, drawn as rich's Progress draws one on a terminal.

    It needs IPython alone, which every notebook has, unlike rich's own, which needs ipywidgets.
    """

    def __init__(self, activity: str, *, counts: bool) -> None:
        self._counts = counts
        self._description, self._detail = activity, ""
        self._done_count, self._total = 0, 0
        self._handle: Any = None
        self._last_drawing = 0.0

    def start(self) -> None:
        """Show the bar."""
        display: Any = importlib.import_module("IPython.display")
        self._handle = display.display(display.HTML(self._html()), display_id=True)

    def stop(self) -> None:
        """Remove the bar."""
        self._draw("")

    def reset(self, _: object, *, completed: int, total: int) -> None:
        """Begin at ``completed`` of ``total``."""
        self.update(_, completed=completed, total=total)

    def update(
        self,
        _: object,
        *,
        description: str | None = None,
        completed: int | None = None,
        total: int | None = None,
        detail: str = "",
    ) -> None:
        """Change what is given, and draw the bar if the last drawing is long enough ago."""
        self._description = self._description if description is None else description
        self._done_count = self._done_count if completed is None else completed
        self._total = self._total if total is None else total
        self._detail = detail
        now = time.monotonic()
        if now - self._last_drawing >= SECONDS_BETWEEN_DRAWINGS:
            self._last_drawing = now
            self._draw(self._html())

    def _draw(self, text: str) -> None:
        if self._handle is not None:
            display: Any = importlib.import_module("IPython.display")
            self._handle.update(display.HTML(text))

    def _html(self) -> str:
        attributes = f' max="{self._total}" value="{self._done_count}"' if self._total else ""
        count = f"{self._done_count} of {self._total}" if self._total and self._counts else ""
        texts = [html.escape(text.strip()) for text in (count, self._detail, self._description)]
        return f"<progress{attributes}></progress> {' · '.join(filter(None, texts))}"


class ProgressBar:
    """A context manager that shows a bar and removes it at the end; progress listeners derive from it.

    ``activity`` is the first description. ``counts`` shows how many pieces of the total are done.
    """

    def __init__(self, activity: str, console: Console | None = None, *, counts: bool = True) -> None:
        self._console = console or Console(stderr=True)
        self._bar: Progress | _NotebookBar | None = None
        self._task: Any = None
        self._start_s = self._last_line = time.monotonic()
        if self._console.is_jupyter:
            self._bar = _NotebookBar(activity, counts=counts)
        elif self._console.is_terminal:
            description = TextColumn("{task.description}", markup=False)
            detail = TextColumn("{task.fields[detail]}", markup=False)
            count = (MofNCompleteColumn(),) if counts else ()
            columns = (description, BarColumn(), *count, TimeRemainingColumn(), detail)
            bar = Progress(*columns, console=self._console, transient=True)
            self._task = bar.add_task(activity, total=None, detail="")
            self._bar = bar

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
        return time.monotonic() - self._start_s

    def restart(self, done_count: int, total: int) -> None:
        """Restart at ``done_count`` steps: the remaining time is estimated from the steps from now on."""
        self._start_s = time.monotonic()
        if self._bar:
            self._bar.reset(self._task, completed=done_count, total=total)

    def update(
        self,
        *,
        activity: str | None = None,
        done_count: int | None = None,
        total: int | None = None,
        detail: str = "",
    ) -> None:
        """Redraw the bar, if it is drawn; arguments left out stay as they were, except for ``detail``."""
        if self._bar:
            self._bar.update(
                self._task, description=activity, completed=done_count, total=total, detail=detail
            )

    def print_periodically(self, text: str, *, last: bool = False) -> None:
        """Without a bar: print a line if SECONDS_BETWEEN_LINES have passed or it is the last one."""
        now = time.monotonic()
        if not self._bar and (last or now - self._last_line >= SECONDS_BETWEEN_LINES):
            self._last_line = now
            self.print(text)

    def print(self, text: str) -> None:
        """Print a line, with a bar or without."""
        console = _LINES.get() or self._console
        console.print(text, markup=False, highlight=False, soft_wrap=True)
