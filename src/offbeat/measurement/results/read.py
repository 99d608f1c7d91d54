"""Reading a result directory of a finished, an active or a killed run.

Reading changes nothing and needs no permission to write.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import polars as pl
from msgspec import Struct

from offbeat.base.campaign.append_file import read_checked_lines
from offbeat.base.errors import BadInput
from offbeat.base.reading import TOML_BYTES, read_file
from offbeat.measurement.results import layout, sample_files
from offbeat.measurement.results.layout import DamagedRecord, describe_case, key, latest
from offbeat.measurement.results.plan import Plan, read_plan
from offbeat.measurement.results.recorded import committed, damage_note, max_rows, read_recorded, stated_sums
from offbeat.measurement.results.row_checksums import committed_rows, row_checksums
from offbeat.measurement.results.schema import CASES, COMMUNICATORS, PARTITIONS, polars_schema
from offbeat.model.study.algorithm import Algorithm, Verdict


class Results(Struct, kw_only=True, eq=False):
    """The content of a result directory.

    ``cases`` and ``repetitions`` are frames with exactly the columns of
    :mod:`offbeat.measurement.results.schema`, in the order of measurement; ``study`` is the resolved study
    file and ``provenance`` where and how it was measured, both as dictionaries. ``notes`` are sentences about
    records that were left out, ``plan`` has the cases of the study (None if unknown), and ``checksums`` those
    of each case's samples.
    """

    directory: Path
    study: dict[str, Any]
    provenance: dict[str, Any]
    cases: pl.DataFrame
    repetitions: pl.DataFrame
    algorithms: list[Algorithm]
    verdicts: list[Verdict]
    notes: list[str] = []
    plan: Plan | None = None
    checksums: dict[str, tuple[int, int]] = {}

    @property
    def is_deterministic(self) -> bool:
        """Whether repeating would give the same numbers, as simulators do: then they are exact."""
        return self.provenance.get("deterministic") is True

    def ranks(self) -> pl.DataFrame:
        """The ranks' times of these cases, read from disk; empty for imported results.

        Cases with damaged times are left out, and a note about them is added to ``notes``.
        """
        count_columns = self.cases.select("case", "repetitions", "invalid", "p", COMMUNICATORS, PARTITIONS)
        rows = max_rows(count_columns.iter_rows(named=True), ranks=True)
        committed_counts = committed(count_columns.iter_rows(named=True))
        read_rows, damaged_records = sample_files.read_samples(self.directory, layout.RANKS, rows)
        frame = committed_rows(read_rows, committed_counts)
        sums = row_checksums(frame)
        bad = []
        for row in self.cases.iter_rows(named=True):
            if row["case"] in self.checksums and sums.get(row["case"], 0) != self.checksums[row["case"]][1]:
                bad.append(row["case"])
                damaged_records.append(
                    DamagedRecord(describe_case(row), "the times of its ranks do not match their checksum")
                )
        if damaged_records:
            self.notes.append(damage_note(damaged_records, self.directory))
        return frame.filter(~pl.col("case").is_in(bad)) if bad else frame


def read_study(path: str | PathLike[str]) -> Results:
    """Read a result directory; raises BadInput if it is not one of this version, or is damaged."""
    directory = Path(path)
    provenance = layout.read_provenance(directory)
    study = _read_toml(directory / layout.STUDY)
    recorded_cases = read_recorded(directory)
    algorithms = read_checked_lines(directory / layout.ALGORITHMS, Algorithm)
    verdicts = read_checked_lines(directory / layout.VERDICTS, Verdict)
    known_verdicts, without_algorithm = _with_algorithms(verdicts.items, algorithms.items)
    rows, without_verdict = _with_verdicts(
        recorded_cases.rows,
        known_verdicts,
        is_complete=not (algorithms.items or verdicts.damaged_lines or without_algorithm),
    )
    cases = pl.DataFrame([{name: row[name] for name in CASES} for row in rows], schema=polars_schema(CASES))
    damaged_records = [
        DamagedRecord(f"{name}:{bad.number}", bad.reason)
        for name, lines in ((layout.ALGORITHMS, algorithms), (layout.VERDICTS, verdicts))
        for bad in lines.damaged_lines
    ]
    damaged_records += [*without_algorithm, *without_verdict]
    notes = recorded_cases.notes(directory)
    if damaged_records:
        notes.append(damage_note(damaged_records, directory))
    return Results(
        directory=directory,
        study=study,
        provenance=provenance,
        cases=cases,
        repetitions=committed_rows(recorded_cases.repetitions, committed(rows)),
        algorithms=latest(algorithms.items),
        verdicts=latest(known_verdicts),
        notes=notes,
        plan=read_plan(directory),
        checksums={row["case"]: stated_sums(row) for row in rows},
    )


def _with_algorithms(
    verdicts: Sequence[Verdict], algorithms: Sequence[Algorithm]
) -> tuple[list[Verdict], list[DamagedRecord]]:
    """The verdicts on algorithms that are recorded, and a damaged record for each other algorithm."""
    names = {(one.collective, one.name) for one in algorithms}
    valid = [one for one in verdicts if (one.collective, one.algorithm) in names]
    missing_algorithms = {(one.collective, one.algorithm) for one in verdicts} - names
    reason = f"its line in {layout.ALGORITHMS} is missing"
    return valid, [
        DamagedRecord(f"{collective}, {name}", reason) for collective, name in sorted(missing_algorithms)
    ]


def _with_verdicts(
    rows: list[dict[str, Any]], verdicts: Sequence[Verdict], *, is_complete: bool
) -> tuple[list[dict[str, Any]], list[DamagedRecord]]:
    """The cases that have a verdict, and the others as damaged records.

    ``is_complete``: no line is lost, so that cases without a verdict never had one, as in imported results.
    """
    if is_complete:
        return rows, []
    verdict_keys = {key(verdict) for verdict in verdicts}
    valid, damaged_records = [], []
    for row in rows:
        if (row["collective"], row["algorithm"], row["p"], row["bytes"]) in verdict_keys:
            valid.append(row)
        else:
            damaged_records.append(DamagedRecord(describe_case(row), "its verdict is damaged or missing"))
    return valid, damaged_records


def read_cases(path: str | PathLike[str]) -> pl.DataFrame:
    """The cases of a result directory as a frame, a row for each case; raises BadInput as read_study does."""
    return read_study(path).cases


def read_study_toml(path: Path) -> str:
    """The text of the resolved study in a result directory; raises BadInput if it cannot be read."""
    try:
        return read_file(path, TOML_BYTES).decode()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}; put it back from a copy") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is damaged ({error}); put it back from a copy") from error


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_study_toml(path))
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is damaged ({error}); put it back from a copy") from error
