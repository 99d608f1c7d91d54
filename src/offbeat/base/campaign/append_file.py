"""Append-only files: every byte is on disk before the call returns; and JSON lines with checksums."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from offbeat.base.campaign.checksum import ChecksumError, add_checksum, remove_checksum
from offbeat.base.campaign.durable import disk_failure
from offbeat.base.errors import BadInput
from offbeat.base.reading import RESULT_BYTES, read_file


class AppendFile:
    """A file to which data are appended completely or not at all.

    ``end`` is the length of the committed data in bytes. What a failed write left after it is truncated.
    """

    def __init__(self, path: Path, end: int | None = None) -> None:
        """Open or create the file, and truncate it to ``end`` bytes if given; raises RunFailed.

        A symbolic link is refused: in a directory of someone else, it may lead to any file of the user.
        """
        self.path = path
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
            self.end = os.fstat(self._descriptor).st_size if end is None else end
            self._truncate()
        except OSError as error:
            raise disk_failure(path, error) from error

    def append(self, data: bytes) -> None:
        """Append data and wait until it is on disk, all or nothing; raises RunFailed (a full disk, say)."""
        try:
            self._truncate()
            self._write(data)
            os.fsync(self._descriptor)
        except OSError as error:
            self.rewind(self.end)
            raise disk_failure(self.path, error) from error
        except BaseException:
            self.rewind(self.end)
            raise
        self.end += len(data)

    def rewind(self, end: int) -> None:
        """Remove what was appended after ``end``; if truncating fails, the next append tries it again."""
        self.end = end
        try:
            self._truncate()
        except OSError:
            return

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _truncate(self) -> None:
        if os.fstat(self._descriptor).st_size != self.end:
            os.ftruncate(self._descriptor, self.end)

    def _write(self, data: bytes) -> None:
        unwritten, position = memoryview(data), self.end
        while unwritten:
            byte_count = os.pwrite(self._descriptor, unwritten, position)
            unwritten, position = unwritten[byte_count:], position + byte_count


class DamagedLine(NamedTuple):
    """A damaged line: its number from 1, its content, and the reason why it cannot be used."""

    number: int
    content: bytes
    reason: str


class Lines(NamedTuple):
    """The lines of a file: the valid ones decoded, with their numbers, and the damaged ones.

    ``end`` is the number of bytes of complete lines.
    """

    items: list[Any]
    numbers: list[int]
    damaged_lines: list[DamagedLine]
    end: int


def encode_lines(items: Sequence[object]) -> bytes:
    """JSON lines of structures or dictionaries, each with its checksum; NaN becomes null."""
    return b"".join(add_checksum(msgspec.json.encode(item)) + b"\n" for item in items)


def read_checked_lines(path: Path, kind: Any) -> Lines:
    """The JSON lines of a file, decoded as ``kind``; nothing if there is no file.

    A killed writer leaves a last line without its line end, a power failure one of zeros: these count neither
    as valid nor as damaged. Raises BadInput for a file that cannot be read.
    """
    result = Lines([], [], [], 0)
    try:
        data = read_file(path, RESULT_BYTES)
    except FileNotFoundError:
        return result
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
    decoder = msgspec.json.Decoder(kind)
    end = data.rfind(b"\n") + 1
    for number, line in enumerate(data[:end].split(b"\n")[:-1], 1):
        try:
            result.items.append(decoder.decode(remove_checksum(line)))
            result.numbers.append(number)
        except (ChecksumError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            result.damaged_lines.append(DamagedLine(number, line, str(error)))
    last = result.damaged_lines[-1:]
    if last and last[0].number > max(result.numbers, default=0) and not last[0].content.strip(b"\0"):
        result.damaged_lines.pop()
        end -= len(last[0].content) + 1
    return result._replace(end=end)


def read_lines(path: Path, kind: Any) -> tuple[list[Any], int]:
    """The JSON lines of a file, decoded as ``kind``, and their length in bytes; empty and 0 without a file.

    A truncated or damaged last line was left by a killed writer and does not count. Raises BadInput, with the
    line, for any other damaged line.
    """
    lines = read_checked_lines(path, kind)
    if not lines.damaged_lines:
        return lines.items, lines.end
    first = lines.damaged_lines[0]
    if first.number > len(lines.items):
        return lines.items, lines.end - len(first.content) - 1
    raise BadInput(f"{path}:{first.number}: the line is damaged ({first.reason}); delete it to go on")
