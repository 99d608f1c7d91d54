"""The words a study may choose from, and the sentence for a word that isn't one of them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from offbeat.pattern.shapes import SHAPES
from offbeat.study.case import COLLECTIVES
from offbeat.study.schema import EXTENTS, OPS

LISTED = 20
"""So many words are listed in a sentence at most."""


def choices(noun: str) -> tuple[str, ...]:
    """The words for ``collective``, ``shape``, ``op`` or ``datatype``, as the schema marks its keys."""
    words: dict[str, Sequence[str]] = {
        "collective": COLLECTIVES,
        "shape": tuple(SHAPES),
        "op": OPS,
        "datatype": tuple(EXTENTS),
    }
    return tuple(words[noun])


PHRASES = {"collective": "a collective", "shape": "a shape", "op": "an operation", "datatype": "a datatype"}
"""How the nouns are called in sentences."""


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
