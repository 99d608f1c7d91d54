"""Everything that is wrong with a file, collected to be told at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from offbeat.errors import BadInput
from offbeat.toml.positions import Key, dotted, line_of
from offbeat.toml.tree import items
from offbeat.units import counted

MOST_SHOWN = 30


class Faults:
    """The faults of one file, each with its line and key."""

    def __init__(self, path: Path, lines: dict[Key, int]) -> None:
        self._path = path
        self._lines = lines
        self._found: dict[str, int] = {}  # sentence → line; a dictionary, so that none is told twice

    def __len__(self) -> int:
        return len(self._found)

    def add(self, key: Key, sentence: str) -> None:
        """Note what is wrong at a place, and what would be right."""
        line = line_of(self._lines, key)
        where = f"{dotted(key)}: " if key else ""
        told = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in where + sentence)
        self._found[f"{self._path}:{line}: {told}"] = line

    def raise_all(self) -> None:
        """Raise one :class:`BadInput`, a line for each fault in the order of the file, if there are any.

        Of more than MOST_SHOWN faults it has the first ones, and how many there are.
        """
        if not self._found:
            return
        sentences = sorted(self._found, key=lambda sentence: self._found[sentence])
        left = len(sentences) - MOST_SHOWN
        more = [f"{self._path}: {counted(left, 'more fault')}"] if left > 0 else []
        raise BadInput("\n".join([*sentences[:MOST_SHOWN], *more]))


def check_duplicates(values: Any, key: Key, faults: Faults, shown: Callable[[Any], str] = repr) -> None:
    """Note every entry of a list that stands there already."""
    seen = set()
    for index, value in items(values):
        if value in seen:
            faults.add((*key, index), f"{shown(value)} stands here twice; leave one out")
        seen.add(value)
