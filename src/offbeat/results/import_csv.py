"""Measurements made elsewhere, from a CSV to a result directory on which everything downstream works.

One row is one measurement of one algorithm under one pattern; several rows of the same cell are its
repetitions. A CSV that ``offbeat results export`` wrote comes back with its medians, intervals and counts.
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

from offbeat.pattern.shapes import SHAPES
from offbeat.reading import read_file
from offbeat.results import samples
from offbeat.results.blocks import Block, Blocks
from offbeat.results.import_cells import Cell, Sheet, read_sheet
from offbeat.results.provenance import written_by
from offbeat.results.store import Store
from offbeat.study.algorithm import DEFAULT, Algorithm, Verdict
from offbeat.study.cases import REPLAY
from offbeat.units import counted


class Imported(Struct, kw_only=True):
    """What an import took, in cases and measurements, and what to know about it, in sentences."""

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
    """Make a new result directory from a CSV of measurements.

    The CSV needs columns for collective, algorithm, message size, pattern, last delay and the number of
    processes; times are in the unit that the column's name ends in. ``columns`` maps our column names to the
    file's where those differ. ``settings`` maps names of library settings to values, in both of which
    ``{column}`` stands for the row's value: with it, tuning files can be written from the import. Rows that
    average other rows, and rows without a last delay, are left out.

    Raises BadInput, with file and line, for a CSV that cannot be used, before anything is written; and as
    :meth:`Store.create` does.
    """
    sheet = read_sheet(Path(csv), columns or {}, settings or {})
    facts = written_by() | {
        "imported_from": csv.name,
        "imported_sha256": hashlib.sha256(read_file(csv)).hexdigest(),
        "imported_columns": {name: column.header for name, column in sheet.columns.items()},
        "left_out": dict(sheet.left_out),
        "library": ", ".join(sorted({cell.library for cell in sheet.cells})),
    }
    with Store.create(directory, study_toml=_study(csv, sheet), provenance=facts) as store:
        store.set_total(len(sheet.cells))
        store.add_algorithms(_algorithms(sheet))
        store.add_verdicts(_verdicts(csv, sheet))
        rows = [_row(csv, cell) for cell in sheet.cells]
        batches = [
            samples.encode_delays(
                _identity(cell),
                cell.last_delay_s,
                cell.total_delay_s,
                np.array(cell.calls) if cell.is_replay else None,
                cell.blocks or None,
            )
            for cell in sheet.cells
            if not cell.is_summary
        ]
        store.append_rows(rows, b"".join(batches))
    measurements = sum(len(cell.last_delay_s) for cell in sheet.cells)
    return Imported(cases=len(rows), measurements=measurements, remarks=_remarks(sheet))


def _identity(cell: Cell) -> str:
    """The case's id; the library belongs to it, for a CSV may hold the same case of several machines."""
    return hashlib.sha256(f"{cell.case.id} {cell.library}".encode()).hexdigest()[:16]


def _row(csv: Path, cell: Cell) -> dict[str, object]:
    """The row of CASES for a cell."""
    case, says = cell.case, cell.says
    kind = "replay" if cell.is_replay else "shape" if case.shape in SHAPES else "scenario"
    skew_s = 0.0 if case.shape == "no_delay" else None
    return msgspec.structs.asdict(case) | {
        "case": _identity(cell),
        "engine": "import",
        "library": cell.library,
        "pattern_kind": says.get("pattern_kind", kind),
        "source": says.get("source", ""),
        "skew_s": says.get("skew", skew_s),
        "status": says.get("status", "measured"),
        "reason": says.get("reason", ""),
        "proof": says.get("proof", "proved"),
        "evidence": says.get("evidence", f"{csv.name}:{cell.line}"),
        "overshoot_s": says.get("overshoot"),
        "clock_bound_s": says.get("clock_bound"),
        **(_stated(cell) if cell.is_summary else _computed(cell)),
    }


def _stated(cell: Cell) -> dict[str, object]:
    """The measures of a cell as its one row states them."""
    return {
        "blocks": cell.says.get("blocks", 0),
        "repetitions": cell.says["repetitions"],
        "invalid": cell.says.get("invalid", 0),
        "last_delay_s": cell.last_delay_s[0],
        "last_delay_low_s": cell.says["last_delay_low"],
        "last_delay_high_s": cell.says["last_delay_high"],
        "total_delay_s": cell.total_delay_s[0],
    }


def _computed(cell: Cell) -> dict[str, object]:
    """The measures of a cell from its rows, each a repetition; none of a case that was set aside."""
    measured = bool(cell.last_delay_s)
    totals_s = np.array([np.nan if total is None else total for total in cell.total_delay_s])
    found = _blocks(cell, totals_s).measures() if measured else Blocks().measures()
    is_unknown = np.isnan(totals_s).any() if cell.is_replay else np.isnan(totals_s).all()
    return found | {
        "blocks": len(set(cell.blocks)) if measured else cell.says.get("blocks", 0),
        "invalid": 0 if measured else cell.says.get("invalid", 0),
        "total_delay_s": None if is_unknown else found["total_delay_s"],
    }


def _blocks(cell: Cell, totals_s: NDArray[np.float64]) -> Blocks:
    """The blocks of a cell; all of its rows are one where the file names none."""
    of = np.array(cell.blocks or [0] * len(cell.last_delay_s))
    last_s, calls = np.array(cell.last_delay_s), np.array(cell.calls)
    each = [of == number for number in range(of.max() + 1)]
    return Blocks(
        tuple(
            Block(last_s[own], totals_s[own], 0, calls[own])
            if cell.is_replay
            else Block(last_s[own], totals_s[own & ~np.isnan(totals_s)])
            for own in each
        )
    )


def _algorithms(sheet: Sheet) -> list[Algorithm]:
    """Every algorithm in the file, in its order, with the settings that force it if the templates say so."""
    keys = dict.fromkeys((cell.case.collective, cell.case.algorithm) for cell in sheet.cells)
    return [
        Algorithm(
            collective=collective,
            name=name,
            settings={} if name == DEFAULT else sheet.settings.get((collective, name), {}),
        )
        for collective, name in keys
    ]


def _verdicts(csv: Path, sheet: Sheet) -> Iterable[Verdict]:
    """One verdict for each algorithm, p and size; quarantined only where no pattern could be measured."""
    verdicts: dict[tuple[str, str, int, int], Verdict] = {}
    measured_last = sorted(sheet.cells, key=lambda cell: bool(cell.last_delay_s))
    for cell in measured_last:
        case = cell.case
        verdicts[case.collective, case.algorithm, case.p, case.bytes] = Verdict(
            collective=case.collective,
            algorithm=case.algorithm,
            p=case.p,
            bytes=case.bytes,
            status=str(cell.says.get("proof", "proved")) if cell.last_delay_s else "quarantined",
            evidence=str(cell.says.get("evidence", f"imported from {csv.name}")),
            reason=str(cell.says.get("reason", "")),
        )
    return verdicts.values()


def _study(csv: Path, sheet: Sheet) -> str:
    """A study file that describes what the import holds, in the words of one that was run."""
    cases = [cell.case for cell in sheet.cells]
    collectives = [
        {
            "names": [name],
            "sizes": sorted({case.bytes for case in cases if case.collective == name}),
            "algorithms": list(dict.fromkeys(case.algorithm for case in cases if case.collective == name)),
        }
        for name in dict.fromkeys(case.collective for case in cases)
    ]
    labels = dict.fromkeys(case.shape for case in cases if case.skew_policy != REPLAY)
    replays = dict.fromkeys(case.shape for case in cases if case.skew_policy == REPLAY)
    placed = {(case.nodes, case.ppn) for case in cases} - {(0, 0)}
    processes = {"p": sorted({case.p for case in cases})}
    if placed:
        processes = {
            "nodes": sorted({nodes for nodes, _ in placed}),
            "ppn": sorted({ppn for _, ppn in placed}),
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


def _remarks(sheet: Sheet) -> list[str]:
    """What a user should know about the import."""
    remarks = [
        f"{counted(count, 'row')} {'was' if count == 1 else 'were'} left out: {reason}"
        for reason, count in sheet.left_out.items()
    ]
    zeros = sum(delay == 0 for cell in sheet.cells for delay in cell.last_delay_s)
    if zeros:
        are = "is" if zeros == 1 else "are"
        remarks.append(
            f"{counted(zeros, 'last delay')} {are} 0, below the file's resolution: no ratio to them means"
            " anything"
        )
    alone = sum(len(cell.last_delay_s) == 1 and not cell.is_summary for cell in sheet.cells)
    if alone:
        have = "has" if alone == 1 else "have"
        remarks.append(f"{counted(alone, 'case')} {have} one measurement: how sure it is cannot be told")
    return remarks
