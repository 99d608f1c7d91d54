"""How many switches a topology has and how they are joined, from the figures that people state."""

from __future__ import annotations

import math
from itertools import pairwise

from msgspec import Struct

from offbeat.platform.schema import DragonflySection, FatTreeSection, PlatformFile
from offbeat.toml.quantities import Seconds


class Level(Struct, frozen=True, kw_only=True):
    """The switches of one level of a tree: ``children`` below each, ``parents`` above each child.

    ``switches`` is how many there are in all; ``bandwidth`` (bytes per second) and ``latency_s`` are those of
    a cable from a child.
    """

    name: str
    switches: int
    children: int
    parents: int
    cables: int
    bandwidth: float
    latency_s: float

    @property
    def words(self) -> str:
        """How many there are: ``8 leaf switches``."""
        return f"{self.switches} {self.name} switch{'' if self.switches == 1 else 'es'}"

    @property
    def as_levels(self) -> tuple[int, int, int, tuple[float, float]]:
        """What the simulator's fat_tree takes."""
        return self.children, self.parents, self.cables, (self.bandwidth, self.latency_s)


def uplinks(tree: FatTreeSection) -> float:
    """Cables from a leaf to all of its spines; whole unless the taper doesn't fit."""
    return tree.nodes_per_leaf / tree.taper if tree.taper else float(tree.spines * tree.cables)


def levels(platform: PlatformFile) -> list[Level]:
    """The levels of a fat tree from below; the last leaf and the last pod may have empty places."""
    tree, link = platform.fat_tree, platform.link
    leaves = math.ceil(platform.nodes / tree.nodes_per_leaf)
    spines = round(uplinks(tree)) // tree.cables
    pods = math.ceil(leaves / tree.leaves_per_pod) if tree.leaves_per_pod else 1
    bandwidth, latency_s = tree.bandwidth or link.bandwidth, own_or_link(tree.latency, platform)
    made = [
        Level(
            name="leaf",
            switches=leaves,
            children=tree.nodes_per_leaf,
            parents=1,
            cables=1,
            bandwidth=link.bandwidth,
            latency_s=link.latency,
        ),
        Level(
            name="spine",
            switches=spines * pods,
            children=tree.leaves_per_pod or leaves,
            parents=spines,
            cables=tree.cables,
            bandwidth=bandwidth,
            latency_s=latency_s,
        ),
    ]
    if tree.leaves_per_pod:
        core = Level(
            name="core",
            switches=spines * tree.cores_per_spine,
            children=pods,
            parents=tree.cores_per_spine,
            cables=tree.core_cables,
            bandwidth=bandwidth,
            latency_s=latency_s,
        )
        made.append(core)
    return made


def tapers(platform: PlatformFile) -> list[float]:
    """For each level but the highest: bandwidth into its switches from below for each byte that goes up."""
    made = levels(platform)
    return [
        lower.children * lower.cables * lower.bandwidth / (upper.parents * upper.cables * upper.bandwidth)
        for lower, upper in pairwise(made)
    ]


def dragonfly_nodes(dragonfly: DragonflySection) -> int:
    """The nodes of a full dragonfly."""
    return dragonfly.groups * dragonfly.routers * dragonfly.nodes_per_router


def own_or_link(latency: Seconds | str, platform: PlatformFile) -> float:
    """A latency in seconds, where the word 'link' stands for that of a node's link."""
    return platform.link.latency if isinstance(latency, str) else latency
