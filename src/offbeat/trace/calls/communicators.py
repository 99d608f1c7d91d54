"""Communicators of a whole trace, matched across files, and groups of similar ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.trace.files.format import DefinedCommunicator
from offbeat.trace.files.rank_file import RankFile

WORLD, SELF = 1, 2
"""Ids of MPI_COMM_WORLD and MPI_COMM_SELF in every file."""


class Communicator(Struct, kw_only=True, eq=False):
    """A communicator; ``label`` is its ``name``, or a generated one if it has none.

    ``members`` has the world rank of each of its ranks (of an inter-communicator the local group first), -1
    where it is unknown. ``parent`` is an index into :attr:`Communicators.all`, -1 if unknown. ``constructor``
    is the MPI function that created it. ``calls`` is the number of calls on it until it was freed, recorded
    or not; -1 if no traced rank freed it.
    """

    index: int
    label: str
    size: int
    members: NDArray[np.int32]
    parent: int = -1
    is_inter: bool = False
    constructor: str = ""
    name: str = ""
    calls: int = -1


class Communicators:
    """All communicators of a trace; maps the ids of each file to them.

    ``canonical`` has for each communicator the index of the first one that was created in the same way, (n,):
    by the same function from the same (or such a) parent, with the same ranks in the same order and the same
    name. A communicator that a program re-creates in every time step thus has one row.
    """

    def __init__(self, files: Sequence[RankFile]) -> None:
        self._indices: dict[tuple[int, int], int] = {}
        self._world = max((file.header.size for file in files), default=0)
        self._defined: list[list[tuple[RankFile, DefinedCommunicator]]] = []
        for file in files:
            for one in file.definitions.communicators.values():
                index = self._indices.setdefault((one.hash, one.ordinal), len(self._indices))
                if index == len(self._defined):
                    self._defined.append([])
                self._defined[index].append((file, one))
        self.all = [self._merged(index) for index in range(len(self._defined))]
        for index, defined in enumerate(self._defined):
            self.all[index].parent = self._parent(defined)
        self.canonical = self._canonical_indices()
        self._index_by_rank()
        del self._defined

    def index_of_ids(self, file: RankFile) -> NDArray[np.int32]:
        """For one file: id → index of the communicator, -1 for undefined ids; (largest id + 2,)."""
        defined = file.definitions.communicators
        table = np.full(max(defined, default=0) + 2, -1, dtype=np.int32)
        for number, one in defined.items():
            table[number] = self._indices[(one.hash, one.ordinal)]
        return table

    def ranks_of(self, rank: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The communicators of a world rank (ascending indices), and its rank in each."""
        begin, end = np.searchsorted(self._world_ranks, [rank, rank + 1])
        return self._communicators[begin:end], self._ranks[begin:end]

    def world_ranks(self, communicator: NDArray[np.int64], rank: NDArray[np.int64]) -> NDArray[np.int32]:
        """The world ranks of processes by their ranks in communicators, (n,) each; -1 where unknown."""
        return self._all_members[self._first_member[communicator] + rank]

    def _merged(self, index: int) -> Communicator:
        defined = self._defined[index]
        file, first = defined[0]
        inter = any(one.remote_size for _, one in defined)
        size = first.size + first.remote_size
        name = next((one.name for _, one in defined if one.name), "")
        constructor = file.definitions.functions.get(first.constructor)
        return Communicator(
            index=index,
            label=name or _generated_label(index, first, constructor.name if constructor else ""),
            size=size,
            members=self._members(defined, size),
            is_inter=inter,
            constructor=constructor.name if constructor else "",
            name=name,
            calls=max(one.calls for _, one in defined),
        )

    def _members(self, defined: list[tuple[RankFile, DefinedCommunicator]], size: int) -> NDArray[np.int32]:
        members = np.full(size, -1, dtype=np.int32)
        definition = next((one for _, one in defined if one.members), None)
        if definition is not None:
            for is_remote, first, ranks in definition.members:
                begin = first + (definition.size if is_remote else 0)
                count = max(min(len(ranks), size - begin), 0)
                members[begin : begin + count] = ranks[:count]
        if (members < 0).any() and not any(one.remote_size for _, one in defined):
            for file, one in defined:  # the file with the list is missing: each file knows its own rank
                if 0 <= one.rank < size:
                    members[one.rank] = file.header.rank
        return np.where((members >= 0) & (members < self._world), members, -1).astype(np.int32)

    def _parent(self, defined: list[tuple[RankFile, DefinedCommunicator]]) -> int:
        for file, one in defined:
            parent = file.definitions.communicators.get(one.parent)
            if parent is not None:
                return self._indices[(parent.hash, parent.ordinal)]
        return -1

    def _canonical_indices(self) -> NDArray[np.int64]:
        first = np.arange(len(self.all), dtype=np.int64)
        first_of: dict[tuple[int, int, str, str], int] = {}
        for (members_hash, _), index in self._indices.items():
            one = self.all[index]
            if one.constructor:
                # A parent has a smaller index, except in damaged files.
                parent = int(first[one.parent]) if 0 <= one.parent < index else one.parent
                first[index] = first_of.setdefault((members_hash, parent, one.constructor, one.name), index)
        return first

    def _index_by_rank(self) -> None:
        """Store all members, and memberships as three arrays sorted by world rank and communicator."""
        lengths = np.array([len(one.members) for one in self.all], np.int64)
        self._all_members = np.concatenate([np.empty(0, np.int32), *(one.members for one in self.all)])
        self._first_member = np.cumsum(lengths) - lengths
        communicators = np.repeat(np.arange(len(self.all), dtype=np.int32), lengths)
        ranks = (np.arange(len(self._all_members)) - np.repeat(self._first_member, lengths)).astype(np.int32)
        order = np.lexsort((communicators, self._all_members))
        order = order[self._all_members[order] >= 0]
        self._world_ranks, self._ranks = self._all_members[order], ranks[order]
        self._communicators = communicators[order]


def _generated_label(index: int, one: DefinedCommunicator, constructor: str) -> str:
    if one.id == WORLD and not constructor:
        return "MPI_COMM_WORLD"
    if one.id == SELF and not constructor:
        return "MPI_COMM_SELF"
    return f"communicator {index} ({constructor})" if constructor else f"communicator {index}"


def communicator_groups(communicators: Communicators) -> NDArray[np.int64]:
    """For each communicator the index of the first one of its group, (n,).

    A group is the communicators that one collective call created, such as the rows of a process grid: same
    parent, constructor, size and name, and no rank in two of them. Re-created communicators are in the group
    of their canonical one.
    """
    ranks = 1 + max((int(one.members.max(initial=-1)) for one in communicators.all), default=-1)
    by_kind: dict[tuple[int, str, int, str], _GroupsOfKind] = {}
    first = communicators.canonical.copy()
    for one in communicators.all:
        if one.is_inter or not one.constructor or first[one.index] != one.index:
            continue
        parent = int(communicators.canonical[one.parent]) if one.parent >= 0 else -1
        groups = by_kind.setdefault((parent, one.constructor, one.size, one.name), _GroupsOfKind(ranks))
        first[one.index] = groups.add(one.index, one.members[one.members >= 0])
    return first[communicators.canonical]


class _GroupsOfKind:
    """The groups of one parent, constructor, size and name: first communicator and ranks of each group."""

    def __init__(self, ranks: int) -> None:
        self._first: list[int] = []
        self._has_rank = np.zeros((1, ranks), np.bool_)

    def add(self, index: int, members: NDArray[np.int32]) -> int:
        """Add a communicator to the oldest group without its ranks; returns the first one of that group."""
        number = len(self._first)
        free = np.flatnonzero(~self._has_rank[:number, members].any(axis=1))
        group = int(free[0]) if len(free) else number
        if group == number:
            self._first.append(index)
        if group == len(self._has_rank):
            self._has_rank = np.concatenate([self._has_rank, np.zeros_like(self._has_rank)])
        self._has_rank[group, members] = True
        return self._first[group]
