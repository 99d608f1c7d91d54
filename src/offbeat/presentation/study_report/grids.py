"""The three tables of a configuration for pages and pictures.

They are those of :mod:`offbeat.presentation.selection.grids`, typeset, with what the cases say of each row
and square.
"""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl

from offbeat.base.document.grid import Grid, Row, Square
from offbeat.base.units import amount
from offbeat.presentation.selection import grids as selected
from offbeat.presentation.study_report import labels
from offbeat.presentation.study_report.configurations import ConfigurationView
from offbeat.selection.choices import wording
from offbeat.selection.choices.delay_table import DelayTable


def grids(view: ConfigurationView, within: float) -> list[Grid]:
    """The grids of a configuration; none if nothing was measured, no robustness without no_delay."""
    if view.table is None:
        return []
    remarks, notes = _skew_remarks(view, view.table), _notes(view, view.table)

    def square(grid: Grid, row: Row, j: int) -> Square:
        plain = row.squares[j]
        note = notes.get((row.heading.name, grid.columns[j].name), "") if grid.kind == "last-delay" else ""
        return msgspec.structs.replace(plain, text=wording.typeset(plain.text), note=plain.note or note)

    def shown(grid: Grid, row: Row) -> Row:
        remark = "" if row.summary else remarks.get(row.heading.name, "")
        return msgspec.structs.replace(
            row,
            heading=msgspec.structs.replace(row.heading, remark=remark),
            squares=[square(grid, row, j) for j in range(len(row.squares))],
        )

    return [
        msgspec.structs.replace(grid, subject=view.title, rows=[shown(grid, row) for row in grid.rows])
        for grid in selected.grids(view.table, view.choice, within, is_simulated=view.is_simulated)
    ]


def _skew_remarks(view: ConfigurationView, table: DelayTable) -> dict[str, str]:
    """The largest delay that each pattern was applied with."""
    spans = view.cases.group_by("pattern").agg(
        pl.col("skew_s").min().alias("low"), pl.col("skew_s").max().alias("high")
    )
    replays = {table.patterns[i] for i in table.replays}

    def remark(pattern: str, low: float | None, high: float | None) -> str:
        if low is None or high is None or not np.isfinite([low, high]).all() or high == 0:
            return ""
        return f"s = {labels.duration_span(low, high)}{' at most' if pattern in replays else ''}"

    return {pattern: remark(pattern, low, high) for pattern, low, high in spans.iter_rows()}


def _notes(view: ConfigurationView, table: DelayTable) -> dict[tuple[str, str], str]:
    """The tooltips of squares: the confidence interval and the repetitions."""
    intervals = {
        (pattern, algorithm): f"95% interval {labels.duration_span(low_s, high_s)}; "
        for pattern, lows_s, highs_s in zip(table.patterns, table.low_s, table.high_s, strict=True)
        for algorithm, low_s, high_s in zip(table.algorithms, lows_s, highs_s, strict=True)
        if np.isfinite([low_s, high_s]).all()
    }
    rows = view.cases.select("pattern", "algorithm", "repetitions", "invalid").iter_rows()
    return {
        (pattern, algorithm): intervals.get((pattern, algorithm), "")
        + amount(repetitions or 0, "repetition")
        + (f", {invalid} invalid" if invalid else "")
        for pattern, algorithm, repetitions, invalid in rows
    }
