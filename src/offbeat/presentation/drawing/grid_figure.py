"""A coloured grid as a figure.

It is laid out in inches from measured text: with more columns the figure grows and the type size stays the
same.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from matplotlib.figure import Figure
from msgspec import Struct

from offbeat.base.document.grid import Grid, Heading, Key, Row, Square
from offbeat.presentation.drawing.axes import MARGIN
from offbeat.presentation.drawing.palette import INK, MUTED, TONES
from offbeat.presentation.drawing.sheet import Sheet, width_of, wrapped

_LINE_INCHES = 0.2


class _Layout(Struct, frozen=True, kw_only=True):
    points: float
    vertical: bool
    label: float
    column: float
    row: float
    head: float
    top: float
    width: float
    height: float


def grid_figure(grid: Grid) -> Figure:
    """A table of patterns × algorithms as the paper's figures 5, 6 and 8 show it."""
    caption_width = max(
        4.6, _label_width(grid, _points(grid)) + len(grid.columns) * _column_width(grid, _points(grid))
    )
    caption = wrapped(grid.caption, 7.5, caption_width)
    legend = _legend_lines(grid.keys, caption_width)
    layout = _layout(grid, caption_width, len(caption), len(legend))
    sheet = Sheet(layout.width, layout.height)
    sheet.text(MARGIN, MARGIN + 0.08, grid.title, 11, weight="bold")
    sheet.text(MARGIN, MARGIN + 0.3, grid.subject, 9, color=MUTED)
    _draw_headings(sheet, grid.columns, layout)
    y = layout.top + layout.head
    for row in grid.rows:
        y += 0.08 if row.summary and row is _first_summary(grid) else 0
        _draw_row(sheet, row, y, layout)
        y += layout.row
    _draw_legend(sheet, legend, y + 0.22)
    for number, line in enumerate(caption):
        sheet.text(MARGIN, y + 0.22 + (len(legend) + number) * _LINE_INCHES, line, 7.5, color=MUTED)
    return sheet.finished()


def _points(grid: Grid) -> float:
    return 8.0 if grid.is_wide else 9.0


def _layout(grid: Grid, inner: float, caption_lines: int, legend_lines: int) -> _Layout:
    points = _points(grid)
    vertical = grid.is_wide
    row = 0.40 if any(square.small for row in grid.rows for square in row.squares) else 0.30
    if any(row_.heading.remark for row_ in grid.rows):
        row = max(row, 0.36)
    head = _head_height(grid.columns, points, vertical=vertical)
    titles = max(width_of(grid.title, 11, bold=True), width_of(grid.subject, 9))
    top = MARGIN + 0.5
    body = len(grid.rows) * row + (0.08 if _first_summary(grid) else 0)
    return _Layout(
        points=points,
        vertical=vertical,
        label=_label_width(grid, points),
        column=_column_width(grid, points),
        row=row,
        head=head,
        top=top,
        width=max(inner, titles) + 2 * MARGIN,
        height=top + head + body + 0.22 + (legend_lines + caption_lines) * _LINE_INCHES + 0.05,
    )


def _label_width(grid: Grid, points: float) -> float:
    widths = [width_of(row.heading.name, points, bold=row.summary) for row in grid.rows]
    widths += [width_of(row.heading.remark, points - 2) for row in grid.rows]
    return max(widths, default=0.5) + 0.12


def _column_width(grid: Grid, points: float) -> float:
    """The width for every square, and for the headings unless they are vertical."""
    squares = [square for row in grid.rows for square in row.squares]
    widths = [width_of(_square_text(square), points) for square in squares]
    widths += [width_of(square.small, points - 1.5) for square in squares]
    if not grid.is_wide:
        widths += [width_of(line, points) for column in grid.columns for line in _name_lines(column.name)]
        widths += [width_of(line, points - 2) for column in grid.columns for line in _remark_lines(column)]
    return max([*widths, 0.42]) + 0.12


def _square_text(square: Square) -> str:
    return f"{square.text} {square.mark}".rstrip()


def _name_lines(name: str) -> list[str]:
    """An algorithm's name in lines: broken before its parameters, then where words allow."""
    base, bracket, rest = name.partition("(")
    lines = textwrap.wrap(base, 18, break_on_hyphens=False) or [name]
    return lines + (textwrap.wrap(bracket + rest, 18, break_on_hyphens=False) if bracket else [])


def _remark_lines(heading: Heading) -> list[str]:
    return [part for part in heading.remark.split(", ") if part]


def _head_height(columns: Sequence[Heading], points: float, *, vertical: bool) -> float:
    if vertical:
        return (
            max(width_of(line, points, bold=True) for column in columns for line in _vertical_lines(column))
            + 0.12
        )
    names = max((len(_name_lines(column.name)) for column in columns), default=1)
    remarks = max((len(_remark_lines(column)) for column in columns), default=0)
    return names * 0.16 + remarks * 0.13 + 0.1


def _vertical_lines(column: Heading) -> list[str]:
    """The lines of a vertical heading: the name, its parameters, the remark."""
    base, bracket, rest = column.name.partition("(")
    return [line for line in (base, bracket + rest, column.remark) if line]


def _draw_headings(sheet: Sheet, columns: Sequence[Heading], layout: _Layout) -> None:
    """Column headings, ending just above the first row."""
    bottom = layout.top + layout.head - 0.06
    for j, column in enumerate(columns):
        x = MARGIN + layout.label + (j + 0.5) * layout.column
        weight = "bold" if column.strong else "normal"
        if layout.vertical:
            _draw_vertical(sheet, _vertical_lines(column), x, bottom, layout.points, weight)
            continue
        lines = [(line, layout.points, 0.16, INK) for line in _name_lines(column.name)]
        lines += [(line, layout.points - 2, 0.13, MUTED) for line in _remark_lines(column)]
        y = bottom
        for line, points, height, colour in reversed(lines):
            sheet.text(x, y - height / 2, line, points, ha="center", color=colour, weight=weight)
            y -= height


def _draw_vertical(
    sheet: Sheet, lines: Sequence[str], x: float, bottom: float, points: float, weight: str
) -> None:
    """Vertical lines of text, side by side around ``x``."""
    for place, line in enumerate(lines):
        across = x + (place - (len(lines) - 1) / 2) * 0.14
        sheet.text(across, bottom, line, points, rotation=90, va="bottom", ha="center", weight=weight)


def _draw_row(sheet: Sheet, row: Row, y: float, layout: _Layout) -> None:
    middle = y + layout.row / 2
    right = MARGIN + layout.label - 0.08
    weight = "bold" if row.summary else "normal"
    lift = 0.07 if row.heading.remark else 0
    sheet.text(right, middle - lift, row.heading.name, layout.points, ha="right", weight=weight)
    if row.heading.remark:
        sheet.text(right, middle + 0.09, row.heading.remark, layout.points - 2, ha="right", color=MUTED)
    for j, square in enumerate(row.squares):
        x = MARGIN + layout.label + j * layout.column
        colour = TONES[square.tone].light_text
        sheet.square(x, y, layout.column, layout.row, square.tone)
        lift = 0.07 if square.small else 0
        centre = x + layout.column / 2
        sheet.text(
            centre,
            middle - lift,
            _square_text(square),
            layout.points,
            ha="center",
            color=colour,
            weight=weight,
        )
        if square.small:
            sheet.text(centre, middle + 0.1, square.small, layout.points - 1.5, ha="center", color=colour)


def _first_summary(grid: Grid) -> Row | None:
    return next((row for row in grid.rows if row.summary), None)


def _swatch(key: Key) -> float:
    return max(0.28, width_of(key.mark, 8) + 0.12)


def _key_width(key: Key) -> float:
    return _swatch(key) + (width_of(key.meaning, 8) + 0.28 if key.meaning else 0.04)


def _legend_lines(keys: Sequence[Key], width: float) -> list[list[Key]]:
    """The legend's entries in lines that fit the width."""
    lines: list[list[Key]] = [[]]
    for key in keys:
        used = sum(_key_width(placed) for placed in lines[-1])
        if lines[-1] and used + _key_width(key) > width:
            lines.append([])
        lines[-1].append(key)
    return lines


def _draw_legend(sheet: Sheet, lines: Sequence[Sequence[Key]], y: float) -> None:
    for line in lines:
        x = MARGIN
        for key in line:
            swatch = _swatch(key)
            sheet.square(x, y - 0.085, swatch, 0.17, key.tone)
            sheet.text(x + swatch / 2, y, key.mark, 8, ha="center", color=TONES[key.tone].light_text)
            sheet.text(x + swatch + 0.06, y, key.meaning, 8)
            x += _key_width(key)
        y += _LINE_INCHES
