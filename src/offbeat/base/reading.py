"""Safe reading of files: regular files of bounded size, text, valid JSON.

No other module of offbeat opens a file for reading (``tests/docs/test_file_access.py``), so that a device, a
pipe or an absurdly large or deeply nested file ends in an error message, wherever its path comes from.
``OFFBEAT_READ_LIMIT`` (a size such as ``4 GB``) replaces the limits below.
"""

from __future__ import annotations

import mmap
import os
import stat
from io import FileIO
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from offbeat.base.errors import BadInput
from offbeat.base.units import format_size, parse_size

READ_LIMIT = "OFFBEAT_READ_LIMIT"
"""The environment variable that replaces every limit of this module."""

TOML_BYTES = 2**20
"""Limit of a TOML file; study and platform files have a few kilobytes."""

TEXT_BYTES = 64 * 2**20
"""Limit of other text: patterns, replays, CSV tables, JSON documents, host files."""

RESULT_BYTES = 2 * 2**30
"""Limit of one file of results, and of the memory that one of its tables takes."""

LOG_BYTES = 2**30
"""Limit of what a program or a compiler printed."""

LIBRARY_BYTES = 2**30
"""Limit of a shared library whose content is searched."""

_CHUNK_BYTES = 2**20

_MOST_NAME_BYTES = 200
"""File systems allow 255 bytes; files that are being written have a suffix."""

_SHOWN_CHARACTERS = 80


def read_file(path: Path, default_limit: int = TEXT_BYTES) -> bytes:
    """The content of a regular file.

    Raises :class:`BadInput` for a device, a pipe or a socket, and for a file larger than the limit; OSError
    (also for a directory) as :meth:`Path.read_bytes` does.
    """
    limit = size_limit(default_limit)
    with open_regular(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > limit:
            raise_too_large(path, size, limit)
        parts, size = [], 0
        while part := stream.read(_CHUNK_BYTES):  # fstat reports 0 in /proc, and the file may grow
            parts.append(part)
            size += len(part)
            if size > limit:
                raise_too_large(path, size, limit)
    return b"".join(parts)


def read_text(path: Path, default_limit: int = TEXT_BYTES, *, errors: str = "strict") -> str:
    """The content of a regular file as UTF-8 text; ``errors`` as in :meth:`bytes.decode`.

    Raises what :func:`read_file` raises, and UnicodeDecodeError.
    """
    return read_file(path, default_limit).decode("utf-8", errors)


def read_system_text(path: Path) -> str:
    """The text of a file in ``/sys``, ``/proc`` or ``/etc``, without surrounding white space.

    Empty for a file that cannot be read.
    """
    try:
        return read_text(path, errors="replace").strip()
    except (OSError, BadInput):
        return ""


def read_part(path: Path, start: int, length: int) -> memoryview:
    """The bytes of a regular file from the offset ``start`` on: ``length``, or fewer at its end.

    Raises what :func:`read_file` raises.
    """
    with open_regular(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        content = memoryview(bytearray(max(0, min(length, size - start))))
        stream.seek(start)
        count = 0
        while part := stream.readinto(content[count:]):  # one call reads less than 2 GiB
            count += part
    return content[:count]


def map_file(path: Path, default_limit: int | None = None) -> mmap.mmap | bytes:
    """The content of a regular file, whose pages are read when they are used; empty bytes for an empty file.

    Raises what :func:`read_file` raises; without a limit, a file of any size is mapped.
    """
    with open_regular(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if default_limit is not None and size > (limit := size_limit(default_limit)):
            raise_too_large(path, size, limit)
        return mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_READ) if size else b""


def open_regular(path: Path) -> FileIO:
    """Open a regular file for reading bytes.

    Raises :class:`BadInput` for a device, a pipe or a socket, and for a path with a zero byte; OSError (also
    for a directory) as ``open`` does.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe must not block
    except ValueError:
        raise BadInput(f"{os.fspath(path)!r} cannot be the path of a file: it contains a zero byte") from None
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        os.close(descriptor)
        raise BadInput(f"{path} is no regular file but {_kind(mode)}; give a regular file")
    try:
        return FileIO(descriptor, "rb")
    except OSError as error:  # a directory
        os.close(descriptor)
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None


def size_limit(default: int) -> int:
    """The limit in bytes: that of the environment variable, or ``default``.

    Raises :class:`BadInput` if the environment variable is not a size.
    """
    text = os.environ.get(READ_LIMIT, "")
    if not text:
        return default
    try:
        return parse_size(text)
    except BadInput as error:
        raise BadInput(f"the environment variable {READ_LIMIT}: {error}") from None


def raise_too_large(path: Path, size_bytes: int, limit: int, verb: str = "has") -> NoReturn:
    """Raise :class:`BadInput` for too large a file; ``verb`` is ``has``, ``would have``, ``needs``, ..."""
    raise BadInput(
        f"{path} {verb} {rounded_size(size_bytes)}, more than the limit of {rounded_size(limit)}; if that is"
        f" right, set the environment variable {READ_LIMIT} to a larger size"
    )


def file_name(text: str, source: object) -> str:
    """A text from a file as the name of a file: one part of a path.

    Every name that comes from a file, and of which offbeat makes a path to write to, is checked here.
    ``source`` is where the text comes from. Raises :class:`BadInput` for a text that names a folder or leads
    to another one.
    """
    if (
        text in ("", ".", "..")
        or not text.isprintable()
        or "/" in text
        or len(text.encode()) > _MOST_NAME_BYTES
    ):
        excerpt = text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."
        raise BadInput(
            f"{source}: {excerpt!r} cannot be part of the name of a file: a name has printable characters,"
            f" no '/', and at most {_MOST_NAME_BYTES} bytes"
        )
    return text


def decode_json(data: bytes | memoryview, kind: Any = Any, **options: Any) -> Any:
    """:func:`msgspec.json.decode` that raises msgspec.DecodeError for every fault of the data."""
    try:
        return msgspec.json.decode(data, type=kind, **options)
    except RecursionError:
        raise msgspec.DecodeError("it is nested too deeply") from None
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(f"it is not UTF-8 text: {error}") from None


def rounded_size(size_bytes: int) -> str:
    """A size with about three digits: ``64 MiB``, ``9.3 GB``."""
    short = format_size(size_bytes)
    if len(short) <= len("1023 MiB"):
        return short
    for unit, scale in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size_bytes >= scale:
            return f"{size_bytes / scale:.3g} {unit}"
    return short


def _kind(mode: int) -> str:
    """The kind of a path that is neither a file nor a directory."""
    kinds = (
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    return next((kind for test, kind in kinds if test(mode)), "something else")
