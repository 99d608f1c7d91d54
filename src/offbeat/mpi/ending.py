"""Ending a launch wholly: every process on this machine that it started, also behind a launcher that died.

Launchers put their processes into sessions and groups of their own, and some are shell scripts that die
without telling anybody. What all processes of a launch share is a variable in their environment, the mark.

This file is also run as a program beside each launch: the watch, which ends the launch when the front end is
killed, so that no process spins on for ever. It needs nothing but Python's own library.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterable
from pathlib import Path

MARK = "OFFBEAT_LAUNCH"
"""The variable that marks the processes of a launch; each launch has a value of its own."""

POLL_S = 0.02


def processes(mark: str) -> list[int]:
    """The processes on this machine that carry a mark."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or is somebody else's
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def end(mark: str, patience_s: float = 3.0) -> None:
    """Ask every process of a launch to end, so that its launcher can end remote ones; then kill what is left.

    Each of the two gets ``patience_s`` seconds. Returns at once where nothing carries the mark.
    """
    for number in (signal.SIGTERM, signal.SIGKILL):
        give_up = time.monotonic() + patience_s
        left = processes(mark)
        _send(number, left)
        while left and time.monotonic() < give_up:
            time.sleep(POLL_S)
            left = processes(mark)


def _send(number: signal.Signals, targets: Iterable[int]) -> None:
    for process in targets:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)


class Watch:
    """Ends the processes that carry ``mark`` as soon as the process that made the watch is gone."""

    def __init__(self) -> None:
        self.mark = uuid.uuid4().hex
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, self.mark],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def release(self) -> None:
        """End the watch; the launch is left alone."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()


if __name__ == "__main__":
    sys.stdin.buffer.read()  # ends when the front end does, however it ends
    end(sys.argv[1])
