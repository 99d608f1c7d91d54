"""Binary records that are appended to a file, each with its length and checksum.

A record is a mark of 8 bytes, the length of its content (8 bytes, little-endian), the checksum of length and
content (8 bytes) and the content. A damaged record costs itself alone: reading goes on at the next sound one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from offbeat.reading import RESULT_BYTES, open_regular, size_limit

MARK = b"\x89offbeat"
_HEAD_BYTES = len(MARK) + 8 + 8

_CHUNK_BYTES = 2**20

_WASTE = 4
"""Bytes that are hashed for records that turn out damaged: at most so many times the file's own size."""

_CUT = "it is cut off"


class Record(NamedTuple):
    """A piece of a file: ``content`` of a sound record, or None and ``why`` it is damaged.

    ``start`` is where it begins in the file, in bytes.
    """

    start: int
    content: bytes | None
    why: str = ""


def framed(content: bytes) -> bytes:
    """A record with this content."""
    length = len(content).to_bytes(8, "little")
    return MARK + length + _checksum(length, content) + content


def split(records: bytes) -> Iterator[bytes]:
    """The contents of sound records that stand one after the other, as :func:`framed` made them."""
    start = 0
    while start < len(records):
        length = records[start + len(MARK) : start + len(MARK) + 8]
        end = start + _HEAD_BYTES + int.from_bytes(length, "little")
        yield records[start + _HEAD_BYTES : end]
        start = end


def read_records(path: Path) -> Iterator[Record]:
    """The records of a file in their order; damaged stretches are reported once each.

    A last record that is cut off is what a killed writer leaves: it does not count and is not reported.
    Raises OSError, and BadInput for what is no regular file.
    """
    with open_regular(path) as stream:
        file = _File(stream.fileno(), size_limit(RESULT_BYTES))
        start = 0
        while start < file.size:
            record, end = file.record(start)
            if record.content is None:
                end = file.next_sound(start + 1)
                if end == file.size and record.why == _CUT:
                    return
            yield record
            start = end


class _File:
    """An open file of records; what is appended meanwhile is left for later."""

    def __init__(self, descriptor: int, limit: int) -> None:
        self.size = os.fstat(descriptor).st_size
        self._descriptor = descriptor
        self._limit = limit
        self._budget = _WASTE * self.size

    def record(self, start: int) -> tuple[Record, int]:
        """The record at a place, and where the next one begins."""
        head = os.pread(self._descriptor, min(_HEAD_BYTES, self.size - start), start)
        if not head.startswith(MARK[: len(head)]):
            return Record(start, None, "it does not begin with a mark"), start
        length = head[len(MARK) : len(MARK) + 8]
        size = int.from_bytes(length, "little")
        end = start + _HEAD_BYTES + size
        if len(head) < _HEAD_BYTES or end > self.size:
            return Record(start, None, _CUT), start
        if size > self._limit:
            return Record(start, None, f"its {size} bytes are more than the limit"), start
        content = os.pread(self._descriptor, size, start + _HEAD_BYTES)
        if _checksum(length, content) != head[-8:]:
            self._budget -= size
            return Record(start, None, "its checksum does not match"), start
        return Record(start, content), end

    def next_sound(self, start: int) -> int:
        """Where the next sound record begins; the file's end if there is none."""
        while self._budget >= 0 and (start := self._find(start)) < self.size:
            if self.record(start)[0].content is not None:
                return start
            start += 1
        return self.size

    def _find(self, start: int) -> int:
        """Where the next mark is; the file's end if there is none."""
        while start < self.size:
            chunk = os.pread(self._descriptor, min(_CHUNK_BYTES, self.size - start), start)
            place = chunk.find(MARK)
            if place >= 0:
                return start + place
            if len(chunk) < len(MARK):
                break
            start += len(chunk) - len(MARK) + 1
        return self.size


def _checksum(length: bytes, content: bytes) -> bytes:
    made = hashlib.blake2b(length, digest_size=8)
    made.update(content)
    return made.digest()
