"""The folder of a trial: its settings, and a record of every finished run, from which a trial resumes.

- ``trial.json``: the command, the library, and the rules of each choice;
- ``runs.jsonl``: one line per finished run;
- ``output/``: the output of each run;
- ``tuning/``: the tuning files of each choice;
- ``offbeat.lock``: locked while a trial runs in the folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from offbeat.atomic_write import write_atomically
from offbeat.errors import BadInput, RunFailed, SignalExit
from offbeat.reading import decode_json, read_file
from offbeat.results.append import AppendFile, encode_lines, read_lines
from offbeat.results.lock import Lock, holder

TRIAL, RUNS, OUTPUT, TUNING = "trial.json", "runs.jsonl", "output", "tuning"
SCHEMA_VERSION = 1


class Setting(Struct, frozen=True, kw_only=True):
    """A choice with its rules as text; ``same_as`` names the choice that is run in its place."""

    name: str
    same_as: str
    rules: list[str]


class Settings(Struct, frozen=True, kw_only=True):
    """The settings that all runs of a trial share; runs with other settings are not comparable."""

    command: list[str]
    library: str
    folder: str
    time: str
    seed: int
    choices: list[Setting]
    schema_version: int = SCHEMA_VERSION


class Run(Struct, frozen=True, kw_only=True):
    """A finished run. ``time_s`` is the compared time: the wall time, or the number found in its output."""

    number: int
    round: int
    choice: str
    status: int
    wall_s: float
    time_s: float | None
    began: str
    output: str


class Journal:
    """The runs of one folder; created by :func:`open_journal`."""

    def __init__(self, directory: Path, runs: Sequence[Run], file: AppendFile) -> None:
        self.directory = directory
        self.runs = list(runs)
        self._file = file

    @property
    def valid_runs(self) -> dict[tuple[int, str], Run]:
        """The successful runs with a time, by round and choice."""
        return {(run.round, run.choice): run for run in self.runs if run.time_s is not None}

    def next_output(self, choice: str) -> tuple[int, Path]:
        """The number of the next run, and a new file for its output."""
        number = max((run.number for run in self.runs), default=0) + 1
        return number, self.directory / OUTPUT / f"{number:03}-{choice}.txt"

    def append(self, run: Run) -> None:
        """Record a run; it is on disk on return."""
        self._file.append(encode_lines([run]))
        self.runs.append(run)


@contextmanager
def open_journal(directory: Path, settings: Settings) -> Iterator[Journal]:
    """The journal of a folder, new or to resume with the same settings; locks the folder.

    Raises :class:`BadInput` for a folder with other files or a trial with other settings, and
    :class:`RunFailed` if another trial uses it.
    """
    with _locked(directory):
        _check_settings(directory, settings)
        runs, end = read_lines(directory / RUNS, Run)
        file = AppendFile(directory / RUNS, end)
        journal = Journal(directory, runs, file)
        try:
            (directory / OUTPUT).mkdir(exist_ok=True)
            yield journal
        except SignalExit as stop:
            stop.report_measurements(bool(journal.runs))
            raise
        finally:
            file.close()


def prepare(directory: Path) -> None:
    """Create the folder of a trial. Raises :class:`BadInput` if it contains other files."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        names = {entry.name for entry in directory.iterdir()}
    except OSError as error:
        raise BadInput(f"cannot create the folder {directory}: {error.strerror or error}") from error
    if names and TRIAL not in names and not names <= {"offbeat.lock", TUNING}:
        raise BadInput(
            f"{directory} is not empty and has no trial (there is no {TRIAL} in it); give another folder"
            " with --output"
        )


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    try:
        lock = Lock(directory)
    except RunFailed:
        process = holder(directory)
        by = f"process {process.pid} on {process.host}" if process and process.pid else "another process"
        raise RunFailed(f"{directory} is in use by {by}; wait until that trial ends, or stop it") from None
    try:
        yield
    finally:
        lock.release()


def _check_settings(directory: Path, settings: Settings) -> None:
    """Write the settings of a new trial, or compare them with those of the folder."""
    path = directory / TRIAL
    try:
        known = decode_json(read_file(path), Settings)
    except FileNotFoundError:
        try:
            write_atomically(path, msgspec.json.format(msgspec.json.encode(settings), indent=2) + b"\n")
        except OSError as error:
            raise BadInput(f"cannot write {path}: {error.strerror or error}") from error
        return
    except (OSError, msgspec.DecodeError) as error:
        raise BadInput(f"{path} cannot be read ({error}); give another folder with --output") from None
    differing = [
        name for name in Settings.__struct_fields__ if getattr(known, name) != getattr(settings, name)
    ]
    if differing:
        names = {"choices": "the choices by the results", "folder": "the working directory"}
        changed = ", ".join(names.get(name, f"the {name}") for name in differing)
        command = f" (its command: {' '.join(known.command)})" if known.command != settings.command else ""
        raise BadInput(
            f"{directory} has the runs of another trial: {changed} differed; give another folder with"
            f" --output, or remove it{command}"
        )


def working_directory() -> str:
    """The working directory of the program."""
    return os.getcwd()  # noqa: PTH109 - must not resolve symbolic links
