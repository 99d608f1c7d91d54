"""What a result directory holds, and how to tell one from any other directory.

- ``study.toml``: the study as it was resolved when the results began;
- ``provenance.json``: where and with what it was measured; its ``schema_version`` marks it as ours;
- ``plan.json``: which cases the study has;
- ``hostfile``: the study's host file, where it has one;
- ``algorithms.jsonl``: one line an algorithm of the library;
- ``verdicts.jsonl``: one line a verdict: what was found out about an algorithm before it was measured;
- ``cases.jsonl``: one line a finished case;
- ``repetitions/``: Parquet, one row a repetition;
- ``ranks/``: Parquet, one row a repetition and rank;
- ``samples/``: what the session under way has measured, as Arrow streams; Parquet when it ends;
- ``logs/``: what the launched programs printed;
- ``damaged/``: lines and files that were damaged and have been set aside, if there were any;
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
"""The version of the columns and files; provenance names it. Here, so that reading it needs no polars."""

UNFINISHED_CASE = "unfinished"
"""Status of a case of which some blocks are still to be measured."""

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
"""Suffix of files that are being written; one that a killed run left behind is deleted."""

_BEFORE_PROVENANCE = {LOCK, STUDY, STUDY + UNFINISHED, PROVENANCE + UNFINISHED}
"""What a directory can hold when a run was killed while it created the directory."""


def disk_failure(path: Path, error: OSError) -> RunFailed:
    """The sentence for a write that the system refused; what was finished before is safe."""
    return RunFailed(
        f"cannot write {path}: {error.strerror or error}; all that was finished before is kept. Once there is"
        " room, give the same command again: it goes on where it stood"
    )


def make_directory(directory: Path) -> None:
    """Make a new result directory, or take an empty one; raises BadInput for anything else in its place."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        held = {entry.name for entry in directory.iterdir()}
    except FileExistsError as error:
        raise BadInput(f"the result directory {directory} is a file; give another directory") from error
    except OSError as error:
        raise unwritable(directory, error) from error
    if PROVENANCE in held:
        raise BadInput(f"{directory} holds the results of a study already; give another directory")
    if held and not (LOCK in held and held <= _BEFORE_PROVENANCE):
        raise BadInput(
            f"{directory} is not empty and does not hold results of offbeat (there is no {PROVENANCE} in it);"
            " give another directory, so that nothing of yours is touched"
        )


def unwritable(directory: Path, error: OSError) -> BadInput:
    """The sentence for a result directory in which nothing can be written."""
    inside = error.filename and Path(os.fsdecode(error.filename)) != directory
    where = f" ({os.fsdecode(error.filename)})" if inside else ""
    return BadInput(
        f"cannot write to the result directory {directory}: {error.strerror or error}{where};"
        " give a directory that you can write to"
    )


def read_provenance(directory: Path) -> dict[str, Any]:
    """The provenance of a result directory.

    Raises BadInput for a directory that does not exist or is not one of ours, and for one that another
    schema version wrote.
    """
    if not directory.exists():
        raise BadInput(f"there is no result directory {directory}; 'offbeat run' makes one")
    if not directory.is_dir():
        raise BadInput(f"{directory} is a file; give the result directory that 'offbeat run' made")
    path = directory / PROVENANCE
    try:
        provenance = decode_json(read_file(path))
    except FileNotFoundError as error:
        raise BadInput(
            f"{directory} does not hold results of offbeat: it has no {PROVENANCE}; give the directory that"
            " 'offbeat run' or 'offbeat results import' made"
        ) from error
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise BadInput(
            f"{path} is damaged ({error}); put it back from a copy, or measure into another directory"
        ) from error
    if not isinstance(provenance, dict) or "schema_version" not in provenance:
        raise BadInput(f"{directory} does not hold results of offbeat: {path} has no schema_version")
    found = provenance["schema_version"]
    if found != SCHEMA_VERSION:
        writer = provenance.get("offbeat_version", "another version")
        raise BadInput(
            f"{directory} was written by offbeat {writer} in schema version {found}; this one reads"
            f" version {SCHEMA_VERSION}. Use the offbeat that wrote it, or export CSV there to import here"
        )
    try:
        return check_document(provenance)
    except Damaged as error:
        raise BadInput(
            f"{path} is damaged ({error}); put it back from a copy, or measure into another directory"
        ) from error


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that after a crash at any moment it is the old one or the new one; raises OSError."""
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


def set_aside(directory: Path, path: Path) -> Path:
    """Move a damaged file of a result directory into its folder for them; where it is now. Raises OSError."""
    folder = directory / DAMAGED
    folder.mkdir(exist_ok=True)
    name = f"{path.parent.name}-{path.name}"
    taken = (folder / f"{name}.{number}" for number in itertools.count(1))
    place = next(free for free in taken if not free.exists())
    path.rename(place)
    sync_directory(folder)
    return place


def publish(unfinished: Path, path: Path) -> None:
    """Give a file that is wholly on disk its final name, on disk as well; raises OSError."""
    unfinished.replace(path)
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Put the names in a directory on disk; raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
