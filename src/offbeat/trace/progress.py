"""Progress of reading a trace."""

from __future__ import annotations

from rich.console import Console

from offbeat.progress_bar import ProgressBar


class ReadProgress(ProgressBar):
    """Shows how many records were read; a context manager."""

    def __init__(self, doing: str, console: Console | None = None) -> None:
        super().__init__(doing, console, counts=False)
        self._doing = doing

    def show_records(self, done: int, most: int) -> None:
        """Show the number of records so far and its upper limit."""
        rate = done / max(self.elapsed_s(), 1e-9) / 1e6
        text = f"{done / 1e6:.1f} million records, {rate:.1f} million/s"
        self.update(done=done, total=max(most, 1), detail=text)
        self.print_periodically(f"{self._doing}: {done} records, {done / max(most, 1):.0%}")
