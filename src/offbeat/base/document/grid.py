"""A table of coloured squares.

Pages show it as an HTML table and :mod:`offbeat.presentation.drawing.grid_figure` as a picture, with the same
texts and tones.

Every tone has a mark or a number beside it, so that squares do not differ only by colour.
"""

from __future__ import annotations

from msgspec import Struct

WIDE = 16
"""A grid with more columns than this is wide."""


class Square(Struct, frozen=True, kw_only=True):
    """One square: its number, a mark after it, a smaller second number, a tooltip, and the tone.

    A ``strong`` square is emphasised in the terminal.
    """

    text: str
    tone: str = "plain"
    mark: str = ""
    small: str = ""
    note: str = ""
    strong: bool = False


class Heading(Struct, frozen=True, kw_only=True):
    """The heading of a row or column; ``remark`` is a smaller line; the selected algorithm's is strong."""

    name: str
    remark: str = ""
    strong: bool = False


class Row(Struct, frozen=True, kw_only=True):
    """A row of squares; ``summary`` rows are separated from the patterns."""

    heading: Heading
    squares: list[Square]
    summary: bool = False


class Key(Struct, frozen=True, kw_only=True):
    """One entry of the legend: a swatch of a tone with a mark in it, and what it means."""

    tone: str
    mark: str
    meaning: str


class Grid(Struct, frozen=True, kw_only=True):
    """A table such as patterns × algorithms.

    ``kind`` names files and anchors; ``subject`` says of what the numbers are, ``caption`` what they mean.
    """

    kind: str
    title: str
    caption: str
    columns: list[Heading]
    rows: list[Row]
    keys: list[Key]
    subject: str = ""

    @property
    def is_wide(self) -> bool:
        """Whether there are so many columns that headings are vertical and squares narrow."""
        return len(self.columns) > WIDE
