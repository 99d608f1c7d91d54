"""Faults of files and structures: a list of them, the mark of invalid values, messages on unknown words."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.base.toml.lines import Key, line_of, where
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
    """Returns the message ``'reducee' is not a collective; did you mean 'reduce'? Known: ...``."""
    return f"{word!r} is not {phrase}{hint(word, choices)}"


def hint(word: object, choices: Sequence[str]) -> str:
    """Returns ``; did you mean 'reduce'? Known: allreduce, ...``: the nearest word, then all of them."""
    close_matches = difflib.get_close_matches(
        str(word).casefold(), [name.casefold() for name in choices], n=1
    )
    nearest = next((name for name in choices if close_matches and name.casefold() == close_matches[0]), "")
    suggestion = f"; did you mean {nearest!r}?" if nearest else "."
    more = f" and {len(choices) - MAX_LISTED} more" if len(choices) > MAX_LISTED else ""
    return f"{suggestion} Known: {', '.join(choices[:MAX_LISTED])}{more}"


MAX_SHOWN = 30


class KeyFault(Struct, frozen=True):
    """A fault of a value: its key, and a sentence that says what is wrong and what would be right."""

    key: Key
    sentence: str


class Faults:
    """A list of faults, to which checks add."""

    def __init__(self) -> None:
        self.entries: list[KeyFault] = []

    def __len__(self) -> int:
        return len(self.entries)

    def add(self, key: Key, sentence: str) -> None:
        """Add a fault at a key: what is wrong, and what would be right."""
        self.entries.append(KeyFault(key, sentence))


def refuse(faults: Sequence[KeyFault], path: Path | str = "", lines: Mapping[Key, int] | None = None) -> None:
    """Raise one :class:`BadInput` with a line for each fault, if there are any.

    Faults of a file are in the order of its ``lines``, and name file, line and key; faults of values from
    Python name the key. Of more than MAX_SHOWN faults, it lists the first ones and counts the others.
    """
    if not faults:
        return
    lines = lines or {}
    sorted_faults = sorted(faults, key=lambda fault: line_of(lines, fault.key))
    messages = [printable(where(path, lines, fault.key) + fault.sentence) for fault in sorted_faults]
    sentences = list(dict.fromkeys(messages))
    left = len(sentences) - MAX_SHOWN
    more = [f"{path}: " * bool(lines) + amount(left, "more fault")] if left > 0 else []
    raise BadInput("\n".join([*sentences[:MAX_SHOWN], *more]))


def printable(text: str) -> str:
    """Returns the text with escapes in place of characters that cannot be printed."""
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)


def check_duplicates(
    values: Any, key: Key, faults: Faults, format_value: Callable[[Any], str] = repr
) -> None:
    """Add a fault for every repeated entry of a list."""
    earlier_values = set()
    for index, value in valid_items(values):
        if value in earlier_values:
            faults.add((*key, index), f"{format_value(value)} is listed twice; remove one")
        earlier_values.add(value)
