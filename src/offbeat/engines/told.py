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

    def begin(self, done: int, total: int, unit: str = "cases") -> None:
        """Measuring begins; so many cases, or blocks of cases, of the total are there already."""

    def simulated(self, messages: int) -> None:
        """So many more messages were simulated."""

    def finished(self, case: Case, status: str, left: int | None = None) -> None:
        """A case, or a block of it, is on disk; ``left`` says how many blocks are to be measured, as far as
        is known."""
