"""The record of a topology: everything that differs between topologies on the side of the platform file.

Each topology has a module with one :class:`Topology` in it (:mod:`offbeat.model.platform.single_switch`,
:mod:`offbeat.model.platform.fat_tree`, :mod:`offbeat.model.platform.dragonfly`);
:mod:`offbeat.model.platform.topologies` lists them. The keys of its section are in
:mod:`offbeat.model.platform.schema`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from offbeat import _simulator
from offbeat.base.toml.faults import Faults, Tree
from offbeat.base.toml.quantities import Seconds
from offbeat.model.platform.schema import PlatformFile


class Levels(Struct, frozen=True):
    """A picture of rows of boxes, from below: the name and the number of the boxes of each row."""

    rows: list[tuple[str, int]]


class Groups(Struct, frozen=True):
    """A picture of groups on a circle, all joined with each other; ``members`` says what a group has."""

    number: int
    members: str


class Topology(Struct, frozen=True, kw_only=True):
    """How a topology is checked, simulated, described and drawn; ``name`` is its word in the file."""

    name: str

    build: Callable[[PlatformFile], _simulator.Topology]
    """The simulator's topology."""

    description: Callable[[PlatformFile, str], str]
    """A phrase, given the bandwidth of a node's link as text."""

    picture: Callable[[PlatformFile], Levels | Groups]
    """What its picture shows; several nodes are guaranteed."""

    check: Callable[[Tree, Any, Faults], None] | None = None
    """Adds the faults of its section, given the tree of the section and the number of nodes (or INVALID).
    None: the topology has no section."""

    examples: dict[str, Any] = {}
    """Key of its section → example in the template, where the default is empty or not informative."""


def latency_or_link(latency: Seconds | str, platform: PlatformFile) -> float:
    """A latency in seconds; 'link' stands for the latency of a node's link."""
    return platform.link.latency if isinstance(latency, str) else latency
