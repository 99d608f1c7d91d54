"""Tuning a program from its command: what ``offbeat tune`` and :func:`offbeat.tune` do."""

from __future__ import annotations

import os
import time as clock
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from rich.console import Console

from offbeat.errors import BadInput, SignalExit
from offbeat.mpi.environment import process_count
from offbeat.mpi.installation import Installation
from offbeat.mpi.user_command import UserCommand, user_command
from offbeat.program_tuning.context import Listener, Tuning
from offbeat.program_tuning.directory import FORMAT, TuneDirectory, TuneSettings
from offbeat.program_tuning.stages import Outcome, tune
from offbeat.trace.run import check_command, find_installation
from offbeat.trial import trial
from offbeat.units import parse_time

REPORT = "report.html"
"""The report in the directory of a tuned program."""


class Request(Struct, frozen=True, kw_only=True):
    """A command to tune, checked: its settings, its parts, its library, and the budget in seconds."""

    settings: TuneSettings
    command: UserCommand
    installation: Installation
    budget_s: float


def request(
    command: Sequence[str],
    *,
    trace: Path | None = None,
    budget: str | float = "15min",
    share: float = 0.95,
    time: str = "",
    mpi: str = "auto",
    seed: int = 1,
) -> Request:
    """Check a command and the options of ``offbeat tune``. Raises :class:`BadInput`; nothing is launched."""
    argv = list(command)
    trial.check_command(argv)
    check_command(argv)
    trial.parse_pattern(time)
    parts = user_command(argv)
    if process_count(argv) == 1:
        raise BadInput("the command starts one process, which has no other to communicate with")
    budget_s = _budget_s(budget)
    if not 0.01 <= share <= 1:
        raise BadInput(f"--share {share:g}: write a share from 0.01 to 1")
    installation = find_installation(mpi, argv)
    settings = TuneSettings(
        command=argv,
        library=f"{installation.version_text} ({installation.library})",
        folder=os.getcwd(),  # noqa: PTH109 - must not resolve symbolic links
        trace=str(trace.absolute()) if trace is not None else "",
        share=share,
        time=time,
        seed=seed,
    )
    return Request(settings=settings, command=parts, installation=installation, budget_s=budget_s)


def tune_program(requested: Request, output: Path, listener: Listener) -> Outcome:
    """All stages of tuning, in a directory that is created or resumed, and the report in it.

    Raises :class:`BadInput` and :class:`RunFailed` as the stages do; what was measured is kept.
    """
    deadline_s = clock.monotonic() + requested.budget_s
    with TuneDirectory(FORMAT, output, requested.settings) as opened:
        try:
            outcome = tune(Tuning(opened, requested.command, requested.installation, listener, deadline_s))
        except SignalExit as interruption:
            interruption.progress = "; the same command resumes"
            raise
        from offbeat.program_tuning.report import write_report  # importing matplotlib is slow

        write_report(outcome, requested.installation, output / REPORT)
    return outcome


def _budget_s(budget: str | float) -> float:
    try:
        budget_s = parse_time(budget)
    except BadInput:
        budget_s = 0.0
    if budget_s <= 0:
        raise BadInput(f"--budget {budget}: write a time of more than 0, in seconds or with a unit: 15min")
    return budget_s


class StagePrinter:
    """Prints the stages and what they found; prints nothing without a console."""

    def __init__(self, console: Console | None) -> None:
        self._console = console
        self._began_s = clock.monotonic()

    def begin(self, stage: str, what: str) -> None:
        """A stage begins."""
        minutes, seconds = divmod(int(clock.monotonic() - self._began_s), 60)
        self.say(f"[{minutes}:{seconds:02}] {stage}: {what}")

    def say(self, sentence: str) -> None:
        """Something was found."""
        if self._console is not None:
            self._console.print(sentence, markup=False)
