"""A study as plain values while it is being checked, with a mark for faulty ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Tree = dict[str, Any]
"""Key → value, every default filled in; INVALID where the form was wrong."""

Placement = tuple[int, int, int]
"""(p, nodes, ppn); nodes and ppn are 0 where the launcher places the processes."""


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


def placements(processes: Any) -> list[Placement]:
    """Every placement that a section ``[processes]`` asks for: each p, then each nodes × ppn."""
    if processes is INVALID:
        return []
    nodes_and_ppn = [
        (nodes, ppn) for _, nodes in items(processes["nodes"]) for _, ppn in items(processes["ppn"])
    ]
    launcher_places = [(p, 0, 0) for _, p in items(processes["p"])]
    return launcher_places + [(nodes * ppn, nodes, ppn) for nodes, ppn in nodes_and_ppn]
