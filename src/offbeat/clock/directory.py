"""The directory of a check: valid after a kill at any moment, readable without an MPI library, and resumable.

- ``check.json``: the settings, the machine, and the algorithms with the verdicts on each; its
``check_version`` marks the directory as that of a check;
- ``rows.jsonl``: one line per finished step (:mod:`offbeat.clock.rows`), on disk before the next step begins;
- ``logs/``: the output of the launched programs;
- ``report.html`` and ``pictures/``: the report;
- ``offbeat.lock``: held while a check writes here.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
from msgspec import Struct, field

from offbeat.clock.check_plan import CheckSettings
from offbeat.clock.rows import CheckedAlgorithms, Machine, Row
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
"""The version of the format of ``check.json`` and ``rows.jsonl``."""


class Head(Struct, frozen=True, kw_only=True):
    """``check.json``; ``machine`` and ``algorithms`` are missing until they are known."""

    check_version: int
    settings: CheckSettings = field(name="wanted")
    machine: Machine | None = None
    algorithms: CheckedAlgorithms | None = field(default=None, name="found")


class Check(Struct, frozen=True, kw_only=True):
    """The content of a directory; ``rows`` are those of the finished steps, in the order of measuring."""

    directory: Path
    head: Head
    rows: list[Row]


class CheckDirectory:
    """A directory into which a check writes; a context manager that holds its lock."""

    def __init__(self, directory: Path, settings: CheckSettings) -> None:
        """Create the directory, or resume in it.

        Raises :class:`BadInput` if it holds anything else, or a check with other settings, and
        :class:`offbeat.errors.RunFailed` if another check writes to it.
        """
        self.directory = directory
        _create(directory)
        try:
            self._lock = Lock(directory)
        except OSError as error:
            raise layout.unwritable(directory, error) from error
        try:
            self.head = self._head(settings)
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
        """The folder for the output of the launched programs."""
        return self.directory / LOGS

    @property
    def done(self) -> set[str]:
        """The ids of the finished steps."""
        return {row.step for row in self.rows}

    def describe(self, *, machine: Machine, algorithms: CheckedAlgorithms) -> None:
        """Write the machine and the algorithms to disk; raises RunFailed."""
        self._write(msgspec.structs.replace(self.head, machine=machine, algorithms=algorithms))

    def append(self, row: Row) -> None:
        """Write a finished step to disk before returning; raises RunFailed."""
        self._file.append(encode_lines([row]))
        self.rows.append(row)

    def check(self) -> Check:
        """The content so far."""
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

    def _head(self, settings: CheckSettings) -> Head:
        if not (self.directory / CHECK).exists():
            head = Head(check_version=VERSION, settings=settings)
            self._write(head)
            return head
        head = _read_head(self.directory)
        if head.settings != settings:
            raise BadInput(
                f"{self.directory} holds a check with other settings"
                f" ({_differences(head.settings, settings)});"
                " give another directory with --output, or the same settings to resume"
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
        raise BadInput(f"there is no directory {directory}; 'offbeat clock check' creates one")
    rows, _ = read_lines(directory / ROWS, Row)
    return Check(directory=directory, head=_read_head(directory), rows=rows)


def _create(directory: Path) -> None:
    """Create a new directory, or accept an empty one or one that holds a check."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        entries = {entry.name for entry in directory.iterdir()}
    except FileExistsError as error:
        raise BadInput(f"{directory} is a file; give another directory with --output") from error
    except OSError as error:
        raise layout.unwritable(directory, error) from error
    if CHECK not in entries and entries - {layout.LOCK, CHECK + layout.UNFINISHED}:
        raise BadInput(
            f"{directory} is not empty and does not hold a check of the clock (there is no {CHECK} in it);"
            " give another directory with --output, so that your files are not changed"
        )


def _read_head(directory: Path) -> Head:
    path = directory / CHECK
    try:
        data = read_file(path)
    except FileNotFoundError as error:
        raise BadInput(
            f"{directory} does not hold a check of the clock: it has no {CHECK}; give the directory that"
            " 'offbeat clock check' created"
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
            f"{path} is damaged ({error}); restore it from a copy, or check into another directory"
        ) from error


def _differences(before: CheckSettings, now: CheckSettings) -> str:
    """The settings that differ, as ``p: 4 there, 2 here`` (in the directory, in this command)."""
    pairs = [
        (name, getattr(before, name), getattr(now, name))
        for name in CheckSettings.__struct_fields__
        if getattr(before, name) != getattr(now, name)
    ]
    return "; ".join(f"{name}: {there} there, {here} here" for name, there, here in pairs)
