"""Tables that fit the width of the terminal, and lists of notes cut to the ten that matter most.

No line is longer than the terminal is wide, and no number is broken. A table that is too wide is narrowed in
this order, no further than needed:

1. headings wrap at spaces;
2. cells of text wrap at spaces and after ``_ / : , ) ] < > = -``, never inside a number or between a number
   and its unit; a piece that is still too long is shortened in the middle, marked by ``…``;
3. columns that still do not fit continue in another table below, which repeats the first column.

Columns of numbers never wrap. Standard output that is not a terminal counts as 80 columns wide, or as wide as
the environment variable COLUMNS says.
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

from offbeat.base.units import SIZE_UNITS, TIME_UNITS

GAP = 2
"""Spaces between two columns."""

MIN_TEXT_WIDTH = 16
"""Columns of text are not narrowed further, unless all their cells are narrower or nothing else fits."""

MAX_NOTES = 10
"""How many notes are printed unless all are requested."""

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
        """The width at which nothing wraps."""
        return max(_text_width(line) for text in (self.heading, *self.cells) for line in text.split("\n"))

    def compact(self) -> int:
        """The width at which only the heading wraps."""
        return max(
            [cell_len(word) for word in self.heading.plain.split()]
            + [_text_width(line) for text in self.cells for line in text.split("\n")],
            default=1,
        )

    def minimum(self) -> int:
        """The width below which the column is not narrowed while others can be."""
        if not self.wraps:
            return self.compact()
        pieces = [width for text in self.cells for width in _piece_widths(text.plain)]
        numbers = [cell_len(number) for text in self.cells for number in _NUMBER.findall(text.plain)]
        word_lengths = [cell_len(word) for word in self.heading.plain.split()]
        return max([min(max(pieces, default=1), MIN_TEXT_WIDTH), *numbers, *word_lengths])


class FittedTable:
    """A table for a console of any width; the module docstring says how it is narrowed.

    ``rule`` draws a line below the headings. Cells are plain strings (without rich markup) or rich's Text;
    ``texts`` are the numbers of the columns that hold text, the others hold numbers.
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
        self._groups: dict[int, str] = {}
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
        """Add a column; by default it ``wraps`` unless it is aligned to the right."""
        text = Text(heading) if isinstance(heading, str) else heading
        self._columns.append(_Column(text, justify, style, justify == "left" if wraps is None else wraps))

    def begin_group(self, title: str) -> None:
        """Print a title on a line of its own above the rows that follow."""
        self._groups[self.row_count] = title

    def add_row(self, *cells: str | Text) -> None:
        """Add a row, with a cell for each column."""
        for column, cell in zip(self._columns, cells, strict=True):
            column.cells.append(Text(cell) if isinstance(cell, str) else cell)
        self.row_count += 1

    @property
    def natural_width(self) -> int:
        """The width at which nothing is narrowed."""
        return sum(column.natural() for column in self._columns) + GAP * (len(self._columns) - 1)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in self.lines(options.max_width):
            line.no_wrap = True
            line.overflow = "ignore"
            yield line

    def lines(self, width: int) -> Iterator[Text]:
        """The lines of the table for a console of this width, without trailing spaces."""
        if self.title:
            yield from wrap_text(Text(self.title, style="italic"), width)
        for number, block in enumerate(_blocks(self._columns, width)):
            if number:
                yield Text("")
            yield from self._block_lines(block, _widths(block, width), width)

    def _block_lines(self, columns: Sequence[_Column], widths: Sequence[int], width: int) -> Iterator[Text]:
        if self.show_header:
            headings = [
                wrap_text(column.heading, room, only_spaces=True)
                for column, room in zip(columns, widths, strict=True)
            ]
            height = max(len(lines) for lines in headings)
            padded_cells = [[Text("")] * (height - len(lines)) + lines for lines in headings]
            yield from _align(padded_cells, columns, widths, "bold")
            if self.rule:
                yield Text("─" * (sum(widths) + GAP * (len(widths) - 1)))
        for row in range(self.row_count):
            if row in self._groups:
                yield from wrap_text(Text(self._groups[row], style="bold"), width)
            cells = [
                wrap_text(column.cells[row], room) if column.wraps else column.cells[row].split("\n")[:]
                for column, room in zip(columns, widths, strict=True)
            ]
            height = max(len(lines) for lines in cells)
            padded_cells = [[*lines, *[Text("")] * (height - len(lines))] for lines in cells]
            yield from _align(padded_cells, columns, widths, "")


def _align(
    cells: Sequence[Sequence[Text]], columns: Sequence[_Column], widths: Sequence[int], style: str
) -> Iterator[Text]:
    """The lines of a row whose cells all have the same number of lines."""
    for line in zip(*cells, strict=True):
        aligned_line = Text("")
        for number, (part, column, width) in enumerate(zip(line, columns, widths, strict=True)):
            padding = " " * max(width - _text_width(part), 0)
            styled_part = part.copy()
            if style or column.style:
                styled_part.stylize_before(style or column.style)
            aligned_line.append(" " * GAP if number else "")
            aligned_line.append_text(Text(padding) if column.justify == "right" else Text(""))
            aligned_line.append_text(styled_part)
            aligned_line.append_text(Text(padding) if column.justify == "left" else Text(""))
        aligned_line.rstrip()
        yield aligned_line


def _blocks(columns: Sequence[_Column], width: int) -> list[list[_Column]]:
    """The columns of each table: one table if it fits, else the first column with as many others as fit."""
    first, *other_columns = columns
    blocks = [[first]]
    used_width = first.minimum()
    for column in other_columns:
        needed_width = GAP + column.minimum()
        if used_width + needed_width > width and len(blocks[-1]) > 1:
            blocks.append([first])
            used_width = first.minimum()
        blocks[-1].append(column)
        used_width += needed_width
    return blocks


def _widths(columns: Sequence[_Column], width: int) -> list[int]:
    """The width of each column: its natural width if all fit; else headings wrap, then the widest texts."""
    available = width - GAP * (len(columns) - 1)
    natural = [column.natural() for column in columns]
    if sum(natural) <= available:
        return natural
    compact = [column.compact() for column in columns]
    if sum(compact) <= available:
        return compact
    minimum = [column.minimum() for column in columns]
    if sum(minimum) > available:  # too narrow even for texts of MIN_TEXT_WIDTH
        fixed_width = sum(one for one, column in zip(minimum, columns, strict=True) if not column.wraps)
        wrapped_width = max((available - fixed_width) // max(sum(column.wraps for column in columns), 1), 1)
        return [
            min(one, wrapped_width) if column.wraps else one
            for one, column in zip(minimum, columns, strict=True)
        ]
    limit = max(compact)
    while sum(_limit_widths(compact, minimum, limit)) > available:
        limit -= 1
    widths = _limit_widths(compact, minimum, limit)
    for number, column_width in enumerate(widths):  # distribute the rest of the rounding
        spare = available - sum(widths)
        widths[number] += min(spare, 1 if column_width < compact[number] else 0)
    return widths


def _limit_widths(compact: Sequence[int], minimum: Sequence[int], limit: int) -> list[int]:
    return [max(low, min(one, limit)) for one, low in zip(compact, minimum, strict=True)]


def _text_width(text: Text) -> int:
    return cell_len(text.plain)


def _piece_widths(plain: str) -> list[int]:
    """The widths of the pieces between the places where a text can wrap."""
    bounds = [0, *_wrap_places(plain), len(plain)]
    return [cell_len(plain[start:end].rstrip()) for start, end in pairwise(bounds)]


def _wrap_places(plain: str, *, only_spaces: bool = False) -> list[int]:
    """The positions where a line can end: after spaces and characters of _BREAKS, outside of quantities."""
    number_positions = {
        place for match in _NUMBER.finditer(plain) for place in range(match.start() + 1, match.end())
    }
    breaks = "" if only_spaces else _BREAKS
    return [
        place
        for place in range(1, len(plain))
        if place not in number_positions
        and (plain[place - 1].isspace() or (plain[place - 1] in breaks and plain[place] not in breaks))
        and not plain[place].isspace()
    ]


def wrap_text(text: Text, width: int, *, only_spaces: bool = False) -> list[Text]:
    """A text as lines no wider than ``width``."""
    lines = []
    for paragraph in text.split("\n", allow_blank=True):
        plain = paragraph.plain
        start = 0
        positions = [*_wrap_places(plain, only_spaces=only_spaces), len(plain)]
        end = 0
        for position in positions:
            if end > start and cell_len(plain[start:position].rstrip()) > width:
                lines.append(_shorten(paragraph[start:end], width))
                start = end
            end = position
        lines.append(_shorten(paragraph[start:end], width))
    return lines


def _shorten(text: Text, width: int) -> Text:
    """A line without trailing spaces; if it is wider than ``width``, its middle is left out."""
    line = text.copy()
    line.rstrip()
    if _text_width(line) <= width:
        return line
    plain, available = line.plain, max(width - 1, 0)
    head = set_cell_size(plain, math.ceil(available / 2)).rstrip()
    start = len(plain)
    while start > 0 and cell_len(plain[start - 1 :]) <= available - cell_len(head):
        start -= 1
    return Text(f"{head}…{plain[start:]}", style=line.style)


def limit_notes(notes: Iterable[str], *, is_complete: bool) -> tuple[list[str], str]:
    """The notes to print, each once, and a sentence that counts the others (empty if there are none).

    The most important notes come first; MAX_NOTES are printed unless ``is_complete`` is.
    """
    distinct = list(dict.fromkeys(notes))
    if is_complete or len(distinct) <= MAX_NOTES:
        return distinct, ""
    left = len(distinct) - MAX_NOTES
    return distinct[
        :MAX_NOTES
    ], f"{left} more note{'s' if left > 1 else ''}: --notes prints all {len(distinct)}"
