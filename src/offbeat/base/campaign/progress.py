"""The progress of a campaign, shown to the user."""

from __future__ import annotations

from rich.console import Console

from offbeat.base.progress_bar import ProgressBar
from offbeat.base.terminal_table import MAX_NOTES

LEAST_FOR_FORECAST = 5
"""Finished steps that are needed to forecast the remaining time from their mean time."""


class CampaignProgress(ProgressBar):
    """Displays the progress of a campaign (a :class:`offbeat.base.campaign.steps.CampaignListener`); a
    context manager. Subclasses have a method for finished steps, which calls :meth:`advance`.

    ``activity`` is shown until the first event; ``unit`` is the word for steps, ``verb`` the verb for
    what is done to them. Ten warnings are printed unless ``all_notes``; ``warnings`` has all.
    """

    def __init__(
        self,
        console: Console | None = None,
        verb: str = "measure",
        *,
        unit: str = "steps",
        activity: str = "listing algorithms",
        all_notes: bool = False,
    ) -> None:
        super().__init__(activity, console)
        self._verb = verb
        self._all_notes = all_notes
        self.warnings: list[str] = []
        self._total = self._done_count = self._initial_count = 0
        self._total_grows = False
        self._unit = unit

    def say(self, activity: str) -> None:
        """An activity begins."""
        self.update(activity=activity[:50].ljust(50), detail=self.rate())
        if self._total == 0:
            self.print_periodically(activity)

    def warn(self, sentence: str) -> None:
        """Something limits the reliability of the results."""
        if sentence in self.warnings:
            return
        self.warnings.append(sentence)
        if self._all_notes or len(self.warnings) <= MAX_NOTES:
            self.print(f"warning: {sentence}")
        elif len(self.warnings) == MAX_NOTES + 1:
            self.print("more warnings follow: --notes prints all of them")

    def begin(self, done_count: int, total: int, unit: str = "") -> None:
        """The first step begins; ``done_count`` of the total number of steps are done already."""
        self._total, self._done_count, self._initial_count, self._unit = (
            total,
            done_count,
            done_count,
            unit or self._unit,
        )
        self.restart(done_count, total)
        if not self.is_drawn:
            self.print(f"{total - done_count} of {total} {self._unit} to {self._verb}")

    def advance(self, left: int | None = None) -> None:
        """Count a finished step; ``left`` is the number of remaining steps if it has changed. If the total
        has grown, it can grow again: it is then shown as a lower limit."""
        self._done_count += 1
        if left is not None:
            self._total_grows |= self._done_count + left > self._total
            self._total = self._done_count + left
        self.update(done_count=self._done_count, total=self._total, detail=self.rate())
        at_least = "at least " if self._total_grows and left else ""
        text = f"{self._done_count} of {at_least}{self._total} {self._unit}{self._forecast()}"
        rate = f", {self.rate()}" if self.rate() else ""
        self.print_periodically(text + rate, last=self._done_count == self._total)

    def rate(self) -> str:
        """The speed of the work, such as ``12.3 million messages/s``; empty if that is not known."""
        return ""

    def _forecast(self) -> str:
        done_now = self._done_count - self._initial_count
        if done_now < LEAST_FOR_FORECAST:
            return ""
        seconds = self.elapsed_s() / done_now * (self._total - self._done_count)
        qualifier = "at least" if self._total_grows else "about"
        return f", {qualifier} {seconds:.0f} s left" if seconds >= 1 else ""
