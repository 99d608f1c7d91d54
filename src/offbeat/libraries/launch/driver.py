"""One running launch of the driver: sends commands and receives answers.

Commands go to rank 0's standard input, one per line; answers come back on its standard output as lines that
begin with ``@offbeat`` and hold a JSON object. Everything else that the launch prints goes to a log. See
:mod:`offbeat.libraries.launch.driver_protocol` for the commands and their answers.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from offbeat.base.reading import LOG_BYTES, decode_json, read_part
from offbeat.libraries.launch import driver_protocol, process_cleanup
from offbeat.libraries.launch.driver_protocol import AnswerType, Command

ANSWER_PREFIX = b"@offbeat "
MOST_LOG_LINES = 3
"""How many log lines the reason for a lost launch quotes."""

MOST_AHEAD_BYTES = 16384
"""Commands that are sent ahead of their answers: a quarter of what a pipe holds on Linux, so that sending
never waits for a launch that hangs."""

HUNG = "hung: "
"""Prefix of the reason for a launch that was killed because it did not answer."""

LINES_ABOUT_ERRORS = ("error", "signal", "assert", "abort", "fatal")


class DriverLost(Exception):
    """The launch crashed or hung during a command; the text says how, as the reason for a quarantine."""


def is_lost(failure: str) -> bool:
    """Whether a failure is that of a launch that ended, for example by a signal from outside, and did not
    hang: such a launch is repeated once."""
    return bool(failure) and not failure.startswith(HUNG)


class CommandRefused(Exception):
    """The driver answered that it cannot carry out a command; the text is its reason."""


class Verdict(msgspec.Struct):
    """What every answer says: whether the command was executed, and if not, why not."""

    ok: bool = False
    why: str = "no reason given"


class Driver:
    """One running launch of the driver.

    ``argv`` is the complete launch command, ``environment`` the complete environment of the launcher (to
    which the launch's mark is added), ``log`` the file that receives all output of the launch beside its
    answers. When the front end is killed, the launch ends too
    (:class:`offbeat.libraries.launch.process_cleanup.Watchdog`).
    """

    PATIENCE_S = 10.0
    """How long a launch may take to end after the command ``quit``, or after its output has ended."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self._log_path = log
        self._log = log.open("ab")
        self._log_start = self._log.tell()
        self._buffer = b""
        self._watchdog = process_cleanup.Watchdog()
        try:
            self._process = subprocess.Popen(
                list(argv),
                env=dict(environment) | {process_cleanup.MARK: self._watchdog.mark},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                start_new_session=True,
            )
        except BaseException:
            self._watchdog.release()
            self._log.close()
            raise
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._process.stdout, selectors.EVENT_READ)

    def ask(self, command: Command[AnswerType], *, timeout_s: float) -> AnswerType:
        """Send one command and wait for its answer.

        Raises what :meth:`exchange` raises, and RunFailed for an answer that is not of the protocol.
        """
        return driver_protocol.decode(command, self.exchange(command.line(), timeout_s=timeout_s))

    def ask_each(self, commands: Sequence[Command[AnswerType]], *, timeout_s: float) -> Iterator[AnswerType]:
        """Send several commands ahead of their answers, and yield each answer as it comes.

        Raises what :meth:`ask` raises. If not all answers are taken, the launch can only be ended.
        """
        lines = [command.line() for command in commands]
        sent_count = ahead_bytes = 0
        for number, command in enumerate(commands):
            while sent_count < len(lines) and (
                sent_count <= number or ahead_bytes + len(lines[sent_count]) < MOST_AHEAD_BYTES
            ):
                self._send(lines[sent_count])
                ahead_bytes += len(lines[sent_count])
                sent_count += 1
            yield driver_protocol.decode(command, self._check(self._next_answer(timeout_s)))
            ahead_bytes -= len(lines[number])

    def exchange(self, line: str, *, timeout_s: float) -> bytes:
        """Send one line and wait for its answer, a JSON object.

        Raises :class:`DriverLost` if the launch ends or does not answer within ``timeout_s`` seconds (it is
        then killed), and :class:`CommandRefused` if the driver refuses the command.
        """
        self._send(line)
        return self._check(self._next_answer(timeout_s))

    def _send(self, line: str) -> None:
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(f"{line}\n".encode("ascii"))
            self._process.stdin.flush()
        except (OSError, ValueError):  # ValueError: the stream was closed when the launch was lost
            raise DriverLost(self._end_reason()) from None

    def wait(self, seconds: float) -> bytes | None:
        """The next answer of a program that answers unasked; None if there is none within ``seconds``.

        Raises what :meth:`exchange` raises, but leaves a program that does not answer running.
        """
        answer = self._answer_within(seconds)
        return self._check(answer) if answer is not None else None

    def close(self, patience_s: float = PATIENCE_S) -> None:
        """End the launch: by the command ``quit``, after ``patience_s`` seconds by force."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError, ValueError):
                self._process.stdin.write(b"quit\n")
                self._process.stdin.close()
        try:
            self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self._kill()
        self._release()

    def kill(self) -> None:
        """End the launch at once."""
        self._kill()
        self._release()

    def _next_answer(self, timeout_s: float) -> bytes:
        answer = self._answer_within(timeout_s)
        if answer is None:
            self._kill()
            self._release()
            raise DriverLost(f"{HUNG}no answer within {round(timeout_s, 3):g} s")
        return answer

    def _answer_within(self, seconds: float) -> bytes | None:
        deadline = time.monotonic() + seconds
        while True:
            line = self._next_line()
            if line is not None:
                if line.startswith(ANSWER_PREFIX):
                    return line.removeprefix(ANSWER_PREFIX)
                self._log.write(line + b"\n")
                continue
            remaining_s = deadline - time.monotonic()
            if remaining_s <= 0:
                return None
            if not self._read(remaining_s):
                raise DriverLost(self._end_reason())

    def _check(self, answer: bytes) -> bytes:
        verdict = self._decode(answer)
        if not verdict.ok:
            raise CommandRefused(verdict.why)
        return answer

    def _decode(self, text: bytes) -> Verdict:
        try:
            return decode_json(text, Verdict)
        except msgspec.DecodeError as error:
            self._kill()
            self._release()
            raise DriverLost(f"sent an answer that is not JSON ({error})") from None

    def _next_line(self) -> bytes | None:
        line, newline, rest = self._buffer.partition(b"\n")
        if not newline:
            return None
        self._buffer = rest
        return line

    def _read(self, timeout_s: float) -> bool:
        """Append new output to the buffer; false at the end of the output."""
        if not self._selector.select(timeout_s):
            return True
        assert self._process.stdout is not None
        data = os.read(self._process.stdout.fileno(), 1 << 20)
        self._buffer += data
        return bool(data)

    def _end_reason(self) -> str:
        try:
            status = self._process.wait(self.PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._kill()
            status = self._process.wait()
        self._release()
        reason = f"was killed by signal {-status}" if status < 0 else f"ended with exit status {status}"
        excerpt = self._log_excerpt()
        return f"the launch {reason}" + (f": {excerpt}" if excerpt else "")

    def _log_excerpt(self) -> str:
        """The first lines of this launch's log that name an error or a signal, else its first lines."""
        log = str(read_part(self._log_path, self._log_start, LOG_BYTES), "utf-8", "replace")
        lines = [line.strip() for line in log.splitlines()]
        errors = [line for line in lines if any(word in line.lower() for word in LINES_ABOUT_ERRORS)]
        return " | ".join((errors or [line for line in lines if line])[:MOST_LOG_LINES])[:400]

    def _kill(self) -> None:
        """End every process of the launch, and the launcher even where /proc cannot be read."""
        process_cleanup.end_processes(self._watchdog.mark)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _release(self) -> None:
        """Close streams, and end all processes that the launcher left behind."""
        process_cleanup.end_processes(self._watchdog.mark)
        self._watchdog.release()
        self._selector.close()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
