"""Communicators of equal size that call a collective at the same time, such as the rows of a process grid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Placement = tuple[int, int, int]
"""(p, nodes, ppn) of a launch; nodes and ppn are 0 if the launcher places the processes."""


class CommunicatorLayout(Struct, frozen=True, kw_only=True):
    """``communicators`` of ``p`` processes each; the ranks of consecutive members are ``stride`` apart.

    Member j of communicator c has the rank (c // stride) · stride · p + c mod stride + j · stride. The rows
    of a grid of R × C processes are R communicators of C processes with stride 1, its columns C communicators
    of R processes with stride C. ``stride`` divides ``communicators``.
    """

    p: int
    communicators: int = 1
    stride: int = 1

    @property
    def total(self) -> int:
        """The number of processes of all communicators."""
        return self.p * self.communicators

    @property
    def ranks(self) -> NDArray[np.int64]:
        """The rank of each member of each communicator, (communicators × p)."""
        import numpy as np  # reading the status of a study does not need it

        number = np.arange(self.communicators)[:, np.newaxis]
        first = number // self.stride * self.stride * self.p + number % self.stride
        return np.asarray(first + np.arange(self.p) * self.stride, dtype=np.int64)

    @property
    def members(self) -> NDArray[np.int64]:
        """The rank of each process in its communicator, (total,)."""
        import numpy as np

        return np.arange(self.total) % (self.stride * self.p) // self.stride

    def for_all(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of the members of a communicator, (… × p), for all processes by rank, (… × total)."""
        if self.communicators == 1:
            return values
        return values[..., self.members]

    def by_communicator(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """Times of all processes by rank, (repetitions × total), as (repetitions × communicators × p)."""
        return times[:, self.ranks]

    def placement(self, nodes: int, ppn: int) -> tuple[int, int]:
        """(nodes, processes per node) of each communicator if all processes are on ``nodes`` × ``ppn``.

        Nodes are filled in the order of ranks. (0, 0) if the placement is unknown, and ppn is 0 if nodes have
        different numbers of a communicator's processes, or communicators have different placements.
        """
        if self.communicators == 1 or not nodes or not ppn:
            return nodes, ppn
        counts = [Counter((ranks // ppn).tolist()).values() for ranks in self.ranks]
        process_layouts = {(len(one), max(one) if len(set(one)) == 1 else 0) for one in counts}
        return (
            process_layouts.pop()
            if len(process_layouts) == 1
            else (max(count for count, _ in process_layouts), 0)
        )

    @property
    def text(self) -> str:
        """In tables and sentences: ``8 communicators at once, stride 8``; empty for a single one."""
        if self.communicators == 1:
            return ""
        return f"{self.communicators} communicators at once, stride {self.stride}"


def layout_of_all(members: Sequence[NDArray[np.integer[Any]]], size: int) -> CommunicatorLayout | None:
    """The layout of ``size`` processes whose communicators have exactly these ranks; None without one."""
    if not members or sum(map(len, members)) != size:
        return None
    layout = layout_of_members(members[0], size)
    if layout is None:
        return None
    member_sets = {ranks.tobytes() for ranks in layout.ranks.astype(members[0].dtype)}
    return layout if {one.tobytes() for one in members} == member_sets else None


def layout_of_members(members: NDArray[np.integer[Any]], size: int) -> CommunicatorLayout | None:
    """The layout of ``size`` processes of which a communicator with these ranks is one; None without one."""
    p = len(members)
    if p < 2 or size % p or size == p:
        return None
    stride = int(members[1] - members[0])
    if stride < 1 or (size // p) % stride:
        return None
    layout = CommunicatorLayout(p=p, communicators=size // p, stride=stride)
    return layout if (layout.ranks == members).all(axis=1).any() else None
