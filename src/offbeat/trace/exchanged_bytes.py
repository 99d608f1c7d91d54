"""How many bytes a process sends and receives in a collective, by its role: what OTF2 records of a call.

The accounting is that of Score-P, so that tools show the same numbers for both: what a process has for itself
counts as sent and received, unless MPI_IN_PLACE leaves it where it is, and no algorithm is assumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
from msgspec import Struct

from offbeat.trace.events import pieces
from offbeat.trace.message_sizes import plain
from offbeat.trace.read import Trace

TO_ROOT = ("gather", "gatherv", "reduce")
FROM_ROOT = ("bcast", "scatter", "scatterv")
TO_ALL = ("allgather", "alltoall", "allreduce", "reduce_scatter_block")
UNEVEN = ("gatherv", "scatterv", "allgatherv")
"""Collectives of which one process's record does not tell what the others contribute."""

_CALL = ["communicator_index", "sequence", "round"]


class Role(Struct, frozen=True, kw_only=True):
    """One process in one call.

    ``place`` is its rank in the communicator of ``processes``, ``block_bytes`` its message size,
    ``vector_bytes`` its whole send vector, ``total_bytes`` the sum of all processes' blocks.
    """

    collective: str
    place: int
    processes: int
    root: int
    block_bytes: int
    vector_bytes: int
    total_bytes: int
    in_place: bool


def exchanged(role: Role) -> tuple[int, int]:
    """The bytes that a process sends and receives.

    A trace does not hold what a process receives in alltoallv and alltoallw: it counts as what it sends, and
    in reduce_scatter as the mean block.
    """
    name, block, p = role.collective, role.block_bytes, role.processes
    others = p - 1 if role.in_place else p
    own = 0 if role.in_place else block
    if name in TO_ROOT + FROM_ROOT:
        if role.place != role.root:
            return (block, 0) if name in TO_ROOT else (0, block)
        whole = role.total_bytes - block + own if name in UNEVEN else others * block
        if name == "bcast":
            return p * block, block
        return (own, whole) if name in TO_ROOT else (whole, own)
    if name in TO_ALL:
        return others * block, others * block
    if name == "allgatherv":
        return others * block, role.total_bytes - block + own
    if name == "reduce_scatter":
        return role.vector_bytes - block + own, others * block
    if name in ("alltoallv", "alltoallw"):
        return role.vector_bytes, role.vector_bytes
    if name in ("scan", "exscan"):
        apart = role.in_place or name == "exscan"
        return (p - role.place - apart) * block, (role.place + 1 - apart) * block
    return 0, 0


class Totals:
    """The sum of all processes' blocks of each uneven call, read ahead from the files of all ranks."""

    def __init__(self, trace: Trace) -> None:
        self._of_call: dict[tuple[Any, ...], int] = {}
        if not any(plain(function.collective) in UNEVEN for function in trace.functions):
            return
        parts = [_uneven(piece) for piece in pieces(trace)]
        if parts:
            summed = pl.concat(parts).group_by(_CALL).agg(pl.col("bytes").sum())
            self._of_call = {tuple(row[:3]): row[3] for row in summed.iter_rows()}

    def of(self, call: Sequence[int], otherwise: int) -> int:
        """The sum of one call, by communicator, sequence and round; ``otherwise`` where it is even."""
        return self._of_call.get(tuple(call), otherwise)


def _uneven(piece: pl.DataFrame) -> pl.DataFrame:
    names = [f"MPI_{name.capitalize()}{large}" for name in UNEVEN for large in ("", "_c")]
    chosen = piece.filter(
        pl.col("collective").is_in(names)
        & (pl.col("moment") != "completion")
        & ~pl.col("function").str.contains("_init")
    )
    return chosen.group_by(_CALL).agg(pl.col("bytes").sum())
