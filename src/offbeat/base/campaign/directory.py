"""The directory of a campaign: work in steps that is valid after a kill at any moment, and resumable.

It holds a head, a JSON document with the version of the format and the settings, and a file of records, one
line for each finished step, which is on disk before the next step begins. The results of studies have more
files; they share what recognises, locks and closes a directory.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import msgspec
from msgspec import Struct

from offbeat.base.campaign import durable
from offbeat.base.campaign.append_file import AppendFile, encode_lines, read_lines
from offbeat.base.campaign.lock import LOCK, Lock, locked_while_opening
from offbeat.base.errors import BadInput, RunFailed, SignalExit
from offbeat.base.reading import decode_json, read_file

HeadT = TypeVar("HeadT", bound=Struct)
RecordT = TypeVar("RecordT")

_LONGEST_VALUE = 80
"""Characters of a setting that a message quotes; of a longer one it gives the name only."""


class DirectoryFormat(Struct, frozen=True, kw_only=True):
    """How the directories of one kind are recognised and named in messages.

    ``holds`` is their content, such as ``a check of the clock``; ``creation_commands`` the quoted commands
    that create them. The file ``head`` marks them; it is a JSON object whose ``version_key`` is ``version``.
    ``before_head`` are the files that are written before it.
    """

    holds: str
    creation_commands: str
    head: str
    version_key: str
    version: int
    before_head: tuple[str, ...] = ()


class CampaignFormat(DirectoryFormat, Generic[HeadT, RecordT], frozen=True, kw_only=True):
    """The directories of one kind of campaign: their files, the types in them, and what identifies a step.

    ``head_type`` is the type of the head, ``settings_of`` the part of it that must be the same to resume;
    ``labels`` maps names of settings to those of messages. ``records`` is the file of records and
    ``record_type`` their type; ``step_of`` gives the step that a record finishes, or None for a failed
    attempt, which is repeated. ``folders`` are created in the directory.
    """

    head_type: type[HeadT]
    settings_of: Callable[[HeadT], Struct]
    labels: Mapping[str, str] = {}
    records: str
    record_type: Any
    step_of: Callable[[RecordT], Hashable | None]
    folders: tuple[str, ...] = ()


class LockedDirectory:
    """A directory that this process alone writes to, until :meth:`close`; a context manager."""

    def __init__(self, directory: Path, lock: Lock) -> None:
        self.directory = directory
        self._lock = lock

    @property
    def has_records(self) -> bool:
        """Whether any step has been recorded."""
        raise NotImplementedError

    def write(self, name: str, data: bytes) -> None:
        """Write a file of the directory durably; raises RunFailed."""
        try:
            durable.write_durably(self.directory / name, data)
        except OSError as error:
            raise durable.disk_failure(self.directory / name, error) from error

    def close(self) -> None:
        """Release the directory."""
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, SignalExit):
            error.report_measurements(self.has_records)
        try:
            self.close()
        except RunFailed:
            if error is None:  # report the first failure; the next run repeats what is missing
                raise


class CampaignDirectory(LockedDirectory, Generic[HeadT, RecordT]):
    """The directory of a campaign, open for writing.

    ``head`` is its head, ``records`` all its records in their order, and ``records_by_step`` maps each
    finished step to its latest record.
    """

    def __init__(self, form: CampaignFormat[HeadT, RecordT], directory: Path, head: HeadT) -> None:
        """Create the directory with this head, or resume in it if its settings are the same.

        Raises :class:`BadInput` if it holds anything else, or a campaign with other settings, or cannot be
        written, and :class:`RunFailed` if another process writes to it.
        """
        make_directory(directory, form)
        with locked_while_opening(directory) as lock:
            super().__init__(directory, lock)
            self.form = form
            self.head = self._created_or_resumed(head)
            for folder in form.folders:
                (directory / folder).mkdir(exist_ok=True)
            self.records: list[RecordT]
            self.records, end = read_lines(directory / form.records, form.record_type)
            self.records_by_step: dict[Hashable, RecordT] = {}
            for record in self.records:
                self._count(record)
            self._file = AppendFile(directory / form.records, end)

    @property
    def has_records(self) -> bool:
        """Whether any step has been recorded."""
        return bool(self.records)

    def append(self, record: RecordT) -> None:
        """Write the record of a step to disk before returning; raises RunFailed."""
        self._file.append(encode_lines([record]))
        self.records.append(record)
        self._count(record)

    def update_head(self, **changes: object) -> None:
        """Replace fields of the head, on disk too; raises RunFailed."""
        self._write_head(msgspec.structs.replace(self.head, **changes))

    def close(self) -> None:
        """Close the file of records and release the directory."""
        self._file.close()
        super().close()

    def _created_or_resumed(self, head: HeadT) -> HeadT:
        form = self.form
        if not (self.directory / form.head).exists():
            self._write_head(head)
            return head
        present = _read_head(self.directory, form)
        changes = differences(form.settings_of(present), form.settings_of(head), form.labels)
        if changes:
            raise other_settings(self.directory, form, changes)
        return present

    def _write_head(self, head: HeadT) -> None:
        self.write(self.form.head, msgspec.json.format(msgspec.json.encode(head), indent=2) + b"\n")
        self.head = head

    def _count(self, record: RecordT) -> None:
        if (step := self.form.step_of(record)) is not None:
            self.records_by_step[step] = record


def read_campaign(directory: Path, form: CampaignFormat[HeadT, RecordT]) -> tuple[HeadT, list[RecordT]]:
    """The head and the records of a directory, which another process may be writing; raises BadInput."""
    head = _read_head(directory, form)
    records, _ = read_lines(directory / form.records, form.record_type)
    return head, records


def _read_head(directory: Path, form: CampaignFormat[HeadT, RecordT]) -> HeadT:
    document = decode_head(directory, form)
    try:
        return msgspec.convert(document, form.head_type)
    except msgspec.ValidationError as error:
        raise damaged_head(directory / form.head, error) from error


def make_directory(directory: Path, form: DirectoryFormat) -> bool:
    """Create a directory, or accept an empty one or one of this format; returns whether it has a head.

    Files that a killed run left before it wrote the head are accepted. Raises BadInput for a directory with
    any other file, and for one that cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        names = {entry.name for entry in directory.iterdir()}
    except FileExistsError as error:
        raise BadInput(f"{directory} is a file; give another directory") from error
    except OSError as error:
        raise durable.unwritable(directory, error) from error
    if form.head in names:
        return True
    temporary_names = {name + durable.TEMPORARY_SUFFIX for name in (form.head, *form.before_head)}
    if names and not (LOCK in names and names <= {LOCK, *form.before_head, *temporary_names}):
        raise BadInput(
            f"{directory} is not empty and does not hold {form.holds} (there is no {form.head} in it);"
            " give another directory, so that your files are not changed"
        )
    return False


def decode_head(directory: Path, form: DirectoryFormat) -> dict[str, Any]:
    """The head of a directory; raises BadInput if it has none of this format and version."""
    if not directory.exists():
        raise BadInput(f"there is no directory {directory}; {form.creation_commands} creates one")
    if not directory.is_dir():
        raise BadInput(f"{directory} is a file; give the directory that {form.creation_commands} created")
    path = directory / form.head
    try:
        head = decode_json(read_file(path))
    except FileNotFoundError as error:
        raise BadInput(
            f"{directory} does not hold {form.holds}: it has no {form.head}; give the directory that"
            f" {form.creation_commands} created"
        ) from error
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise damaged_head(path, error) from error
    if not isinstance(head, dict) or form.version_key not in head:
        raise BadInput(f"{directory} does not hold {form.holds}: {path} has no {form.version_key}")
    version = head[form.version_key]
    if version != form.version:
        raise BadInput(
            f"{directory} was written by offbeat {head.get('offbeat_version', 'of another version')} in"
            f" {form.version_key.replace('_', ' ')} {version}; this one reads version {form.version}. Use the"
            " offbeat that wrote it, or give another directory"
        )
    return head


def damaged_head(path: Path, error: Exception) -> BadInput:
    """The error for a damaged head."""
    return BadInput(f"{path} is damaged ({error}); put it back from a copy, or give another directory")


def differences(
    directory_settings: Struct, command_settings: Struct, labels: Mapping[str, str] = {}
) -> list[str]:
    """The fields that differ, as ``p: 4 there, 2 here`` (in the directory, in this command)."""
    return [
        _describe_difference(
            labels.get(name, name), getattr(directory_settings, name), getattr(command_settings, name)
        )
        for name in directory_settings.__struct_fields__
        if getattr(directory_settings, name) != getattr(command_settings, name)
    ]


def _describe_difference(label: str, there: object, here: object) -> str:
    texts = [_text(there), _text(here)]
    if max(map(len, texts)) > _LONGEST_VALUE:
        return label
    return f"{label}: {texts[0]} there, {texts[1]} here"


def _text(value: object) -> str:
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return shlex.join(value)
    return str(value) or "''"


class OtherSettings(BadInput):
    """A directory cannot be resumed, because ``changes`` differs; ``changes`` are differences in words."""

    def __init__(self, message: str, changes: Sequence[str]) -> None:
        super().__init__(message)
        self.changes = changes


def other_settings(
    directory: Path, form: DirectoryFormat, changes: Sequence[str], where: str = ""
) -> OtherSettings:
    """The error for a command whose settings differ from those of a directory.

    ``changes`` are the differences; ``where`` says where settings are written, such as `` in study.toml``.
    """
    return OtherSettings(
        f"{directory} holds {form.holds} with other settings ({'; '.join(changes)}): new results would not be"
        f" comparable. Restore the old values{where} to resume, or give another directory with --output",
        changes,
    )
