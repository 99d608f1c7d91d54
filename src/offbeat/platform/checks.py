"""Checks of the values of a platform file against each other.

Works on the tree of :mod:`offbeat.toml.structure`: plain values with every default filled in.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from offbeat.toml.faults import INVALID, Faults, Tree, valid_items
from offbeat.units import format_size

ZERO = "a bandwidth of 0 moves nothing; write how fast it is, such as '10 Gbit/s'"

TOPOLOGY_SECTIONS = ("fat_tree", "dragonfly")


def check(tree: Tree, raw: Tree, faults: Faults) -> None:
    """Add every fault to ``faults``; ``raw`` is the file without defaults."""
    name = tree["name"]
    if name is not INVALID and not (name.strip() and name.isprintable()):
        faults.add(("name",), f"{name!r} cannot be shown in a table; write printable text")
    for section in ("inside", "messages"):
        if tree[section] is not INVALID:
            _check_factors(tree[section], section, faults)
    _check_links(tree, faults)
    _check_topology(tree, raw, faults)
    if tree["ranks"] is not INVALID:
        _check_ranks(tree["ranks"], tree["nodes"], tree["cores"], faults)


def _check_links(tree: Tree, faults: Faults) -> None:
    inside, link = tree["inside"], tree["link"]
    if inside is not INVALID and inside["bandwidth"] == 0:
        faults.add(("inside", "bandwidth"), ZERO)
    several = tree["nodes"] is not INVALID and tree["nodes"] > 1
    if several and link is not INVALID and link["bandwidth"] == 0:
        faults.add(("link", "bandwidth"), ZERO)


def _check_factors(section: Tree, name: str, faults: Faults) -> None:
    """Check that sizes ascend, and that there is a factor for each."""
    sizes = section["from_sizes"]
    if sizes is INVALID:
        return
    for (_, below), (index, size) in zip(valid_items(sizes), list(valid_items(sizes))[1:], strict=False):
        if size <= below:
            sentence = f"{format_size(size)} follows {format_size(below)}; sizes must ascend"
            faults.add((name, "from_sizes", index), sentence)
    for key in ("latency_factors", "bandwidth_factors"):
        factors = section[key]
        if factors is not INVALID and len(factors) != len(sizes):
            remedy = "write one factor for each size"
            faults.add((name, key), f"{len(factors)} factors for {len(sizes)} sizes in from_sizes; {remedy}")


def _check_topology(tree: Tree, raw: Tree, faults: Faults) -> None:
    topology = tree["topology"]
    if topology is INVALID:
        return
    for section in TOPOLOGY_SECTIONS:
        if section in raw and section != topology:
            remedy = f"leave the section out, or write topology = '{section}'"
            faults.add(
                (section,), f"the topology is {topology!r}, which this section does not describe; {remedy}"
            )
    nodes = tree["nodes"]
    if topology == "fat_tree" and tree["fat_tree"] is not INVALID:
        _check_fat_tree(tree["fat_tree"], nodes, faults)
    if topology == "dragonfly" and tree["dragonfly"] is not INVALID:
        _check_dragonfly(tree["dragonfly"], nodes, faults)


def _check_fat_tree(tree: Tree, nodes: Any, faults: Faults) -> None:
    if tree["nodes_per_leaf"] == 0:
        faults.add(("fat_tree", "nodes_per_leaf"), "a leaf switch needs nodes; say how many are at each")
    if bool(tree["spines"]) == bool(tree["taper"]) and INVALID not in (tree["spines"], tree["taper"]):
        which = "both spines and taper are given" if tree["spines"] else "neither spines nor taper is given"
        faults.add(("fat_tree", "spines"), f"{which}; give one of them")
    _check_taper(tree, faults)
    pods, cores = tree["leaves_per_pod"], tree["cores_per_spine"]
    if INVALID not in (pods, cores) and bool(pods) != bool(cores):
        given, missing = (
            ("leaves_per_pod", "cores_per_spine") if pods else ("cores_per_spine", "leaves_per_pod")
        )
        remedy = f"three levels need both: add {missing}, or leave {given} out for two"
        faults.add(("fat_tree", given), f"{given} is given without {missing}; {remedy}")
    if INVALID not in (nodes, tree["nodes_per_leaf"]) and tree["nodes_per_leaf"] > nodes:
        sentence = f"a leaf for {tree['nodes_per_leaf']} nodes, but there are {nodes} in all; write fewer"
        faults.add(("fat_tree", "nodes_per_leaf"), sentence)


def _check_taper(tree: Tree, faults: Faults) -> None:
    """Check that a taper results in a whole number of cables."""
    taper, nodes, cables = tree["taper"], tree["nodes_per_leaf"], tree["cables"]
    if not taper or not nodes or cables is INVALID:
        return
    up = nodes / taper
    if abs(up - round(up)) > 1e-6 or round(up) < 1:
        sentence = f"{nodes} nodes with a taper of {taper:g} leave {up:.4g} cables up"
        faults.add(("fat_tree", "taper"), f"{sentence}; write a taper for which that is a whole number")
    elif round(up) % cables:
        sentence = f"{round(up)} cables up are not {cables} to each of some spines"
        faults.add(("fat_tree", "cables"), f"{sentence}; write a number that divides {round(up)}")


def _check_dragonfly(dragonfly: Tree, nodes: Any, faults: Faults) -> None:
    sizes = [dragonfly[name] for name in ("groups", "routers", "nodes_per_router")]
    for name, size in zip(("groups", "routers", "nodes_per_router"), sizes, strict=True):
        if size == 0:
            faults.add(("dragonfly", name), "a dragonfly has at least one of these; say how many")
    if INVALID in (nodes, *sizes) or 0 in sizes:
        return
    product = sizes[0] * sizes[1] * sizes[2]
    if product != nodes:
        sentence = (
            f"nodes = {nodes}, but {sizes[0]} groups × {sizes[1]} routers × {sizes[2]} nodes are {product}"
        )
        faults.add(("nodes",), f"{sentence}; make them the same")


def _check_ranks(ranks: Tree, nodes: Any, cores: Any, faults: Faults) -> None:
    listed = ranks["nodes"]
    if INVALID in (ranks["mapping"],) or listed is INVALID:
        return
    if ranks["mapping"] == "list" and not listed:
        faults.add(("ranks", "nodes"), "the mapping is a list, but there is none; write a node for each rank")
    if ranks["mapping"] != "list" and listed:
        sentence = f"the mapping is {ranks['mapping']!r}, and a list of nodes is given, too"
        faults.add(("ranks", "nodes"), f"{sentence}; leave it out, or write mapping = 'list'")
    if INVALID in (nodes, cores):
        return
    for index, node in valid_items(listed):
        if node >= nodes:
            sentence = f"rank {index} is on node {node}, but the nodes are 0 to {nodes - 1}"
            faults.add(("ranks", "nodes", index), f"{sentence}; write one of these")
    _check_cores(ranks, cores, faults)


def _check_cores(ranks: Tree, cores: int, faults: Faults) -> None:
    """Check that no node has more ranks than cores."""
    if ranks["oversubscribe"] is not False:
        return
    counts: Counter[int] = Counter()
    for index, node in valid_items(ranks["nodes"]):
        counts[node] += 1
        if counts[node] == cores + 1:
            sentence = f"node {node} has {cores} cores, and rank {index} is one too many"
            remedy = "put it on another node, or write oversubscribe = true"
            faults.add(("ranks", "nodes", index), f"{sentence}; {remedy}")
