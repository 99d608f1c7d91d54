"""Checks of the values of a platform file against each other.

Works on the tree of :mod:`offbeat.base.toml.structure`: plain values with every default filled in.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from offbeat.base.toml.faults import INVALID, Faults, Tree, valid_items
from offbeat.base.toml.lines import Key
from offbeat.base.units import amount, format_bandwidth, format_size
from offbeat.model.platform.schema import LEAST_RATE
from offbeat.model.platform.topologies import TOPOLOGIES

ZERO = "a bandwidth of 0 moves nothing; write how fast it is, such as '10 Gbit/s'"


def check_values(tree: Tree, raw: Tree, faults: Faults) -> None:
    """Add every fault to ``faults``; ``raw`` is the file without defaults."""
    name = tree["name"]
    if name is not INVALID and not (name.strip() and name.isprintable()):
        faults.add(("name",), f"{name!r} cannot be shown in a table; write printable text")
    for section in ("inside", "messages"):
        if tree[section] is not INVALID:
            _check_factors(tree[section], section, faults)
    _check_rates(tree, (), faults)
    _check_links(tree, faults)
    _check_memory(tree, raw, faults)
    _check_topology(tree, raw, faults)
    _check_approaches(tree["partitioned"], faults)
    if tree["ranks"] is not INVALID:
        _check_ranks(tree["ranks"], tree["nodes"], tree["cores"], faults)


def _check_rates(tree: Any, key: Key, faults: Faults) -> None:
    """Bandwidths, and rates of operations, are 0 or at least LEAST_RATE."""
    if isinstance(tree, dict | list):
        items = tree.items() if isinstance(tree, dict) else enumerate(tree)
        for item_key, value in items:
            _check_rates(value, (*key, item_key), faults)
    elif isinstance(tree, float) and 0 < tree < LEAST_RATE:
        name = str(next(item_key for item_key in reversed(key) if isinstance(item_key, str)))
        if name.endswith(("bandwidth", "_rate")):
            faults.add(key, f"{tree:g} per second is too small; write {LEAST_RATE:g} or more")


def _check_links(tree: Tree, faults: Faults) -> None:
    node, link = tree["inside"], tree["link"]
    if node is not INVALID and node["bandwidth"] == 0:
        faults.add(("inside", "bandwidth"), ZERO)
    has_network = tree["nodes"] is not INVALID and tree["nodes"] > 1
    if has_network and link is not INVALID and link["bandwidth"] == 0:
        faults.add(("link", "bandwidth"), ZERO)


def _check_memory(tree: Tree, raw: Tree, faults: Faults) -> None:
    memory, cores = tree["memory"], tree["cores"]
    if memory is INVALID or not raw.get("memory"):
        return
    domains, bandwidth, core = (memory[key] for key in ("domains", "bandwidth", "core_bandwidth"))
    for key in ("bandwidth", "core_bandwidth"):
        if memory[key] == 0:
            faults.add(("memory", key), ZERO.replace("10 Gbit/s", "80 GB/s"))
    if INVALID not in (bandwidth, core) and core > bandwidth > 0:
        sentence = (
            f"a core draws {format_bandwidth(core)}, and its domain gives {format_bandwidth(bandwidth)}"
        )
        faults.add(("memory", "core_bandwidth"), f"{sentence}; write at most the bandwidth of the domain")
    if INVALID not in (domains, cores) and cores % domains:
        sentence = f"{amount(cores, 'core')} cannot be divided evenly among {domains} domains"
        faults.add(("memory", "domains"), f"{sentence}; write a number that divides the cores")


def _check_factors(section: Tree, name: str, faults: Faults) -> None:
    sizes = section["from_sizes"]
    if sizes is INVALID:
        return
    for (_, smaller_size), (index, size) in zip(
        valid_items(sizes), list(valid_items(sizes))[1:], strict=False
    ):
        if size <= smaller_size:
            sentence = f"{format_size(size)} follows {format_size(smaller_size)}; sizes must ascend"
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
    for section, topology_record in TOPOLOGIES.items():
        if topology_record.check and section in raw and section != topology:
            remedy = f"leave the section out, or write topology = '{section}'"
            faults.add(
                (section,), f"the topology is {topology!r}, which this section does not describe; {remedy}"
            )
    check_section = TOPOLOGIES[topology].check
    if check_section and tree[topology] is not INVALID:
        check_section(tree[topology], tree["nodes"], faults)


ESTIMATES = (
    "latency",
    "message",
    "partition",
    "contention",
    "eager_bandwidth",
    "rendezvous_latency",
    "rendezvous_message",
    "rendezvous_bandwidth",
    "eager_progress",
    "rendezvous_progress",
)
"""Keys of [[partitioned]] with a value and the ends of its interval."""

RANGES = ("sizes", "partitions", "threads", "delays")
"""Keys of [[partitioned]] with a smallest and a largest value."""


def _check_approaches(sections: Any, faults: Faults) -> None:
    names: set[str] = set()
    for index, section in valid_items(sections):
        section_key = ("partitioned", index)
        if section["approach"] in names:
            remedy = "keep one section for each approach"
            faults.add((*section_key, "approach"), f"{section['approach']!r} has two sections; {remedy}")
        if section["approach"] is not INVALID:
            names.add(section["approach"])
        for key, length, description in (
            *((name, 3, "a value and the ends of its interval") for name in ESTIMATES),
            *((name, 2, "the smallest and the largest value") for name in RANGES),
            ("noise", 2, "mean and standard deviation"),
        ):
            _check_numbers(section[key], length, description, (*section_key, key), faults)


def _check_numbers(numbers: Any, length: int, description: str, key: Key, faults: Faults) -> None:
    if numbers is INVALID or INVALID in numbers:
        return
    if len(numbers) != length:
        faults.add(
            key, f"the list has {amount(len(numbers), 'number')}; write {description}: {length} numbers"
        )
        return
    if str(key[-1]).endswith("bandwidth") and min(numbers) == 0:
        faults.add(key, ZERO)
    if length == 3 and not numbers[1] <= numbers[0] <= numbers[2]:
        faults.add(
            key,
            f"{numbers[0]:g} is outside of its interval; write the value, its lower end and its upper end",
        )
    if key[-1] in RANGES and numbers[0] > numbers[1]:
        faults.add(key, f"{numbers[0]} is more than {numbers[1]}; write the smaller value first")


def _check_ranks(ranks: Tree, nodes: Any, cores: Any, faults: Faults) -> None:
    node_of_rank = ranks["nodes"]
    if INVALID in (ranks["mapping"],) or node_of_rank is INVALID:
        return
    if ranks["mapping"] == "list" and not node_of_rank:
        faults.add(("ranks", "nodes"), "the mapping is a list, but there is none; write a node for each rank")
    if ranks["mapping"] != "list" and node_of_rank:
        sentence = f"the mapping is {ranks['mapping']!r}, and a list of nodes is given, too"
        faults.add(("ranks", "nodes"), f"{sentence}; leave it out, or write mapping = 'list'")
    if INVALID in (nodes, cores):
        return
    for index, node in valid_items(node_of_rank):
        if node >= nodes:
            sentence = f"rank {index} is on node {node}, but the nodes are 0 to {nodes - 1}"
            faults.add(("ranks", "nodes", index), f"{sentence}; write one of these")
    _check_cores(ranks, cores, faults)


def _check_cores(ranks: Tree, cores: int, faults: Faults) -> None:
    if ranks["oversubscribe"] is not False:
        return
    counts: Counter[int] = Counter()
    for index, node in valid_items(ranks["nodes"]):
        counts[node] += 1
        if counts[node] == cores + 1:
            sentence = f"node {node} has {cores} cores, and rank {index} is one too many"
            remedy = "put it on another node, or write oversubscribe = true"
            faults.add(("ranks", "nodes", index), f"{sentence}; {remedy}")
