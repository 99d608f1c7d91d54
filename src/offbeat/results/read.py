"""Reading a result directory: finished, under way, or left by a killed run.

Reading changes nothing and needs no permission to write.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import polars as pl
from msgspec import Struct

from offbeat.errors import BadInput
from offbeat.results import layout, samples
from offbeat.results.append import read_lines
from offbeat.results.schema import CASES, LATER, polars_schema
from offbeat.study.algorithm import Algorithm, Verdict

_JSON_TYPES = {pl.String: str, pl.Int64: int, pl.Float64: float | None}

_LINE_TYPES = {
    name: NotRequired[_JSON_TYPES[kind]] if name in LATER else _JSON_TYPES[kind]
    for name, (kind, _) in CASES.items()
}

LATER_OF_CASES = {name: otherwise for name, otherwise in LATER.items() if name in CASES}
"""What stands in a case's row for columns that an earlier version lacked."""

CASE_LINE: Any = TypedDict("CASE_LINE", _LINE_TYPES)  # type: ignore[misc]
"""A line of ``cases.jsonl``: the columns of CASES, of which those with fractions can be null."""


class Results(Struct, kw_only=True, eq=False):
    """What a result directory holds.

    ``cases`` and ``repetitions`` are frames with exactly the columns of :mod:`offbeat.results.schema`, in
    the order of measurement; ``study`` is the resolved study file and ``provenance`` where and how it was
    measured, both as dictionaries. ``notes`` are sentences about what was left out while reading.
    """

    directory: Path
    study: dict[str, Any]
    provenance: dict[str, Any]
    cases: pl.DataFrame
    repetitions: pl.DataFrame
    algorithms: list[Algorithm]
    verdicts: list[Verdict]
    notes: list[str] = []

    @property
    def is_deterministic(self) -> bool:
        """Whether the engine gives the same numbers every time, as simulators do: then they are exact."""
        return self.provenance.get("deterministic") is True

    def ranks(self) -> pl.DataFrame:
        """Every rank's times of these cases, read from disk now; empty for imported results."""
        ranks = samples.read_ranks(self.directory)
        return ranks.join(self.repetitions, on=["case", "repetition"], how="semi", maintain_order="left")


def read_study(path: str | PathLike[str]) -> Results:
    """Read a result directory.

    Raises BadInput if the directory does not exist, is not one of ours, is of another schema version or is
    damaged.
    """
    directory = Path(path)
    provenance = layout.read_provenance(directory)
    study = _read_toml(directory / layout.STUDY)
    # Cases before samples: of a run under way, samples may be ahead of the cases, and never behind.
    rows, _ = read_lines(directory / layout.CASES, CASE_LINE)
    repetitions = samples.read_repetitions(directory)
    kept = whole_cases(rows, repetitions)
    notes = []
    lost = len({row["case"] for row in rows}) - len(kept)
    if lost:
        notes.append(
            f"{lost} cases are left out because their samples are missing in {directory};"
            " 'offbeat run' measures them again"
        )
    cases = pl.DataFrame([LATER_OF_CASES | row for row in kept], schema=polars_schema(CASES))
    return Results(
        directory=directory,
        study=study,
        provenance=provenance,
        cases=cases,
        repetitions=samples.committed_rows(repetitions, blocks_of_rows(kept)),
        algorithms=_latest(directory / layout.ALGORITHMS, Algorithm),
        verdicts=_latest(directory / layout.VERDICTS, Verdict),
        notes=notes,
    )


def read_cases(path: str | PathLike[str]) -> pl.DataFrame:
    """The cases of a result directory as one frame, one row a case; raises BadInput as read_study does."""
    return read_study(path).cases


def whole_cases(rows: Sequence[dict[str, Any]], repetitions: pl.DataFrame) -> list[dict[str, Any]]:
    """For each case the last line of which all repetitions are there; an import may know fewer than it
    counts. A case that lost its last block is what it was before that block."""
    counts = repetitions.group_by("case", "block").len().iter_rows()
    found: dict[str, dict[int, int]] = {}
    for case, block, count in counts:
        found.setdefault(case, {})[block or 0] = count
    whole: dict[str, dict[str, Any]] = {}
    for row in rows:
        of_case = found.get(row["case"], {})
        there = sum(count for block, count in of_case.items() if block < row.get("blocks", 1))
        if row["engine"] == "import" or there >= row["repetitions"] + row["invalid"]:
            whole[row["case"]] = row
    return list(whole.values())


def blocks_of_rows(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Case → how many of its blocks count, from lines of cases of which the last counts; 1 where a line does
    not say."""
    return {row["case"]: row.get("blocks") or 1 for row in rows}


def key(item: Algorithm | Verdict) -> tuple[object, ...]:
    """What an algorithm, or a verdict, is about: of several with one key, the last written counts."""
    if isinstance(item, Algorithm):
        return (item.collective, item.name)
    return (item.collective, item.algorithm, item.p, item.bytes)


def _latest(path: Path, kind: Any) -> list[Any]:
    items, _ = read_lines(path, kind)
    return list({key(item): item for item in items}.values())


def read_study_toml(path: Path) -> str:
    """The text of the resolved study in a result directory; raises BadInput if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}; put it back from a copy") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is damaged ({error}); put it back from a copy") from error


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_study_toml(path))
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path} is damaged ({error}); put it back from a copy") from error
