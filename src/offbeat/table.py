"""Tables that fit the terminal: no line is longer than the terminal is wide, and no number is broken.

What does not fit is changed in this order, and no further than needed:

1. headings break at spaces;
2. cells of text break at spaces and behind ``_ / : , ) ] < > = -``, never inside a number or between a number
   and its unit; a piece that is still too long is shortened in the middle, with ``…`` for what is left out;
3. columns that still have no room continue in a further table below, which repeats the first column.

Columns of numbers never break. Standard output that is no terminal counts as 80 columns wide, or as wide as
the variable COLUMNS says.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from offbeat.units import SIZE_UNITS, TIME_UNITS

GAP = 2
"""Spaces between two columns."""

LEAST_TEXT = 16
"""A column of text is made no narrower than this, unless all that it holds is, or nothing else fits."""

_BREAKS = "_/:,)]<>=-"
_UNITS = "|".join(
    sorted(map(re.escape, [*SIZE_UNITS, *TIME_UNITS, "TB", "Gbit/s", "%"]), key=len, reverse=True)
)
_NUMBER = re.compile(rf"[±≤+\-−]*\d(?:[\d.,\-]*\d)?(?:e[+\-]?\d+)?(?:\s?(?:{_UNITS})(?:/s)?(?!\w))?")


@dataclass
class _Column:
    heading: Text
    justify: Literal["left", "right"]
    style: str
    wraps: bool
    cells: list[Text] = field(default_factory=list)

    def natural(self) -> int:
        """The width at which nothing breaks."""
        return max(_width(line) for text in (self.heading, *self.cells) for line in text.split("\n"))

    def compact(self) -> int:
        """The width at which only the heading breaks."""
        return max(
            [_longest(word) for word in self.heading.plain.split()]
            + [_width(line) for text in self.cells for line in text.split("\n")],
            default=1,
        )

    def least(self) -> int:
        """The width below which the column is not made narrower while others can be."""
        if not self.wraps:
            return self.compact()
        pieces = [len_of for text in self.cells for len_of in _pieces(text.plain)]
        fixed = [cell_len(found) for text in self.cells for found in _NUMBER.findall(text.plain)]
        words = [_longest(word) for word in self.heading.plain.split()]
        return max([min(max(pieces, default=1), LEAST_TEXT), *fixed, *words])


class Fitted:
    """A table for a console of any width; see the module's text for what gives way.

    ``rule`` draws a line below the headings. Cells are plain strings, which are no markup, or rich's Text.
    """

    def __init__(
        self,
        headings: Iterable[str] = (),
        rows: Iterable[Sequence[str | Text]] = (),
        *,
        texts: Sequence[int] = (0,),
        title: str = "",
        rule: bool = False,
        show_header: bool = True,
    ) -> None:
        self.title = title
        self.rule = rule
        self.show_header = show_header
        self._columns: list[_Column] = []
        self.row_count = 0
        for number, heading in enumerate(headings):
            self.add_column(heading, justify="left" if number in texts else "right")
        for row in rows:
            self.add_row(*row)

    def add_column(
        self,
        heading: str | Text = "",
        *,
        justify: Literal["left", "right"] = "left",
        style: str = "",
        wraps: bool | None = None,
    ) -> None:
        """A further column; it ``wraps`` unless it is aligned to the right."""
        text = Text(heading) if isinstance(heading, str) else heading
        self._columns.append(_Column(text, justify, style, justify == "left" if wraps is None else wraps))

    def add_row(self, *cells: str | Text) -> None:
        """A further row, with a cell for each column."""
        for column, cell in zip(self._columns, cells, strict=True):
            column.cells.append(Text(cell) if isinstance(cell, str) else cell)
        self.row_count += 1

    @property
    def natural_width(self) -> int:
        """The width at which nothing has to give way."""
        return sum(column.natural() for column in self._columns) + GAP * (len(self._columns) - 1)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in self.lines(options.max_width):
            line.no_wrap = True
            line.overflow = "ignore"
            yield line

    def lines(self, width: int) -> Iterator[Text]:
        """The lines of the table for a console of this width, without spaces at their ends."""
        if self.title:
            yield from broken(Text(self.title, style="italic"), width)
        for number, block in enumerate(_blocks(self._columns, width)):
            if number:
                yield Text("")
            yield from self._block_lines(block, _widths(block, width))

    def _block_lines(self, columns: Sequence[_Column], widths: Sequence[int]) -> Iterator[Text]:
        if self.show_header:
            headings = [
                broken(column.heading, width, only_spaces=True)
                for column, width in zip(columns, widths, strict=True)
            ]
            height = max(len(lines) for lines in headings)
            padded = [[Text("")] * (height - len(lines)) + lines for lines in headings]
            yield from _aligned(padded, columns, widths, "bold")
            if self.rule:
                yield Text("─" * (sum(widths) + GAP * (len(widths) - 1)))
        for row in range(self.row_count):
            cells = [
                broken(column.cells[row], width) if column.wraps else column.cells[row].split("\n")[:]
                for column, width in zip(columns, widths, strict=True)
            ]
            height = max(len(lines) for lines in cells)
            padded = [[*lines, *[Text("")] * (height - len(lines))] for lines in cells]
            yield from _aligned(padded, columns, widths, "")


def _aligned(
    cells: Sequence[Sequence[Text]], columns: Sequence[_Column], widths: Sequence[int], style: str
) -> Iterator[Text]:
    """The lines of a row, whose cells have equally many lines each."""
    for line in zip(*cells, strict=True):
        made = Text("")
        for number, (part, column, width) in enumerate(zip(line, columns, widths, strict=True)):
            padding = " " * max(width - _width(part), 0)
            shown = part.copy()
            if style or column.style:
                shown.stylize_before(style or column.style)
            made.append(" " * GAP if number else "")
            made.append_text(Text(padding) if column.justify == "right" else Text(""))
            made.append_text(shown)
            made.append_text(Text(padding) if column.justify == "left" else Text(""))
        made.rstrip()
        yield made


def _blocks(columns: Sequence[_Column], width: int) -> list[list[_Column]]:
    """The columns by table: all in one where that fits, else the first column with as many others as fit."""
    first, *others = columns
    blocks = [[first]]
    used = first.least()
    for column in others:
        needed = GAP + column.least()
        if used + needed > width and len(blocks[-1]) > 1:
            blocks.append([first])
            used = first.least()
        blocks[-1].append(column)
        used += needed
    return blocks


def _widths(columns: Sequence[_Column], width: int) -> list[int]:
    """The width of each column: its natural one where all fit; else headings break, then the widest texts."""
    room = width - GAP * (len(columns) - 1)
    natural = [column.natural() for column in columns]
    if sum(natural) <= room:
        return natural
    compact = [column.compact() for column in columns]
    if sum(compact) <= room:
        return compact
    least = [column.least() for column in columns]
    if sum(least) > room:  # so narrow that even texts of LEAST_TEXT have no room
        fixed = sum(one for one, column in zip(least, columns, strict=True) if not column.wraps)
        each = max((room - fixed) // max(sum(column.wraps for column in columns), 1), 1)
        return [min(one, each) if column.wraps else one for one, column in zip(least, columns, strict=True)]
    limit = max(compact)
    while sum(_limited(compact, least, limit)) > room:
        limit -= 1
    widths = _limited(compact, least, limit)
    for number, one in enumerate(widths):  # what rounding left over
        spare = room - sum(widths)
        widths[number] += min(spare, 1 if one < compact[number] else 0)
    return widths


def _limited(compact: Sequence[int], least: Sequence[int], limit: int) -> list[int]:
    return [max(low, min(one, limit)) for one, low in zip(compact, least, strict=True)]


def _width(text: Text) -> int:
    return cell_len(text.plain)


def _longest(word: str) -> int:
    return cell_len(word)


def _pieces(plain: str) -> list[int]:
    """The widths of the pieces between places where a text can break."""
    places = [0, *_places(plain), len(plain)]
    return [cell_len(plain[start:end].rstrip()) for start, end in pairwise(places)]


def _places(plain: str, *, only_spaces: bool = False) -> list[int]:
    """Where a line can end: behind spaces and breaking characters, outside of numbers with units."""
    inside = {place for found in _NUMBER.finditer(plain) for place in range(found.start() + 1, found.end())}
    breaks = "" if only_spaces else _BREAKS
    return [
        place
        for place in range(1, len(plain))
        if place not in inside
        and (plain[place - 1].isspace() or (plain[place - 1] in breaks and plain[place] not in breaks))
        and not plain[place].isspace()
    ]


def broken(text: Text, width: int, *, only_spaces: bool = False) -> list[Text]:
    """A text as lines that are no wider than ``width``."""
    lines = []
    for paragraph in text.split("\n", allow_blank=True):
        plain = paragraph.plain
        start = 0
        places = [*_places(plain, only_spaces=only_spaces), len(plain)]
        end = 0
        for place in places:
            if end > start and cell_len(plain[start:place].rstrip()) > width:
                lines.append(_shortened(paragraph[start:end], width))
                start = end
            end = place
        lines.append(_shortened(paragraph[start:end], width))
    return lines


def _shortened(text: Text, width: int) -> Text:
    """A line without the spaces at its end; the middle is left out where it is wider than ``width``."""
    line = text.copy()
    line.rstrip()
    if _width(line) <= width:
        return line
    plain, keep = line.plain, max(width - 1, 0)
    head = set_cell_size(plain, math.ceil(keep / 2)).rstrip()
    tail = plain[len(plain) - (keep - cell_len(head)) :] if keep > cell_len(head) else ""
    return Text(f"{head}…{tail}", style=line.style)
