"""Which sizes are measured: two an octave, and more where times bend."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from offbeat.calibrate.pieces import Piece

LARGEST = 2**23
"""The largest message unless something else is asked for."""

CLOSE = 1.05
"""A bend is known well enough between two sizes of which one is at most so many times the other."""


def first_sizes(largest: int = LARGEST) -> list[int]:
    """1, 2, 3, 4, 6, 8, 12, ... up to ``largest``, which is one of them."""
    octaves = range(max(largest, 1).bit_length())
    found = {size for octave in octaves for size in (2**octave, 3 * 2**octave // 2) if size <= largest}
    return sorted(found | {largest})


def between_bends(pieces: Sequence[Piece]) -> list[int]:
    """A size in each gap in which one piece ends and the next begins; none where the gap is small."""
    gaps = [(piece.after_bytes, piece.from_bytes) for piece in pieces[1:]]
    wide = [(low, high) for low, high in gaps if high > low + 1 and high > CLOSE * max(low, 1)]
    return [round(math.sqrt(max(low, 1) * high)) for low, high in wide]


def first_waiting(is_eager: Callable[[int], bool], largest: int) -> int:
    """The least size up to ``largest`` whose sender waits for its receiver, by halving; 0 where none does.

    Sizes above one that waits must wait, too.
    """
    below, size = 0, 1
    while size <= largest and is_eager(size):
        below, size = size, size * 4
    if size > largest:
        if below == largest or is_eager(largest):
            return 0
        size = largest
    while size > below + 1:
        middle = (below + size) // 2
        below, size = (middle, size) if is_eager(middle) else (below, middle)
    return size
