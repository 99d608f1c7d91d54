"""Faults of a file: the list of them, the mark of invalid values, and messages for unknown words."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from offbeat.errors import BadInput
from offbeat.toml.text import Key, dotted, line_of
from offbeat.units import counted

Tree = dict[str, Any]
"""Key → value, every default filled in; INVALID where the form was wrong."""


class _Invalid:
    """The type of INVALID."""

    def __repr__(self) -> str:
        return "INVALID"

    def __bool__(self) -> bool:
        return False


INVALID: Any = _Invalid()
"""Stands for a value whose fault was noted already: checks pass over it, so that one mistake is told once."""


def items(values: Any) -> Iterator[tuple[int, Any]]:
    """Position and value of the entries of a list that are in order; nothing if the list itself isn't."""
    if values is not INVALID:
        yield from ((index, value) for index, value in enumerate(values) if value is not INVALID)


LISTED = 20
"""So many words are listed in a sentence at most."""


class Words(Struct, frozen=True):
    """A list of words, and how sentences call one of them (``a collective``)."""

    phrase: str
    known: tuple[str, ...]


Vocabulary = Mapping[str, Words]
"""The lists that a schema marks its keys with, by noun."""


def unknown(word: object, phrase: str, known: Sequence[str]) -> str:
    """``'reducee' is not a collective; did you mean 'reduce'? Known: ...``."""
    return f"{word!r} is not {phrase}{hint(word, known)}"


def hint(word: object, known: Sequence[str]) -> str:
    """``; did you mean 'reduce'? Known: allreduce, ...``: the nearest known word, then all of them."""
    near = difflib.get_close_matches(str(word).casefold(), [name.casefold() for name in known], n=1)
    nearest = next((name for name in known if near and name.casefold() == near[0]), "")
    suggestion = f"; did you mean {nearest!r}?" if nearest else "."
    more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
    return f"{suggestion} Known: {', '.join(known[:LISTED])}{more}"


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
