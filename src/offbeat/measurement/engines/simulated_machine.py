"""What the engines that simulate share: the placement of ranks on a platform, and what follows from it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

import msgspec
import numpy as np

from offbeat.measurement.engines.engine import Exits, ProofResult
from offbeat.model.platform.machine import Platform
from offbeat.model.platform.network import Nodes
from offbeat.model.study.algorithm import Algorithm, Verdict
from offbeat.model.study.case import Case
from offbeat.model.study.case_expansion import Group


class Simulator:
    """See :class:`offbeat.measurement.engines.engine.BatchEngine`. ``platform`` is the simulated machine."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self._node_of_rank: dict[tuple[int, int, int], Nodes] = {}

    def place_group(self, group: Group) -> Group:
        """Nodes and ppn according to the platform's mapping; ppn is 0 if nodes have different numbers of
        ranks.

        Raises BadInput if the ranks do not fit.
        """
        node_of_rank = self.platform.node_of_rank(group.processes, nodes=group.nodes, ppn=group.ppn)
        ranks = np.bincount(node_of_rank)
        ranks = ranks[ranks > 0]
        nodes, ppn = len(ranks), int(ranks[0]) if (ranks == ranks[0]).all() else 0
        self._node_of_rank.setdefault((group.processes, nodes, ppn), node_of_rank)
        return msgspec.structs.replace(group, nodes=nodes, ppn=ppn)

    def inspect(self, case: Case) -> dict[str, object]:
        """The placement of the ranks."""
        return {"p": case.processes, "nodes": case.nodes, "ppn": case.ppn}

    def prove(
        self, requests: Iterable[tuple[Algorithm, Case]], report: Callable[[str], None] = lambda _: None
    ) -> Iterator[ProofResult]:
        """A verdict on each request, from the simulator alone: nothing real could run something else."""
        for _, chunk in groupby(requests, key=lambda request: (request[1].collective, request[1].p)):
            entries = list(chunk)
            report(self._proof_step(entries[0][1]))
            algorithms = {algorithm.name: algorithm for algorithm, _ in entries}
            yield ProofResult(algorithms=list(algorithms.values()), verdicts=self._verdicts(entries))

    def _proof_step(self, case: Case) -> str:
        """A line about the verdicts on the algorithms of a case's collective at its p."""
        raise NotImplementedError

    def _verdicts(self, requests: Sequence[tuple[Algorithm, Case]]) -> list[Verdict]:
        raise NotImplementedError

    def _nodes(self, case: Case) -> Nodes:
        """The node of each process (processes,) of a case whose group was placed."""
        return self._node_of_rank[case.launch_placement]

    def _facts(
        self, name: str, library: str, family: str, version: str, identity: str, **more: object
    ) -> dict[str, object]:
        """Facts for the provenance; the identity is a digest of ``identity`` and the platform."""
        platform = msgspec.to_builtins(self.platform.file)
        digest = hashlib.sha256(msgspec.json.encode([identity, platform], order="deterministic"))
        facts = {
            "name": name,
            "library": library,
            "identity": digest.hexdigest()[:16],
            "family": family,
            "version": version,
            "simulated": True,
            "platform": platform,
        }
        return {"library": facts | more, "deterministic": True}


def failed_exits(p: int, reason: str) -> Exits:
    """The result of a batch whose cases must be quarantined."""
    return Exits(exits_s=np.zeros((0, p)), failure=reason)
