"""The message size of a recorded call, and the bytes that the process sends by its arguments.

The message size is what studies and tuning files call the size of a collective: bytes per process as the MPI
call states it.

======================================================  =====================================================
collective                                              message size (``bytes``)
======================================================  =====================================================
allreduce, reduce, scan, exscan, bcast                  the whole vector
gather, allgather, scatter, their v forms               one block: what this process sends (scatter: receives)
alltoall, reduce_scatter_block, neighbourhood variants  one block: what this process has for one other
alltoallv, alltoallw, reduce_scatter                    the mean block: the sum of the counts over p blocks
neighbor_alltoallv, neighbor_alltoallw                  what this process sends in total
barrier                                                 0
======================================================  =====================================================

A trace holds the sum of the counts of alltoallv, alltoallw and reduce_scatter. Divided by the number of
processes (of the other group, on an inter-communicator) the sum means the same as the size of the regular
form.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.model.study.collectives import PROPERTIES
from offbeat.trace.files.rank_file import RankFile

_BLOCK_PER_RANK = [row for row in PROPERTIES.values() if row.sent == "BLOCK_PER_RANK" and not row.is_rooted]

WITH_BLOCK_SUMS = {row.name for row in _BLOCK_PER_RANK if row.has_uneven_counts}
"""Collectives whose records hold the sum over all blocks: alltoallv, alltoallw, reduce_scatter."""

WITH_EQUAL_BLOCKS = {row.name for row in _BLOCK_PER_RANK if not row.has_uneven_counts}
"""Collectives that send one block to each process and whose records hold one block."""

UNEVEN = {
    row.name
    for row in PROPERTIES.values()
    if row.has_uneven_counts and row.name not in WITH_BLOCK_SUMS and not row.is_of_neighbours
}
"""Collectives whose records hold one block that differs by process: gatherv, scatterv, allgatherv."""


class MessageSizes:
    """Computes message sizes from the ``bytes`` of the records of one file."""

    def __init__(self, file: RankFile) -> None:
        definitions = file.definitions
        self._is_summed, self._is_blocked = (
            np.zeros(max(definitions.functions, default=0) + 2, np.bool_) for _ in range(2)
        )
        for number, function in definitions.functions.items():
            self._is_summed[number] = collective_name(function.collective) in WITH_BLOCK_SUMS
            self._is_blocked[number] = collective_name(function.collective) in WITH_EQUAL_BLOCKS
        self._peers = np.ones(max(definitions.communicators, default=0) + 2, np.int64)
        for number, communicator in definitions.communicators.items():
            self._peers[number] = max(communicator.remote_size or communicator.size, 1)

    def sizes(self, records: NDArray[Any]) -> NDArray[np.int64]:
        """The message size of each record in bytes, (n,); a mean block is rounded up."""
        sizes_bytes = records["bytes"].astype(np.int64)
        if not self._is_summed.any():
            return sizes_bytes
        is_summed = self._of_function(self._is_summed, records)
        return np.where(is_summed, -(-sizes_bytes // self._of_communicator(records)), sizes_bytes)

    def sent_bytes(self, records: NDArray[Any]) -> NDArray[np.int64]:
        """The bytes of all blocks of this process's send vector, (n,)."""
        sizes_bytes = records["bytes"].astype(np.int64)
        is_blocked = self._of_function(self._is_blocked, records)
        return np.where(is_blocked, sizes_bytes * self._of_communicator(records), sizes_bytes)

    def _of_function(self, table: NDArray[np.bool_], records: NDArray[Any]) -> NDArray[np.bool_]:
        return table[np.minimum(records["function"].astype(np.int64), len(table) - 1)]

    def _of_communicator(self, records: NDArray[Any]) -> NDArray[np.int64]:
        return self._peers[np.minimum(records["communicator"].astype(np.int64), len(self._peers) - 1)]


def collective_name(collective: str) -> str:
    """The name of a collective in studies: ``alltoallv`` for ``MPI_Alltoallv`` and ``MPI_Alltoallv_c``."""
    return collective.lower().removeprefix("mpi_").removesuffix("_c")


class Role(Struct, frozen=True, kw_only=True):
    """One process in one call.

    ``rank`` is its rank in the communicator of ``processes``, ``block_bytes`` its message size,
    ``vector_bytes`` its whole send vector, ``total_bytes`` the sum of all processes' blocks.
    """

    collective: str
    rank: int
    processes: int
    root: int
    block_bytes: int
    vector_bytes: int
    total_bytes: int
    in_place: bool


def exchanged_bytes(role: Role) -> tuple[int, int]:
    """The bytes that a process sends and receives by the accounting of Score-P.

    A process's data for itself counts as sent and received, unless MPI_IN_PLACE is given, and no algorithm is
    assumed. A trace does not contain what a process receives in alltoallv and alltoallw, which counts as what
    it sends, nor in reduce_scatter, which counts as the mean block.
    """
    collective, block, p = PROPERTIES.get(role.collective), role.block_bytes, role.processes
    if collective is None or not collective.has_data or collective.is_of_neighbours:
        return 0, 0
    partners = p - 1 if role.in_place else p
    own_bytes = 0 if role.in_place else block
    total_bytes = role.total_bytes - block + own_bytes if collective.has_uneven_counts else partners * block
    if collective.is_rooted:
        to_root = collective.root == "ROOT_RECEIVES"
        if role.rank != role.root:
            return (block, 0) if to_root else (0, block)
        if collective.sent == "NO_BLOCK":
            return p * block, block
        return (own_bytes, total_bytes) if to_root else (total_bytes, own_bytes)
    if role.collective in WITH_BLOCK_SUMS:
        if collective.reduces:
            return role.vector_bytes - block + own_bytes, partners * block
        return role.vector_bytes, role.vector_bytes
    if collective.result in ("REDUCE_UPTO", "REDUCE_BEFORE"):
        apart = role.in_place or collective.result == "REDUCE_BEFORE"
        return (p - role.rank - apart) * block, (role.rank + 1 - apart) * block
    return partners * block, total_bytes
