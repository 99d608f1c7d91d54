"""Tuning a program from its command: what ``offbeat tune`` and :func:`offbeat.tune` do."""

from __future__ import annotations

import os
import time as clock
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct
from rich.console import Console

from offbeat.errors import BadInput, SignalExit
from offbeat.mpi.installation import Installation
from offbeat.mpi.launch_words import process_count
from offbeat.mpi.user_command import UserCommand, user_command
from offbeat.program_tuning.context import Listener, Tuning
from offbeat.program_tuning.directory import FORMAT, TuneDirectory, TuneSettings
from offbeat.program_tuning.stages import Outcome, tune
from offbeat.trace.run import check_command, find_installation
from offbeat.trial import trial
from offbeat.trial.standard_input import NO_INPUT, StandardInput
from offbeat.units import parse_time

REPORT = "report.html"
"""The report in the directory of a tuned program."""


class Request(Struct, frozen=True, kw_only=True):
    """A command to tune, checked: its settings, its parts, its library, the budget in seconds, and what each
    run of the program reads from standard input."""

    settings: TuneSettings
    command: UserCommand
    installation: Installation
    budget_s: float
    standard_input: StandardInput = NO_INPUT

    @property
    def program(self) -> trial.Command:
        """The command as it is run."""
        return trial.Command(
            argv=self.settings.command,
            installation=self.installation,
            standard_input=self.standard_input,
        )


def request(
    command: Sequence[str],
    *,
    trace: Path | None = None,
    budget: str | float = "15min",
    share: float = 0.95,
    time: str = "",
    mpi: str = "auto",
    seed: int = 1,
    keep_input: Callable[[], StandardInput] = lambda: NO_INPUT,
) -> Request:
    """Check a command and the options of ``offbeat tune``; ``keep_input`` is called after that, for what the
    program reads. Raises :class:`BadInput`; nothing is launched."""
    argv = list(command)
    check_options(argv, budget=budget, share=share, time=time)
    check_command(argv)
    budget_s = _budget_s(budget)
    parts = user_command(argv)
    installation = find_installation(mpi, argv)
    standard_input = keep_input()
    settings = TuneSettings(
        command=argv,
        library=f"{installation.version_text} ({installation.library})",
        folder=os.getcwd(),  # noqa: PTH109 - must not resolve symbolic links
        trace=str(trace.absolute()) if trace is not None else "",
        share=share,
        time=time,
        seed=seed,
        standard_input=standard_input.digest,
    )
    return Request(
        settings=settings,
        command=parts,
        installation=installation,
        budget_s=budget_s,
        standard_input=standard_input,
    )


def check_options(command: Sequence[str], *, budget: str | float, share: float, time: str) -> None:
    """Raise :class:`BadInput` for what is wrong in a command and in options, on any machine."""
    trial.check_command(command)
    trial.parse_pattern(time)
    user_command(command)
    if process_count(command) == 1:
        raise BadInput("the command starts one process, which has no other to communicate with")
    _budget_s(budget)
    if not 0.01 <= share <= 1:
        raise BadInput(f"--share {share:g}: write a share from 0.01 to 1")


def tune_program(requested: Request, output: Path, listener: Listener) -> Outcome:
    """All stages of tuning, in a directory that is created or resumed, and the report in it.

    Raises :class:`BadInput` and :class:`RunFailed` as the stages do; what was measured is kept.
    """
    deadline_s = clock.monotonic() + requested.budget_s
    with TuneDirectory(FORMAT, output, requested.settings) as opened:
        try:
            outcome = tune(Tuning(opened, requested.command, requested.program, listener, deadline_s))
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
