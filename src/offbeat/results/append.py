"""Files that only grow, of which every byte is on disk before the call returns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from offbeat.errors import BadInput
from offbeat.reading import RESULT_BYTES, read_file
from offbeat.results.checksum import Damaged, sealed, unsealed
from offbeat.results.layout import disk_failure


class AppendFile:
    """A file to which whole pieces are appended: after :meth:`append`, on disk; after a failure, not there.

    ``end`` is the length of what counts, in bytes. What a failed write left behind it is cut off.
    """

    def __init__(self, path: Path, end: int | None = None) -> None:
        """Open or create the file, and cut it to ``end`` bytes if given; raises RunFailed."""
        self.path = path
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            self.end = os.fstat(self._descriptor).st_size if end is None else end
            self._cut()
        except OSError as error:
            raise disk_failure(path, error) from error

    def append(self, data: bytes) -> None:
        """Append data and wait until it is on disk, all or nothing; raises RunFailed (a full disk, say)."""
        try:
            self._cut()
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
        """Take back what was appended behind ``end``; if the disk refuses, the next append tries again."""
        self.end = end
        try:
            self._cut()
        except OSError:
            return

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _cut(self) -> None:
        if os.fstat(self._descriptor).st_size != self.end:
            os.ftruncate(self._descriptor, self.end)

    def _write(self, data: bytes) -> None:
        rest, position = memoryview(data), self.end
        while rest:
            written = os.pwrite(self._descriptor, rest, position)
            rest, position = rest[written:], position + written


class BadLine(NamedTuple):
    """A line that is damaged: its number from 1, what stands there, and why it cannot be used."""

    number: int
    content: bytes
    why: str


class Lines(NamedTuple):
    """The lines of a file: the sound ones decoded, with their numbers, and the damaged ones.

    ``end`` is how many bytes of the file are whole lines.
    """

    items: list[Any]
    numbers: list[int]
    damaged: list[BadLine]
    end: int


def encode_lines(items: Sequence[object]) -> bytes:
    """JSON lines of structures or dictionaries, each with its checksum; NaN becomes null."""
    return b"".join(sealed(msgspec.json.encode(item)) + b"\n" for item in items)


def read_sealed(path: Path, kind: Any) -> Lines:
    """The JSON lines of a file as ``kind``; nothing if there is no file.

    A last line without its line end is what a killed writer left, and one of zeros what a power failure left:
    they count neither as sound nor as damaged. Raises BadInput for a file that cannot be read.
    """
    found = Lines([], [], [], 0)
    try:
        data = read_file(path, RESULT_BYTES)
    except FileNotFoundError:
        return found
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
    decoder = msgspec.json.Decoder(kind)
    end = data.rfind(b"\n") + 1
    for number, line in enumerate(data[:end].split(b"\n")[:-1], 1):
        try:
            found.items.append(decoder.decode(unsealed(line)))
            found.numbers.append(number)
        except (Damaged, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            found.damaged.append(BadLine(number, line, str(error)))
    last = found.damaged[-1:]
    if last and last[0].number > max(found.numbers, default=0) and not last[0].content.strip(b"\0"):
        found.damaged.pop()
        end -= len(last[0].content) + 1
    return found._replace(end=end)


def read_lines(path: Path, kind: Any) -> tuple[list[Any], int]:
    """The JSON lines of a file as ``kind``, and how many bytes of it count; nothing and 0 if there is no
    file.

    A last line that is cut off or damaged is what a killed writer left: it does not count. Raises BadInput,
    with the line, for any other line that is damaged.
    """
    found = read_sealed(path, kind)
    if not found.damaged:
        return found.items, found.end
    first = found.damaged[0]
    if first.number > len(found.items):
        return found.items, found.end - len(first.content) - 1
    raise BadInput(f"{path}:{first.number}: the line is damaged ({first.why}); delete it to go on")
