"""Kinds of legal calls of a collective, and the calls of which an algorithm was seen to be wrong.

A tuning file chooses by collective, number of processes and message size alone. Whatever else a legal call
may be (its operation, datatype, root, buffers, counts, communicator), the chosen algorithm gets it too.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

KINDS = {
    "noncommutative": "operations that are not commutative",
    "operations": "user-defined and other predefined operations",
    "datatypes": "other datatypes",
    "roots": "other roots",
    "in-place": "MPI_IN_PLACE",
    "null-arguments": "null for the arguments that MPI ignores on a process",
    "zero-counts": "counts of 0",
    "few-elements": "about as many elements as processes",
    "uneven-counts": "counts and displacements that differ between processes",
    "communicators": "communicators of other sizes or other ranks",
}
"""In what a call can differ from the one that is measured: the word of the option
``--allow-wrong-results``, and how sentences say it."""


class WrongCall(Struct, frozen=True, kw_only=True):
    """A legal call of which an algorithm is wrong, and the library's own choice is right.

    ``kind`` is one of :data:`KINDS`, ``p`` the number of processes of the call's communicator, ``call`` the
    call in words, and ``result`` what happened: ``64 elements of the result are wrong``.
    """

    kind: str
    p: int
    call: str
    result: str

    def __str__(self) -> str:
        """The call with what happened."""
        return f"{self.call}: {self.result}"


def kinds_of(wrong: Iterable[WrongCall]) -> list[str]:
    """The kinds among calls, each once, in the order of :data:`KINDS`."""
    found = {call.kind for call in wrong}
    return [kind for kind in KINDS if kind in found]


def in_words(kinds: Iterable[str]) -> str:
    """Kinds in a sentence: ``other roots and MPI_IN_PLACE``."""
    said = [KINDS[kind] for kind in kinds]
    return " and ".join([", ".join(said[:-1]), said[-1]] if len(said) > 1 else said)
