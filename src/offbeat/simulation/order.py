"""Whether an algorithm's schedule combines in rank order, as operations that do not commute need it."""

from __future__ import annotations

from functools import lru_cache

from offbeat import _simulator
from offbeat.simulation import catalogue
from offbeat.study.case import REDUCING

PROCESSES = range(2, 9)
COUNTS = (1, 17, 100)
"""Enough to tell: of these, the algorithms that mix the order up do so at most."""


@lru_cache(maxsize=1024)
def keeps_order(collective: str, family: str, name: str, element_bytes: int) -> bool:
    """Whether the schedules of a few small calls keep the order; true for collectives that do not reduce.

    Raises :class:`BadInput` where the family has no algorithm of that name.
    """
    if collective not in REDUCING:
        return True
    wanted = catalogue.named(collective, family, name)
    parameters = wanted.known.parameters | dict(wanted.parameters)
    found = _simulator.check_range(
        collective,
        family,
        wanted.known.name,
        parameters,
        list(PROCESSES),
        [0],
        list(COUNTS),
        element_bytes,
        0,
        False,
        [False],
    )
    return not found["commutative_only"]
