"""Where a simulated machine's ranks sit in each placement of a study."""

from __future__ import annotations

import msgspec
import numpy as np

from offbeat.platform.machine import Platform
from offbeat.platform.network import Nodes
from offbeat.study.case import Case
from offbeat.study.cases import Group


class Placements:
    """The placements that a study asked for, on one platform."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._node_of_rank: dict[tuple[int, int, int], Nodes] = {}

    def place(self, group: Group) -> Group:
        """Nodes and ppn as the platform's mapping gives them; ppn is 0 where nodes have different numbers.

        Raises BadInput where the ranks do not fit.
        """
        placed = self._platform.node_of_rank(group.p, nodes=group.nodes, ppn=group.ppn)
        ranks = np.bincount(placed)
        ranks = ranks[ranks > 0]
        nodes, ppn = len(ranks), int(ranks[0]) if (ranks == ranks[0]).all() else 0
        self._node_of_rank.setdefault((group.p, nodes, ppn), placed)
        return msgspec.structs.replace(group, nodes=nodes, ppn=ppn)

    def node_of_rank(self, case: Case) -> Nodes:
        """The node of each rank (p,) of a case whose group was placed."""
        return self._node_of_rank[case.p, case.nodes, case.ppn]
