"""Faults of a file: the list of them, the mark of invalid values, and messages for unknown words."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.base.toml.lines import Key, dotted_name, line_of
from offbeat.base.units import amount

Tree = dict[str, Any]
"""Key → value with every default filled in; INVALID for values with a fault."""


class _Invalid:
    def __repr__(self) -> str:
        return "INVALID"

    def __bool__(self) -> bool:
        return False


INVALID: Any = _Invalid()
"""Marks a value whose fault is recorded already: checks skip it, so that each mistake is reported once."""


def valid_items(values: Any) -> Iterator[tuple[int, Any]]:
    """Position and value of the valid entries of a list; nothing if the list itself is invalid."""
    if values is not INVALID:
        yield from ((index, value) for index, value in enumerate(values) if value is not INVALID)


MAX_LISTED = 20
"""The most words that a message lists."""


class Words(Struct, frozen=True):
    """The words that a key may choose from, and the phrase for one of them (``a collective``)."""

    phrase: str
    choices: tuple[str, ...]


Vocabulary = Mapping[str, Words]
"""Noun with which a schema marks a key → the words for the key."""


def unknown(word: object, phrase: str, choices: Sequence[str]) -> str:
    """``'reducee' is not a collective; did you mean 'reduce'? Known: ...``."""
    return f"{word!r} is not {phrase}{hint(word, choices)}"


def hint(word: object, choices: Sequence[str]) -> str:
    """``; did you mean 'reduce'? Known: allreduce, ...``: the nearest known word, then all of them."""
    close_matches = difflib.get_close_matches(
        str(word).casefold(), [name.casefold() for name in choices], n=1
    )
    nearest = next((name for name in choices if close_matches and name.casefold() == close_matches[0]), "")
    suggestion = f"; did you mean {nearest!r}?" if nearest else "."
    more = f" and {len(choices) - MAX_LISTED} more" if len(choices) > MAX_LISTED else ""
    return f"{suggestion} Known: {', '.join(choices[:MAX_LISTED])}{more}"


MAX_SHOWN = 30


class Faults:
    """The faults of one file, each with its line and key."""

    def __init__(self, path: Path, lines: dict[Key, int]) -> None:
        self._path = path
        self._lines = lines
        self._lines_of_messages: dict[str, int] = {}  # message → line; each message once

    def __len__(self) -> int:
        return len(self._lines_of_messages)

    def add(self, key: Key, sentence: str) -> None:
        """Add a fault at a key: what is wrong, and what would be right."""
        line = line_of(self._lines, key)
        where = f"{dotted_name(key)}: " if key else ""
        message = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in where + sentence)
        self._lines_of_messages[f"{self._path}:{line}: {message}"] = line

    def raise_all(self) -> None:
        """Raise one :class:`BadInput`, a line for each fault in the order of the file, if there are any.

        Of more than MAX_SHOWN faults, it lists the first ones and counts the others.
        """
        if not self._lines_of_messages:
            return
        sentences = sorted(self._lines_of_messages, key=lambda sentence: self._lines_of_messages[sentence])
        left = len(sentences) - MAX_SHOWN
        more = [f"{self._path}: {amount(left, 'more fault')}"] if left > 0 else []
        raise BadInput("\n".join([*sentences[:MAX_SHOWN], *more]))


def check_duplicates(
    values: Any, key: Key, faults: Faults, format_value: Callable[[Any], str] = repr
) -> None:
    """Add a fault for every repeated entry of a list."""
    earlier_values = set()
    for index, value in valid_items(values):
        if value in earlier_values:
            faults.add((*key, index), f"{format_value(value)} is listed twice; remove one")
        earlier_values.add(value)
