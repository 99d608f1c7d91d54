"""The context of the stages of tuning a program: its directory, command, library, listener and budget."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from rich.console import Console

from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.user_command import UserCommand
from offbeat.tuning.pipeline.directory import Stage, TuneDirectory
from offbeat.tuning.trial.trial import Command


class Listener(Protocol):
    """Receives what a stage does and what it found."""

    def begin(self, stage: str, what: str) -> None:
        """A stage begins."""

    def say(self, sentence: str) -> None:
        """Something was found."""

    def note(self, sentence: str) -> None:
        """A detail was found, for the log."""

    def keep_log(self, log: Console) -> None:
        """Everything is printed to ``log`` as well."""


class Tuning:
    """The context of all stages: ``command`` are the parts of the command line, ``program`` is how it is run,
    ``deadline_s`` is on the clock of :func:`time.monotonic`; ``run_s`` is how
    long the program runs, as far as it is known.
    """

    def __init__(
        self,
        opened: TuneDirectory,
        command: UserCommand,
        program: Command,
        listener: Listener,
        deadline_s: float,
    ) -> None:
        self.opened = opened
        self.command = command
        self.program = program
        self.listener = listener
        self.deadline_s = deadline_s
        self.run_s = 0.0

    @property
    def argv(self) -> list[str]:
        """The whole command."""
        return self.program.argv

    @property
    def installation(self) -> Installation:
        """The MPI library of the program."""
        return self.program.installation

    def path(self, name: str) -> Path:
        """A path in the directory."""
        return self.opened.directory / name

    def left_s(self) -> float:
        """The time that is left of the budget."""
        return self.deadline_s - time.monotonic()

    @contextmanager
    def recorded(self, name: str, choice: str = "") -> Iterator[None]:
        """Record a stage as finished, unless it raises."""
        began = time.monotonic()
        yield
        self.opened.append(Stage(name=name, choice=choice, wall_s=time.monotonic() - began))
