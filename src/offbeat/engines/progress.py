"""Showing how a run goes on."""

from __future__ import annotations

from rich.console import Console

from offbeat.progress_bar import ProgressBar
from offbeat.results.layout import UNFINISHED_CASE
from offbeat.study.case import Case
from offbeat.table import MAX_NOTES

ENOUGH_TO_FORECAST = 5
"""Cases to have measured before their mean time says anything about the others."""


class RunProgress(ProgressBar):
    """Hears a run (:class:`offbeat.engines.run.Told`); a context manager.

    ``doing`` says what is done to the cases. ``counts`` has the number of cases of this run by status.
    Of the warnings ten are printed unless ``all_notes``; all are in ``warnings``.
    """

    def __init__(
        self, console: Console | None = None, doing: str = "measure", *, all_notes: bool = False
    ) -> None:
        super().__init__("asking the library", console)
        self._doing = doing
        self._all_notes = all_notes
        self.warnings: list[str] = []
        self.counts: dict[str, int] = {}
        self._total = self._done = self._done_before = 0
        self._unit = "cases"
        self._messages = 0

    def say(self, what: str) -> None:
        """What is being done now."""
        self.update(activity=what[:50].ljust(50), detail=self.rate())
        if self._total == 0:
            self.print_periodically(what)

    def warn(self, sentence: str) -> None:
        """Something that the user must know to judge the numbers."""
        if sentence in self.warnings:
            return
        self.warnings.append(sentence)
        if self._all_notes or len(self.warnings) <= MAX_NOTES:
            self.print(f"warning: {sentence}")
        elif len(self.warnings) == MAX_NOTES + 1:
            self.print("more warnings follow: --notes prints all of them")

    def begin(self, done: int, total: int, unit: str = "cases") -> None:
        """Measuring begins."""
        self._total, self._done, self._done_before, self._unit = total, done, done, unit
        self.restart(done, total)
        if not self.is_drawn:
            self.print(f"{total - done} of {total} {unit} to {self._doing}")

    def simulated(self, messages: int) -> None:
        """So many more messages were simulated."""
        self._messages += messages
        self.update(detail=self.rate())

    def finished(self, case: Case, status: str, left: int | None = None) -> None:
        """A case, or a block of it, is on disk."""
        self._done += 1
        if left is not None:
            self._total = self._done + left
        if status != UNFINISHED_CASE:
            self.counts[status] = self.counts.get(status, 0) + 1
        self.update(done=self._done, total=self._total, detail=self.rate())
        rate = f", {self.rate()}" if self._messages else ""
        text = f"{self._done} of {self._total} {self._unit}{self._left()}{rate}"
        self.print_periodically(text, last=self._done == self._total)

    def rate(self) -> str:
        """How fast messages are simulated: ``12.3 million messages/s``; empty where none are."""
        if not self._messages:
            return ""
        return f"{self._messages / max(self.elapsed_s(), 1e-9) / 1e6:.3g} million messages/s"

    def _left(self) -> str:
        here = self._done - self._done_before
        if here < ENOUGH_TO_FORECAST:
            return ""
        seconds = self.elapsed_s() / here * (self._total - self._done)
        return f", about {seconds:.0f} s left" if seconds >= 1 else ""
