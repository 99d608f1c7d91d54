"""Files that only grow, of which every byte is on disk before the call returns."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from offbeat.errors import BadInput
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


def encode_lines(items: Sequence[object]) -> bytes:
    """JSON lines of structures or dictionaries; NaN becomes null."""
    return b"".join(msgspec.json.encode(item) + b"\n" for item in items)


def read_lines(path: Path, kind: Any) -> tuple[list[Any], int]:
    """The JSON lines of a file as ``kind``, and how many bytes of it count; nothing and 0 if there is no
    file.

    A last line that is cut off, or not of this kind, is what a killed writer left: it does not count.
    Raises BadInput, with the line, for any other line that is not of this kind.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return [], 0
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
    decoder, items, end = msgspec.json.Decoder(kind), [], 0
    whole_lines = data[: data.rfind(b"\n") + 1].split(b"\n")[:-1]
    for number, line in enumerate(whole_lines, 1):
        try:
            items.append(decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            if number == len(whole_lines):
                break
            raise BadInput(f"{path}:{number}: the line is damaged ({error}); delete it to go on") from error
        end += len(line) + 1
    return items, end
