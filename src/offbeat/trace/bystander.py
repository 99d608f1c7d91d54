"""Whether a signal came to us alone, or to our whole group of processes, as from a terminal."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

_SENT_BY_THEN_S = 0.02
"""After this long the sender has been to all processes of the group."""


class Bystander:
    """A process of our group that does nothing but get the signals that the group gets.

    Signals that the program gets anyway must not be handed to it once more: launchers take a second Ctrl-C
    for impatience. It is a program with another name than ours, as a signal may be sent by name, too. Make it
    while all signals that matter are blocked, which it inherits; a context manager that ends it. Where it
    cannot be started, no signal counts as the group's: rather twice than never.
    """

    def __init__(self) -> None:
        self._start()

    def got(self, number: int) -> bool:
        """Whether a signal that we took came here, too; asked once for each.

        If so, what else came here is taken from us as well, as it reached the program just so: another
        signal, or the same one again, where the sender turned to us first and then to the group.
        """
        time.sleep(_SENT_BY_THEN_S)
        waiting = self._waiting()
        if number not in waiting:
            return False
        while signal.sigtimedwait(waiting, 0):
            pass
        self._end()  # what waits for it cannot be taken away
        self._start()
        return True

    def _waiting(self) -> set[int]:
        if self._process is None:
            return set()
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8")
        masks = re.findall(r"^ShdPnd:\s*(\w+)", status, re.MULTILINE)
        return {number for number in range(1, signal.NSIG) if int(masks[0], 16) >> (number - 1) & 1}

    def _start(self) -> None:
        try:
            self._process: subprocess.Popen[bytes] | None = subprocess.Popen(
                ["cat"],  # ends when we do, however that happens
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PATH": f"{os.defpath}:{os.environ.get('PATH', '')}"},
            )
        except OSError:
            self._process = None

    def _end(self) -> None:
        if self._process is not None:
            with self._process:
                self._process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()
