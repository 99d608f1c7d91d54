"""A file as plain values while it is being checked, with a mark for faulty ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
