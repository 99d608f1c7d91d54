"""Binary records that are appended to a file, each with its length and checksum.

A record is a magic number of 8 bytes, the length of its content (8 bytes, little-endian), the checksum of
length and content (8 bytes), and the content. After a damaged record, reading continues at the next valid.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from offbeat.base.reading import RESULT_BYTES, open_regular, size_limit

MAGIC = b"\x89offbeat"
_HEAD_BYTES = len(MAGIC) + 8 + 8

_CHUNK_BYTES = 2**20

_MAX_WASTED_HASHING = 4
"""Limit on bytes that are hashed for damaged records, as a multiple of the file size."""

_TRUNCATION = "it is cut off"


class Record(NamedTuple):
    """A piece of a file: the ``content`` of a valid record, or None and the ``reason`` why it is damaged.

    ``start`` is its offset in the file in bytes.
    """

    start: int
    content: bytes | None
    reason: str = ""


def encode_record(content: bytes) -> bytes:
    """A record with this content."""
    length = len(content).to_bytes(8, "little")
    return MAGIC + length + _checksum(length, content) + content


def record_contents(records: bytes) -> Iterator[bytes]:
    """The contents of successive valid records of :func:`encode_record`."""
    start = 0
    while start < len(records):
        length = records[start + len(MAGIC) : start + len(MAGIC) + 8]
        end = start + _HEAD_BYTES + int.from_bytes(length, "little")
        yield records[start + _HEAD_BYTES : end]
        start = end


def read_records(path: Path) -> Iterator[Record]:
    """The records of a file in order; each damaged stretch is reported once.

    A truncated last record was left by a killed writer: it does not count and is not reported. Raises
    OSError, and BadInput for anything but a regular file.
    """
    with open_regular(path) as stream:
        file = _File(stream.fileno(), size_limit(RESULT_BYTES))
        start = 0
        while start < file.size:
            record, end = file.record(start)
            if record.content is None:
                end = file.next_valid(start + 1)
                if end == file.size and record.reason == _TRUNCATION:
                    return
            yield record
            start = end


class _File:
    """An open file of records; data appended after opening are ignored."""

    def __init__(self, descriptor: int, limit: int) -> None:
        self.size = os.fstat(descriptor).st_size
        self._descriptor = descriptor
        self._limit = limit
        self._budget = _MAX_WASTED_HASHING * self.size

    def record(self, start: int) -> tuple[Record, int]:
        """The record at an offset, and the offset of the next one."""
        head = os.pread(self._descriptor, min(_HEAD_BYTES, self.size - start), start)
        if not head.startswith(MAGIC[: len(head)]):
            return Record(start, None, "it does not begin with a record's magic number"), start
        length = head[len(MAGIC) : len(MAGIC) + 8]
        size = int.from_bytes(length, "little")
        end = start + _HEAD_BYTES + size
        if len(head) < _HEAD_BYTES or end > self.size:
            return Record(start, None, _TRUNCATION), start
        if size > self._limit:
            return Record(start, None, f"its {size} bytes are more than the limit"), start
        content = os.pread(self._descriptor, size, start + _HEAD_BYTES)
        if _checksum(length, content) != head[-8:]:
            self._budget -= size
            return Record(start, None, "its checksum does not match"), start
        return Record(start, content), end

    def next_valid(self, start: int) -> int:
        """Offset of the next valid record; the end of the file if there is none."""
        while self._budget >= 0 and (start := self._find(start)) < self.size:
            if self.record(start)[0].content is not None:
                return start
            start += 1
        return self.size

    def _find(self, start: int) -> int:
        """Offset of the next magic number; the end of the file if there is none."""
        while start < self.size:
            chunk = os.pread(self._descriptor, min(_CHUNK_BYTES, self.size - start), start)
            offset = chunk.find(MAGIC)
            if offset >= 0:
                return start + offset
            if len(chunk) < len(MAGIC):
                break
            start += len(chunk) - len(MAGIC) + 1
        return self.size


def _checksum(length: bytes, content: bytes) -> bytes:
    checksum = hashlib.blake2b(length, digest_size=8)
    checksum.update(content)
    return checksum.digest()
