"""A matrix of texts as tables that fit the terminal, however many algorithms and patterns there are.

Patterns are rows and algorithms columns, as in the paper's figures, while that fits into the width. A wider
matrix is cut into blocks of columns, or turned round (algorithms as rows) and then cut, whichever takes fewer
blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

from rich import box
from rich.table import Table
from rich.text import Text

from offbeat.table import wrap_text

GAP = 2
"""Characters between two columns."""

HEADING_WIDTH = 18
"""Column headings longer than this are folded."""

LABEL_WIDTH = 32
"""Row labels longer than this are folded."""


@dataclass(frozen=True)
class Grid:
    """Texts ``rows × columns`` under headings; ``summary`` of the last rows are set apart from the others."""

    corner: str
    rows: list[Text]
    columns: list[Text]
    texts: list[list[Text]]
    summary: int = 0

    def turned(self, corner: str) -> Grid:
        """Rows as columns; the summary rows become the last columns."""
        return Grid(corner, self.columns, self.rows, [list(line) for line in zip(*self.texts, strict=True)])

    def blocks(self, width: int) -> list[list[int]]:
        """The columns cut into blocks that fit into ``width`` characters beside the row labels."""
        room = width - min(LABEL_WIDTH, max(label.cell_len for label in [*self.rows, Text(self.corner)]))
        found: list[list[int]] = [[]]
        left = room
        for column in range(len(self.columns)):
            needed = GAP + self._column_width(column)
            if needed > left and found[-1]:
                found.append([])
                left = room
            found[-1].append(column)
            left -= needed
        return found

    def tables(self, width: int) -> list[Table]:
        """The grid as one table a block."""
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
    """A label in lines of ``width`` characters, which end where words and parts of names do."""
    return Text("\n").join(wrap_text(label, width))


def fitted(grid: Grid, turned_corner: str, width: int) -> list[Table]:
    """``grid`` as tables no wider than ``width``, turned round (under ``turned_corner``) where that takes
    fewer."""
    turned = grid.turned(turned_corner)
    return min((grid, turned), key=lambda candidate: len(candidate.blocks(width))).tables(width)
