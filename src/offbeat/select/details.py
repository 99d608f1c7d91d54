"""The details of one configuration: its delays, winners, robustness, and delays relative to each row's
fastest.

Patterns are rows and algorithms columns, as in the paper's figures, while that fits the terminal. A wider
matrix is split into blocks of columns, or transposed (algorithms as rows) and then split, whichever takes
fewer blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from offbeat.select import wording
from offbeat.select.choose import Choice
from offbeat.select.rules import Rule, average_rules
from offbeat.select.table import NO_DELAY, DelayTable
from offbeat.study.algorithm import DEFAULT
from offbeat.table import FittedTable, wrap_text

ROBUST_MARKS = {"faster": ("▼", "cyan"), "slower": ("▲", "bright_red"), "same": ("=", ""), "": ("", "dim")}
"""Robustness class → its mark and its style; the mark tells it without colour."""

GOOD_STYLE = "bold cyan"

SKEWS = {
    "own": " Each algorithm's skew is relative to its own run time.",
    "same": " All algorithms had the same skews.",
    "": "",
}
"""The reference of the skews (:attr:`DelayTable.skews`), as a sentence."""


def details(table: DelayTable, choice: Choice | None, within: float, width: int) -> RenderableType:
    """All tables of a configuration for a terminal of ``width`` characters; ``choice`` is None where nothing
    was selected."""
    parts: list[RenderableType] = [
        Text(f"{table.configuration} ({table.configuration.library})", style="bold")
    ]
    parts += delay_view(table, choice, within, width)
    if choice is not None:
        parts += winner_view(choice, within)
    if NO_DELAY in table.patterns and len(table.patterns) > 1:
        parts += robustness_view(table, choice, width)
    parts += normalised_view(table, choice, width)
    legend = _legend(table, choice)
    return Group(*parts, *([Text(), Text(legend, style="dim")] if legend else []))


def delay_view(table: DelayTable, choice: Choice | None, within: float, width: int) -> list[RenderableType]:
    """Median last delays with the good set of each row marked (the paper's figure 5)."""
    unit, factor = wording.common_unit(table.last_delay_s)
    good = table.good(within)

    def text(i: int, j: int) -> Text:
        mark = " ✓" if good[i, j] else "  "
        return Text(
            wording.significant(table.last_delay_s[i, j] * factor)
            + ("*" if table.is_incomplete(i, j) else "")
            + mark,
            style=GOOD_STYLE if good[i, j] else "",
        )

    of_replays = " (of replays the mean over their calls)" if table.replays else ""
    close = wording.share_label(within)
    note = f"Last delay d̂ in {unit}{of_replays}; ✓ good: within {close} of the row's fastest."
    return _view(note, table, choice, width, text)


def winner_view(choice: Choice, within: float) -> list[RenderableType]:
    """The fastest algorithm of each pattern and those as good."""
    headings = ["pattern", "fastest", f"also good (within {wording.share_label(within)})"]
    view = FittedTable(headings, texts=range(3), rule=True)
    for pattern, winner in choice.winners.items():
        others = [name for name in choice.good[pattern] if name != winner]
        view.add_row(Text(pattern), Text(winner, style=GOOD_STYLE), Text(", ".join(others)))
    return [Text("\nWinners by pattern."), view]


def robustness_view(table: DelayTable, choice: Choice | None, width: int) -> list[RenderableType]:
    """Each algorithm's change against its own no_delay, in classes of ±25% (the paper's figure 6)."""
    values, classes = table.robustness(), table.robustness_class()

    def text(i: int, j: int) -> Text:
        mark, style = ROBUST_MARKS[str(classes[i, j])]
        return Text(f"{wording.change(values[i, j])} {mark}".rstrip(), style=style)

    note = "Robustness d̂ / d̂ under no_delay - 1; ▼ over 25% faster, ▲ over 25% slower, = neither."
    note += SKEWS[table.skews]
    rows = [i for i, pattern in enumerate(table.patterns) if pattern != NO_DELAY]
    return _view(note, table, choice, width, text, rows)


def normalised_view(table: DelayTable, choice: Choice | None, width: int) -> list[RenderableType]:
    """Each row divided by its fastest, absolute times in parentheses, averages below (the paper's figure
    8)."""
    unit, factor = wording.common_unit(table.last_delay_s)
    ratios = table.normalised()

    def text(i: int, j: int) -> Text:
        if np.isnan(table.last_delay_s[i, j]):
            return Text(wording.NOTHING, style="dim")
        absolute = wording.significant(table.last_delay_s[i, j] * factor)
        best = table.candidates[j] and ratios[i, j] <= 1
        return Text(f"{wording.ratio(ratios[i, j])} ({absolute})", style=GOOD_STYLE if best else "")

    note = f"d̂ relative to each row's fastest; in parentheses d̂ in {unit}."
    averages = average_rules(table).items()
    summary = {name: _scores(table, rule) for name, rule in averages if rule.rows(table)}
    return _view(note, table, choice, width, text, summary=summary)


def _scores(table: DelayTable, rule: Rule) -> list[Text]:
    scores = rule.scores(table)
    best = min(scores.values(), default=np.nan)
    every = scores | rule.reference_scores(table)
    return [
        Text(
            wording.ratio(every.get(name, np.nan), decimals=3),
            style=GOOD_STYLE if scores.get(name) == best else "",
        )
        for name in table.algorithms
    ]


def _view(
    note: str,
    table: DelayTable,
    choice: Choice | None,
    width: int,
    text: Callable[[int, int], Text],
    rows: list[int] | None = None,
    summary: dict[str, list[Text]] | None = None,
) -> list[RenderableType]:
    """One matrix of the configuration under its note; ``text`` gives the text at (pattern, algorithm)."""
    rows = list(range(len(table.patterns))) if rows is None else rows
    summary = summary or {}
    grid = Grid(
        corner="pattern",
        rows=[*(Text(table.patterns[i]) for i in rows), *map(Text, summary)],
        columns=[_heading(table, choice, name) for name in table.algorithms],
        texts=[[text(i, j) for j in range(len(table.algorithms))] for i in rows] + list(summary.values()),
        summary=len(summary),
    )
    parts: list[RenderableType] = [Text(f"\n{note}")]
    for number, block in enumerate(fitted(grid, "algorithm", width)):
        parts += [Text(), block] if number else [block]
    return parts


def _heading(table: DelayTable, choice: Choice | None, name: str) -> Text:
    """An algorithm's name, marked when it is the choice or only a reference."""
    if choice is not None and name == choice.algorithm:
        return Text(f"▸{name}", style="bold")
    reference = name == DEFAULT or name in table.excluded
    return Text(f"{name}†", style="dim") if reference else Text(name)


def _legend(table: DelayTable, choice: Choice | None) -> str:
    """The meaning of the marks in this configuration's headings and numbers."""
    marks = []
    if choice is not None:
        marks.append(f"▸ the choice by {choice.rule}")
    if not table.candidates.all():
        marks.append("† for reference, never selected")
    if table.incomplete is not None and table.incomplete.any():
        partial = table.incomplete[table.replays].any()
        marks.append("* too few valid repetitions" + (", or not every call of a replay" if partial else ""))
    if np.isnan(table.last_delay_s).any():
        marks.append(f"{wording.NOTHING} not measured")
    return "; ".join(marks)


GAP = 2
"""Characters between two columns."""

HEADING_WIDTH = 18
"""Column headings longer than this are broken into lines."""

LABEL_WIDTH = 32
"""Row labels longer than this are broken into lines."""


@dataclass(frozen=True)
class Grid:
    """Texts ``rows × columns`` under headings; ``summary`` of the last rows are separated by a line."""

    corner: str
    rows: list[Text]
    columns: list[Text]
    texts: list[list[Text]]
    summary: int = 0

    def transposed(self, corner: str) -> Grid:
        """Rows and columns exchanged; the summary rows become the last columns."""
        return Grid(corner, self.columns, self.rows, [list(line) for line in zip(*self.texts, strict=True)])

    def blocks(self, width: int) -> list[list[int]]:
        """The columns in blocks that fit into ``width`` characters beside the row labels."""
        available = width - min(LABEL_WIDTH, max(label.cell_len for label in [*self.rows, Text(self.corner)]))
        blocks: list[list[int]] = [[]]
        left = available
        for column in range(len(self.columns)):
            needed = GAP + self._column_width(column)
            if needed > left and blocks[-1]:
                blocks.append([])
                left = available
            blocks[-1].append(column)
            left -= needed
        return blocks

    def tables(self, width: int) -> list[Table]:
        """The grid as one table per block."""
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


def fitted(grid: Grid, transposed_corner: str, width: int) -> list[Table]:
    """``grid`` as tables no wider than ``width``, transposed if that takes fewer tables."""
    transposed = grid.transposed(transposed_corner)
    return min((grid, transposed), key=lambda candidate: len(candidate.blocks(width))).tables(width)
