"""A library's control variables, as the driver lists them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct


class Variable(Struct, frozen=True, kw_only=True):
    """One MPI_T control variable.

    ``type`` is ``int``, ``text`` or ``other``; ``settable`` says whether it can be written while the program
    runs; ``items`` are the (value, name) pairs of an enumeration.
    """

    name: str
    type: str
    settable: bool
    value: str
    items: list[tuple[int, str]]
    description: str


def decode(answer: object) -> list[Variable]:
    """The variables in a driver's answer to ``variables``."""
    return msgspec.convert(answer, list[Variable])


def by_name(variables: Sequence[Variable]) -> dict[str, Variable]:
    """Look-up by name."""
    return {variable.name: variable for variable in variables}
