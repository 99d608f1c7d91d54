"""The fat tree: leaf switches below spines, and with pods a third level of core switches."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from msgspec import Struct

from offbeat import _simulator
from offbeat.base.toml.faults import INVALID, Faults, Tree
from offbeat.model.platform.schema import FatTreeSection, PlatformFile
from offbeat.model.platform.topology import Levels, Topology, latency_or_link


class Level(Struct, frozen=True, kw_only=True):
    """The switches of one level of a tree: ``children`` below each, ``parents`` above each child.

    ``switches`` is their total number; ``cable`` has the bytes per second and the seconds of a cable from a
    child.
    """

    name: str
    switches: int
    children: int
    parents: int
    cables: int
    cable: tuple[float, float]

    @property
    def description(self) -> str:
        """The switches of the level: ``8 leaf switches``."""
        return f"{self.switches} {self.name} switch{'' if self.switches == 1 else 'es'}"

    @property
    def simulator_arguments(self) -> tuple[int, int, int, tuple[float, float]]:
        """The arguments of the simulator's fat_tree for this level."""
        return self.children, self.parents, self.cables, self.cable


def uplinks(tree: FatTreeSection) -> float:
    """Cables from a leaf to all of its spines; a whole number unless the taper does not fit."""
    return tree.nodes_per_leaf / tree.taper if tree.taper else float(tree.spines * tree.cables)


def levels(platform: PlatformFile) -> list[Level]:
    """The levels of a fat tree from below; the last leaf and the last pod may be partly empty."""
    tree, link = platform.fat_tree, platform.link
    leaves = math.ceil(platform.nodes / tree.nodes_per_leaf)
    spines = round(uplinks(tree)) // tree.cables
    pods = math.ceil(leaves / tree.leaves_per_pod) if tree.leaves_per_pod else 1
    to_node = link.bandwidth, link.latency
    uplink = tree.bandwidth or link.bandwidth, latency_or_link(tree.latency, platform)
    leaf = Level(
        name="leaf", switches=leaves, children=tree.nodes_per_leaf, parents=1, cables=1, cable=to_node
    )
    spine = Level(
        name="spine",
        switches=spines * pods,
        children=tree.leaves_per_pod or leaves,
        parents=spines,
        cables=tree.cables,
        cable=uplink,
    )
    if not tree.leaves_per_pod:
        return [leaf, spine]
    core = Level(
        name="core",
        switches=spines * tree.cores_per_spine,
        children=pods,
        parents=tree.cores_per_spine,
        cables=tree.core_cables,
        cable=uplink,
    )
    return [leaf, spine, core]


def tapers(platform: PlatformFile) -> list[float]:
    """For each level but the highest: bandwidth into its switches from below for each byte that goes up."""
    return [
        lower.children * lower.cables * lower.cable[0] / (upper.parents * upper.cables * upper.cable[0])
        for lower, upper in pairwise(levels(platform))
    ]


def build(platform: PlatformFile) -> _simulator.Topology:
    """The simulator's topology."""
    arguments = [level.simulator_arguments for level in levels(platform)]
    return _simulator.fat_tree(platform.nodes, arguments, platform.reverse_share)


def description(platform: PlatformFile, speed: str) -> str:
    """The switches of each level, and the tapers between them."""
    switches = ", ".join(level.description for level in levels(platform))
    taper = " and ".join(f"{ratio:.3g}" for ratio in tapers(platform))
    return f"fat tree at {speed}: {switches}; taper {taper}"


def picture(platform: PlatformFile) -> Levels:
    """The nodes and the switches of each level."""
    switches = [(f"{level.name} switches", level.switches) for level in levels(platform)]
    return Levels([("nodes", platform.nodes), *switches])


def check(tree: Tree, nodes: Any, faults: Faults) -> None:
    """Add the faults of the section ``[fat_tree]``."""
    if tree["nodes_per_leaf"] == 0:
        faults.add(("fat_tree", "nodes_per_leaf"), "a leaf switch needs nodes; say how many are at each")
    if bool(tree["spines"]) == bool(tree["taper"]) and INVALID not in (tree["spines"], tree["taper"]):
        which = "both spines and taper are given" if tree["spines"] else "neither spines nor taper is given"
        faults.add(("fat_tree", "spines"), f"{which}; give one of them")
    _check_taper(tree, faults)
    pods, cores = tree["leaves_per_pod"], tree["cores_per_spine"]
    if INVALID not in (pods, cores) and bool(pods) != bool(cores):
        present, absent_key = (
            ("leaves_per_pod", "cores_per_spine") if pods else ("cores_per_spine", "leaves_per_pod")
        )
        remedy = f"three levels need both: add {absent_key}, or leave {present} out for two"
        faults.add(("fat_tree", present), f"{present} is given without {absent_key}; {remedy}")
    if INVALID not in (nodes, tree["nodes_per_leaf"]) and tree["nodes_per_leaf"] > nodes:
        sentence = f"a leaf for {tree['nodes_per_leaf']} nodes, but there are {nodes} in all; write fewer"
        faults.add(("fat_tree", "nodes_per_leaf"), sentence)


def _check_taper(tree: Tree, faults: Faults) -> None:
    taper, nodes, cables = tree["taper"], tree["nodes_per_leaf"], tree["cables"]
    if not taper or not nodes or cables is INVALID:
        return
    uplinks = nodes / taper
    if abs(uplinks - round(uplinks)) > 1e-6 or round(uplinks) < 1:
        sentence = f"{nodes} nodes with a taper of {taper:g} leave {uplinks:.4g} cables up"
        faults.add(("fat_tree", "taper"), f"{sentence}; write a taper for which that is a whole number")
    elif round(uplinks) % cables:
        sentence = f"{round(uplinks)} cables up are not {cables} to each of some spines"
        faults.add(("fat_tree", "cables"), f"{sentence}; write a number that divides {round(uplinks)}")


TOPOLOGY = Topology(
    name="fat_tree",
    build=build,
    description=description,
    picture=picture,
    check=check,
    examples={
        "nodes_per_leaf": 16,
        "spines": 8,
        "taper": 2.0,
        "leaves_per_pod": 4,
        "cores_per_spine": 4,
        "bandwidth": "200 Gbit/s",
        "latency": "200 ns",
    },
)
