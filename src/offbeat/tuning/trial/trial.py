"""A trial: rounds in which each variant runs once, in random order, in a folder from which the trial resumes:

- ``trial.json`` or ``inject.json``: the command, the library, and what each variant (a choice of algorithms,
  or delays) changes;
- ``runs.jsonl``: one line per finished run;
- ``output/``: the output of each run;
- ``tuning/``: the tuning files of each choice; or ``reports/``: the delays of each run;
- ``offbeat.lock``: locked while a trial runs in the folder.

A run is the program with the variables of a variant; its output is written to a file, and its time measured.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from rich.console import Console

from offbeat.base.campaign.directory import CampaignDirectory, CampaignFormat
from offbeat.base.campaign.progress import CampaignProgress
from offbeat.base.campaign.steps import StepListener, run_steps
from offbeat.base.errors import BadInput, RunFailed
from offbeat.base.reading import LOG_BYTES, read_text
from offbeat.base.units import format_time
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.launch_words import process_count
from offbeat.libraries.launch.plain_command import plain_command
from offbeat.libraries.launch.user_command import with_variables
from offbeat.tuning.trial.standard_input import NO_INPUT, StandardInput
from offbeat.tuning.trial.variant import Variant, file_name

TRIAL, INJECTION = "trial.json", "inject.json"
RUNS, OUTPUT, TUNING, REPORTS = "runs.jsonl", "output", "tuning", "reports"
SCHEMA_VERSION = 1


class Setting(Struct, frozen=True, kw_only=True):
    """A variant with its rules or delays as text; ``same_as`` names the one that is run in its place."""

    name: str
    same_as: str
    rules: list[str]


class Settings(Struct, frozen=True, kw_only=True):
    """The settings that all runs of a trial share; runs with other settings are not comparable.

    ``standard_input`` identifies what the program reads, empty for nothing.
    """

    command: list[str]
    library: str
    folder: str
    time: str
    seed: int
    choices: list[Setting]
    standard_input: str = ""
    schema_version: int = SCHEMA_VERSION


class Run(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A finished run of the variant ``choice``.

    ``time_s`` is the compared time: the wall time, or the number found in its output. ``effect`` is what the
    variant is known to have done (:meth:`Variant.effect`).
    """

    number: int
    round: int
    choice: str
    status: int
    wall_s: float
    time_s: float | None
    began: str
    output: str
    effect: dict[str, float] = {}


class Turn(NamedTuple):
    """One of the runs that a trial consists of: a variant in a round, which counts from 0."""

    round: int
    choice: str

    def __str__(self) -> str:
        return f"round {self.round + 1}: {self.choice}"


def _format(
    holds: str, command: str, head: str, variants: str, folders: tuple[str, ...]
) -> CampaignFormat[Settings, Run]:
    return CampaignFormat[Settings, Run](
        holds=holds,
        creation_commands=f"'{command}'",
        head=head,
        version_key="schema_version",
        version=SCHEMA_VERSION,
        head_type=Settings,
        settings_of=lambda settings: settings,
        labels={"choices": variants, "folder": "working directory", "standard_input": "standard input"},
        records=RUNS,
        record_type=Run,
        step_of=lambda run: None if run.time_s is None else Turn(run.round, run.choice),
        folders=folders,
    )


FORMAT = _format("a trial", "offbeat try", TRIAL, "the choices by the results", (OUTPUT,))
"""The directory of a trial of choices of algorithms."""

INJECTION_FORMAT = _format(
    "an experiment with delays", "offbeat async inject", INJECTION, "the delays", (OUTPUT, REPORTS)
)
"""The directory of a trial of delays."""


class Journal(CampaignDirectory[Settings, Run]):
    """The runs of one folder. ``done`` has the successful runs with a time, by their turn."""

    def __init__(
        self, directory: Path, settings: Settings, form: CampaignFormat[Settings, Run] = FORMAT
    ) -> None:
        """Create the folder, or resume in it; raises as :class:`CampaignDirectory` does."""
        super().__init__(form, directory, settings)

    def next_output(self, variant: str) -> tuple[int, Path]:
        """The number of the next run, and a new file for its output."""
        number = max((run.number for run in self.records), default=0) + 1
        return number, self.directory / OUTPUT / f"{number:03}-{variant}.txt"


_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl
_TERMINATION_S = 10.0
_TAIL_LINES = 3
"""The number of last output lines in the message about a failed run."""

_FRAME = re.compile(r"-{20,}")


class Command(Struct, frozen=True, kw_only=True):
    """The user's command line, its MPI library, and what each run reads from standard input."""

    argv: list[str]
    installation: Installation
    standard_input: StandardInput = NO_INPUT

    def with_variables(
        self, variables: Mapping[str, str], *, keeps_settings: bool = False
    ) -> tuple[list[str], dict[str, str]]:
        """The arguments and the environment that give these variables to every process.

        The user's settings that choose algorithms are left out, unless the run ``keeps_settings``.
        """
        argv, environment, variables = list(self.argv), dict(os.environ), dict(variables)
        if not keeps_settings:
            plain = plain_command(argv, self.installation)
            argv, environment, variables = plain.argv, plain.environment, plain.variables | variables
        argv, changed = with_variables(argv, variables, self.installation)
        return argv, environment | changed


def run(
    command: Command, variables: Mapping[str, str], output: Path, *, keeps_settings: bool = False
) -> tuple[int, float]:
    """Run to the end, with both output streams in a file; returns the exit status and the wall time in s.

    The program ends when this process ends. Raises :class:`BadInput` if it cannot be started, and
    :class:`RunFailed` if the file cannot be written.
    """
    argv, environment = command.with_variables(variables, keeps_settings=keeps_settings)
    try:
        stream = output.open("wb")
    except OSError as error:
        raise RunFailed(f"cannot write {output}: {error.strerror or error}") from error
    with stream, command.standard_input.opened() as standard_input:
        began = time.monotonic()
        try:
            process = subprocess.Popen(
                argv,
                env=environment,
                stdin=standard_input,
                stdout=stream,
                stderr=subprocess.STDOUT,
                process_group=0,
                preexec_fn=_end_with_parent,
            )
        except OSError as error:
            raise BadInput(f"cannot start {argv[0]}: {error.strerror or error}") from error
        with _terminated_on_exit(process):
            status = process.wait()
        return status, time.monotonic() - began


def time_in(output: Path, pattern: re.Pattern[str]) -> float:
    """The last match of a pattern in a run's output as a number: its first group, or the whole match.

    Raises :class:`RunFailed` without a match, or if it is no positive number.
    """
    matches = list(pattern.finditer(read_text(output, LOG_BYTES, errors="replace")))
    if not matches:
        raise RunFailed(f"--time {pattern.pattern}: no match in the output of the program, see {output}")
    text = matches[-1][1 if pattern.groups else 0] or ""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise RunFailed(
            f"--time {pattern.pattern} matched {text!r} in {output}, which is not a time; put"
            " parentheses around the number, as in 'time: ([0-9.]+)'"
        )
    return value


def parse_pattern(text: str) -> re.Pattern[str] | None:
    """The regular expression of ``--time``; None for none. Raises :class:`BadInput`."""
    try:
        return re.compile(text, re.MULTILINE) if text else None
    except re.error as error:
        raise BadInput(f"--time {text}: not a regular expression: {error}") from None


def last_output_lines(output: Path) -> str:
    """The last lines of a run's output, for a message, without those that only separate others.

    Open MPI writes a message between two lines of hyphens, and begins with the cause: of a message that ends
    the output, its first lines.
    """
    lines = read_text(output, LOG_BYTES, errors="replace").rstrip().splitlines()
    frames = [place for place, line in enumerate(lines) if _FRAME.fullmatch(line.strip())]
    is_framed = len(frames) > 1 and frames[-1] == len(lines) - 1
    message = lines[frames[-2] :] if is_framed else lines
    words = [line.strip()[:200] for line in message if any(map(str.isalnum, line))]
    return " / ".join(words[:_TAIL_LINES] if is_framed else words[-_TAIL_LINES:])


def check_status(status: int, output: Path) -> None:
    """Raise :class:`RunFailed` for a run that failed, with its last output lines."""
    if status != 0:
        lines = last_output_lines(output)
        raise RunFailed(
            f"the program {exit_text(status)}"
            f"{f' after printing: {lines}' if lines else ''}; its whole output is in {output}"
        )


def exit_text(status: int) -> str:
    """``ended with status 3``, or ``was ended by SIGKILL``."""
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def _end_with_parent() -> None:
    """In the child process: have the kernel end it when its parent ends."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGTERM)


@contextmanager
def _terminated_on_exit(process: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(_TERMINATION_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def check_command(argv: Sequence[str]) -> None:
    """Raise :class:`BadInput` for an empty command."""
    if not argv or not argv[0].strip():
        raise BadInput("there is no command to try; give it after --, such as '-- mpirun -n 4 ./app'")


def order(names: Sequence[str], number: int, seed: int) -> list[str]:
    """The order of the variants in a round, a function of the seed and the round."""
    drawn = np.random.default_rng([seed, number]).permutation(len(names))
    return [names[place] for place in drawn]


def run_all(
    journal: Journal,
    command: Command,
    variants: Sequence[Variant],
    rounds: int,
    seed: int,
    pattern: re.Pattern[str] | None,
    listener: StepListener[Run],
) -> None:
    """Run what is missing of ``rounds`` rounds; each run is in the journal before the listener hears of it.

    Raises :class:`RunFailed` at the first run that fails, whose time is not found, or in which the variant
    had no effect, and :class:`BadInput` if a variant needs the number of processes, and that is unknown.
    """
    by_name = {one.name: one for one in variants}
    p = process_count(command.argv)
    variables = {name: one.variables(p) for name, one in by_name.items()}
    why_failed = ""

    def run_once(turn: Turn) -> Run:
        nonlocal why_failed
        variant = by_name[turn.choice]
        place, output = journal.next_output(file_name(turn.choice))
        began = datetime.now(UTC).isoformat(timespec="seconds")
        status, wall_s = run(
            command,
            {**variables[turn.choice], **variant.run_variables(output)},
            output,
            keeps_settings=variant.keeps_settings,
        )
        time_s, effect = None, {}
        try:
            time_s, effect = _time(status, wall_s, output, pattern), dict(variant.effect(output))
        except RunFailed as reason:
            time_s, why_failed = None, str(reason)
        return Run(
            number=place,
            round=turn.round,
            choice=turn.choice,
            status=status,
            wall_s=wall_s,
            time_s=time_s,
            began=began,
            output=str(output.relative_to(journal.directory)),
            effect=effect,
        )

    turns = [Turn(number, name) for number in range(rounds) for name in order(list(by_name), number, seed)]
    failed = run_steps(journal, {turn: turn for turn in turns}, run_once, listener)
    if failed is not None:
        raise RunFailed(f"round {failed.round + 1} with {failed.choice}: {why_failed}")


def times(journal: Journal, names: Sequence[str]) -> dict[str, list[float]]:
    """The run times of each variant in seconds, of the complete rounds."""
    runs = complete_runs(journal, names)
    return {name: [run.time_s for run in runs[name] if run.time_s is not None] for name in names}


def complete_runs(journal: Journal, names: Sequence[str]) -> dict[str, list[Run]]:
    """The successful runs of each variant in the rounds in which all variants have one."""
    good = {(run.round, run.choice): run for run in journal.records_by_step.values()}
    rounds = sorted({number for number, _ in good})
    complete = [number for number in rounds if all((number, name) in good for name in names)]
    return {name: [good[number, name] for number in complete] for name in names}


def _time(status: int, wall_s: float, output: Path, pattern: re.Pattern[str] | None) -> float:
    """The time of a run. Raises :class:`RunFailed` if there is none."""
    check_status(status, output)
    return wall_s if pattern is None else time_in(output, pattern)


class TrialProgress(CampaignProgress):
    """Prints the time of every run, and the progress; a context manager."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(console, "do", unit="runs", activity="running")

    def report_record(self, record: Run) -> None:
        """Print a finished run."""
        time = "failed" if record.time_s is None else format_time(record.time_s, 4)
        self.print(f"round {record.round + 1}: {record.choice} {time}")
        self.advance()
