"""Checks of the sections ``[[collective]]`` and ``[processes]``: measurable configurations, each once."""

from __future__ import annotations

from itertools import product
from typing import Any

from offbeat.base.toml.faults import INVALID, Faults, Tree, check_duplicates, valid_items
from offbeat.base.toml.lines import Key
from offbeat.base.units import format_size
from offbeat.model.pattern.shapes import MAX_PROCESSES
from offbeat.model.study.collectives import PROPERTIES, REDUCING, ROOTED
from offbeat.model.study.placement import (
    PROCESS_BYTES,
    Placement,
    buffer_bytes,
    communicator_sizes,
    communicators_of,
    machine_bytes,
    placements,
    placements_of,
    processes_here,
)
from offbeat.model.study.schema import ARITHMETIC, BITWISE, EXTENTS, INT32_MAX


def check_collectives(tree: Tree, faults: Faults, *, other_machine: bool) -> None:
    """Add the faults of every ``[[collective]]``; ``other_machine`` skips checks of this machine's memory."""
    sections = list(valid_items(tree["collective"]))
    for index, section in sections:
        _check_section(section, ("collective", index), faults)
        _check_own_processes(section, index, tree["processes"], faults)
        _check_communicators(section, index, tree, faults)
        _check_root(section, index, tree["processes"], faults)
        _check_limits(section, index, tree, faults, other_machine=other_machine)
    _check_overlaps(sections, tree["processes"], faults)


def check_processes(processes: Any, faults: Faults) -> None:
    """Add the faults of ``[processes]``: p, or nodes with ppn; at least two processes."""
    if processes is INVALID:
        return
    has = {name: processes[name] is INVALID or bool(processes[name]) for name in ("p", "nodes", "ppn")}
    if has["p"] and (has["nodes"] or has["ppn"]):
        other_key = "nodes" if has["nodes"] else "ppn"
        faults.add(("processes", "p"), f"p is given and {other_key} too; keep either p, or nodes with ppn")
    elif has["nodes"] != has["ppn"]:
        present, absent_key = ("nodes", "ppn") if has["nodes"] else ("ppn", "nodes")
        faults.add(
            ("processes", present), f"{present} is given without {absent_key}; add {absent_key} = [...]"
        )
    elif not any(has.values()):
        faults.add(("processes",), "it says neither p nor nodes and ppn; add p = [4], for instance")
    for name in has:
        check_duplicates(processes[name], ("processes", name), faults)
    _check_process_counts(processes, faults)


def check_process_memory(tree: Tree, faults: Faults) -> None:
    """Add a fault for processes that exceed this machine's memory even without messages."""
    mpi = tree["mpi"] if tree["mpi"] is not INVALID else {}
    memory = machine_bytes()
    for p, nodes, ppn in placements(tree["processes"]):
        needed_bytes = processes_here(p, ppn, mpi) * PROCESS_BYTES
        if needed_bytes > memory and p <= MAX_PROCESSES:
            key = ("processes", "ppn" if nodes else "p")
            processes = f"{ppn} processes a node" if nodes else f"p = {p} processes"
            sentence = f"{processes} need {_gib(needed_bytes)} or more on one machine"
            remedy = "take fewer a node" if nodes else "take fewer; for several machines say nodes and ppn"
            faults.add(key, f"{sentence}, but this one has {_gib(memory)}; {remedy}")


def _check_process_counts(processes: Tree, faults: Faults) -> None:
    for index, p in valid_items(processes["p"]):
        if p < 2:
            faults.add(("processes", "p", index), "one process has nobody to wait for; p must be 2 or more")
        if p > MAX_PROCESSES:
            faults.add(("processes", "p", index), f"{p} is too large; p must be {MAX_PROCESSES} or less")
    for p, nodes, ppn in placements(processes):
        if nodes and p < 2:
            faults.add(("processes", "nodes"), "1 node × 1 process is one process; p must be 2 or more")
        if nodes and p > MAX_PROCESSES:
            sentence = f"{nodes} nodes × {ppn} processes are {p}; p must be {MAX_PROCESSES} or less"
            faults.add(("processes", "nodes"), sentence)


def _check_section(section: Tree, key: Key, faults: Faults) -> None:
    for name in ("names", "algorithms"):
        check_duplicates(section[name], (*key, name), faults)
    check_duplicates(section["sizes"], (*key, "sizes"), faults, format_size)
    algorithms = [algorithm for _, algorithm in valid_items(section["algorithms"])]
    if "all" in algorithms and len(algorithms) > 1:
        faults.add((*key, "algorithms"), "'all' includes every other name; keep either 'all' or the names")
    for index, algorithm in valid_items(section["algorithms"]):
        if not algorithm.strip():
            faults.add((*key, "algorithms", index), "an algorithm's name is empty; write a name, or 'all'")
    _check_op(section, key, faults)
    _check_sizes(section, key, faults)


def _check_op(section: Tree, key: Key, faults: Faults) -> None:
    op, datatype = section["op"], section["datatype"]
    reduces = any(name in REDUCING for _, name in valid_items(section["names"]))
    if reduces and op in BITWISE and datatype in ("float", "double"):
        remedy = f"take the datatype byte, int or long, or one of {', '.join(ARITHMETIC)}"
        faults.add((*key, "op"), f"MPI has no {op!r} for the datatype {datatype!r}; {remedy}")


def _check_sizes(section: Tree, key: Key, faults: Faults) -> None:
    names = [name for _, name in valid_items(section["names"])]
    if names and section["sizes"] == [] and any(name != "barrier" for name in names):
        faults.add((*key, "sizes"), 'there are no message sizes; add sizes = ["8 B", "1 KiB"], for instance')
    if names == ["barrier"] and section["sizes"]:
        faults.add((*key, "sizes"), "a barrier has no message size; leave sizes out")
        return
    extent = EXTENTS.get(section["datatype"], 1) if section["datatype"] is not INVALID else 1
    for index, size in valid_items(section["sizes"]):
        if size == 0:
            faults.add((*key, "sizes", index), "a size of 0 bytes sends nothing; leave it out")
        elif size % extent:
            nearest_size = max(extent, size // extent * extent)
            sentence = f"{size} B is not a multiple of the {extent} bytes of a {section['datatype']}"
            faults.add((*key, "sizes", index), f"{sentence}; write {nearest_size} B, or another datatype")


def _check_own_processes(section: Tree, index: int, processes: Any, faults: Faults) -> None:
    """Check that the section's own p are among those of the study."""
    key: Key = ("collective", index, "p")
    study_sizes = {p for p, _, _ in placements(processes)}
    check_duplicates(section["p"], key, faults)
    for position, p in valid_items(section["p"]):
        if study_sizes and p not in study_sizes:
            there = ", ".join(map(str, sorted(study_sizes)))
            faults.add((*key, position), f"the study has no p = {p} but {there}; add {p} to [processes]")


def _check_communicators(section: Tree, index: int, tree: Tree, faults: Faults) -> None:
    """Check that the processes can be divided into the section's communicators."""
    communicators, stride = section["communicators"], section["stride"]
    if INVALID in (communicators, stride) or communicators == 1:
        return
    if communicators % stride:
        sentence = f"stride {stride} does not divide the {communicators} communicators; write a divisor of"
        faults.add(("collective", index, "stride"), f"{sentence} {communicators}")
    key = ("collective", index, "communicators")
    for p, _, _ in placements_of(section, tree["processes"]):
        if p % communicators or p == communicators:
            faults.add(
                key,
                f"{p} processes cannot be divided into {communicators} communicators of two or more; write a"
                f" divisor of {p} below it, or give the section its own p",
            )
            return
    if tree["engine"] == "smpi":
        faults.add(key, "smpi simulates one communicator at a time; take the engine sim, or leave this out")


def _check_root(section: Tree, index: int, processes: Any, faults: Faults) -> None:
    rooted_names = [name for _, name in valid_items(section["names"]) if name in ROOTED]
    sizes = communicator_sizes(section, processes)
    if rooted_names and sizes and section["root"] is not INVALID and section["root"] >= min(sizes):
        sentence = f"root {section['root']} is no rank of p = {min(sizes)}"
        faults.add(("collective", index, "root"), f"{sentence}; write a rank from 0 to {min(sizes) - 1}")


def _check_limits(section: Tree, index: int, tree: Tree, faults: Faults, *, other_machine: bool) -> None:
    """Check sizes against the limits of MPI counts and of this machine's memory."""
    section_placements = placements_of(section, tree["processes"])
    legal_placements = [one for one in section_placements if one[0] <= MAX_PROCESSES] or [(1, 1, 1)]
    mpi = tree["mpi"] if tree["mpi"] is not INVALID else {}
    for position, size in valid_items(section["sizes"]):
        sentence = _beyond_counts(section, size, legal_placements)
        if not sentence and not other_machine:
            sentence = _beyond_memory(section, size, legal_placements, mpi)
        if sentence:
            faults.add(("collective", index, "sizes", position), sentence)


def _beyond_counts(section: Tree, size: int, section_placements: list[Placement]) -> str:
    """The fault of a size that exceeds MPI's counts and displacements, which are C ints; empty if none."""
    extent = EXTENTS[section["datatype"]] if section["datatype"] is not INVALID else 8
    uneven_names = [name for _, name in valid_items(section["names"]) if PROPERTIES[name].has_uneven_counts]
    largest = max(p for p, _, _ in section_placements) // communicators_of(section)
    count = size // extent * (largest if uneven_names else 1)
    if count <= INT32_MAX:
        return ""
    quantity = f"p × count of {uneven_names[0]}" if uneven_names else "count"
    excess = f"more than an MPI call can state ({INT32_MAX})"
    return f"at {format_size(size)} the {quantity} is {count}, {excess}; take a smaller size"


def _beyond_memory(section: Tree, size: int, section_placements: list[Placement], mpi: Tree) -> str:
    """The fault of the largest buffers, if they exceed this machine's memory; empty if they do not."""
    memory = machine_bytes()
    needs = [
        (buffer_bytes(name, size, p // communicators_of(section), processes_here(p, ppn, mpi)), name, p)
        for _, name in valid_items(section["names"])
        for p, _, ppn in section_placements
        if processes_here(p, ppn, mpi) * PROCESS_BYTES <= memory  # else check_process_memory reports it
    ]
    needed_bytes, name, p = max(needs, default=(0, "", 0))
    if needed_bytes <= memory:
        return ""
    buffers = f"{name} of {format_size(size)} at p = {p} needs {_gib(needed_bytes)} of buffers on one machine"
    remedy = "take a smaller size or fewer processes; for several machines say nodes and ppn"
    return f"{buffers}, but this one has {_gib(memory)}; {remedy}"


def _gib(size_bytes: int) -> str:
    return f"{size_bytes / 2**30:.4g} GiB"


def _check_overlaps(sections: list[tuple[int, Tree]], processes: Any, faults: Faults) -> None:
    owner: dict[tuple[Any, ...], int] = {}
    for index, section in sections:
        section_placements: list[Placement | None] = [*placements_of(section, processes)]
        for position, name in valid_items(section["names"]):
            sizes = [0] if name == "barrier" else [size for _, size in valid_items(section["sizes"])]
            for size, placement in product(sizes, section_placements or [None]):
                configuration = (
                    name,
                    size,
                    placement,
                    section["op"] if name in REDUCING else "",
                    section["datatype"] if name != "barrier" else "",
                    section["root"] if name in ROOTED else 0,
                    section["communicators"],
                    section["stride"] if section["communicators"] != 1 else 1,
                )
                first = owner.setdefault(configuration, index)
                if first != index:
                    size_text = f" of {format_size(size)}" if size else ""
                    sentence = f"{name}{size_text} is in collective[{first}] too; keep it in one section"
                    faults.add(("collective", index, "names", position), sentence)
