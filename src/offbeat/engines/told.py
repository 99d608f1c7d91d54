"""Who hears how a run goes on."""

from __future__ import annotations

from typing import Protocol

from offbeat.study.case import Case


class Told(Protocol):
    """Who hears how a run goes on."""

    def say(self, what: str) -> None:
        """What is being done now."""

    def warn(self, sentence: str) -> None:
        """Something that the user must know to judge the numbers."""

    def begin(self, done: int, total: int) -> None:
        """Measuring begins; so many cases of the total are there already."""

    def simulated(self, messages: int) -> None:
        """So many more messages were simulated."""

    def finished(self, case: Case, status: str) -> None:
        """A case is on disk."""
