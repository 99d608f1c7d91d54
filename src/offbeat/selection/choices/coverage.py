"""Which message sizes and numbers of processes a measured configuration covers.

A tuning file needs a choice for sizes and p that were not measured:

- **Between two neighbouring measured values** the smaller one's choice holds below their geometric mean, the
  larger one's from there on: measured values are multiples (8 B, 1 KiB, 1 MiB), so that the boundary is the
  midpoint on a logarithmic axis.
- **Below the smallest and above the largest measured size** that size's choice holds within a factor of
  :data:`EXTENSION` (√2), as if a neighbour of half or twice the size had been measured; only at the measured
  size where another algorithm is about to win there (:func:`is_overtaken`). All other sizes are left to the
  library's default.
- **Numbers of processes** are never extended beyond the measured ones. Between them the rule is that for
  sizes; an algorithm that is not valid at every p (Open MPI's ``two_proc``) is limited to the measured p.

A prediction credits a choice with the same calls of a traced program (:func:`covering_size`). Sizes are those
of the study; :mod:`offbeat.selection.tuning_files` converts them to what each library compares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import isqrt

EXTENSION = math.sqrt(2)
"""The smallest and the largest measured size cover sizes smaller and larger by up to this factor."""


def size_ranges(
    sizes: list[int], factor_below: float = EXTENSION, factor_above: float = EXTENSION
) -> list[tuple[int, int]]:
    """For measured sizes in bytes, ascending: the first and last size (inclusive) that each covers.

    The ranges follow one another without gap or overlap. The first begins at the smallest size divided by
    ``factor_below``, the last ends at the largest size times ``factor_above``. Raises ValueError unless the
    sizes ascend strictly from 0 or more and both factors are 1 or more.
    """
    if not (1 <= factor_below < math.inf and 1 <= factor_above < math.inf):
        raise ValueError(f"factors must be 1 or more, not {factor_below} and {factor_above}")
    ranges = process_ranges(sizes)
    if ranges:
        ranges[0] = (math.ceil(sizes[0] / factor_below), ranges[0][1])
        ranges[-1] = (ranges[-1][0], math.floor(sizes[-1] * factor_above))
    return ranges


def process_ranges(ps: list[int]) -> list[tuple[int, int]]:
    """The ranges that numbers of processes cover, from the smallest to the largest measured one."""
    if any(low >= high for low, high in pairwise([-1, *ps])):
        raise ValueError(f"measured values must ascend strictly from 0 or more, not {ps}")
    starts = [*ps[:1], *(boundary(low, high) for low, high in pairwise(ps))]
    ends = [*(start - 1 for start in starts[1:]), *ps[-1:]]
    return list(zip(starts, ends, strict=True))


def covering_size(sizes: Sequence[int], size: int) -> int | None:
    """The measured size that covers a size; None if no measured size does."""
    sorted_sizes = sorted(set(sizes))
    for size_of_range, (low, high) in zip(sorted_sizes, size_ranges(sorted_sizes), strict=True):
        if low <= size <= high:
            return size_of_range
    return None


def is_overtaken(
    winner: str,
    end: tuple[int, Mapping[str, float]],
    neighbour: tuple[int, Mapping[str, float]],
    extension: float,
) -> bool:
    """Whether, by the trend of the scores, another algorithm wins within a factor of ``extension`` of the
    last size.

    ``end`` and ``neighbour`` are the last measured size and the one beside it, each with the scores of
    the algorithms (smaller is better). The winner's lead over each rival, the logarithm of the ratio of their
    scores, is extrapolated linearly through both sizes on a logarithmic axis.
    """
    (last, at_last), (neighbour_size, neighbour_scores) = end, neighbour
    if min(last, neighbour_size) <= 0 or min(at_last.get(winner, 0), neighbour_scores.get(winner, 0)) <= 0:
        return False
    steps = math.log(extension) / abs(math.log(last / neighbour_size))
    for rival in at_last.keys() & neighbour_scores.keys() - {winner}:
        lead = math.log(at_last[rival] / at_last[winner])
        neighbour_lead = math.log(neighbour_scores[rival] / neighbour_scores[winner])
        if lead + steps * (lead - neighbour_lead) < 0:
            return True
    return False


def boundary(low: int, high: int) -> int:
    """The first number that ``high`` covers: the geometric mean of both rounded up, but above ``low``."""
    product = low * high
    root = isqrt(product)
    return max(low + 1, root if root * root == product else root + 1)
