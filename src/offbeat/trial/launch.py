"""One run of the program: the command with the variables of a choice, its output kept, its time taken."""

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
from pathlib import Path

from msgspec import Struct

from offbeat.errors import BadInput, RunFailed
from offbeat.mpi.hand_on import handing_on, is_launcher
from offbeat.mpi.installation import Installation

_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl
_PATIENCE_S = 10.0
_TAIL = 3


class FinishedProcess(Struct, frozen=True, kw_only=True):
    """How a run ended: its status, negative for the signal that ended it, and its wall time."""

    status: int
    wall_s: float


class Command(Struct, frozen=True, kw_only=True):
    """What a user typed, for one MPI library."""

    argv: list[str]
    installation: Installation

    def with_variables(self, variables: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
        """The words and the environment with which every process has these variables."""
        if is_launcher(self.argv):
            return handing_on(self.argv, variables, self.installation), dict(os.environ)
        return list(self.argv), dict(os.environ) | dict(variables)


def run(command: Command, variables: Mapping[str, str], output: Path) -> FinishedProcess:
    """Run to the end, with both output streams in a file.

    Whatever ends this process ends the program as well. Raises :class:`BadInput` where it cannot be started
    and :class:`RunFailed` where the file cannot be written.
    """
    argv, environment = command.with_variables(variables)
    try:
        stream = output.open("wb")
    except OSError as error:
        raise RunFailed(f"cannot write {output}: {error.strerror or error}") from error
    with stream:
        began = time.monotonic()
        try:
            process = subprocess.Popen(
                argv,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                process_group=0,
                preexec_fn=_end_with_parent,
            )
        except OSError as error:
            raise BadInput(f"cannot start {argv[0]}: {error.strerror or error}") from error
        with _ended_with_us(process):
            status = process.wait()
        return FinishedProcess(status=status, wall_s=time.monotonic() - began)


def time_in(output: Path, pattern: re.Pattern[str]) -> float:
    """The number that a pattern finds last in a run's output: its first group, or all of it.

    Raises :class:`RunFailed` where there is none, or no number.
    """
    found = list(pattern.finditer(output.read_text(encoding="utf-8", errors="replace")))
    if not found:
        raise RunFailed(f"--time {pattern.pattern}: nothing in the output of the program fits, see {output}")
    text = found[-1][1 if pattern.groups else 0] or ""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise RunFailed(
            f"--time {pattern.pattern} found {text!r} in {output}, which is no time; put brackets around the"
            " number, as in 'time: ([0-9.]+)'"
        )
    return value


def parse_pattern(text: str) -> re.Pattern[str] | None:
    """The regular expression of ``--time``; None for none. Raises :class:`BadInput`."""
    try:
        return re.compile(text, re.MULTILINE) if text else None
    except re.error as error:
        raise BadInput(f"--time {text}: no regular expression: {error}") from None


def last_output_lines(output: Path) -> str:
    """The last lines of a run's output, for a sentence."""
    lines = [
        line for line in output.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()
    ]
    return " / ".join(line.strip()[:200] for line in lines[-_TAIL:])


def exit_text(status: int) -> str:
    """``ended with status 3``, or ``was ended by SIGKILL``."""
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def _end_with_parent() -> None:
    """In the new process: have the system end it when its parent dies, however that happens."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGTERM)


@contextmanager
def _ended_with_us(process: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def check_command(argv: Sequence[str]) -> None:
    """Raise :class:`BadInput` for a command that is none."""
    if not argv or not argv[0].strip():
        raise BadInput("there is no command to try; write it behind --, such as '-- mpirun -n 4 ./app'")
