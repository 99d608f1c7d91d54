"""The files of a result directory, and how such a directory is recognised.

- ``study.toml``: the study as it was resolved when the results began;
- ``provenance.json``: where and with what it was measured; its ``schema_version`` marks a result directory;
- ``plan.json``: the cases of the study;
- ``hostfile``: the host file of the study, if it has one;
- ``algorithms.jsonl``: one line for each algorithm of the library;
- ``verdicts.jsonl``: one line for each verdict on an algorithm before its measurement;
- ``cases.jsonl``: one line for each block of a case; the last line of a case counts;
- ``repetitions/``: Parquet, one row for each repetition;
- ``ranks/``: Parquet, one row for each repetition and rank;
- ``samples/``: the samples of the current session as Arrow streams; converted to Parquet when it ends;
- ``logs/``: output of the launched programs;
- ``damaged/``: damaged lines and files that were moved here, if there were any;
- ``offbeat.lock``: held while a run writes here.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import msgspec

from offbeat.errors import BadInput, RunFailed
from offbeat.reading import decode_json, read_file
from offbeat.results.checksum import Damaged, check_document

SCHEMA_VERSION = 2
"""The version of the columns and files; in provenance. Importing this module does not load polars."""

UNFINISHED_CASE = "unfinished"
"""Status of a case with remaining blocks."""

STUDY = "study.toml"
PROVENANCE = "provenance.json"
HOSTFILE = "hostfile"
PLAN = "plan.json"
ALGORITHMS = "algorithms.jsonl"
VERDICTS = "verdicts.jsonl"
CASES = "cases.jsonl"
REPETITIONS = "repetitions"
RANKS = "ranks"
SAMPLES = "samples"
LOGS = "logs"
DAMAGED = "damaged"
LOCK = "offbeat.lock"

UNFINISHED = ".tmp"
"""Suffix of files that are being written; those of a killed run are deleted."""

_BEFORE_PROVENANCE = {LOCK, STUDY, STUDY + UNFINISHED, PROVENANCE + UNFINISHED}
"""Files that a run leaves when it is killed while it creates the directory."""


def disk_failure(path: Path, error: OSError) -> RunFailed:
    """The error for a failed write; everything finished before is safe."""
    return RunFailed(
        f"cannot write {path}: {error.strerror or error}; everything finished before is kept."
        " Free space, then repeat the command: it resumes"
    )


def make_directory(directory: Path) -> None:
    """Create a result directory, or use an empty one; raises BadInput if anything else is there."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        names = {entry.name for entry in directory.iterdir()}
    except FileExistsError as error:
        raise BadInput(f"the result directory {directory} is a file; give another directory") from error
    except OSError as error:
        raise unwritable(directory, error) from error
    if PROVENANCE in names:
        raise BadInput(f"{directory} holds the results of a study already; give another directory")
    if names and not (LOCK in names and names <= _BEFORE_PROVENANCE):
        raise BadInput(
            f"{directory} is not empty and does not hold results of offbeat (there is no {PROVENANCE} in it);"
            " give another directory, so that nothing of yours is touched"
        )


def unwritable(directory: Path, error: OSError) -> BadInput:
    """The error for a result directory that cannot be written."""
    inside = error.filename and Path(os.fsdecode(error.filename)) != directory
    where = f" ({os.fsdecode(error.filename)})" if inside else ""
    return BadInput(
        f"cannot write to the result directory {directory}: {error.strerror or error}{where};"
        " give a directory that you can write to"
    )


def read_provenance(directory: Path) -> dict[str, Any]:
    """The provenance of a result directory.

    Raises BadInput for a directory that does not exist or is not a result directory, and for one of
    another schema version.
    """
    if not directory.exists():
        raise BadInput(f"there is no result directory {directory}; 'offbeat run' creates one")
    if not directory.is_dir():
        raise BadInput(f"{directory} is a file; give the result directory that 'offbeat run' created")
    path = directory / PROVENANCE
    try:
        provenance = decode_json(read_file(path))
    except FileNotFoundError as error:
        raise BadInput(
            f"{directory} does not hold results of offbeat: it has no {PROVENANCE}; give the directory that"
            " 'offbeat run' or 'offbeat results import' created"
        ) from error
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise BadInput(
            f"{path} is damaged ({error}); put it back from a copy, or measure into another directory"
        ) from error
    if not isinstance(provenance, dict) or "schema_version" not in provenance:
        raise BadInput(f"{directory} does not hold results of offbeat: {path} has no schema_version")
    version = provenance["schema_version"]
    if version != SCHEMA_VERSION:
        writer = provenance.get("offbeat_version", "another version")
        raise BadInput(
            f"{directory} was written by offbeat {writer} in schema version {version}; this one reads"
            f" version {SCHEMA_VERSION}. Use the offbeat that wrote it, or export CSV there to import here"
        )
    try:
        return check_document(provenance)
    except Damaged as error:
        raise BadInput(
            f"{path} is damaged ({error}); put it back from a copy, or measure into another directory"
        ) from error


def write_durably(path: Path, data: bytes) -> None:
    """Write a file so that after a crash at any moment it is the old or the new one; raises OSError."""
    unfinished = path.with_name(path.name + UNFINISHED)
    try:
        with unfinished.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        publish(unfinished, path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def move_to_damaged(directory: Path, path: Path) -> Path:
    """Move a damaged file into the folder ``damaged``; returns its new path. Raises OSError."""
    folder = directory / DAMAGED
    folder.mkdir(exist_ok=True)
    name = f"{path.parent.name}-{path.name}"
    candidates = (folder / f"{name}.{number}" for number in itertools.count(1))
    target = next(path for path in candidates if not path.exists())
    path.rename(target)
    sync_directory(folder)
    return target


def publish(unfinished: Path, path: Path) -> None:
    """Rename a complete file to its final name and flush the directory; raises OSError."""
    unfinished.replace(path)
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Flush the entries of a directory to disk; raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
