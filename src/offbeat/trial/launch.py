"""Runs the program with the variables of a choice, writes its output to a file and measures its time."""

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
from offbeat.mpi.environment import forward_variables, is_launcher
from offbeat.mpi.installation import Installation

_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl
_TERMINATION_S = 10.0
_TAIL = 3


class Command(Struct, frozen=True, kw_only=True):
    """The user's command line, and its MPI library."""

    argv: list[str]
    installation: Installation

    def with_variables(self, variables: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
        """The arguments and the environment that give these variables to every process."""
        if is_launcher(self.argv):
            return forward_variables(self.argv, variables, self.installation), dict(os.environ)
        return list(self.argv), dict(os.environ) | dict(variables)


def run(command: Command, variables: Mapping[str, str], output: Path) -> tuple[int, float]:
    """Run to the end, with both output streams in a file.

    Returns the exit status, negative for the signal that ended the run, and the wall time in seconds. The
    program ends when this process ends. Raises :class:`BadInput` if it cannot be started, and
    :class:`RunFailed` if the file cannot be written.
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
        with _terminated_on_exit(process):
            status = process.wait()
        return status, time.monotonic() - began


def time_in(output: Path, pattern: re.Pattern[str]) -> float:
    """The last match of a pattern in a run's output as a number: its first group, or the whole match.

    Raises :class:`RunFailed` without a match, or if it is no positive number.
    """
    found = list(pattern.finditer(output.read_text(encoding="utf-8", errors="replace")))
    if not found:
        raise RunFailed(f"--time {pattern.pattern}: no match in the output of the program, see {output}")
    text = found[-1][1 if pattern.groups else 0] or ""
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
    """The last lines of a run's output, for a message."""
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
