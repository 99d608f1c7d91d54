"""Which sizes and numbers of processes a measured cell speaks for.

A tuning file needs a choice for sizes and p that nobody measured. The rules, on purpose few and cautious:

- **Between two neighbouring measured values** the smaller one's choice holds below their geometric mean, the
  larger one's from it on. Sizes and process counts are measured in multiples (8 B, 1 KiB, 1 MiB), and the
  time of an algorithm is the sum of a part per message and a part per byte, so the middle is the middle of
  the logarithms.
- **Below the smallest and above the largest measured value** nothing is said: the library's default stays. An
  algorithm's ranking may turn over right outside what was seen, and nothing would show it.

Sizes are counted as the study counts them (bytes per process as the MPI call states it); the tuning room
converts them to what each library compares. Process counts follow the same rules: with p = 4 and 16 measured,
a communicator of 7 gets p=4's choice and one of 8 gets p=16's. An algorithm that is not valid at every p
(Open MPI's ``two_proc`` is an error unless p = 2; others need a power of two or an even p) must not be spread
over such a range: who writes it into a tuning file keeps it to the measured p.
"""

from __future__ import annotations

from itertools import pairwise
from math import isqrt


def size_ranges(sizes: list[int]) -> list[tuple[int, int]]:
    """For measured sizes in bytes, ascending: the first and last size (inclusive) that each speaks for.

    The ranges follow one another without gap or overlap from the smallest to the largest size. Raises
    ValueError unless the sizes ascend strictly from 0 or more.
    """
    return _ranges(sizes)


def process_ranges(ps: list[int]) -> list[tuple[int, int]]:
    """The same for numbers of processes: which communicator sizes each measured p speaks for."""
    return _ranges(ps)


def boundary(low: int, high: int) -> int:
    """The first number that ``high`` speaks for: the geometric mean of both rounded up, but above ``low``."""
    product = low * high
    root = isqrt(product)
    return max(low + 1, root if root * root == product else root + 1)


def _ranges(values: list[int]) -> list[tuple[int, int]]:
    if any(low >= high for low, high in pairwise([-1, *values])):
        raise ValueError(f"measured values must ascend strictly from 0 or more, not {values}")
    starts = [*values[:1], *(boundary(low, high) for low, high in pairwise(values))]
    ends = [*(start - 1 for start in starts[1:]), *values[-1:]]
    return list(zip(starts, ends, strict=True))
