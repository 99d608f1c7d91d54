"""The standard input of a command, read once and given to each run of its program from the beginning."""

from __future__ import annotations

import hashlib
import os
import select
import subprocess
import tempfile
import time
from contextlib import AbstractContextManager, nullcontext
from io import FileIO
from pathlib import Path
from typing import IO

from msgspec import Struct

from offbeat.base.errors import BadInput, RunFailed
from offbeat.base.reading import READ_LIMIT, open_regular, rounded_size, size_limit
from offbeat.base.units import format_time

INPUT_BYTES = 2**30
"""The most bytes of standard input that are kept for the runs of a program."""

IDLE_S, WAIT_S = 30.0, 600.0
"""How long a pipe may send nothing, and how long it may send altogether: longer than a decompression of as
many bytes as are kept."""

_SOURCE = 0
_CHUNK_BYTES = 2**20
_REMEDY = "redirect the program's input from a file (< FILE), or from /dev/null if it reads none"


class StandardInput(Struct, frozen=True, kw_only=True):
    """What each run reads: an open temporary ``copy``, None for nothing, and a ``digest`` of it."""

    copy: IO[bytes] | None = None
    digest: str = ""

    def opened(self) -> AbstractContextManager[int | FileIO]:
        """A stream for :class:`subprocess.Popen`, from which a program reads everything: each stream has an
        offset of its own."""
        if self.copy is None:
            return nullcontext(subprocess.DEVNULL)
        return open_regular(Path(f"/proc/self/fd/{self.copy.fileno()}"))


NO_INPUT = StandardInput()
"""The input of programs that read nothing."""


def kept_standard_input() -> StandardInput:
    """The standard input of this process, kept in a temporary file; nothing is read from a terminal.

    Raises :class:`BadInput` for a pipe that does not end, and for more than :data:`INPUT_BYTES`.
    """
    if os.isatty(_SOURCE):
        return NO_INPUT
    copy = tempfile.TemporaryFile(prefix="offbeat-input-")  # noqa: SIM115 - open until the last run
    digest = _copied(copy)
    return StandardInput(copy=copy, digest=digest) if digest else NO_INPUT


def _copied(copy: IO[bytes]) -> str:
    """Copy everything; returns the digest of the content, empty without one."""
    limit, size, digest = size_limit(INPUT_BYTES), 0, hashlib.sha256()
    deadline_s = time.monotonic() + WAIT_S
    while part := _part(deadline_s, size):
        size += len(part)
        if size > limit:
            raise BadInput(
                f"standard input has more than {rounded_size(limit)}, and every run of the program needs all"
                f" of it: {_REMEDY}; {READ_LIMIT} sets another limit"
            )
        digest.update(part)
        try:
            copy.write(part)
            copy.flush()
        except OSError as error:
            raise RunFailed(f"cannot keep the standard input: {error.strerror or error}") from error
    return digest.hexdigest()[:16] if size else ""


def _part(deadline_s: float, size: int) -> bytes:
    """The next bytes, empty at the end."""
    wait_s = min(IDLE_S, deadline_s - time.monotonic())
    if wait_s <= 0 or not select.select([_SOURCE], [], [], wait_s)[0]:
        idle = f"it sent nothing for {format_time(IDLE_S)}"
        if wait_s < IDLE_S:
            idle = f"after {format_time(WAIT_S)}"
        raise BadInput(
            f"standard input is a pipe that does not end ({idle}, {rounded_size(size)} in all), and every run"
            f" of the program needs all of it: {_REMEDY}"
        )
    return os.read(_SOURCE, _CHUNK_BYTES)
