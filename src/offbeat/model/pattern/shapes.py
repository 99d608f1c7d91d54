"""The shapes of artificial arrival patterns.

A shape generates one delay for each rank; the skew scales it. Most shapes are those of section III.B and
figure 3 of "MPI Collective Algorithm Selection in the Presence of Process Arrival Patterns";
``half_delayed``, ``bell``, ``node_delayed`` and ``noise`` are further patterns of applications: an imbalanced
half, slow ranks in the middle, a slow node, and computing times with noise. The smallest delay is exactly 0
and, except for no_delay, the largest is the skew.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from offbeat.base.errors import BadInput
from offbeat.model.pattern import SHAPE_NAMES

MAX_DELAY_S = 86400.0
"""A delay above one day is treated as a mistake in the unit."""

MAX_PROCESSES = 2**24
"""More processes than any machine starts; a larger p is treated as a mistake."""

Profile = Callable[[int, int, int], NDArray[np.float64]]
"""(p, seed, ppn) → p fractions of the skew; the smallest is 0.0 and the largest 1.0, or all are 0.0."""


def _no_delay(p: int, seed: int, ppn: int) -> NDArray[np.float64]:
    """No rank is late."""
    return np.zeros(p)


def _ascending(p: int, seed: int, ppn: int) -> NDArray[np.float64]:
    """Each rank is later than the one before it, in equal steps."""
    return np.arange(p) / max(p - 1, 1)


def _descending(p: int, seed: int, ppn: int) -> NDArray[np.float64]:
    """The reverse of ascending: rank 0 is the latest."""
    return _ascending(p, seed, ppn)[::-1].copy()


def _one_delayed(p: int, rank: int) -> NDArray[np.float64]:
    profile = np.zeros(p)
    profile[rank] = 1.0
    return profile


def _first_delayed(p: int, seed: int, ppn: int) -> NDArray[np.float64]:
    """Rank 0 alone is late."""
    return _one_delayed(p, 0)


def _last_delayed(p: int, seed: int, ppn: int) -> NDArray[np.float64]:
    """Rank p − 1 alone is late."""
    return _one_delayed(p, p - 1)


def _mid_delayed(p: int, seed: int, ppn: int) -> NDArray[np.float64]:
    """Rank ⌊p/2⌋ alone is late."""
    return _one_delayed(p, p // 2)


def _random(p: int, seed: int, ppn: int) -> NDArray[np.float64]:
    """Uniform draws of numpy's PCG64 with this seed, stretched to span 0 to the skew."""
    return _stretched(np.random.Generator(np.random.PCG64(seed)).random(p))


def _noise(p: int, seed: int, ppn: int) -> NDArray[np.float64]:
    """Normally distributed draws of numpy's PCG64 with this seed, stretched to span 0 to the skew."""
    return _stretched(np.random.Generator(np.random.PCG64(seed)).standard_normal(p))


def _stretched(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    return (draws - draws.min()) / (draws.max() - draws.min())


def _half_delayed(p: int, seed: int, ppn: int) -> NDArray[np.float64]:
    """The last ⌊p/2⌋ ranks are late."""
    profile = np.zeros(p)
    profile[p - p // 2 :] = 1.0
    return profile


def _bell(p: int, seed: int, ppn: int) -> NDArray[np.float64]:
    """Rank ⌊p/2⌋ is the latest; the delay falls off as a raised cosine to 0 at rank 0."""
    middle = p // 2
    return (1.0 + np.cos(np.pi * np.abs(np.arange(p) - middle) / middle)) / 2.0


def _node_delayed(p: int, seed: int, ppn: int) -> NDArray[np.float64]:
    """The last node is late; node n holds the ranks n·ppn to (n+1)·ppn − 1, and the last may hold fewer."""
    if ppn < 1:
        raise BadInput("the shape node_delayed needs the number of processes per node: give ppn (--ppn N)")
    if p <= ppn:
        raise BadInput(
            f"the shape node_delayed needs two nodes at least: p = {p} with {ppn} a node is one node"
        )
    profile = np.zeros(p)
    profile[(p - 1) // ppn * ppn :] = 1.0
    return profile


SHAPES: dict[str, Profile] = {name: globals()[f"_{name}"] for name in SHAPE_NAMES}
"""Every shape by name: the function of this module with that name."""


def describe(shape: str) -> str:
    """One sentence that describes a shape."""
    return (SHAPES[shape].__doc__ or "").strip()


def check_processes(p: int) -> None:
    """Raise BadInput for a number of processes that no pattern has."""
    if not 1 <= p <= MAX_PROCESSES:
        raise BadInput(f"a pattern needs between 1 and {MAX_PROCESSES} processes, not p = {p}")


def delays(shape: str, p: int, skew_s: float, *, seed: int = 1, ppn: int = 0) -> NDArray[np.float64]:
    """The delays of a shape: ``p`` delays in seconds, the smallest 0 and the largest ``skew_s``.

    With p = 1 every shape is all zero, and no_delay always is. ``seed`` matters to ``random`` and ``noise``,
    ``ppn`` (processes per node, placed in blocks) to ``node_delayed`` only.

    Raises BadInput for an unknown shape, p < 1, a negative, infinite or absurd skew, a negative seed, and
    node_delayed without ``ppn`` or with a single node.
    """
    if shape not in SHAPES:
        raise BadInput(f"there is no shape {shape!r}; the shapes are {', '.join(SHAPES)}")
    check_processes(p)
    if not 0.0 <= skew_s <= MAX_DELAY_S:
        raise BadInput(f"a skew is between 0 s and one day ({MAX_DELAY_S:.0f} s), not {skew_s} s")
    if seed < 0:
        raise BadInput(f"a seed is 0 or a positive whole number, not {seed}")
    if p == 1:
        return np.zeros(1)
    return SHAPES[shape](p, seed, ppn) * float(skew_s)
