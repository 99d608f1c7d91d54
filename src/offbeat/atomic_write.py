"""Files that are written completely or not at all, even if the program is killed or the disk is full."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from offbeat.errors import BadInput, OffbeatError, RunFailed


@contextmanager
def atomic_writer(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing; it replaces ``path`` when the block ends without an exception.

    If the block raises, the previous file is untouched. A symbolic link stays: the file that it leads to is
    replaced. Anything but a regular file (``/dev/stdout``, a pipe) cannot be replaced and is written in
    place. Raises OSError.
    """
    mode = _mode(path)
    if mode is not None and not stat.S_ISREG(mode):
        with path.open("wb") as stream:  # raises IsADirectoryError for a directory
            yield stream
        return
    final = path.resolve()
    unfinished = final.with_name(f".{final.name[:200]}.{os.getpid()}")
    try:
        with unfinished.open("wb") as stream:
            yield stream
        if mode is not None:
            unfinished.chmod(stat.S_IMODE(mode))
        unfinished.replace(final)
    finally:
        unfinished.unlink(missing_ok=True)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file with :func:`atomic_writer`. Raises OSError."""
    with atomic_writer(path) as stream:
        stream.write(content)


def write_error(path: Path, error: OSError, description: str = "") -> OffbeatError:
    """The error to raise for a file that cannot be written; ``description`` such as ``the report``.

    :class:`RunFailed` where the disk is full, which no input causes; else :class:`BadInput`.
    """
    failed = f"cannot write {description} {path}" if description else f"cannot write {path}"
    failed += f": {error.strerror or error}; "
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return RunFailed(failed + "free space there, or give a file on another disk")
    return BadInput(failed + "give a file in a folder that you can write to")


def _mode(path: Path) -> int | None:
    """The mode of the file that a path leads to, or None if there is none."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None
