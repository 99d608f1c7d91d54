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
    where it is unknown. ``parent`` is an index into :attr:`Communicators.table`, -1 if unknown.
    ``constructor`` is the MPI function that created it. ``calls`` is the number of calls on it until it was
    freed, recorded or not; -1 if no traced rank freed it.
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
        self._definitions: list[list[tuple[RankFile, DefinedCommunicator]]] = []
        for file in files:
            for definition in file.definitions.communicators.values():
                index = self._indices.setdefault((definition.hash, definition.ordinal), len(self._indices))
                if index == len(self._definitions):
                    self._definitions.append([])
                self._definitions[index].append((file, definition))
        self.table = [self._merge(index) for index in range(len(self._definitions))]
        for index, definitions in enumerate(self._definitions):
            self.table[index].parent = self._parent(definitions)
        self.canonical = self._canonical_indices()
        self._index_by_rank()
        del self._definitions

    def index_of_ids(self, file: RankFile) -> NDArray[np.int32]:
        """For one file: id → index of the communicator, -1 for undefined ids; (largest id + 2,)."""
        definitions = file.definitions.communicators
        table = np.full(max(definitions, default=0) + 2, -1, dtype=np.int32)
        for number, definition in definitions.items():
            table[number] = self._indices[(definition.hash, definition.ordinal)]
        return table

    def ranks_of(self, rank: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The communicators of a world rank (ascending indices), and its rank in each."""
        begin, end = np.searchsorted(self._world_ranks, [rank, rank + 1])
        return self._communicators[begin:end], self._ranks[begin:end]

    def world_ranks(self, communicator: NDArray[np.int64], rank: NDArray[np.int64]) -> NDArray[np.int32]:
        """The world ranks of processes by their ranks in communicators, (n,) each; -1 where unknown."""
        return self._all_members[self._first_member[communicator] + rank]

    def _merge(self, index: int) -> Communicator:
        definitions = self._definitions[index]
        file, first = definitions[0]
        inter = any(definition.remote_size for _, definition in definitions)
        size = first.size + first.remote_size
        name = next((definition.name for _, definition in definitions if definition.name), "")
        constructor = file.definitions.functions.get(first.constructor)
        return Communicator(
            index=index,
            label=name or _generated_label(index, first, constructor.name if constructor else ""),
            size=size,
            members=self._members(definitions, size),
            is_inter=inter,
            constructor=constructor.name if constructor else "",
            name=name,
            calls=max(definition.calls for _, definition in definitions),
        )

    def _members(
        self, definitions: list[tuple[RankFile, DefinedCommunicator]], size: int
    ) -> NDArray[np.int32]:
        members = np.full(size, -1, dtype=np.int32)
        definition = next((entry for _, entry in definitions if entry.members), None)
        if definition is not None:
            for is_remote, first, ranks in definition.members:
                begin = first + (definition.size if is_remote else 0)
                count = max(min(len(ranks), size - begin), 0)
                members[begin : begin + count] = ranks[:count]
        if (members < 0).any() and not any(entry.remote_size for _, entry in definitions):
            for file, entry in definitions:  # the file with the list is missing: each file knows its own rank
                if 0 <= entry.rank < size:
                    members[entry.rank] = file.header.rank
        return np.where((members >= 0) & (members < self._world), members, -1).astype(np.int32)

    def _parent(self, definitions: list[tuple[RankFile, DefinedCommunicator]]) -> int:
        for file, definition in definitions:
            parent = file.definitions.communicators.get(definition.parent)
            if parent is not None:
                return self._indices[(parent.hash, parent.ordinal)]
        return -1

    def _canonical_indices(self) -> NDArray[np.int64]:
        first = np.arange(len(self.table), dtype=np.int64)
        first_of: dict[tuple[int, int, str, str], int] = {}
        for (members_hash, _), index in self._indices.items():
            communicator = self.table[index]
            if communicator.constructor:
                # A parent has a smaller index, except in damaged files.
                parent = (
                    int(first[communicator.parent])
                    if 0 <= communicator.parent < index
                    else communicator.parent
                )
                first[index] = first_of.setdefault(
                    (members_hash, parent, communicator.constructor, communicator.name), index
                )
        return first

    def _index_by_rank(self) -> None:
        """Store all members, and memberships as three arrays sorted by world rank and communicator."""
        lengths = np.array([len(one.members) for one in self.table], np.int64)
        self._all_members = np.concatenate([np.empty(0, np.int32), *(one.members for one in self.table)])
        self._first_member = np.cumsum(lengths) - lengths
        communicators = np.repeat(np.arange(len(self.table), dtype=np.int32), lengths)
        ranks = (np.arange(len(self._all_members)) - np.repeat(self._first_member, lengths)).astype(np.int32)
        order = np.lexsort((communicators, self._all_members))
        order = order[self._all_members[order] >= 0]
        self._world_ranks, self._ranks = self._all_members[order], ranks[order]
        self._communicators = communicators[order]


def _generated_label(index: int, definition: DefinedCommunicator, constructor: str) -> str:
    if definition.id == WORLD and not constructor:
        return "MPI_COMM_WORLD"
    if definition.id == SELF and not constructor:
        return "MPI_COMM_SELF"
    return f"communicator {index} ({constructor})" if constructor else f"communicator {index}"


def communicator_groups(communicators: Communicators) -> NDArray[np.int64]:
    """For each communicator the index of the first one of its group, (n,).

    A group is the communicators that one collective call created, such as the rows of a process grid: same
    parent, constructor, size and name, and no rank in two of them. Re-created communicators are in the group
    of their canonical one.
    """
    ranks = 1 + max(
        (int(communicator.members.max(initial=-1)) for communicator in communicators.table), default=-1
    )
    by_kind: dict[tuple[int, str, int, str], _GroupsOfKind] = {}
    first = communicators.canonical.copy()
    for communicator in communicators.table:
        if (
            communicator.is_inter
            or not communicator.constructor
            or first[communicator.index] != communicator.index
        ):
            continue
        parent = int(communicators.canonical[communicator.parent]) if communicator.parent >= 0 else -1
        groups = by_kind.setdefault(
            (parent, communicator.constructor, communicator.size, communicator.name), _GroupsOfKind(ranks)
        )
        first[communicator.index] = groups.add(
            communicator.index, communicator.members[communicator.members >= 0]
        )
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
