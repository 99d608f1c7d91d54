"""The driver's other end: one launch, commands in, answers out.

Commands go to rank 0's standard input, a line each; answers come back on its standard output as lines that
begin with ``@offbeat`` and hold a JSON object. Everything else that the launch prints goes to a log. See
``native/benchmark/verbs.h`` for the commands.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from offbeat.mpi import ending

MARK = b"@offbeat "
LINES_OF_LOG_IN_A_REASON = 3
HUNG = "hung: "
"""The beginning of the reason for a launch that was killed because it did not answer."""


class DriverLost(Exception):
    """The launch died or hung in the middle of a command; the text says how, for the case's quarantine."""


class Refused(Exception):
    """The driver answered that it cannot do what was asked; the text is its reason."""


class Driver:
    """One running launch of the driver.

    ``argv`` is the whole launch command, ``environment`` the complete environment of the launcher (to which
    the launch's mark is added), ``log`` the file that receives what the launch prints beside its answers.
    When the front end is killed, the launch ends too (:class:`offbeat.mpi.ending.Watch`).
    """

    PATIENCE_S = 10.0
    """How long a launch may take to end once it was asked to, or once its output has ended."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self._log_path = log
        self._log = log.open("ab")
        self._log_start = self._log.tell()
        self._buffer = b""
        self._watch = ending.Watch()
        try:
            self._process = subprocess.Popen(
                list(argv),
                env=dict(environment) | {ending.MARK: self._watch.mark},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                start_new_session=True,
            )
        except BaseException:
            self._watch.release()
            self._log.close()
            raise
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._process.stdout, selectors.EVENT_READ)

    def ask(self, verb: str, *words: str, timeout_s: float, **values: object) -> dict[str, object]:
        """Send one command and wait for its answer.

        Raises :class:`DriverLost` when the launch ends or stays silent for ``timeout_s`` seconds (it is then
        killed), and :class:`Refused` when the driver says that it cannot.
        """
        line = " ".join([verb, *words, *(f"{key}={value}" for key, value in values.items())]) + "\n"
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(line.encode("ascii"))
            self._process.stdin.flush()
        except (OSError, ValueError):  # ValueError: it was closed when the launch was lost
            raise DriverLost(self._how_it_ended()) from None
        answer = self._next_answer(timeout_s)
        if not answer.get("ok"):
            raise Refused(str(answer.get("why", "no reason given")))
        return answer

    def close(self, patience_s: float = PATIENCE_S) -> None:
        """End the launch: by asking, and by force if that does not help."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError, ValueError):
                self._process.stdin.write(b"quit\n")
                self._process.stdin.close()
        try:
            self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self._kill()
        self._release()

    def _next_answer(self, timeout_s: float) -> dict[str, object]:
        give_up = time.monotonic() + timeout_s
        while True:
            line = self._take_line()
            if line is not None:
                if line.startswith(MARK):
                    return self._decode(line[len(MARK) :])
                self._log.write(line + b"\n")
                continue
            left = give_up - time.monotonic()
            if left <= 0:
                self._kill()
                self._release()
                raise DriverLost(f"{HUNG}no answer within {timeout_s:g} s")
            if not self._read(left):
                raise DriverLost(self._how_it_ended())

    def _decode(self, text: bytes) -> dict[str, object]:
        try:
            return msgspec.json.decode(text, type=dict[str, object])
        except msgspec.DecodeError as error:
            self._kill()
            self._release()
            raise DriverLost(f"answered what is no JSON ({error})") from None

    def _take_line(self) -> bytes | None:
        line, newline, rest = self._buffer.partition(b"\n")
        if not newline:
            return None
        self._buffer = rest
        return line

    def _read(self, timeout_s: float) -> bool:
        """Add what has arrived to the buffer; false at the end of the output."""
        if not self._selector.select(timeout_s):
            return True
        assert self._process.stdout is not None
        data = os.read(self._process.stdout.fileno(), 1 << 20)
        self._buffer += data
        return bool(data)

    def _how_it_ended(self) -> str:
        try:
            status = self._process.wait(self.PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._kill()
            status = self._process.wait()
        self._release()
        what = f"was killed by signal {-status}" if status < 0 else f"ended with exit status {status}"
        last = self._last_words()
        return f"the launch {what}" + (f": {last}" if last else "")

    def _last_words(self) -> str:
        """The lines of the log that say most about the end: those that name an error or a signal."""
        with self._log_path.open("rb") as log:
            log.seek(self._log_start)
            lines = [line.strip() for line in log.read().decode("utf-8", "replace").splitlines()]
        telling = [
            x for x in lines if any(w in x.lower() for w in ("error", "signal", "assert", "abort", "fatal"))
        ]
        return " | ".join((telling or [x for x in lines if x])[:LINES_OF_LOG_IN_A_REASON])[:400]

    def _kill(self) -> None:
        """End every process of the launch, and the launcher even where processes cannot be looked through."""
        ending.end(self._watch.mark)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _release(self) -> None:
        """Give back what the launch held; what its launcher left behind ends here at the latest."""
        ending.end(self._watch.mark)
        self._watch.release()
        self._selector.close()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
