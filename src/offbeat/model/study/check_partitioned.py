"""Checks of the sections ``[[partitioned]]``: messages that two processes can exchange, each once."""

from __future__ import annotations

from itertools import product
from typing import Any

from offbeat.base.toml.faults import INVALID, Faults, Tree, check_duplicates, valid_items
from offbeat.base.toml.lines import Key
from offbeat.base.units import format_size
from offbeat.model.study.placement import placements
from offbeat.model.study.schema import INT32_MAX
from offbeat.model.study.skew_policy import RATE

PROCESSES = 2
"""A partitioned send has one sender and one receiver."""

MAX_PARTITIONS, MAX_THREADS = 65536, 1024
"""The limits of the driver (``native/protocol/protocol.c``)."""


def check_partitioned(tree: Tree, faults: Faults) -> None:
    """Add the faults of every ``[[partitioned]]``, and of a study that measures nothing or two things."""
    if tree["partitioned"] == []:
        if tree["collective"] == []:
            faults.add(
                (),
                "it has no [[collective]] and no [[partitioned]]; add a section that says what is measured",
            )
        if tree["skew"] is not INVALID and tree["skew"]["policy"] == RATE.key:
            faults.add(("skew", "policy"), "the policy rate is for partitioned messages; take another policy")
        return
    sections = list(valid_items(tree["partitioned"]))
    if not sections:  # their own faults say what is wrong
        return
    if tree["collective"]:
        sentence = "a study measures either collectives or partitioned messages; write a second study"
        faults.add(("partitioned",), sentence)
    if tree["engine"] not in ("mpi", INVALID):
        faults.add(("engine",), f"{tree['engine']!r} cannot send partitioned messages; leave the engine out")
    _check_processes(tree["processes"], faults)
    _check_patterns(tree["patterns"], faults)
    for index, section in sections:
        _check_section(section, ("partitioned", index), faults)
    _check_overlaps(sections, faults)


def _check_processes(processes: Any, faults: Faults) -> None:
    for p, nodes, _ in placements(processes):
        if p != PROCESSES:
            key = "nodes" if nodes else "p"
            sentence = (
                f"a partitioned message has 2 processes, not {p}; write p = [2], or nodes = [2] and ppn = [1]"
            )
            faults.add(("processes", key), sentence)


def _check_patterns(patterns: Any, faults: Faults) -> None:
    if patterns is INVALID:
        return
    if patterns["replays"]:
        faults.add(("patterns", "replays"), "partitioned messages have no replays; take pattern files")
    for index, shape in valid_items(patterns["shapes"]):
        if shape == "node_delayed":
            sentence = "'node_delayed' delays processes, not partitions; leave it out"
            faults.add(("patterns", "shapes", index), sentence)


def _check_section(section: Tree, key: Key, faults: Faults) -> None:
    for name in ("sizes", "partitions", "threads", "approaches"):
        check_duplicates(section[name], (*key, name), faults, format_size if name == "sizes" else str)
    approaches = [approach for _, approach in valid_items(section["approaches"])]
    if "all" in approaches and len(approaches) > 1:
        faults.add((*key, "approaches"), "'all' includes every other name; keep either 'all' or the names")
    _check_limits(section, key, faults)
    for (index, size), (_, partitions) in product(
        valid_items(section["sizes"]), list(valid_items(section["partitions"]))
    ):
        if size > INT32_MAX:
            faults.add((*key, "sizes", index), f"{size} B is more than an MPI call can state ({INT32_MAX})")
        elif size == 0 or size % partitions:
            nearest_size = max(partitions, size // partitions * partitions)
            sentence = (
                f"{size} B cannot be divided into {partitions} equal partitions; write {nearest_size} B, for"
                " instance"
            )
            faults.add((*key, "sizes", index), sentence)


def _check_limits(section: Tree, key: Key, faults: Faults) -> None:
    for name, limit in (("partitions", MAX_PARTITIONS), ("threads", MAX_THREADS)):
        for index, number in valid_items(section[name]):
            if number > limit:
                faults.add((*key, name, index), f"{number} {name} are too many; the most are {limit}")
    most_partitions = max(
        (number for _, number in valid_items(section["partitions"])), default=MAX_PARTITIONS
    )
    for index, threads in valid_items(section["threads"]):
        if threads > most_partitions:
            sentence = f"{threads} threads are more than the {most_partitions} partitions; take fewer threads"
            faults.add((*key, "threads", index), sentence)
    fewest = min((number for _, number in valid_items(section["threads"])), default=1)
    for index, partitions in valid_items(section["partitions"]):
        if partitions < fewest:
            sentence = (
                f"{partitions} partitions are fewer than the {fewest} threads, so that some would have none"
            )
            faults.add((*key, "partitions", index), sentence)


def _check_overlaps(sections: list[tuple[int, Tree]], faults: Faults) -> None:
    """Check that no message is in two sections."""
    owner: dict[tuple[int, ...], int] = {}
    for index, section in sections:
        values = [
            [value for _, value in valid_items(section[key])] for key in ("sizes", "partitions", "threads")
        ]
        for message in product(*values):
            first = owner.setdefault(message, index)
            if first != index:
                size, partitions, threads = message
                sentence = (
                    f"{format_size(size)} in {partitions} partitions by {threads} threads is in"
                    f" partitioned[{first}] too; keep it in one section"
                )
                faults.add(("partitioned", index), sentence)
