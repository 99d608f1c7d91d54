"""The progress of a study: done, remaining and quarantined cases, and whether a run is active.

It is read from small files; samples are read, and polars is loaded, only to check the samples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path

import msgspec
from msgspec import Struct

from offbeat.base.campaign.append_file import Lines, read_checked_lines
from offbeat.base.campaign.lock import Holder, holder
from offbeat.base.units import format_list
from offbeat.measurement.results import layout
from offbeat.measurement.results.plan import read_plan
from offbeat.measurement.results.plausible import STATUSES
from offbeat.model.study.algorithm import Verdict, proof_lines


class Status(Struct, kw_only=True):
    """The progress of a study.

    ``total`` is None if the number of cases is unknown. ``counts`` maps each collective to the
    number of its cases in each of STATUSES; ``unfinished`` maps how far unfinished cases are (``3 of 5
    blocks``) to their number; ``quarantined`` lists the quarantined cases as (description,
    reason); ``proofs`` has a line for each collective with the verdicts on its algorithms; ``active`` is the
    process that writes now; ``last_activity`` is in UTC.
    """

    directory: Path
    done: int
    total: int | None
    counts: dict[str, dict[str, int]]
    unfinished: dict[str, int]
    quarantined: list[tuple[str, str]]
    proofs: list[str]
    active: Holder | None
    last_activity: datetime | None
    size_bytes: int
    notes: list[str]


class _Line(Struct):
    """The fields of a line of ``cases.jsonl`` that the status needs."""

    case: str
    collective: str
    algorithm: str
    p: int
    bytes: int
    pattern: str
    status: str
    reason: str


def read_status(path: str | PathLike[str], *, check: bool = False) -> Status:
    """The progress of the study in a result directory.

    It counts the cases that a run has recorded. With ``check`` all samples are read as well, and cases with
    missing or damaged samples do not count. Raises BadInput as read_study does.
    """
    directory = Path(path)
    layout.read_provenance(directory)
    lines = read_checked_lines(directory / layout.CASES, _Line)
    verdicts = read_checked_lines(directory / layout.VERDICTS, Verdict)
    latest: dict[str, _Line] = {line.case: line for line in lines.items}
    notes = [*_damage(layout.CASES, lines), *_damage(layout.VERDICTS, verdicts)]
    if check:
        from offbeat.measurement.results.read import read_study  # loads polars

        results = read_study(directory)
        valid = set(results.cases["case"])
        latest = {case: line for case, line in latest.items() if case in valid}
        notes = results.notes
    files = _files(directory)
    return Status(
        directory=directory,
        done=sum(line.status != layout.UNFINISHED_CASE for line in latest.values()),
        total=plan.total if (plan := read_plan(directory)) else None,
        counts=_counts(latest.values()),
        unfinished=dict(
            sorted(
                Counter(
                    line.reason
                    for line in latest.values()
                    if line.status == layout.UNFINISHED_CASE and line.reason
                ).items()
            )
        ),
        quarantined=[
            (layout.describe_case(msgspec.structs.asdict(line)), line.reason)
            for line in latest.values()
            if line.status == "quarantined"
        ],
        proofs=proof_lines(layout.latest(verdicts.items)),
        active=holder(directory),
        last_activity=max((changed for changed, _ in files), default=None),
        size_bytes=sum(size for _, size in files),
        notes=notes,
    )


def _files(directory: Path) -> list[tuple[datetime, int]]:
    """The modification time and the size in bytes of each file; files that vanish meanwhile are skipped."""
    files = []
    for path in directory.rglob("*"):
        try:
            status = path.stat()
        except FileNotFoundError:
            continue
        if path.is_file():
            files.append((datetime.fromtimestamp(status.st_mtime, UTC), status.st_size))
    return files


def _damage(name: str, lines: Lines) -> list[str]:
    """A note on the damaged lines of a file; none if all are valid."""
    if not lines.damaged_lines:
        return []
    numbers = format_list([line.number for line in lines.damaged_lines], limit=5)
    return [
        f"{name} has damaged lines, which are left out: {numbers}; 'offbeat run' with the study"
        " measures again what they held"
    ]


def _counts(cases: Iterable[_Line]) -> dict[str, dict[str, int]]:
    counts: dict[str, dict[str, int]] = {}
    for case in cases:
        of_collective = counts.setdefault(case.collective, dict.fromkeys(STATUSES, 0))
        of_collective[case.status] = of_collective.get(case.status, 0) + 1
    return counts
