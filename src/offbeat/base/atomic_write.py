"""Files that are written completely or not at all, even if the program is killed or the disk is full."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from offbeat.base.errors import BadInput, OffbeatError, RunFailed


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
    temporary_file = final.with_name(f".{final.name[:200]}.{os.getpid()}")
    try:
        temporary_file.unlink(missing_ok=True)
        with temporary_file.open("xb") as stream:  # never through a symbolic link
            yield stream
        if mode is not None:
            temporary_file.chmod(stat.S_IMODE(mode))
        temporary_file.replace(final)
    finally:
        temporary_file.unlink(missing_ok=True)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file with :func:`atomic_writer`. Raises OSError."""
    with atomic_writer(path) as stream:
        stream.write(content)


def write_error(path: Path, error: OSError, description: str = "") -> OffbeatError:
    """The error to raise for a file that cannot be written; ``description`` such as ``the report``.

    :class:`RunFailed` where the disk is full, which no input causes; else :class:`BadInput`.
    """
    message = f"cannot write {description} {path}" if description else f"cannot write {path}"
    message += f": {error.strerror or error}; "
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return RunFailed(message + "free space there, or give a file on another disk")
    return BadInput(message + "give a file in a folder that you can write to")


def _mode(path: Path) -> int | None:
    """The mode of the file that a path leads to, or None if there is none."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def check_new(path: Path, *, force: bool = False) -> None:
    """Raise :class:`BadInput` if :func:`write_new` would, as far as that can be known beforehand."""
    try:
        _refuse_existing(path, force)
        folder = path.absolute().parent
        if not folder.is_dir():
            raise BadInput(f"{path}: there is no folder {folder}; give one that exists")
        is_replaced = path.is_file() or not path.exists()  # others, such as /dev/stdout, are written in place
        if is_replaced and not os.access(folder, os.W_OK | os.X_OK):
            raise BadInput(f"{path}: you may not write to the folder {folder}; give another one")
    except OSError as error:
        raise BadInput(f"{path}: it cannot be examined: {error.strerror}; give another file") from None


def write_new(path: Path, text: str, description: str, *, force: bool = False) -> None:
    """Write a file that people edit and that must not be lost; ``description`` such as ``the study file``.

    Raises :class:`BadInput` if it exists, unless ``force``, and the error of :func:`write_error`.
    """
    try:
        _refuse_existing(path, force)
        write_atomically(path, text.encode())
    except OSError as error:
        raise write_error(path, error, description) from None


def _refuse_existing(path: Path, force: bool) -> None:
    if path.is_dir():
        raise BadInput(f"{path}: this is a directory; give a file name in it")
    if not force and os.path.lexists(path):
        remedy = "give another name, or overwrite it with --force"
        raise BadInput(f"{path}: this file exists already; {remedy}")
