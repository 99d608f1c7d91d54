"""Checks of the values of a program file against each other.

Works on the tree of :mod:`offbeat.base.toml.structure`: plain values with every default filled in.
"""

from __future__ import annotations

from typing import Any

from offbeat.base.errors import BadInput
from offbeat.base.toml.faults import INVALID, Faults, Tree, hint, valid_items
from offbeat.base.toml.lines import Key
from offbeat.base.units import amount
from offbeat.model.study.collectives import ROOTED
from offbeat.simulation.calls.catalogue import get_algorithm

KEYS_OF_KIND = {
    "work": ("memory", "flops", "time", "weights"),
    "exchange": (
        *("neighbours", "offsets", "grid", "messages", "periodic", "bytes", "edge_bytes", "corner_bytes"),
        "sends",
    ),
    "collective": ("collective", "algorithm", "family", "root", "bytes", "communicators", "stride"),
}
"""The keys of each kind of phase, besides those that all have."""

KEY_OF_NEIGHBOURS = {"offsets": "offsets", "messages": "list", "edge_bytes": "box", "corner_bytes": "box"}
"""Keys that need a certain value of neighbours."""

MAX_DIMENSIONS = 3


def check_values(tree: Tree, raw: Tree, faults: Faults) -> None:
    """Add every fault to ``faults``; ``raw`` is the file without defaults."""
    _check_text(tree["name"], ("name",), faults)
    written = raw.get("phase")
    for index, phase in valid_items(tree["phase"]):
        _check_phase(phase, written[index] if isinstance(written, list) else {}, ("phase", index), faults)
    names = _check_names(tree["phase"], faults)
    for index, noise in valid_items(tree["noise"]):
        _check_noise(noise, names, tree["iterations"], ("noise", index), faults)


def phase_name(name: str, kind: str, index: int) -> str:
    """The name of a phase; if it has none, its kind and its number, counted from 1."""
    return name or f"{kind} {index + 1}"


def _check_text(text: Any, key: Key, faults: Faults) -> None:
    if text is not INVALID and not (text.strip() and text.isprintable()):
        faults.add(key, f"{text!r} cannot be shown in a table; write printable text")


def _check_names(phases: Any, faults: Faults) -> list[str]:
    names: list[str] = []
    for index, phase in valid_items(phases):
        written, kind = phase["name"], phase["kind"]
        if INVALID in (written, kind):
            continue
        name = phase_name(written, kind, index)
        if name in names:
            faults.add(("phase", index, "name"), f"another phase is called {name!r}, too; names must differ")
        names.append(name)
        if written:
            _check_text(written, ("phase", index, "name"), faults)
    return names


def _check_phase(phase: Tree, written: Tree, key: Key, faults: Faults) -> None:
    kind = phase["kind"]
    if kind is INVALID:
        return
    for name in written:
        owners = [owner for owner, names in KEYS_OF_KIND.items() if name in names]
        if owners and kind not in owners:
            faults.add((*key, name), f"a phase of kind {kind!r} has no {name}; {' and '.join(owners)} have")
    {"work": _check_work, "exchange": _check_exchange, "collective": _check_collective}[kind](
        phase, written, key, faults
    )


def _check_work(phase: Tree, written: Tree, key: Key, faults: Faults) -> None:
    if not any(phase[name] is INVALID or phase[name] > 0 for name in ("memory", "flops", "time")):
        faults.add(key, "the work is empty; write memory, flops or time")
    weights = phase["weights"]
    if weights is not INVALID and weights and all(weight == 0 for weight in weights):
        faults.add((*key, "weights"), "all weights are 0, so that no rank works; write one above 0")


def _check_exchange(phase: Tree, written: Tree, key: Key, faults: Faults) -> None:
    neighbours, grid, sizes = phase["neighbours"], phase["grid"], phase["bytes"]
    if neighbours is INVALID:
        return
    _check_stray_keys(neighbours, written, key, faults)
    if neighbours == "offsets" and not phase["offsets"] and phase["offsets"] is not INVALID:
        faults.add((*key, "offsets"), "there are no offsets; write some, such as [-1, 1]")
    for index, offset in valid_items(phase["offsets"]):
        if offset == 0:
            faults.add((*key, "offsets", index), "a rank sends nothing to itself; take the 0 out")
    if grid is not INVALID and len(grid) > MAX_DIMENSIONS:
        faults.add((*key, "grid"), f"the grid has {len(grid)} dimensions; write at most {MAX_DIMENSIONS}")
    if neighbours == "list":
        _check_listed(phase["messages"], sizes, key, faults)
        return
    if INVALID in (grid, sizes):
        return
    dimensions = (len(grid) or MAX_DIMENSIONS) if neighbours in ("grid", "box") else 1
    if len(sizes) not in {1, dimensions}:
        several = f", or {dimensions}: one for each dimension" if dimensions > 1 else ""
        faults.add((*key, "bytes"), f"the list has {amount(len(sizes), 'size')}; write one{several}")


def _check_listed(messages: Any, sizes: Any, key: Key, faults: Faults) -> None:
    if messages is not INVALID and not messages:
        faults.add((*key, "messages"), "there are no messages; write some, such as [[0, 1, 8192]]")
    for index, message in valid_items(messages):
        place = (*key, "messages", index)
        if len(message) != 3:
            faults.add(place, f"the list has {amount(len(message), 'number')}; write [from, to, bytes]")
        elif INVALID not in message and message[0] == message[1]:
            faults.add(place, f"rank {message[0]} sends nothing to itself; take this message out")
    if sizes:
        faults.add((*key, "bytes"), "the messages of a list have sizes of their own; take this key out")


def _check_stray_keys(neighbours: str, written: Tree, key: Key, faults: Faults) -> None:
    for name, needed in KEY_OF_NEIGHBOURS.items():
        if name in written and neighbours != needed:
            faults.add((*key, name), f"this key needs neighbours = {needed!r}; here it is {neighbours!r}")
    if "grid" in written and neighbours not in ("grid", "box"):
        faults.add((*key, "grid"), f"this key needs neighbours = 'grid' or 'box'; here it is {neighbours!r}")


def _check_collective(phase: Tree, written: Tree, key: Key, faults: Faults) -> None:
    collective, algorithm, family = (phase[name] for name in ("collective", "algorithm", "family"))
    if not collective and collective is not INVALID:
        faults.add((*key, "collective"), "this key is missing: which collective, such as 'allreduce'")
    if collective and family is not INVALID and algorithm is not INVALID:
        try:
            get_algorithm(collective, family, algorithm)
        except BadInput as error:
            faults.add((*key, "algorithm"), str(error))
    if collective and "root" in written and collective not in ROOTED:
        faults.add((*key, "root"), f"{collective} has no root; take this key out")
    communicators, stride = phase["communicators"], phase["stride"]
    if INVALID not in (communicators, stride) and communicators % stride:
        faults.add(
            (*key, "stride"),
            f"stride {stride} does not divide the number of communicators, {communicators}; write a divisor"
            f" of {communicators}",
        )
    sizes = phase["bytes"]
    if sizes is INVALID or not collective or collective == "barrier":
        return
    if len(sizes) != 1:
        faults.add((*key, "bytes"), f"the list has {amount(len(sizes), 'size')}; a collective has one size")


def _check_noise(noise: Tree, names: list[str], iterations: Any, key: Key, faults: Faults) -> None:
    phase, pick, ranks = noise["phase"], noise["pick"], noise["ranks"]
    if phase is not INVALID and phase not in names:
        faults.add((*key, "phase"), f"{phase!r} is not a phase of this program{hint(phase, names)}")
    if INVALID not in (pick, ranks):
        if pick == "list" and not ranks:
            faults.add((*key, "ranks"), "the ranks to be delayed are missing; write a list of them")
        if pick != "list" and ranks:
            faults.add((*key, "ranks"), f"pick is {pick!r}, and ranks are listed, too; write pick = 'list'")
    first, last = noise["first"], noise["last"]
    if INVALID not in (first, last) and 0 < last < first:
        faults.add((*key, "last"), f"iteration {last} is before the first one, {first}")
    if INVALID not in (first, iterations) and first > iterations:
        faults.add((*key, "first"), f"the program has only {amount(iterations, 'iteration')}")
