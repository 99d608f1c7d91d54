"""Notes: sentences to know beside numbers. Rooms list the notes that matter most first; verbs print ten."""

from __future__ import annotations

from collections.abc import Iterable

MOST = 10
"""So many notes are printed unless all are asked for."""


def chosen(notes: Iterable[str], *, everything: bool) -> tuple[list[str], str]:
    """The notes to print, each once, and a sentence that counts the others; empty where there are none."""
    distinct = list(dict.fromkeys(notes))
    if everything or len(distinct) <= MOST:
        return distinct, ""
    left = len(distinct) - MOST
    return distinct[:MOST], f"{left} more note{'s' if left > 1 else ''}: --notes prints all {len(distinct)}"
