"""A disk that becomes full."""

from __future__ import annotations

import errno
import os

import pytest


class Disk:
    """Accepts ``room`` bytes, then fails like a full disk, in the middle of a write."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.room = 10**9
        self.really = os.pwrite
        monkeypatch.setattr(os, "pwrite", self.pwrite)

    def pwrite(self, descriptor: int, data: bytes | memoryview, position: int) -> int:
        if self.room == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = self.really(descriptor, data[: self.room], position)
        self.room -= written
        return written
