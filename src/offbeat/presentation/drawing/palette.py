"""The tones of squares and lines, distinguishable with colour vision deficiencies, in print and on screen.

Blue and orange are distinguishable with all common colour vision deficiencies; bars and boxes take them from
Okabe and Ito's palette ("Color universal design", 2008). Text has a contrast of 4.5 or more on every tone.
The page's style sheet has the same tones, with darker ones for dark mode.
"""

from __future__ import annotations

from msgspec import Struct


class Tone(Struct, frozen=True):
    """Background and text of a square, on light and on dark pages."""

    light: str
    light_text: str
    dark: str
    dark_text: str


INK, MUTED, PAPER = "#1b1f24", "#57606a", "#ffffff"
"""Text, secondary text and background of pictures."""

TONES: dict[str, Tone] = {
    "plain": Tone("#f3f4f6", "#1b1f24", "#23272e", "#e6e8eb"),
    "good": Tone("#b9dcf2", "#0b2a3f", "#14507a", "#eaf5fc"),
    "poor": Tone("#fbe3da", "#1b1f24", "#4a2b20", "#f7e9e3"),
    "faster": Tone("#a9d3ef", "#0b2a3f", "#14507a", "#eaf5fc"),
    "same": Tone("#eceef1", "#1b1f24", "#2b3038", "#e6e8eb"),
    "slower": Tone("#fbc27d", "#3a2000", "#8a4b00", "#fff3e2"),
    "missing": Tone("#ffffff", "#57606a", "#16191d", "#9aa4af"),
    "ratio0": Tone("#b9dcf2", "#0b2a3f", "#14507a", "#eaf5fc"),
    "ratio1": Tone("#e3f0f9", "#0b2a3f", "#1f3c50", "#eaf5fc"),
    "ratio2": Tone("#fdf1e0", "#1b1f24", "#3a2e1d", "#fff3e2"),
    "ratio3": Tone("#fbdcb2", "#1b1f24", "#573a10", "#fff3e2"),
    "ratio4": Tone("#f5bb73", "#2b1a00", "#7a4a08", "#fff3e2"),
    "ratio5": Tone("#de8a2f", "#1b1000", "#a3610c", "#ffffff"),
    "ratio6": Tone("#9a4a00", "#ffffff", "#d98324", "#1b1000"),
}
"""The tones of the squares of a :class:`offbeat.base.document.grid.Grid`, by name.

``good`` and ``poor``: within the tolerance of the fastest, or not. ``faster``, ``same`` and ``slower``:
compared with the reference of the grid: no_delay (robustness), or a harmonised start (clock check).
``ratio0`` and so on: ranges of normalised delays, the smallest first. ``plain``: no meaning.
``missing``: no value.
"""

BLUE, ORANGE, GREY = "#0072B2", "#E69F00", "#8c959f"
SKY, GREEN, VERMILION, PURPLE = "#56B4E9", "#009E73", "#D55E00", "#CC79A7"
PALE_BLUE, BROWN = "#9ECAE9", "#b35900"

LINES = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, "#5b5b5b", "#8c564b")
"""The colours of lines in their order."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
"""The markers of lines in their order, so that lines do not differ only by colour."""

_KINDS = [
    "#8ecae6",
    "#f4a259",
    "#a7c957",
    "#f2cc8f",
    "#cdb4db",
    "#e5989b",
    "#90a8c3",
    "#d4d700",
    "#80ced7",
    "#c9ada7",
    "#ffafcc",
    "#b5e48c",
    "#dda15e",
    "#adb5bd",
    "#ffd60a",
    "#9d8df1",
]
KINDS = len(_KINDS)
"""The number of tones for things without an order: ``kind0``, ``kind1`` and so on, each with a letter."""

TONES |= {f"kind{number}": Tone(colour, INK, colour, INK) for number, colour in enumerate(_KINDS)}
