"""How far a study is: done, to do, set aside, and whether a run is at it."""

from __future__ import annotations

from datetime import UTC, datetime
from os import PathLike
from pathlib import Path

import polars as pl
from msgspec import Struct

from offbeat.results.lock import Holder, holder
from offbeat.results.plausible import STATUSES
from offbeat.results.read import read_study
from offbeat.results.schema import UNFINISHED
from offbeat.study.algorithm import proof_lines


class Status(Struct, kw_only=True):
    """How far a study is.

    ``total`` is None if the run has not said how many cases there are. ``counts`` maps each collective to the
    number of its cases in each of STATUSES; ``quarantined`` lists the cases that were given up, as (case in
    words, reason); ``proofs`` has a line a collective on what was found out about its algorithms; ``active``
    is the process that writes at this moment; ``last_activity`` is in UTC.
    """

    directory: Path
    done: int
    total: int | None
    counts: dict[str, dict[str, int]]
    quarantined: list[tuple[str, str]]
    proofs: list[str]
    active: Holder | None
    last_activity: datetime | None
    size_bytes: int
    notes: list[str]


def read_status(path: str | PathLike[str]) -> Status:
    """How far the study in a result directory is; raises BadInput as read_study does."""
    results = read_study(path)
    files = _files(results.directory)
    return Status(
        directory=results.directory,
        done=results.cases.filter(pl.col("status") != UNFINISHED).height,
        total=results.plan.total if results.plan else None,
        counts=_counts(results.cases),
        quarantined=_quarantined(results.cases),
        proofs=proof_lines(results.verdicts),
        active=holder(results.directory),
        last_activity=max((changed for changed, _ in files), default=None),
        size_bytes=sum(size for _, size in files),
        notes=results.notes,
    )


def _files(directory: Path) -> list[tuple[datetime, int]]:
    """When each file was changed, and its size in bytes; files that vanish meanwhile are left out."""
    found = []
    for path in directory.rglob("*"):
        try:
            facts = path.stat()
        except FileNotFoundError:
            continue
        if path.is_file():
            found.append((datetime.fromtimestamp(facts.st_mtime, UTC), facts.st_size))
    return found


def _counts(cases: pl.DataFrame) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for collective, status in cases.select("collective", "status").iter_rows():
        of_collective = counts.setdefault(collective, dict.fromkeys(STATUSES, 0))
        of_collective[status] = of_collective.get(status, 0) + 1
    return counts


def _quarantined(cases: pl.DataFrame) -> list[tuple[str, str]]:
    rows = cases.filter(pl.col("status") == "quarantined").iter_rows(named=True)
    return [
        (
            f"{row['collective']} {row['algorithm']}, p = {row['p']}, {row['bytes']} B, {row['pattern']}",
            row["reason"],
        )
        for row in rows
    ]
