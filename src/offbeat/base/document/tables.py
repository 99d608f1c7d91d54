"""Tables of text for the terminal and for pages."""

from __future__ import annotations

from msgspec import Struct

from offbeat.base.terminal_table import FittedTable


class Table(Struct, frozen=True, kw_only=True):
    """A table: columns in ``texts`` are text, the others numbers; ``notes`` are sentences below it.

    ``name`` identifies the table among others. The columns ``spare`` can be omitted on a narrow terminal.
    """

    title: str
    headings: list[str]
    rows: list[list[str]]
    texts: tuple[int, ...] = (0,)
    notes: list[str] = []
    name: str = ""
    spare: tuple[int, ...] = ()

    def fit(self, width: int) -> FittedTable:
        """The table for a terminal; without its spare columns if it is wider than ``width``."""
        complete = FittedTable(self.headings, self.rows, texts=self.texts, title=self.title)
        if not self.spare or complete.natural_width <= width:
            return complete
        columns = [column for column in range(len(self.headings)) if column not in self.spare]
        return FittedTable(
            [self.headings[column] for column in columns],
            [[row[column] for column in columns] for row in self.rows],
            texts=[number for number, column in enumerate(columns) if column in self.texts],
            title=self.title,
        )


class Fact(Struct, frozen=True, kw_only=True):
    """A line of a table of facts: what it is, and its value."""

    name: str
    value: str
