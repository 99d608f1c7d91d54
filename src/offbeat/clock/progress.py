"""Showing how a check goes on."""

from __future__ import annotations

from rich.console import Console

from offbeat.bar import Bar
from offbeat.clock.wanted import Step


class CheckProgress(Bar):
    """Hears a check (:class:`offbeat.clock.run.Told`); a context manager."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__("asking the library", console)
        self._done = self._total = 0

    def say(self, what: str) -> None:
        """Something that takes its time."""
        self.print(what)

    def doing(self, what: str) -> None:
        """What is being done now; without a terminal, nobody waits for it."""
        self.draw(doing=what)

    def warn(self, sentence: str) -> None:
        """A warning."""
        self.print(f"warning: {sentence}")

    def begin(self, done: int, total: int) -> None:
        """Measuring begins."""
        self._done, self._total = done, total
        if done:
            self.print(f"{done} of {total} steps are there already")
        self.count_from(done, total)

    def finished(self, step: Step, failure: str) -> None:
        """A step is on disk."""
        self._done += 1
        if failure:
            self.print(f"failed: {step.id}: {failure}")
        self.draw(done=self._done)
        self.line(f"{self._done} of {self._total} steps")
