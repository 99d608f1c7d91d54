"""Communicators of a whole trace: the same one in every file, with its members, parent and name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.trace.definitions import DefinedCommunicator
from offbeat.trace.rank_file import RankFile

WORLD, SELF = 1, 2
"""Ids of MPI_COMM_WORLD and MPI_COMM_SELF in every file."""


class Communicator(Struct, kw_only=True, eq=False):
    """A communicator; ``label`` is its ``name``, or made up if it has none.

    ``members`` are world ranks in the order of its ranks (an inter-communicator's other group follows), -1
    where a rank is not known. ``parent`` is an index into the list, -1 if unknown. ``calls`` is how many were
    made on it before it was freed, recorded or not, -1 where no rank was seen to free it.
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
    """All communicators of a trace, and which one each file means by which id.

    ``first`` has for each the index of the first that was made in the same way, (n,): by the same function
    out of the same parent (or of parents that were made in the same way), of the same ranks in the same
    order, with the same name. A program that makes one in every time step means the same by all of them.
    """

    def __init__(self, files: Sequence[RankFile]) -> None:
        self._keys: dict[tuple[int, int], int] = {}
        self._world = max((file.header.size for file in files), default=0)
        self._defined: list[list[tuple[RankFile, DefinedCommunicator]]] = []
        for file in files:
            for one in file.definitions.communicators.values():
                place = self._keys.setdefault((one.hash, one.ordinal), len(self._keys))
                if place == len(self._defined):
                    self._defined.append([])
                self._defined[place].append((file, one))
        self.all = [self._made(index) for index in range(len(self._defined))]
        for place, defined in enumerate(self._defined):
            self.all[place].parent = self._parent(defined)
        self.canonical = self._canonical_indices()
        self._spread()
        del self._defined

    def index_of_ids(self, file: RankFile) -> NDArray[np.int32]:
        """For one file: id → index of the communicator, -1 where there is none; (largest id + 2,)."""
        defined = file.definitions.communicators
        table = np.full(max(defined, default=0) + 2, -1, dtype=np.int32)
        for number, one in defined.items():
            table[number] = self._keys[(one.hash, one.ordinal)]
        return table

    def ranks_of(self, rank: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The communicators (indices, rising) that a world rank is in, and its position in each."""
        begin, end = np.searchsorted(self._by_rank, [rank, rank + 1])
        return self._in[begin:end], self._at[begin:end]

    def _made(self, index: int) -> Communicator:
        defined = self._defined[index]
        file, first = defined[0]
        inter = any(one.remote_size for _, one in defined)
        size = first.size + first.remote_size
        name = next((one.name for _, one in defined if one.name), "")
        maker = file.definitions.functions.get(first.maker)
        return Communicator(
            index=index,
            label=name or _unnamed(index, first, maker.name if maker else ""),
            size=size,
            members=self._members(defined, size),
            is_inter=inter,
            constructor=maker.name if maker else "",
            name=name,
            calls=max(one.calls for _, one in defined),
        )

    def _members(self, defined: list[tuple[RankFile, DefinedCommunicator]], size: int) -> NDArray[np.int32]:
        members = np.full(size, -1, dtype=np.int32)
        whole = next((one for _, one in defined if one.members), None)
        if whole is not None:
            for is_remote, first, ranks in whole.members:
                begin = first + (whole.size if is_remote else 0)
                count = max(min(len(ranks), size - begin), 0)
                members[begin : begin + count] = ranks[:count]
        if (members < 0).any() and not any(one.remote_size for _, one in defined):
            for file, one in defined:  # the file with the list is lost: what each says of itself
                if 0 <= one.rank < size:
                    members[one.rank] = file.header.rank
        return np.where((members >= 0) & (members < self._world), members, -1).astype(np.int32)

    def _parent(self, defined: list[tuple[RankFile, DefinedCommunicator]]) -> int:
        for file, one in defined:
            parent = file.definitions.communicators.get(one.parent)
            if parent is not None:
                return self._keys[(parent.hash, parent.ordinal)]
        return -1

    def _canonical_indices(self) -> NDArray[np.int64]:
        first = np.arange(len(self.all), dtype=np.int64)
        known: dict[tuple[int, int, str, str], int] = {}
        for (hashed, _), index in self._keys.items():
            one = self.all[index]
            if one.constructor:
                # A parent is met before what is made of it; only damaged files say otherwise.
                parent = int(first[one.parent]) if 0 <= one.parent < index else one.parent
                first[index] = known.setdefault((hashed, parent, one.constructor, one.name), index)
        return first

    def _spread(self) -> None:
        """Memberships, sorted by world rank and communicator."""
        lengths = [len(one.members) for one in self.all]
        ranks = np.concatenate([one.members for one in self.all] or [np.empty(0, np.int32)])
        within = np.repeat(np.arange(len(self.all), dtype=np.int32), lengths)
        starts = np.repeat(np.cumsum([0, *lengths[:-1]]) if lengths else np.empty(0, int), lengths)
        places = (np.arange(len(ranks)) - starts).astype(np.int32)
        order = np.lexsort((within, ranks))
        order = order[ranks[order] >= 0]
        self._by_rank, self._in, self._at = ranks[order], within[order], places[order]


def _unnamed(index: int, one: DefinedCommunicator, maker: str) -> str:
    if one.id == WORLD and not maker:
        return "MPI_COMM_WORLD"
    if one.id == SELF and not maker:
        return "MPI_COMM_SELF"
    return f"communicator {index} ({maker})" if maker else f"communicator {index}"


# FROM: Communicators that are alike: the rows of a grid of processes, say, which one call of all ranks h

# FROM: They are of the same parent, maker, size and name, and no rank is in two of them. Those th
# FROM: in the same way count once (:class:`offbeat.trace.communicators.Communicators`).


def communicator_groups(communicators: Communicators) -> NDArray[np.int64]:
    """For each communicator the index of the first one of its family, (n,)."""
    ranks = 1 + max((int(one.members.max(initial=-1)) for one in communicators.all), default=-1)
    kinds: dict[tuple[int, str, int, str], _GroupsOfKind] = {}
    first = communicators.canonical.copy()
    for one in communicators.all:
        if one.is_inter or not one.constructor or first[one.index] != one.index:
            continue
        parent = int(communicators.canonical[one.parent]) if one.parent >= 0 else -1
        of_kind = kinds.setdefault((parent, one.constructor, one.size, one.name), _GroupsOfKind(ranks))
        first[one.index] = of_kind.joined(one.index, one.members[one.members >= 0])
    return first[communicators.canonical]


class _GroupsOfKind:
    """The families of one kind: of each, its first communicator, and which ranks are in one of it."""

    def __init__(self, ranks: int) -> None:
        self._first: list[int] = []
        self._taken = np.zeros((1, ranks), np.bool_)

    def joined(self, index: int, members: NDArray[np.int32]) -> int:
        """The first of the family that a communicator joins: the oldest that has none of its ranks."""
        number = len(self._first)
        free = np.flatnonzero(~self._taken[:number, members].any(axis=1))
        place = int(free[0]) if len(free) else number
        if place == number:
            self._first.append(index)
        if place == len(self._taken):
            self._taken = np.concatenate([self._taken, np.zeros_like(self._taken)])
        self._taken[place, members] = True
        return self._first[place]
