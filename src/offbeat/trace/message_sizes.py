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
from numpy.typing import NDArray

from offbeat.trace.rank_file import RankFile

SUMMED = ("alltoallv", "alltoallw", "reduce_scatter")
"""Collectives whose record holds the sum over all blocks."""

BLOCKED = ("alltoall", "reduce_scatter_block")
"""Collectives that send one block to each process, and whose record holds one block."""


class MessageSizes:
    """Turns the ``bytes`` of one file's records into message sizes."""

    def __init__(self, file: RankFile) -> None:
        defined = file.definitions
        names = {number: plain(function.collective) for number, function in defined.functions.items()}
        last = max(names, default=0) + 1
        self._is_summed = np.array([names.get(number, "") in SUMMED for number in range(last + 1)])
        self._is_blocked = np.array([names.get(number, "") in BLOCKED for number in range(last + 1)])
        self._peers = np.ones(max(defined.communicators, default=0) + 2, np.int64)
        for number, one in defined.communicators.items():
            self._peers[number] = max(one.remote_size or one.size, 1)

    def sizes(self, records: NDArray[Any]) -> NDArray[np.int64]:
        """The message size of each record in bytes, (n,); a mean block is rounded up."""
        stated = records["bytes"].astype(np.int64)
        if not self._is_summed.any():
            return stated
        is_summed = self._of_function(self._is_summed, records)
        return np.where(is_summed, -(-stated // self._of_communicator(records)), stated)

    def sent(self, records: NDArray[Any]) -> NDArray[np.int64]:
        """The bytes of all blocks of this process's send vector, (n,)."""
        stated = records["bytes"].astype(np.int64)
        is_blocked = self._of_function(self._is_blocked, records)
        return np.where(is_blocked, stated * self._of_communicator(records), stated)

    def _of_function(self, table: NDArray[np.bool_], records: NDArray[Any]) -> NDArray[np.bool_]:
        return table[np.minimum(records["function"].astype(np.int64), len(table) - 1)]

    def _of_communicator(self, records: NDArray[Any]) -> NDArray[np.int64]:
        return self._peers[np.minimum(records["communicator"].astype(np.int64), len(self._peers) - 1)]


def plain(collective: str) -> str:
    """``alltoallv`` for ``MPI_Alltoallv`` and ``MPI_Alltoallv_c``: as studies call it."""
    return collective.lower().removeprefix("mpi_").removesuffix("_c")
