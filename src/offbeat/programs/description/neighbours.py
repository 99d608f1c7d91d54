"""The messages of an exchange: who sends how much to whom."""

from __future__ import annotations

import itertools
import math

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.base.errors import BadInput
from offbeat.programs.description.schema import PhaseSection

DIMENSIONS = 3
"""Of a grid whose sides the program file does not give."""


class Messages(Struct, frozen=True, kw_only=True, eq=False):
    """One entry for each message: ``source`` and ``target`` are ranks (n,) int32, ``bytes`` is (n,) int64.

    Those of a rank are in the order in which it posts them; no rank sends to itself.
    """

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    bytes: NDArray[np.int64]


def messages(phase: PhaseSection, p: int) -> Messages:
    """The messages of an exchange among p ranks.

    Raises :class:`BadInput` if its grid has another number of ranks, or its list other ranks.
    """
    if phase.neighbours in ("grid", "box"):
        return _grid_messages(phase, p)
    if phase.neighbours == "list":
        return _listed_messages(phase, p)
    offsets = phase.offsets if phase.neighbours == "offsets" else [1, -1]
    wraps = phase.periodic and phase.neighbours != "line"
    source = np.repeat(np.arange(p), len(offsets))
    target = source + np.tile(offsets, p)
    is_inside = (target >= 0) & (target < p)
    return _without_own(source, target % p, np.full(source.shape, phase.bytes[0]), is_inside | wraps)


def _listed_messages(phase: PhaseSection, p: int) -> Messages:
    listed = np.array(phase.messages, np.int64).reshape(-1, 3)
    source, target, sizes = listed.T
    largest = int(listed[:, :2].max(initial=0))
    if largest >= p:
        raise BadInput(f"a listed message is of rank {largest}, and the program runs with {p} ranks")
    return _without_own(source, target, sizes, np.ones(len(listed), np.bool_))


def grid_sides(phase: PhaseSection, p: int) -> list[int]:
    """Ranks along each dimension. Raises :class:`BadInput` if the grid of the file has another number."""
    if not phase.grid:
        return balanced_sides(p, DIMENSIONS)
    if math.prod(phase.grid) != p:
        sides = " × ".join(map(str, phase.grid))
        raise BadInput(
            f"the grid {sides} has {math.prod(phase.grid)} ranks, and the program runs with {p}; write sides"
            f" whose product is {p}, or leave grid out"
        )
    return phase.grid


def balanced_sides(p: int, dimensions: int) -> list[int]:
    """Sides with the product p, the longest first and each as short as a divisor of the rest allows."""
    sides: list[int] = []
    for left in range(dimensions, 0, -1):
        rest = p // math.prod(sides)
        length = rest ** (1 / left)
        divisors = [side for side in range(1, rest + 1) if rest % side == 0] if left > 1 else [rest]
        sides.append(min(divisors, key=lambda side: abs(math.log(side / length))))
    return sorted(sides, reverse=True)


def _grid_messages(phase: PhaseSection, p: int) -> Messages:
    sides = grid_sides(phase, p)
    face_bytes = phase.bytes * len(sides) if len(phase.bytes) == 1 else phase.bytes
    if len(face_bytes) != len(sides):
        raise BadInput(f"there are {len(face_bytes)} sizes for {len(sides)} dimensions; write one for each")
    steps = [step for step in itertools.product((-1, 0, 1), repeat=len(sides)) if _is_neighbour(step, phase)]
    place = np.stack(np.unravel_index(np.arange(p), sides), axis=1)
    moved = place[:, None, :] + np.array(steps)[None, :, :]
    is_inside = ((moved >= 0) & (moved < sides)).all(axis=2)
    target = np.ravel_multi_index(tuple(np.moveaxis(moved % sides, 2, 0)), sides)
    sizes = np.broadcast_to([_bytes(step, face_bytes, phase) for step in steps], target.shape)
    source = np.broadcast_to(np.arange(p)[:, None], target.shape)
    return _without_own(source.ravel(), target.ravel(), sizes.ravel(), is_inside.ravel() | phase.periodic)


def _is_neighbour(step: tuple[int, ...], phase: PhaseSection) -> bool:
    distance = sum(map(abs, step))
    return distance == 1 or (phase.neighbours == "box" and distance > 1)


def _bytes(step: tuple[int, ...], face_bytes: list[int], phase: PhaseSection) -> int:
    """The size of the message to the neighbour in this direction."""
    moved = [dimension for dimension, distance in enumerate(step) if distance]
    return {1: face_bytes[moved[0]], 2: phase.edge_bytes, 3: phase.corner_bytes}[len(moved)]


def _without_own(
    source: NDArray[np.int64], target: NDArray[np.int64], sizes: NDArray[np.int64], exists: NDArray[np.bool_]
) -> Messages:
    kept = exists & (source != target)
    return Messages(
        source=source[kept].astype(np.int32),
        target=target[kept].astype(np.int32),
        bytes=sizes[kept].astype(np.int64),
    )
