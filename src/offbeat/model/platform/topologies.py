"""The topologies of the platform file, by name."""

from __future__ import annotations

from offbeat.model.platform import dragonfly, fat_tree, single_switch
from offbeat.model.platform.schema import PlatformFile
from offbeat.model.platform.topology import Topology

TOPOLOGIES: dict[str, Topology] = {
    topology.name: topology for topology in (single_switch.TOPOLOGY, fat_tree.TOPOLOGY, dragonfly.TOPOLOGY)
}


def topology_of(platform: PlatformFile) -> Topology:
    """The record of a platform's topology."""
    return TOPOLOGIES[platform.topology]
