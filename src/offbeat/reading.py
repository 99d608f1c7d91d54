"""Limits on the files that people and other programs wrote: regular files of a bounded size, sound JSON.

Every reader of such a file goes through this module, so that a device, a pipe or an absurdly large or deeply
nested file ends in a sentence. ``OFFBEAT_READ_LIMIT`` (a size such as ``4 GB``) takes the place of the limits
below.
"""

from __future__ import annotations

import os
import stat
from io import FileIO
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from offbeat.errors import BadInput
from offbeat.units import format_size, parse_size

READ_LIMIT = "OFFBEAT_READ_LIMIT"
"""The environment variable that takes the place of every limit here."""

TOML_BYTES = 2**20
"""The most that a TOML file may have: study and platform files have a few kilobytes."""

TEXT_BYTES = 64 * 2**20
"""The most that other text may have: patterns, replays, CSV tables, JSON documents, host files."""

RESULT_BYTES = 2 * 2**30
"""The most that one file of results may have, and the most memory that one of its tables may take."""

_CHUNK_BYTES = 2**20


def read_file(path: Path, default_limit: int = TEXT_BYTES) -> bytes:
    """The content of a regular file.

    Raises :class:`BadInput` for a device, a pipe or a socket, and for a file larger than the limit; OSError
    (also for a directory) as :meth:`Path.read_bytes` does.
    """
    limit = limit_bytes(default_limit)
    with open_regular(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > limit:
            refuse_size(path, size, limit)
        parts, size = [], 0
        while part := stream.read(_CHUNK_BYTES):  # the size is not known in /proc, or grows
            parts.append(part)
            size += len(part)
            if size > limit:
                refuse_size(path, size, limit)
    return b"".join(parts)


def open_regular(path: Path) -> FileIO:
    """Open a regular file to read bytes.

    Raises :class:`BadInput` for a device, a pipe or a socket; OSError (also for a directory) as
    ``open`` does.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe must not block
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        os.close(descriptor)
        raise BadInput(f"{path} is no regular file but {_kind(mode)}; give a regular file")
    try:
        return FileIO(descriptor, "rb")
    except OSError as error:  # a directory
        os.close(descriptor)
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None


def limit_bytes(default: int) -> int:
    """The limit that holds: the user's, or ``default``. Raises :class:`BadInput` for one that is no size."""
    text = os.environ.get(READ_LIMIT, "")
    if not text:
        return default
    try:
        return parse_size(text)
    except BadInput as error:
        raise BadInput(f"the environment variable {READ_LIMIT}: {error}") from None


def refuse_size(path: Path, size_bytes: int, limit: int, what: str = "has") -> NoReturn:
    """Raise the sentence for too large a file; ``what`` says how the size comes about."""
    raise BadInput(
        f"{path} {what} {rounded_size(size_bytes)}, more than the limit of {rounded_size(limit)}; if that is"
        f" right, set the environment variable {READ_LIMIT} to a larger size"
    )


def decode_json(data: bytes | memoryview, kind: Any = Any, **options: Any) -> Any:
    """:func:`msgspec.json.decode` that raises msgspec.DecodeError for every fault of the data."""
    try:
        return msgspec.json.decode(data, type=kind, **options)
    except RecursionError:
        raise msgspec.DecodeError("it is nested too deeply") from None
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(f"it is not UTF-8 text: {error}") from None


def rounded_size(size_bytes: int) -> str:
    """A size in three digits or so: ``64 MiB``, ``9.3 GB``."""
    short = format_size(size_bytes)
    if len(short) <= len("1023 MiB"):
        return short
    for unit, scale in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size_bytes >= scale:
            return f"{size_bytes / scale:.3g} {unit}"
    return short


def _kind(mode: int) -> str:
    """What a path leads to, if it is neither a file nor a directory."""
    kinds = (
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    return next((words for test, words in kinds if test(mode)), "something else")
