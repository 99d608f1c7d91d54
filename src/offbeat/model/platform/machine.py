"""A platform: its checked file, the placement of ranks, and the simulator's network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct

from offbeat import _simulator
from offbeat.base.errors import BadInput
from offbeat.base.toml.faults import KeyFault, refuse
from offbeat.base.toml.lines import Key, key_lines, parse, read_text, where
from offbeat.base.toml.structure import Form, stated_keys, structure_of
from offbeat.base.toml.write import toml_text
from offbeat.base.units import amount
from offbeat.model.platform import bundled_platforms, network
from offbeat.model.platform.checks import check_values
from offbeat.model.platform.network import Nodes
from offbeat.model.platform.schema import PlatformFile

FORM = Form(PlatformFile)
"""The structure of platform files."""


MAX_RANKS = 2**24
"""More processes than any machine runs."""


class Platform(Struct, frozen=True, kw_only=True):
    """A checked platform: ``file`` determines simulations, ``path`` is for messages.

    ``text`` is that of the file, empty for a platform that comes from Python.
    """

    file: PlatformFile
    path: str
    text: str

    @property
    def name(self) -> str:
        """The platform's name for tables."""
        return self.file.name

    @property
    def toml(self) -> str:
        """The text of the file, or one written for a platform that comes from Python."""
        return self.text or toml_text(self.file)

    @property
    def total_cores(self) -> int:
        """The cores of all nodes."""
        return self.file.nodes * self.file.cores

    def node_of_rank(self, p: int, *, nodes: int = 0, ppn: int = 0) -> Nodes:
        """The node of each of p ranks (p,) int32, by the file's mapping.

        With ``nodes`` and ``ppn``, whose product is p, only the first ``nodes`` nodes are used, with ``ppn``
        ranks each. Raises :class:`BadInput` if the ranks do not fit.
        """
        ranks = self.file.ranks
        if p < 1:
            raise BadInput(f"{self.where(('nodes',))} {p} ranks cannot be placed; write 1 or more")
        if p > MAX_RANKS:
            raise BadInput(f"{p} ranks cannot be placed; the most are {MAX_RANKS}")
        if nodes or ppn:
            self._check_nodes(p, nodes, ppn)
        if ranks.mapping == "list":
            placed = self._listed(p, nodes)
        elif ranks.mapping == "cyclic":
            placed = network.cyclic(p, nodes or self.file.nodes)
        else:
            placed = network.block(p, nodes or self.file.nodes, ppn or self._ranks_per_node(p))
        most_ranks = network.max_ranks_per_node(placed)
        if most_ranks > self.file.cores and not ranks.oversubscribe:
            machine = f"{amount(self.file.nodes, 'node')} × {amount(self.file.cores, 'core')}"
            ranks_text = f"{p} ranks, {most_ranks} of them on one node" if ppn else f"{p} ranks"
            remedy = "take fewer ranks, or allow it with oversubscribe = true in [ranks]"
            raise BadInput(
                f"{self.where(('cores',))} {ranks_text}, but {machine} are {self.total_cores}; {remedy}"
            )
        return placed

    def domain_of_rank(self, node_of_rank: Nodes) -> Nodes:
        """The memory domain of each rank (p,) int32, counted over all nodes.

        The ranks of a node occupy its cores in their order, one each; further ranks begin at the first core
        again.
        """
        domains, cores = self.file.memory.domains, self.file.cores
        order = np.argsort(node_of_rank, kind="stable")
        sorted_nodes = node_of_rank[order]
        core = np.empty_like(node_of_rank)
        core[order] = (np.arange(len(sorted_nodes)) - np.searchsorted(sorted_nodes, sorted_nodes)) % cores
        return node_of_rank * domains + core * domains // cores

    def network(
        self, p: int, *, nodes: int = 0, ppn: int = 0, node_of_rank: Sequence[int] | Nodes | None = None
    ) -> _simulator.Network:
        """The simulator's network for p ranks, placed by :meth:`node_of_rank` or as given."""
        if node_of_rank is None:
            placed = self.node_of_rank(p, nodes=nodes, ppn=ppn)
        else:
            placed = np.ascontiguousarray(node_of_rank, dtype=np.int32)
            self._check_given(placed, p)
        return network.network(self.file, placed)

    def topology(self) -> _simulator.Topology:
        """The topology, with ``routes(source, target)``."""
        return network.topology(self.file)

    def where(self, key: Key) -> str:
        """The prefix of messages about a key: ``cluster.toml:12: link.bandwidth:``, without a file the key
        alone."""
        return where(self.path, key_lines(self.text), key).rstrip()

    def _ranks_per_node(self, p: int) -> int:
        """Ranks of a node in a block mapping: its cores, or more where all are taken."""
        return max(self.file.cores, -(-p // self.file.nodes) if self.file.ranks.oversubscribe else 0)

    def _listed(self, p: int, nodes: int) -> Nodes:
        nodes_of_file = self.file.ranks.nodes
        key = ("ranks", "nodes")
        if nodes:
            remedy = "say p alone, or take the mapping block or cyclic"
            raise BadInput(
                f"{self.where(key)} the file says where each rank is, so nodes and ppn cannot; {remedy}"
            )
        if p > len(nodes_of_file):
            ranks_without_node = (
                f"rank {p - 1} has"
                if p - len(nodes_of_file) == 1
                else f"ranks {len(nodes_of_file)} to {p - 1} have"
            )
            raise BadInput(
                f"{self.where(key)} of {p} ranks {ranks_without_node} no node; list a node for each rank"
            )
        return np.array(nodes_of_file[:p], dtype=np.int32)

    def _check_nodes(self, p: int, nodes: int, ppn: int) -> None:
        if nodes * ppn != p:
            raise BadInput(f"{nodes} nodes × {ppn} ranks are {nodes * ppn}, not p = {p}; make them the same")
        if nodes > self.file.nodes:
            has = f"the platform has {self.file.nodes}"
            raise BadInput(f"{self.where(('nodes',))} {nodes} nodes are requested, but {has}; take fewer")

    def _check_given(self, placed: Nodes, p: int) -> None:
        if placed.shape != (p,):
            raise BadInput(f"{placed.size} nodes are listed for p = {p} ranks; list one for each rank")
        if placed.min() < 0 or placed.max() >= self.file.nodes:
            there = f"the platform's nodes are 0 to {self.file.nodes - 1}"
            wrong = placed.min() if placed.min() < 0 else placed.max()
            raise BadInput(f"a rank is placed on node {wrong}, but {there}")


def load(path_or_preset: Path | str) -> Platform:
    """Read and check a platform file, or a built-in platform by its name.

    A word without a slash or a suffix is the name of a built-in platform. Raises :class:`BadInput` with a
    line for every fault.
    """
    path = bundled_platforms.PRESETS.resolve(path_or_preset)
    remedy = "'offbeat platform init' writes one to start from"
    return loads(read_text(path, "the platform file", remedy), path)


def loads(text: str, path: Path | str) -> Platform:
    """Check the text of a platform file; ``path`` is for messages."""
    path = Path(path)
    raw = parse(text, path, "the platform is empty; 'offbeat platform init' writes one to start from")
    file, faults = structure_of(raw, FORM, check_values)
    refuse(faults, path, key_lines(text))
    return Platform(file=file, path=str(path), text=text)


def check(file: PlatformFile) -> list[KeyFault]:
    """Returns the faults of a platform."""
    return structure_of(stated_keys(file), FORM, check_values)[1]


def from_structure(file: PlatformFile, description: str) -> Platform:
    """Returns a platform from Python, if it has no fault; ``description`` stands for its file in messages.

    Raises :class:`BadInput` with the key of every fault.
    """
    refuse(check(file))
    return Platform(file=file, path=description, text="")
