"""The words that a key may choose from, and the sentence for a word that isn't one of them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from msgspec import Struct

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
