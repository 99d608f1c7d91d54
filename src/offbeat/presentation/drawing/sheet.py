"""A figure with coordinates in inches: text of a stated size, squares in the palette's tones."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache

from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle
from matplotlib.textpath import TextToPath

from offbeat.presentation.drawing.palette import INK, PAPER, TONES

FONT = "DejaVu Sans"
"""The font of all pictures, which matplotlib brings."""

POINT = 1 / 72
"""Inches."""


class Sheet:
    """A figure with coordinates in inches from its upper left corner; texts are not interpreted as markup."""

    def __init__(self, width_in: float, height_in: float) -> None:
        self.figure = Figure(figsize=(width_in, height_in), facecolor=PAPER)
        self.axes: Axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_xlim(0, width_in)
        self.axes.set_ylim(height_in, 0)
        self.axes.axis("off")
        self._squares: list[Rectangle] = []

    def text(self, x: float, y: float, text: str, points: float, **style: object) -> None:
        """Write one line, centred vertically at ``y``."""
        style = {"color": INK, "va": "center", **style}
        self.axes.text(x, y, text, fontsize=points, parse_math=False, **style)  # type: ignore[arg-type]

    def square(self, x: float, y: float, width: float, height: float, tone: str) -> None:
        """Fill a rectangle with a tone."""
        self._squares.append(
            Rectangle((x, y), width, height, facecolor=TONES[tone].light, edgecolor=PAPER, linewidth=1.2)
        )

    def finished(self) -> Figure:
        """The figure with all its squares."""
        squares = PatchCollection(self._squares, match_original=True, zorder=0.5)
        self.axes.add_collection(squares, autolim=False)
        return self.figure


@lru_cache(maxsize=20_000)
def width_of(text: str, points: float, *, bold: bool = False) -> float:
    """The width of one line of text in inches."""
    font = FontProperties(family=FONT, size=points, weight="bold" if bold else "normal")
    width, _, _ = TextToPath().get_text_width_height_descent(text, font, False)
    return float(width) * POINT


def wrapped(text: str, points: float, width: float) -> list[str]:
    """Text in lines of at most ``width`` inches."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width_of(longer, points) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


def shortened(text: str, points: float, width: float) -> str:
    """A line of at most ``width`` inches; what is cut off at its end is marked by ``…``."""
    if width_of(text, points) <= width:
        return text
    last = bisect_right(range(len(text)), width, key=lambda end: width_of(f"{text[:end]}…", points)) - 1
    return f"{text[: max(last, 0)].rstrip()}…"
