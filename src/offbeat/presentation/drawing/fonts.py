"""The font of all pictures, and a small copy of it for PDF files."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
from pathlib import Path
from tempfile import mkdtemp

from matplotlib.font_manager import FontProperties, findfont, fontManager

FONT = "DejaVu Sans"
"""matplotlib brings it."""

SMALL_FONT = "offbeat Sans"

CHARACTERS = (
    range(0x20, 0x180),
    range(0x300, 0x400),
    range(0x2000, 0x20A0),
    range(0x2190, 0x2300),
    range(0x25A0, 0x2720),
)
"""Latin, combining marks, Greek, punctuation, arrows, mathematical operators, and symbols such as ✓ and ▲."""

UNUSED_TABLES = ("FFTM", "GSUB", "MATH", "kern")


@functools.cache
def small_font() -> str:
    """The name of a copy of FONT with CHARACTERS alone; FONT where no temporary folder can be written.

    A PDF file holds the characters of its texts. To select them from all 6,000 takes matplotlib 0.3 s a file,
    five times as long as the rest.
    """
    from fontTools.ttLib import TTLibError  # loads slowly, and matplotlib needs it for PDF files only

    try:
        folder = Path(mkdtemp(prefix="offbeat-fonts-"))
        atexit.register(_remove, folder, os.getpid())
        for weight in ("normal", "bold"):
            path = folder / f"{weight}.ttf"
            _write_small(path, weight)
            fontManager.addfont(path)
    except (OSError, TTLibError):
        return FONT
    return SMALL_FONT


def _remove(folder: Path, owner: int) -> None:
    """At the end of the process that made the folder, not of one that it forked: matplotlib reads the files
    whenever it needs them."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def _write_small(path: Path, weight: str) -> None:
    from fontTools import subset

    options = subset.Options(glyph_names=False, layout_features=["mark"], name_IDs=["*"], notdef_outline=True)
    options.drop_tables += UNUSED_TABLES
    font = subset.load_font(findfont(FontProperties(family=FONT, weight=weight)), options)
    selection = subset.Subsetter(options)
    selection.populate(unicodes=[code for characters in CHARACTERS for code in characters])
    selection.subset(font)
    for record in font["name"].names:
        renamed = record.toUnicode().replace(FONT, SMALL_FONT)
        record.string = renamed.replace(FONT.replace(" ", ""), SMALL_FONT.replace(" ", ""))
    font.save(path)
