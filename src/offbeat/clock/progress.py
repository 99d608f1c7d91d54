"""Showing how a check goes on."""

from __future__ import annotations

from rich.console import Console

from offbeat.clock.wanted import Step
from offbeat.progress_bar import ProgressBar


class CheckProgress(ProgressBar):
    """Hears a check (:class:`offbeat.clock.run.Told`); a context manager."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__("asking the library", console)
        self._done = self._total = 0

    def say(self, what: str) -> None:
        """Something that takes its time."""
        self.print(what)

    def doing(self, what: str) -> None:
        """What is being done now; without a terminal, nobody waits for it."""
        self.update(activity=what)

    def warn(self, sentence: str) -> None:
        """A warning."""
        self.print(f"warning: {sentence}")

    def begin(self, done: int, total: int) -> None:
        """Measuring begins."""
        self._done, self._total = done, total
        if done:
            self.print(f"{done} of {total} steps are there already")
        self.restart(done, total)

    def finished(self, step: Step, failure: str) -> None:
        """A step is on disk."""
        self._done += 1
        if failure:
            self.print(f"failed: {step.id}: {failure}")
        self.update(done=self._done)
        self.print_periodically(f"{self._done} of {self._total} steps")
