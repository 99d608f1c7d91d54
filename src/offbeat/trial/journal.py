"""The folder of a trial: what is tried, and every run as it ends, so that none is lost and none repeated.

- ``trial.json``: the command, the library, and what each choice says;
- ``runs.jsonl``: one line a run that ended;
- ``output/``: what each run printed;
- ``tuning/``: the files of each choice;
- ``offbeat.lock``: held while a trial runs here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from offbeat.errors import BadInput, RunFailed
from offbeat.reading import decode_json, read_file
from offbeat.results.append import AppendFile, encode_lines, read_lines
from offbeat.results.lock import Lock, holder
from offbeat.stopped import Stopped
from offbeat.whole_file import write_whole_file

TRIAL, RUNS, OUTPUT, TUNING = "trial.json", "runs.jsonl", "output", "tuning"
SCHEMA_VERSION = 1


class Setting(Struct, frozen=True, kw_only=True):
    """What one choice says: each of its rules in words; ``same_as`` names the choice that stands for it."""

    name: str
    same_as: str
    rules: list[str]


class Settings(Struct, frozen=True, kw_only=True):
    """What makes two runs comparable: everything but how many there are."""

    command: list[str]
    library: str
    folder: str
    time: str
    seed: int
    choices: list[Setting]
    schema_version: int = SCHEMA_VERSION


class Run(Struct, frozen=True, kw_only=True):
    """A run that ended. ``time_s`` is what counts: its wall time, or the number found in its output."""

    number: int
    round: int
    choice: str
    status: int
    wall_s: float
    time_s: float | None
    began: str
    output: str


class Journal:
    """The runs of one folder; made by :func:`opened`."""

    def __init__(self, directory: Path, runs: Sequence[Run], file: AppendFile) -> None:
        self.directory = directory
        self.runs = list(runs)
        self._file = file

    @property
    def valid_runs(self) -> dict[tuple[int, str], Run]:
        """The runs that count, by round and choice: those that ended well and told their time."""
        return {(run.round, run.choice): run for run in self.runs if run.time_s is not None}

    def next_output(self, choice: str) -> tuple[int, Path]:
        """The number of the next run, and the file for what it prints; another run's is never overwritten."""
        number = max((run.number for run in self.runs), default=0) + 1
        return number, self.directory / OUTPUT / f"{number:03}-{choice}.txt"

    def append(self, run: Run) -> None:
        """Note a run; it is on disk when this returns."""
        self._file.append(encode_lines([run]))
        self.runs.append(run)


@contextmanager
def opened(directory: Path, settings: Settings) -> Iterator[Journal]:
    """The journal of a folder, new or begun earlier with the same settings; locked meanwhile.

    Raises :class:`BadInput` for a folder that holds something else, or a trial of something else, and
    :class:`RunFailed` where another trial writes to it.
    """
    with _locked(directory):
        _same_trial(directory, settings)
        runs, end = read_lines(directory / RUNS, Run)
        file = AppendFile(directory / RUNS, end)
        journal = Journal(directory, runs, file)
        try:
            (directory / OUTPUT).mkdir(exist_ok=True)
            yield journal
        except Stopped as stop:
            stop.tell_kept(bool(journal.runs))
            raise
        finally:
            file.close()


def prepare(directory: Path) -> None:
    """Make the folder of a trial; raises :class:`BadInput` where it holds something else."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        held = {entry.name for entry in directory.iterdir()}
    except OSError as error:
        raise BadInput(f"cannot make the folder {directory}: {error.strerror or error}") from error
    if held and TRIAL not in held and not held <= {"offbeat.lock", TUNING}:
        raise BadInput(
            f"{directory} is not empty and holds no trial (there is no {TRIAL} in it); give another folder"
            " with --output"
        )


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    try:
        lock = Lock(directory)
    except RunFailed:
        who = holder(directory)
        by = f"process {who.pid} on {who.host}" if who and who.pid else "another process"
        raise RunFailed(f"{directory} is in use by {by}; wait until that trial ends, or stop it") from None
    try:
        yield
    finally:
        lock.release()


def _same_trial(directory: Path, settings: Settings) -> None:
    path = directory / TRIAL
    try:
        known = decode_json(read_file(path), Settings)
    except FileNotFoundError:
        try:
            write_whole_file(path, msgspec.json.format(msgspec.json.encode(settings), indent=2) + b"\n")
        except OSError as error:
            raise BadInput(f"cannot write {path}: {error.strerror or error}") from error
        return
    except (OSError, msgspec.DecodeError) as error:
        raise BadInput(f"{path} cannot be read ({error}); give another folder with --output") from None
    differing = [
        name for name in Settings.__struct_fields__ if getattr(known, name) != getattr(settings, name)
    ]
    if differing:
        words = {"choices": "what the results choose", "folder": "the folder that it is started in"}
        what = ", ".join(words.get(name, f"the {name}") for name in differing)
        raise BadInput(
            f"{directory} holds the runs of another trial: {what} differed; give another folder with"
            f" --output, or remove it{_was(known, settings)}"
        )


def _was(known: Settings, settings: Settings) -> str:
    return f" (it ran: {' '.join(known.command)})" if known.command != settings.command else ""


def working_directory() -> str:
    """The folder in which commands are run."""
    return os.getcwd()  # noqa: PTH109 - as the processes will see it
