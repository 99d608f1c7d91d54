"""Showing how the reading of a trace goes on."""

from __future__ import annotations

from rich.console import Console

from offbeat.bar import Bar


class ReadProgress(Bar):
    """Hears how many records were read; a context manager."""

    def __init__(self, doing: str, console: Console | None = None) -> None:
        super().__init__(doing, console, counts=False)
        self._doing = doing

    def update(self, done: int, most: int) -> None:
        """So many records were read, of so many at most."""
        rate = done / max(self.seconds(), 1e-9) / 1e6
        words = f"{done / 1e6:.1f} million records, {rate:.1f} million/s"
        self.draw(done=done, total=max(most, 1), words=words)
        self.line(f"{self._doing}: {done} records, {done / max(most, 1):.0%}")
