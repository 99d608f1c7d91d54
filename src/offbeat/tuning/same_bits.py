"""Rules that can change the bits of floating-point results.

Floating-point addition is not associative: an algorithm that combines the contributions of the processes in
another order than the library's default can round differently (MPI 4.1, section 6.9.1, advice to
implementors). Collectives without an operation only move data.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from offbeat.errors import RunFailed
from offbeat.select.choose import Choice
from offbeat.study.algorithm import DEFAULT
from offbeat.study.collectives import REDUCING
from offbeat.units import enumeration

SAME_BITS = "--same-bits"


def bits_notes(collectives: Collection[str]) -> list[str]:
    """A sentence on the rules of some collectives that can change bits; none if no rule can."""
    reducing = [name for name in REDUCING if name in collectives]
    if not reducing:
        return []
    return [
        f"The rules of {enumeration(reducing)} can change the last bits of floating-point results: their"
        " algorithms can combine contributions in another order than the library's default."
        f" {SAME_BITS} leaves such rules out."
    ]


def with_same_bits(choices: Sequence[Choice]) -> list[Choice]:
    """The choices, with those of reductions left to the library.

    Raises :class:`RunFailed` if no other choice is left.
    """
    same = [
        msgspec.structs.replace(choice, algorithm=DEFAULT)
        if choice.configuration.collective in REDUCING
        else choice
        for choice in choices
    ]
    if any(choice.algorithm != DEFAULT for choice in choices) and all(
        choice.algorithm == DEFAULT for choice in same
    ):
        raise RunFailed(
            f"{SAME_BITS}: there is nothing to export, because all choices are for reductions, whose other"
            " algorithms can change the bits of floating-point results"
        )
    return same
