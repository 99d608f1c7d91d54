"""The directory of a check: whole after a kill at any moment, readable without an MPI library, and resumed.

- ``check.json``: what was asked for, where it was measured, and the algorithms with what was found out about
  each; its ``check_version`` marks the directory as ours;
- ``rows.jsonl``: one line a finished step (:mod:`offbeat.clock.rows`), on disk before the next one begins;
- ``logs/``: what the launched programs printed;
- ``report.html`` and ``pictures/``: the report;
- ``offbeat.lock``: held while a check writes here.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
from msgspec import Struct

from offbeat.clock.rows import Found, Machine, Row
from offbeat.clock.wanted import Wanted
from offbeat.errors import BadInput, SignalExit
from offbeat.reading import decode_json, read_file
from offbeat.results import layout
from offbeat.results.append import AppendFile, encode_lines, read_lines
from offbeat.results.lock import Lock

CHECK = "check.json"
ROWS = "rows.jsonl"
LOGS = "logs"
REPORT = "report.html"
PICTURES = "pictures"

VERSION = 1
"""Of what ``check.json`` and ``rows.jsonl`` look like."""


class Head(Struct, frozen=True, kw_only=True):
    """``check.json``; ``machine`` and ``found`` are missing until they are known."""

    check_version: int
    wanted: Wanted
    machine: Machine | None = None
    found: Found | None = None


class Check(Struct, frozen=True, kw_only=True):
    """A directory as it was read; ``rows`` are those of the finished steps, in the order of measuring."""

    directory: Path
    head: Head
    rows: list[Row]


class Kept:
    """A directory that a check writes to; a context manager that holds its lock."""

    def __init__(self, directory: Path, wanted: Wanted) -> None:
        """Make the directory, or go on in it.

        Raises :class:`BadInput` where it holds anything else, or a check with other settings, and
        :class:`offbeat.errors.RunFailed` where another check writes to it.
        """
        self.directory = directory
        _make(directory)
        try:
            self._lock = Lock(directory)
        except OSError as error:
            raise layout.unwritable(directory, error) from error
        try:
            self.head = self._head(wanted)
            rows, end = read_lines(directory / ROWS, Row)
            self._file = AppendFile(directory / ROWS, end=end)
            (directory / LOGS).mkdir(exist_ok=True)
        except OSError as error:
            self._lock.release()
            raise layout.unwritable(directory, error) from error
        except BaseException:
            self._lock.release()
            raise
        self.rows: list[Row] = rows

    @property
    def logs(self) -> Path:
        """The folder for what the launched programs print."""
        return self.directory / LOGS

    @property
    def done(self) -> set[str]:
        """The ids of the finished steps."""
        return {row.step for row in self.rows}

    def describe(self, *, machine: Machine, found: Found) -> None:
        """Keep where it is measured, and the algorithms; raises RunFailed."""
        self._write(msgspec.structs.replace(self.head, machine=machine, found=found))

    def append(self, row: Row) -> None:
        """Keep a finished step; when this returns, it is on disk. Raises RunFailed."""
        self._file.append(encode_lines([row]))
        self.rows.append(row)

    def check(self) -> Check:
        """What there is so far."""
        return Check(directory=self.directory, head=self.head, rows=list(self.rows))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, SignalExit):
            error.report_measurements(bool(self.rows))
        self._file.close()
        self._lock.release()

    def _head(self, wanted: Wanted) -> Head:
        if not (self.directory / CHECK).exists():
            head = Head(check_version=VERSION, wanted=wanted)
            self._write(head)
            return head
        head = _read_head(self.directory)
        if head.wanted != wanted:
            raise BadInput(
                f"{self.directory} holds a check with other settings ({_differences(head.wanted, wanted)});"
                " give another directory with --output, or the same settings to go on"
            )
        return head

    def _write(self, head: Head) -> None:
        text = msgspec.json.format(msgspec.json.encode(head), indent=2) + b"\n"
        try:
            layout.write_durably(self.directory / CHECK, text)
        except OSError as error:
            raise layout.disk_failure(self.directory / CHECK, error) from error
        self.head = head


def read(directory: Path) -> Check:
    """Read a directory; raises :class:`BadInput` for one that holds no check, or a damaged one."""
    if not directory.is_dir():
        raise BadInput(f"there is no directory {directory}; 'offbeat clock check' makes one")
    rows, _ = read_lines(directory / ROWS, Row)
    return Check(directory=directory, head=_read_head(directory), rows=rows)


def _make(directory: Path) -> None:
    """Make a new directory, or take an empty one or one of ours."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        held = {entry.name for entry in directory.iterdir()}
    except FileExistsError as error:
        raise BadInput(f"{directory} is a file; give another directory with --output") from error
    except OSError as error:
        raise layout.unwritable(directory, error) from error
    if CHECK not in held and held - {layout.LOCK, CHECK + layout.UNFINISHED}:
        raise BadInput(
            f"{directory} is not empty and does not hold a check of the clock (there is no {CHECK} in it);"
            " give another directory with --output, so that nothing of yours is touched"
        )


def _read_head(directory: Path) -> Head:
    path = directory / CHECK
    try:
        data = read_file(path)
    except FileNotFoundError as error:
        raise BadInput(
            f"{directory} does not hold a check of the clock: it has no {CHECK}; give the directory that"
            " 'offbeat clock check' made"
        ) from error
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
    try:
        version = decode_json(data, dict[str, msgspec.Raw]).get("check_version", b"")
        if bytes(version) != str(VERSION).encode():
            raise BadInput(
                f"{directory} was written by another version of offbeat; this one reads version {VERSION}."
                " Check again into another directory"
            )
        return decode_json(data, Head)
    except msgspec.DecodeError as error:
        raise BadInput(
            f"{path} is damaged ({error}); put it back from a copy, or check into another directory"
        ) from error


def _differences(before: Wanted, now: Wanted) -> str:
    """The settings that differ, as ``p: 4 there, 2 here``."""
    pairs = [
        (name, getattr(before, name), getattr(now, name))
        for name in Wanted.__struct_fields__
        if getattr(before, name) != getattr(now, name)
    ]
    return "; ".join(f"{name}: {there} there, {here} here" for name, there, here in pairs)
