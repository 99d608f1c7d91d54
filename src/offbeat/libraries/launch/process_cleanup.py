"""Ending every process on this machine that a launch started, even after its launcher died.

Launchers put their processes into separate sessions and process groups, and some launchers are shell scripts
that die without ending their children. All processes of a launch share a variable in their environment, the
mark.

This file is also run as a program beside each launch: the watchdog, which ends the launch when the front end
is killed. It uses only Python's standard library.
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
"""The variable that marks the processes of a launch; each launch has a different value."""

POLL_S = 0.02


def marked_processes(mark: str) -> list[int]:
    """The processes on this machine that carry a mark."""
    variable = f"{MARK}={mark}".encode()
    processes = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # the process has ended, or belongs to another user
            if variable in (folder / "environ").read_bytes().split(b"\0"):
                processes.append(int(folder.name))
    return processes


def end_processes(mark: str, patience_s: float = 3.0) -> None:
    """Send SIGTERM to every process of a launch, so that its launcher can end remote ones; then SIGKILL.

    After each signal it waits ``patience_s`` seconds at most. Returns at once if no process carries the mark.
    """
    for number in (signal.SIGTERM, signal.SIGKILL):
        deadline = time.monotonic() + patience_s
        processes = marked_processes(mark)
        _send(number, processes)
        while processes and time.monotonic() < deadline:
            time.sleep(POLL_S)
            processes = marked_processes(mark)


def _send(number: signal.Signals, targets: Iterable[int]) -> None:
    for process in targets:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)


class Watchdog:
    """Ends the processes that carry ``mark`` as soon as the process that created the watchdog has ended."""

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
        """End the watchdog, but not the launch."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()


if __name__ == "__main__":
    sys.stdin.buffer.read()  # returns when the front end ends, however that happens
    end_processes(sys.argv[1])
