"""The details of one configuration: delays, winners, robustness, and delays relative to each row's fastest.

Patterns are rows and algorithms columns, as in the paper's figures. A matrix that is too wide is split into
blocks of columns, or transposed and then split, whichever takes fewer blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from offbeat.base.document.grid import Grid, Square
from offbeat.base.terminal_table import FittedTable, wrap_text
from offbeat.base.units import amount
from offbeat.model.study.algorithm import DEFAULT
from offbeat.presentation.selection.grids import SKEWS, grids
from offbeat.selection.choices import wording
from offbeat.selection.choices.choose import Choice
from offbeat.selection.choices.delay_table import DelayTable

GOOD_STYLE = "bold cyan"
STYLES = {"faster": "cyan", "slower": "bright_red", "missing": "dim"}
"""The styles of tones in the terminal; every tone has a mark or a number beside it."""


SHORT = ("last-delay",)
"""The grids that fit on a screen, even if they are split into blocks of columns."""


def details(
    table: DelayTable, choice: Choice | None, within: float, width: int, *, everything: bool = True
) -> RenderableType:
    """The tables of a configuration for a terminal of ``width`` characters; ``choice`` may be missing.

    Unless ``everything`` is shown, only those of SHORT.
    """
    parts: list[RenderableType] = [
        Text(f"{table.configuration} ({table.configuration.library})", style="bold")
    ]
    for grid in grids(table, choice, within):
        if not everything and grid.kind not in SHORT:
            continue
        kept = None if everything else _most_important(table, choice)
        parts += grid_view(grid, table, choice, within, width, kept)
        if everything and grid.kind == "last-delay" and choice is not None:
            parts += winner_view(choice, within)
    legend = _legend(table, choice)
    return Group(*parts, *([Text(), Text(legend, style="dim")] if legend else []))


def _most_important(table: DelayTable, choice: Choice | None) -> list[str]:
    """All algorithms: the choice, the default and the winners of patterns, then the others by their score."""
    if choice is None:
        return list(table.algorithms)
    scores = sorted(choice.scores, key=lambda name: choice.scores[name])
    names = [choice.algorithm, DEFAULT, *choice.winners.values(), *scores, *table.algorithms]
    return [name for name in dict.fromkeys(names) if name in table.algorithms]


def grid_view(
    grid: Grid,
    table: DelayTable,
    choice: Choice | None,
    within: float,
    width: int,
    ranked: Sequence[str] | None = None,
) -> list[RenderableType]:
    """One of the grids of a configuration under a note; of ``ranked`` algorithms the first that fit into one
    table."""
    rows = [row for row in grid.rows if not row.summary or any(one.tone != "missing" for one in row.squares)]
    has_marks = any(square.mark for row in rows for square in row.squares)
    matrix = Matrix(
        corner="pattern",
        rows=[Text(row.heading.name) for row in rows],
        columns=[_heading(table, choice, column.name) for column in grid.columns],
        texts=[[_text(square, has_marks=has_marks) for square in row.squares] for row in rows],
        summary=sum(row.summary for row in rows),
    )
    parts: list[RenderableType] = [Text(f"\n{_note(grid, table, within)}")]
    if ranked is not None:
        names = [column.name for column in grid.columns]
        matrix = matrix.first_that_fit([names.index(name) for name in ranked], width)
        if left := len(names) - len(matrix.columns):
            parts = [Text(f"{parts[0]} {amount(left, 'more algorithm')}: --notes.")]
    for number, block in enumerate(fitted(matrix, "algorithm", width)):
        parts += [Text(), block] if number else [block]
    return parts


def _note(grid: Grid, table: DelayTable, within: float) -> str:
    unit, _ = wording.common_unit(table.last_delay_s)
    if grid.kind == "last-delay":
        of_replays = " (of replays the mean over their calls)" if table.replays else ""
        close = wording.share_label(within)
        return f"Last delay d̂ in {unit}{of_replays}; ✓ good: within {close} of the row's fastest."
    if grid.kind == "robustness":
        note = "Robustness d̂ / d̂ under no_delay - 1; ▼ over 25% faster, ▲ over 25% slower, = neither."
        return f"{note} {SKEWS[table.skews]}".rstrip()
    return f"d̂ relative to each row's fastest; in parentheses d̂ in {unit}."


def _text(square: Square, *, has_marks: bool) -> Text:
    """The text of a square; marks stand below each other."""
    mark = square.mark or ("=" if square.tone == "same" else "")
    text = f"{square.text} {square.small}".rstrip() + (f" {mark:1}" if has_marks else "")
    return Text(text, style=GOOD_STYLE if square.strong else STYLES.get(square.tone, ""))


def winner_view(choice: Choice, within: float) -> list[RenderableType]:
    """The fastest algorithm of each pattern and those as good."""
    headings = ["pattern", "fastest", f"also good (within {wording.share_label(within)})"]
    view = FittedTable(headings, texts=range(3), rule=True)
    for pattern, winner in choice.winners.items():
        others = [name for name in choice.good[pattern] if name != winner]
        view.add_row(Text(pattern), Text(winner, style=GOOD_STYLE), Text(", ".join(others)))
    return [Text("\nWinners by pattern."), view]


def _heading(table: DelayTable, choice: Choice | None, name: str) -> Text:
    """An algorithm's name, marked when it is the choice or only a reference."""
    if choice is not None and name == choice.algorithm:
        return Text(f"▸{name}", style="bold")
    reference = name == DEFAULT or name in table.exclusions
    return Text(f"{name}†", style="dim") if reference else Text(name)


def _legend(table: DelayTable, choice: Choice | None) -> str:
    marks = []
    if choice is not None:
        marks.append(f"▸ the choice by {choice.rule}")
    if not table.candidates.all():
        marks.append("† for reference, never selected")
    if table.incomplete.any():
        partial = table.incomplete[table.replays].any()
        marks.append("* too few valid repetitions" + (", or not every call of a replay" if partial else ""))
    if np.isnan(table.last_delay_s).any():
        marks.append(f"{wording.DASH} not measured")
    return "; ".join(marks)


GAP = 2
"""Characters between two columns."""

HEADING_WIDTH = 18
"""Column headings longer than this are broken into lines."""

LABEL_WIDTH = 32
"""Row labels longer than this are broken into lines."""


@dataclass(frozen=True)
class Matrix:
    """Texts ``rows × columns`` under headings; ``summary`` of the last rows are separated by a line."""

    corner: str
    rows: list[Text]
    columns: list[Text]
    texts: list[list[Text]]
    summary: int = 0

    def transposed(self, corner: str) -> Matrix:
        """Rows and columns exchanged; the summary rows become the last columns."""
        return Matrix(corner, self.columns, self.rows, [list(line) for line in zip(*self.texts, strict=True)])

    def first_that_fit(self, ranked: Sequence[int], width: int) -> Matrix:
        """The matrix with the columns of the best ranks, in their order here, that fit into one table."""
        kept = self._with_columns(ranked[:1])
        for count in range(2, len(ranked) + 1):
            wider = self._with_columns(sorted(ranked[:count]))
            if len(wider.blocks(width)) > 1:
                break
            kept = wider
        return kept

    def _with_columns(self, numbers: Sequence[int]) -> Matrix:
        columns = [self.columns[number] for number in numbers]
        texts = [[line[number] for number in numbers] for line in self.texts]
        return replace(self, columns=columns, texts=texts)

    def blocks(self, width: int) -> list[list[int]]:
        """The columns in blocks that fit into ``width`` characters beside the row labels."""
        available = width - min(LABEL_WIDTH, max(label.cell_len for label in [*self.rows, Text(self.corner)]))
        blocks: list[list[int]] = [[]]
        left = available
        for column in range(len(self.columns)):
            needed_width = GAP + self._column_width(column)
            if needed_width > left and blocks[-1]:
                blocks.append([])
                left = available
            blocks[-1].append(column)
            left -= needed_width
        return blocks

    def tables(self, width: int) -> list[Table]:
        """The matrix as one table per block."""
        return [self._table(block) for block in self.blocks(width)]

    def _column_width(self, column: int) -> int:
        heading = min(HEADING_WIDTH, self.columns[column].cell_len)
        return max([heading, *(line[column].cell_len for line in self.texts)])

    def _table(self, block: list[int]) -> Table:
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, collapse_padding=True)
        table.add_column(self.corner, max_width=LABEL_WIDTH)
        for column in block:
            width = self._column_width(column)
            table.add_column(_within(self.columns[column], width), justify="right", width=width)
        for i, label in enumerate(self.rows):
            last_pattern = i == len(self.rows) - self.summary - 1
            table.add_row(
                _within(label, LABEL_WIDTH),
                *(self.texts[i][j] for j in block),
                end_section=bool(self.summary) and last_pattern,
            )
        return table


def _within(label: Text, width: int) -> Text:
    """A label in lines of ``width`` characters, broken between words and parts of names."""
    return Text("\n").join(wrap_text(label, width))


def fitted(matrix: Matrix, transposed_corner: str, width: int) -> list[Table]:
    """``matrix`` as tables no wider than ``width``, transposed if that takes fewer tables."""
    transposed = matrix.transposed(transposed_corner)
    return min((matrix, transposed), key=lambda candidate: len(candidate.blocks(width))).tables(width)
