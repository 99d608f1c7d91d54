"""The files of a result directory, and how such a directory is recognised.

``docs/reference_pages/results.py`` says what each file holds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from offbeat.base.campaign import durable
from offbeat.base.campaign.checksum import ChecksumError, check_document
from offbeat.base.campaign.directory import DirectoryFormat, damaged_head, decode_head, make_directory
from offbeat.base.campaign.lock import LOCK as LOCK
from offbeat.base.errors import BadInput
from offbeat.model.study.algorithm import Algorithm, Verdict

SCHEMA_VERSION = 3
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
LOGS = "logs"
DAMAGED = "damaged"

RESULTS = DirectoryFormat(
    holds="results of offbeat",
    creation_commands="'offbeat run' or 'offbeat results import'",
    head=PROVENANCE,
    version_key="schema_version",
    version=SCHEMA_VERSION,
    before_head=(STUDY,),
)


class DamagedRecord(Struct, frozen=True):
    """A damaged record: its file and line or its case, and the reason."""

    record: str
    reason: str

    def __str__(self) -> str:
        return f"{self.record} ({self.reason})"


def describe_case(row: Mapping[str, Any]) -> str:
    """A case in words: ``reduce binomial, p = 4, 8 B, ascending``."""
    return f"{row['collective']} {row['algorithm']}, p = {row['p']}, {row['bytes']} B, {row['pattern']}"


def key(item: Algorithm | Verdict) -> tuple[object, ...]:
    """The key of an algorithm or a verdict: of several with the same key, the last one written counts."""
    if isinstance(item, Algorithm):
        return (item.collective, item.name)
    return (item.collective, item.algorithm, item.p, item.bytes)


def latest(items: Iterable[Any]) -> list[Any]:
    """The last one of each key, in the order in which the keys begin."""
    return list({key(item): item for item in items}.values())


def damaged_file(path: Path, reason: str) -> DamagedRecord:
    """The record of a damaged file in one of the folders."""
    return DamagedRecord(f"{path.parent.name}/{path.name}", reason)


def read_provenance(directory: Path) -> dict[str, Any]:
    """The provenance of a result directory; raises BadInput for any other directory or version."""
    provenance = decode_head(directory, RESULTS)
    try:
        return check_document(provenance)
    except ChecksumError as error:
        raise damaged_head(directory / PROVENANCE, error) from error


def make_new_directory(directory: Path) -> None:
    """Create a result directory, or use an empty one; raises BadInput if anything else is there."""
    if make_directory(directory, RESULTS):
        raise BadInput(f"{directory} holds the results of a study already; give another directory")


def move_to_damaged(directory: Path, path: Path) -> Path:
    """Move a damaged file into the folder ``damaged``; returns its new path. Raises OSError."""
    folder = directory / DAMAGED
    folder.mkdir(exist_ok=True)
    name = f"{path.parent.name}-{path.name}"
    candidates = (folder / f"{name}.{number}" for number in itertools.count(1))
    target = next(path for path in candidates if not path.exists())
    path.rename(target)
    durable.sync_directory(folder)
    return target
