"""One cell of the report: its table, its choice, its cases, and what to call it."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from msgspec import Struct

from offbeat.report import labels
from offbeat.select.choose import Choice, Selection
from offbeat.select.table import CELL_COLUMNS, Cell, DelayTable
from offbeat.study.schema import SIMULATING


class CellView(Struct, frozen=True, kw_only=True):
    """What the report shows of one cell.

    ``table`` is None where no case of the cell has a measured time, ``choice`` where nothing could be
    selected; ``left_out`` then says why. ``cases`` holds the cell's rows of the cases frame. ``title`` is a
    line for people, and ``operation`` what is reduced and where the root is, if that tells cells of the
    collective apart. ``slug`` is a word of its own for anchors and file names.
    """

    cell: Cell
    table: DelayTable | None
    choice: Choice | None
    left_out: str
    cases: pl.DataFrame
    title: str
    operation: str
    slug: str

    @property
    def is_simulated(self) -> bool:
        """Whether its numbers come from a model of a machine."""
        return set(self.cases["engine"]) <= set(SIMULATING)

    @property
    def place(self) -> str:
        """The cell among those of its collective: ``p = 8 · 32 KiB``."""
        parts = [labels.processes_label(self.cell), labels.size_label(self.cell), self.operation]
        return " · ".join(part for part in parts if part)


def views(cases: pl.DataFrame, selection: Selection) -> list[CellView]:
    """The cells of a study in the order of its delay tables; cells without any measured time come last."""
    tables = selection.tables
    chosen = {choice.cell: choice for choice in selection.choices}
    reasons = {left_out.cell: left_out.reason for left_out in selection.left_out}
    parts = {
        Cell(*key): part
        for key, part in cases.partition_by(CELL_COLUMNS, as_dict=True, maintain_order=True).items()
    }
    found = [*tables, *(cell for cell in parts if cell not in tables)]
    slugs = _unique_slugs(found)
    several = len({cell.library for cell in found}) > 1
    operations = _operations(found)
    return [
        CellView(
            cell=cell,
            table=tables.get(cell),
            choice=chosen.get(cell),
            left_out=reasons.get(cell, "" if cell in chosen else "no case of this cell has a measured time."),
            cases=parts[cell],
            title=_title(cell, library=several),
            operation=operations[cell],
            slug=slugs[cell],
        )
        for cell in found
    ]


def _title(cell: Cell, *, library: bool) -> str:
    parts = [
        cell.collective,
        labels.processes_label(cell),
        labels.size_label(cell),
        labels.operation_label(cell),
    ]
    if library:
        parts.append(cell.library)
    return " · ".join(part for part in parts if part)


def _operations(cells: Sequence[Cell]) -> dict[Cell, str]:
    """Each cell's operation and root, or nothing where all cells of the collective have the same."""
    known: dict[str, set[str]] = {}
    for cell in cells:
        known.setdefault(cell.collective, set()).add(labels.operation_label(cell))
    return {cell: labels.operation_label(cell) if len(known[cell.collective]) > 1 else "" for cell in cells}


def _unique_slugs(cells: Sequence[Cell]) -> dict[Cell, str]:
    """Short names; cells that differ only in operation, root or library are numbered."""
    used: dict[str, int] = {}
    found: dict[Cell, str] = {}
    for cell in cells:
        place = f"-{cell.nodes}x{cell.ppn}" if cell.nodes and cell.ppn else ""
        name = labels.slug(f"{cell.collective}-p{cell.p}{place}-{cell.bytes}B")
        used[name] = used.get(name, 0) + 1
        found[cell] = name if used[name] == 1 else f"{name}-{used[name]}"
    return found
