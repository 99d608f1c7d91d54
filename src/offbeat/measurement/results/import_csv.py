"""Importing a CSV of measurements made elsewhere into a result directory.

A row is one measurement of one algorithm under one pattern; several rows of the same case are its
repetitions. A CSV of ``offbeat results export`` is imported with its medians, intervals and counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
import numpy as np
import tomlkit
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.base.reading import read_file
from offbeat.base.units import amount
from offbeat.measurement.results.blocks import Block, Blocks
from offbeat.measurement.results.import_table import ImportedCase, ImportedTable, read_table
from offbeat.measurement.results.provenance import written_by
from offbeat.measurement.results.sample_files import Records, encode_delays
from offbeat.measurement.results.store import Store
from offbeat.model.pattern.shapes import SHAPES
from offbeat.model.study.algorithm import DEFAULT, Algorithm, Verdict
from offbeat.model.study.case_expansion import REPLAY


class Imported(Struct, kw_only=True):
    """The number of imported cases and measurements, and remarks for the user."""

    cases: int
    measurements: int
    remarks: list[str]


def import_csv(
    csv: Path,
    directory: Path,
    *,
    columns: Mapping[str, str] | None = None,
    settings: Mapping[str, str] | None = None,
) -> Imported:
    """Create a result directory from a CSV of measurements.

    The CSV needs columns for collective, algorithm, message size, pattern, last delay and the number of
    processes; the name of a time column ends with its unit. ``columns`` maps our column names to the
    file's where those differ. ``settings`` maps names of library settings to values, in both of which
    ``{column}`` stands for the value of the row; tuning files of the import need it. Rows that average other
    rows, and rows without a last delay, are left out.

    Raises BadInput, with file and line, for a CSV that cannot be used, before anything is written; and as
    :meth:`Store.create` does.
    """
    table = read_table(Path(csv), columns or {}, settings or {})
    facts = written_by() | {
        "imported_from": csv.name,
        "imported_sha256": hashlib.sha256(read_file(csv)).hexdigest(),
        "imported_columns": {name: column.header for name, column in table.columns.items()},
        "left_out": dict(table.left_out),
        "library": ", ".join(sorted({imported.library for imported in table.cases})),
    }
    with Store.create(directory, study_toml=_study(csv, table), provenance=facts) as store:
        store.set_total(len(table.cases))
        store.add_algorithms(_algorithms(table))
        store.add_verdicts(_verdicts(csv, table))
        rows = [_row(csv, imported) for imported in table.cases]
        records = [
            encode_delays(
                _identity(imported),
                imported.last_delay_s,
                imported.total_delay_s,
                np.array(imported.calls) if imported.is_replay else None,
                imported.blocks or None,
            )
            for imported in table.cases
            if not imported.is_summary
        ]
        repetitions = b"".join(record.repetitions for record in records)
        store.append_rows(rows, Records(repetitions=repetitions))
    measurements = sum(len(imported.last_delay_s) for imported in table.cases)
    return Imported(cases=len(rows), measurements=measurements, remarks=_remarks(table))


def _identity(imported: ImportedCase) -> str:
    """The id of an imported case; it includes the library, as a CSV may hold a case of several machines."""
    return hashlib.sha256(f"{imported.case.id} {imported.library}".encode()).hexdigest()[:16]


def _row(csv: Path, imported: ImportedCase) -> dict[str, object]:
    case, values = imported.case, imported.values
    kind = "replay" if imported.is_replay else "shape" if case.shape in SHAPES else "scenario"
    skew_s = 0.0 if case.shape == "no_delay" else None
    return msgspec.structs.asdict(case) | {
        "case": _identity(imported),
        "engine": "import",
        "library": imported.library,
        "pattern_kind": values.get("pattern_kind", kind),
        "source": values.get("source", ""),
        "skew_s": values.get("skew", skew_s),
        "status": values.get("status", "measured"),
        "reason": values.get("reason", ""),
        "proof": values.get("proof", "proved"),
        "evidence": values.get("evidence", f"{csv.name}:{imported.line}"),
        "overshoot_s": values.get("overshoot"),
        "clock_bound_s": values.get("clock_bound"),
        **(_stated_columns(imported) if imported.is_summary else _computed_columns(imported)),
    }


def _stated_columns(imported: ImportedCase) -> dict[str, object]:
    """The delays and counts as the only row of an imported case states them."""
    return {
        "blocks": imported.values.get("blocks", 0),
        "repetitions": imported.values["repetitions"],
        "invalid": imported.values.get("invalid", 0),
        "last_delay_s": imported.last_delay_s[0],
        "last_delay_low_s": imported.values["last_delay_low"],
        "last_delay_high_s": imported.values["last_delay_high"],
        "total_delay_s": imported.total_delay_s[0],
    }


def _computed_columns(imported: ImportedCase) -> dict[str, object]:
    """The delays and counts computed from the rows of an imported case; none if it was quarantined."""
    has_times = bool(imported.last_delay_s)
    totals_s = np.array([np.nan if total is None else total for total in imported.total_delay_s])
    block_columns = _blocks(imported, totals_s).columns() if has_times else Blocks().columns()
    is_unknown = np.isnan(totals_s).any() if imported.is_replay else np.isnan(totals_s).all()
    return block_columns | {
        "blocks": len(set(imported.blocks)) if has_times else imported.values.get("blocks", 0),
        "invalid": 0 if has_times else imported.values.get("invalid", 0),
        "total_delay_s": None if is_unknown else block_columns["total_delay_s"],
    }


def _blocks(imported: ImportedCase, totals_s: NDArray[np.float64]) -> Blocks:
    """The blocks of an imported case; one block if the file does not number them."""
    block_of_row = np.array(imported.blocks or [0] * len(imported.last_delay_s))
    last_s, calls = np.array(imported.last_delay_s), np.array(imported.calls)
    blocks = [block_of_row == number for number in range(block_of_row.max() + 1)]
    return Blocks(
        tuple(
            Block(last_s[rows], totals_s[rows], 0, calls[rows])
            if imported.is_replay
            else Block(last_s[rows], totals_s[rows & ~np.isnan(totals_s)])
            for rows in blocks
        )
    )


def _algorithms(table: ImportedTable) -> list[Algorithm]:
    """All algorithms in the order of the file, with the settings of the templates that force them."""
    keys = dict.fromkeys((imported.case.collective, imported.case.algorithm) for imported in table.cases)
    return [
        Algorithm(
            collective=collective,
            name=name,
            settings={} if name == DEFAULT else table.settings.get((collective, name), {}),
        )
        for collective, name in keys
    ]


def _verdicts(csv: Path, table: ImportedTable) -> Iterable[Verdict]:
    """A verdict for each algorithm, p and size; quarantined only if no pattern was measured."""
    verdicts: dict[tuple[str, str, int, int], Verdict] = {}
    measured_last = sorted(table.cases, key=lambda imported: bool(imported.last_delay_s))
    for imported in measured_last:
        case = imported.case
        verdicts[case.collective, case.algorithm, case.p, case.bytes] = Verdict(
            collective=case.collective,
            algorithm=case.algorithm,
            p=case.p,
            bytes=case.bytes,
            status=str(imported.values.get("proof", "proved")) if imported.last_delay_s else "quarantined",
            evidence=str(imported.values.get("evidence", f"imported from {csv.name}")),
            reason=str(imported.values.get("reason", "")),
        )
    return verdicts.values()


def _study(csv: Path, table: ImportedTable) -> str:
    """The text of a study file that describes the imported cases."""
    cases = [imported.case for imported in table.cases]
    collectives = [
        {
            "names": [name],
            "sizes": sorted({case.bytes for case in cases if case.collective == name}),
            "algorithms": list(dict.fromkeys(case.algorithm for case in cases if case.collective == name)),
        }
        for name in dict.fromkeys(case.collective for case in cases)
    ]
    labels = dict.fromkeys(case.shape for case in cases if case.skew_policy != REPLAY.key)
    replays = dict.fromkeys(case.shape for case in cases if case.skew_policy == REPLAY.key)
    placements = {(case.nodes, case.ppn) for case in cases} - {(0, 0)}
    processes = {"p": sorted({case.p for case in cases})}
    if placements:
        processes = {
            "nodes": sorted({nodes for nodes, _ in placements}),
            "ppn": sorted({ppn for _, ppn in placements}),
        }
    study = {
        "name": csv.stem,
        "engine": "import",
        "collective": collectives,
        "processes": processes,
        "patterns": {
            "shapes": [label for label in labels if label in SHAPES],
            "files": [label for label in labels if label not in SHAPES],
            **({"replays": list(replays)} if replays else {}),
        },
    }
    return tomlkit.dumps(study)


def _remarks(table: ImportedTable) -> list[str]:
    remarks = [
        f"{amount(count, 'row')} {'was' if count == 1 else 'were'} left out: {reason}"
        for reason, count in table.left_out.items()
    ]
    zeros = sum(delay == 0 for imported in table.cases for delay in imported.last_delay_s)
    if zeros:
        are = "is" if zeros == 1 else "are"
        remarks.append(
            f"{amount(zeros, 'last delay')} {are} 0, below the file's resolution: no ratio to them means"
            " anything"
        )
    single = sum(len(imported.last_delay_s) == 1 and not imported.is_summary for imported in table.cases)
    if single:
        have = "has" if single == 1 else "have"
        remarks.append(f"{amount(single, 'case')} {have} one measurement: its confidence is unknown")
    return remarks
