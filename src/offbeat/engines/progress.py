"""How a run is reported to the user: progress events, their display, and the closing message."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from rich.console import Console

from offbeat.progress_bar import ProgressBar
from offbeat.results.layout import UNFINISHED_CASE
from offbeat.study.case import Case
from offbeat.table import MAX_NOTES


class ProgressListener(Protocol):
    """Receives progress events of a run."""

    def say(self, activity: str) -> None:
        """An activity begins."""

    def warn(self, sentence: str) -> None:
        """Something limits the reliability of the results."""

    def begin(self, done: int, total: int, unit: str = "cases") -> None:
        """Measuring begins; ``done`` of the total number of cases, or of blocks of cases, are done
        already."""

    def simulated(self, messages: int) -> None:
        """``messages`` further messages were simulated."""

    def finished(self, case: Case, status: str, left: int | None = None) -> None:
        """A case, or a block of it, is on disk; ``left`` is the number of remaining blocks, as far as
        known."""


LEAST_FOR_FORECAST = 5
"""Measured cases that are needed to forecast the remaining time from their mean time."""


class RunProgress(ProgressBar):
    """Displays the progress of a run (a :class:`ProgressListener`); a context manager.

    ``doing`` is the verb for what is done to the cases. ``counts`` has the number of cases of this run by
    status. Ten warnings are printed unless ``all_notes``; ``warnings`` has all.
    """

    def __init__(
        self, console: Console | None = None, doing: str = "measure", *, all_notes: bool = False
    ) -> None:
        super().__init__("listing algorithms", console)
        self._doing = doing
        self._all_notes = all_notes
        self.warnings: list[str] = []
        self.counts: dict[str, int] = {}
        self._total = self._done = self._done_before = 0
        self._unit = "cases"
        self._messages = 0

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

    def begin(self, done: int, total: int, unit: str = "cases") -> None:
        """Measuring begins."""
        self._total, self._done, self._done_before, self._unit = total, done, done, unit
        self.restart(done, total)
        if not self.is_drawn:
            self.print(f"{total - done} of {total} {unit} to {self._doing}")

    def simulated(self, messages: int) -> None:
        """``messages`` further messages were simulated."""
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
        """The rate of simulated messages, ``12.3 million messages/s``; empty if none were simulated."""
        if not self._messages:
            return ""
        return f"{self._messages / max(self.elapsed_s(), 1e-9) / 1e6:.3g} million messages/s"

    def _left(self) -> str:
        done_now = self._done - self._done_before
        if done_now < LEAST_FOR_FORECAST:
            return ""
        seconds = self.elapsed_s() / done_now * (self._total - self._done)
        return f", about {seconds:.0f} s left" if seconds >= 1 else ""


class Outcome(Struct, kw_only=True):
    """How a run ended: cases on disk, cases of the whole study, those of this run, and whether time ran out.

    ``unproved`` names collectives without any requested algorithm that could be proved to run; ``proofs`` has
    one line per collective with the verdicts on its algorithms.
    """

    done: int
    total: int
    measured_now: int
    stopped: bool
    unproved: list[str] = []
    proofs: list[str] = []


def summary(
    outcome: Outcome, counts: dict[str, int], directory: Path, warnings: list[str]
) -> dict[str, object]:
    """The outcome as JSON has it; ``counts`` has the number of cases of this run by status."""
    return {
        "directory": str(directory),
        "done": outcome.done,
        "total": outcome.total,
        "measured_now": outcome.measured_now,
        "stopped_by_time_limit": outcome.stopped,
        "cases_now": counts,
        "warnings": warnings,
    }


def closing_message(outcome: Outcome, counts: dict[str, int], directory: Path) -> str:
    """The message at the end of a run, with the next command."""
    new = ", ".join(f"{number} {status}" for status, number in sorted(counts.items()))
    remaining = outcome.total - outcome.done
    lines = [
        f"{outcome.done} of {outcome.total} cases done"
        + (f"; new: {new}" if new else "; nothing to measure")
        + (f"; {remaining} remaining" if remaining else "")
        + f"; results in {directory}",
        *(f"algorithms of {line}" for line in outcome.proofs),
    ]
    if outcome.stopped:
        lines.append("Stopped before the job's time limit; the same command resumes the study.")
    else:
        lines.append(f"Next: offbeat select {shlex.quote(str(directory))}")
    return "\n".join(lines)


def unproved_message(outcome: Outcome, directory: Path) -> str:
    """The message for collectives without any proved algorithm."""
    return (
        f"no algorithm of {', '.join(outcome.unproved)} could be proved to run, so nothing can be selected"
        f" there; 'offbeat status {shlex.quote(str(directory))}' shows the verdicts on the algorithms, and"
        " 'offbeat doctor' what can be proved with this library"
    )
