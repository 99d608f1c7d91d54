"""Whether a signal came to us alone, or to our whole group of processes, as from a terminal."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from types import TracebackType
from typing import Self

_SENT_BY_THEN_S = 0.02
"""After this long the sender has been to all processes of the group."""


class Bystander:
    """A process of our group that does nothing but get the signals that the group gets.

    Signals that the program gets anyway must not be handed to it once more: launchers take a second Ctrl-C
    for impatience. Make it while all signals that matter are blocked; a context manager that ends it.
    """

    def __init__(self) -> None:
        self._start()

    def got(self, number: int) -> bool:
        """Whether a signal that we got came here, too; asked once for each."""
        time.sleep(_SENT_BY_THEN_S)
        status = Path(f"/proc/{self._pid}/status").read_text(encoding="utf-8")
        waiting = sum(int(mask, 16) for mask in re.findall(r"^ShdPnd:\s*(\w+)", status, re.MULTILINE))
        if not waiting >> (number - 1) & 1:
            return False
        self._end()  # what waits for it cannot be taken away
        self._start()
        return True

    def _start(self) -> None:
        until, self._ours = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _stand_by(until, self._ours)
        os.close(until)

    def _end(self) -> None:
        os.close(self._ours)
        os.waitpid(self._pid, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()


def _stand_by(until: int, theirs: int) -> None:
    """Wait, in the new process, until the other one is done or gone; hold nothing else meanwhile."""
    try:
        os.close(theirs)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nowhere, stream)
        os.read(until, 1)
    finally:
        os._exit(0)
