"""Tuning a program from its command: what ``offbeat tune`` and :func:`offbeat.tune` do."""

from __future__ import annotations

import os
import time as clock
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct
from rich.console import Console

from offbeat.base.errors import BadInput, SignalExit
from offbeat.base.progress_bar import redirect_lines
from offbeat.base.units import parse_time
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.launch_words import process_count
from offbeat.libraries.launch.user_command import UserCommand, user_command
from offbeat.trace.recording import check_command, find_installation
from offbeat.tuning.pipeline.context import Listener, Tuning
from offbeat.tuning.pipeline.directory import FORMAT, LOG, TuneDirectory, TuneSettings
from offbeat.tuning.pipeline.stages import Outcome, tune
from offbeat.tuning.trial import trial
from offbeat.tuning.trial.standard_input import NO_INPUT, StandardInput

REPORT = "report.html"
"""The report in the directory of a tuned program."""

MOST_LINES = {"trace": 2, "choose": 2}
"""How many lines of what was found are printed of these stages; of the others, one. With the table of run
times and the verdict, 'offbeat tune' prints 25 lines at most."""


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
    same_bits: bool = False,
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
        same_bits=same_bits,
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


def tune_program(
    requested: Request,
    output: Path,
    listener: Listener,
    write_report: Callable[[Outcome, Installation, Path], None],
) -> Outcome:
    """All stages of tuning, in a directory that is created or resumed, and the report in it.

    ``write_report`` (:mod:`offbeat.presentation.pages.tuned_program`) is called while the directory is
    locked. Raises :class:`BadInput` and :class:`RunFailed` as the stages do; what was measured is kept.
    """
    deadline_s = clock.monotonic() + requested.budget_s
    with TuneDirectory(FORMAT, output, requested.settings) as opened:
        try:
            with (output / LOG).open("a", encoding="utf-8") as file:
                log = Console(file=file, highlight=False, soft_wrap=True)
                listener.keep_log(log)
                with redirect_lines(log):
                    tuning = Tuning(opened, requested.command, requested.program, listener, deadline_s)
                    outcome = tune(tuning)
        except SignalExit as interruption:
            interruption.progress = "; the same command resumes"
            raise
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
    """Prints each stage when it begins, and the most important of what it found, within :data:`MOST_LINES`;
    the log has everything. Prints nothing without a console."""

    def __init__(self, console: Console | None) -> None:
        self._console = console
        self._log: Console | None = None
        self._began_s = clock.monotonic()
        self._stage = ""
        self._said: dict[str, int] = {}

    def keep_log(self, log: Console) -> None:
        """Everything is printed to ``log`` as well."""
        self._log = log

    def begin(self, stage: str, what: str) -> None:
        """A stage begins."""
        minutes, seconds = divmod(int(clock.monotonic() - self._began_s), 60)
        line = f"[{minutes}:{seconds:02}] {stage}: {what}"
        self._print(line, to_log_only=stage in self._said)
        self._stage = stage
        self._said.setdefault(stage, 0)

    def say(self, sentence: str) -> None:
        """Something was found."""
        said = self._said[self._stage] = self._said.get(self._stage, 0) + 1
        self._print(sentence, to_log_only=said > MOST_LINES.get(self._stage, 1))

    def note(self, sentence: str) -> None:
        """A detail was found, for the log."""
        self._print(sentence, to_log_only=True)

    def _print(self, line: str, *, to_log_only: bool) -> None:
        if self._log is not None:
            self._log.print(line, markup=False)
        if self._console is not None and not to_log_only:
            self._console.print(line, markup=False)
