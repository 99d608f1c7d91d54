"""MPICH's selection trees: reading them from its library, and adding rules.

MPICH 4 and 5 choose algorithms by trees of conditions, stored in the shared library as JSON text: one for its
collectives in general, one for the compositions by which its device splits a collective into a part inside
nodes and one between them. A tuning file replaces a whole tree, so it is derived from the library's own.

The library walks a tree from the top: it enters the first key of an object whose condition holds and never
backtracks, so every branch must end in an algorithm for all calls that can reach it. Conditions on the
communicator are evaluated once, when a communicator is created, and only while no condition on the message is
above them; below one, some are evaluated less exactly (``comm_size<N`` as ``comm_size<=N``). So the added
conditions on the number of processes are at the top, and those on the size below all of the default's
conditions on the communicator, each beside the rest of the default: where no rule holds, the walk ends at the
same algorithm as before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.base.reading import LIBRARY_BYTES, decode_json, read_file

Tree = dict[str, "Tree"]
"""Conditions and their branches; an algorithm's key holds its parameters."""

LEAVES = ("algorithm=", "composition=")
"""The beginnings of keys that end a walk; other keys are conditions."""

_START = b'{"collective='
_NAME = re.compile(rb"(?:algorithm|composition)=(\w+)")
# one expression for each beginning: the search for literal bytes is ten times faster than for alternatives
_CONDITIONS = [
    re.compile(beginning + rb"[a-z_]*(?:<=|<|=)[a-z_0-9]*\0")
    for beginning in (b"comm", b"avg", b"total", b"count", b"is")
]
_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyz_")


class EmbeddedTrees(Struct, frozen=True, kw_only=True):
    """The trees and names in one library.

    ``general`` maps ``collective=NAME`` to its default; ``compositions`` likewise, or is ``None`` if the
    device has none. ``names`` are the algorithms and compositions that the library accepts; ``conditions``
    the conditions, without the numbers that follow them.
    """

    general: Tree
    compositions: Tree | None
    names: frozenset[str]
    conditions: frozenset[str]


def read(library: Path) -> EmbeddedTrees:
    """Read the trees in MPICH's shared library. Raises :class:`BadInput` if it contains no default tree."""
    try:
        data = read_file(library, LIBRARY_BYTES)
    except OSError as error:
        raise BadInput(f"cannot read MPICH's library {library}: {error}") from error
    trees = list(_trees(data))
    names = frozenset(match.group(1).decode() for match in _NAME.finditer(data))
    general = [
        tree for tree in trees if "collective=ialltoall" in tree and _leaf(tree).startswith("algorithm=MPIR_")
    ]
    compositions = [tree for tree in trees if _leaf(tree).startswith("composition=")]
    if not general:
        raise BadInput(
            f"{library} does not contain MPICH's default selection of algorithms, from which a tuning file is"
            " derived; MPICH 4.0 and later contain it. Name the MPICH that the study measured with --mpi"
            " PREFIX"
        )
    return EmbeddedTrees(
        general=general[0],
        compositions=compositions[0] if compositions else None,
        names=names,
        conditions=frozenset(_conditions(data)),
    )


def _conditions(data: bytes) -> Iterator[str]:
    """The conditions among the texts of the library, without the numbers that follow them."""
    for pattern in _CONDITIONS:
        for match in pattern.finditer(data):
            if data[match.start() - 1] not in _LETTERS:
                yield match.group()[:-1].decode()


def _trees(data: bytes) -> Iterator[Tree]:
    """Every selection tree in the library."""
    start = data.find(_START)
    while start >= 0:
        end = data.find(b"\0", start)
        try:
            yield decode_json(data[start:end], dict[str, dict])
        except msgspec.DecodeError:
            end = start + len(_START)
        start = data.find(_START, end)


def _leaf(tree: Tree) -> str:
    """The first algorithm or composition key of a tree; empty when it has none."""
    for key, subtree in tree.items():
        if key.startswith(LEAVES):
            return key
        leaf = _leaf(subtree)
        if leaf:
            return leaf
    return ""


LARGEST = 2**31 - 1
"""Thresholds are C ints."""

COMMUNICATOR = ("comm_type=", "comm_size", "comm_hierarchy=", "is_node_consecutive=", "comm_avg_ppn")
"""The prefixes of conditions on the communicator."""

COUNT_AT_LEAST_POW2 = "count>=pow2"
"""A guard without a key of its own: the else branch of ``count<pow2``."""


class Leaf(Struct, frozen=True):
    """Use ``key`` (``algorithm=...`` or ``composition=...``) with ``parameters`` where all ``guards`` hold.

    Parameters are keys such as ``k=4``; guards are condition keys, and :data:`COUNT_AT_LEAST_POW2`.
    """

    key: str
    parameters: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()


class SizedLeaf(Struct, frozen=True):
    """``leaf`` holds for sizes ``low`` to ``high`` (inclusive) in the unit of the tree's size condition."""

    low: int
    high: int
    leaf: Leaf


class Branch(Struct, frozen=True):
    """The leaves for communicators of ``p_low`` to ``p_high`` processes (inclusive), ascending by size."""

    p_low: int
    p_high: int
    leaves: Sequence[SizedLeaf]


def tuned_tree(default: Tree, branches: Sequence[Branch], size_condition: str) -> Tree:
    """A collective's tree with ``branches`` (ascending, disjoint) before its ``default``.

    ``size_condition`` is ``avg_msg_size``, ``total_msg_size``, or empty if the library cannot read the size;
    each branch then has one leaf. Only intracommunicators are changed (``comm_type=intra``).
    """
    intra_tree = default.get("comm_type=intra", default)
    other_branches = {key: below for key, below in default.items() if key != "comm_type=intra"}
    if intra_tree is default:
        other_branches = {"comm_type=inter": default}
    return {"comm_type=intra": _by_processes(intra_tree, branches, size_condition), **other_branches}


def _by_processes(default: Tree, branches: Sequence[Branch], size_condition: str) -> Tree:
    tree: Tree = {}
    free_from = 1
    for branch in branches:
        if branch.p_low > free_from:
            tree[f"comm_size<={branch.p_low - 1}"] = default
        put = partial(_by_size, leaves=branch.leaves, size_condition=size_condition)
        tree[f"comm_size<={branch.p_high}"] = _below_communicator(default, put)
        free_from = branch.p_high + 1
    tree["comm_size=any"] = default
    return tree


def _below_communicator(default: Tree, change: Callable[[Tree], Tree]) -> Tree:
    """Apply ``change`` below the conditions on the communicator, in all of their branches."""
    if all(key.startswith(COMMUNICATOR) for key in default):
        return {key: _below_communicator(below, change) for key, below in default.items()}
    return change(default)


def _by_size(default: Tree, leaves: Sequence[SizedLeaf], size_condition: str) -> Tree:
    if not size_condition:
        return guarded_tree(leaves[0].leaf, default)
    tree: Tree = {}
    free_from = 0
    for leaf in leaves:
        if leaf.low > LARGEST:
            break
        if leaf.low > free_from:
            tree[f"{size_condition}<={leaf.low - 1}"] = default
        tree[f"{size_condition}<={min(leaf.high, LARGEST)}"] = guarded_tree(leaf.leaf, default)
        free_from = leaf.high + 1
    tree[f"{size_condition}=any"] = default
    return tree


def guarded_tree(leaf: Leaf, default: Tree) -> Tree:
    """The leaf if its guards hold, else the default."""
    tree: Tree = {leaf.key: {parameter: {} for parameter in leaf.parameters}}
    for guard in reversed(leaf.guards):
        if guard == COUNT_AT_LEAST_POW2:
            tree = {"count<pow2": default, "count=any": tree}
        else:
            tree = {guard: tree, _otherwise(guard): default}
    return tree


def _otherwise(guard: str) -> str:
    """The key for the case that a guard does not hold: the opposite of yes or no, else any."""
    name, _, value = guard.partition("=")
    opposite = {"yes": "no", "no": "yes"}.get(value, "any")
    return f"{name}={opposite}"


def leaves(tree: Tree) -> set[str]:
    """Every algorithm or composition key of a tree."""
    keys: set[str] = set()
    for key, subtree in tree.items():
        if key.startswith(LEAVES):
            keys.add(key)
        else:
            keys |= leaves(subtree)
    return keys


def faults(tree: Tree, names: frozenset[str]) -> list[str]:
    """The errors in a tree that would make the library abort, as sentences; empty for a correct tree.

    Each object must hold one algorithm or composition that the library knows (one of ``names``), or
    conditions of which the last holds for all cases that the others leave.
    """
    if not tree:
        return ["a branch ends without an algorithm"]
    errors = []
    keys = list(tree)
    leaf_keys = [key for key in keys if key.startswith(LEAVES)]
    if leaf_keys:
        if len(keys) > 1:
            errors.append(f"{leaf_keys[0]} is beside {', '.join(key for key in keys if key != leaf_keys[0])}")
        if leaf_keys[0].partition("=")[2] not in names:
            errors.append(f"the library does not know {leaf_keys[0]}")
        return errors
    if any(key.endswith("=any") for key in keys[:-1]):
        errors.append(f"{', '.join(keys)}: conditions after '=any' cannot be reached")
    if "<" in keys[-1] or keys[-1] in ("comm_size=pow2", "comm_size=node_comm_size"):
        errors.append(f"{keys[-1]} is the last of its kind and leaves larger values without an algorithm")
    for subtree in tree.values():
        errors += faults(subtree, names)
    return errors
