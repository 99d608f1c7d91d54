"""Files that appear whole or not at all, whatever happens to the program or the disk meanwhile."""

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
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file to be written; it gets its name, and replaces what had it, when the block ends well.

    If the block raises, what was there before is untouched. A link stays a link: the file that it leads to is
    replaced. What is no regular file (``/dev/stdout``, a pipe) cannot be replaced and is written as it is.
    Raises OSError.
    """
    mode = _mode(path)
    if mode is not None and not stat.S_ISREG(mode):
        with path.open("wb") as stream:  # says so, if it is a directory
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


def write_whole_file(path: Path, content: bytes) -> None:
    """Write a file by :func:`whole_file`. Raises OSError."""
    with whole_file(path) as stream:
        stream.write(content)


def refused(path: Path, error: OSError, what: str = "") -> OffbeatError:
    """The sentence for a file that cannot be written; ``what`` names it, such as ``the report``.

    :class:`RunFailed` where the disk is full, which is nobody's input; else :class:`BadInput`.
    """
    failed = f"cannot write {what} {path}" if what else f"cannot write {path}"
    failed += f": {error.strerror or error}; "
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return RunFailed(failed + "make room there, or give a file in another place")
    return BadInput(failed + "give a file in a folder that you can write to")


def _mode(path: Path) -> int | None:
    """What a path leads to, or None if there is nothing."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None
