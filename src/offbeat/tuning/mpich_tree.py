"""Putting rules into MPICH's selection trees.

The library walks a tree from the top: the first key of an object whose condition holds is entered and never
left again, so every branch must end in an algorithm for all that can reach it. Conditions on the communicator
are decided once, when a communicator is made, and only as long as no condition on the message stands above
them; below one, some are decided less exactly (``comm_size<N`` as ``comm_size<=N``). So ours on the number of
processes go to the very top, and ours on the size below all of the default's conditions on the communicator,
each with the rest of the default beside it: wherever no rule holds, the walk ends where it ended before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct

from offbeat.tuning.mpich_library import Tree

LARGEST = 2**31 - 1
"""Thresholds are C ints."""

COMMUNICATOR = ("comm_type=", "comm_size", "comm_hierarchy=", "is_node_consecutive=", "comm_avg_ppn")
"""How conditions on the communicator begin."""

COUNT_AT_LEAST_POW2 = "count>=pow2"
"""A guard that has no key of its own: the else branch of ``count<pow2``."""


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
    """What holds for communicators of ``p_low`` to ``p_high`` processes (inclusive), ascending by size."""

    p_low: int
    p_high: int
    leaves: Sequence[SizedLeaf]


def tuned(default: Tree, branches: Sequence[Branch], size_condition: str) -> Tree:
    """A collective's tree with ``branches`` (ascending, disjoint) put before its ``default``.

    ``size_condition`` is ``avg_msg_size``, ``total_msg_size``, or empty where the library cannot look at the
    size; each branch then has one leaf. Only communicators inside one group of processes are changed
    (``comm_type=intra``).
    """
    inside = default.get("comm_type=intra", default)
    others = {key: below for key, below in default.items() if key != "comm_type=intra"}
    if inside is default:
        others = {"comm_type=inter": default}
    return {"comm_type=intra": _by_processes(inside, branches, size_condition), **others}


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
    """Apply ``change`` to what follows the conditions on the communicator, in all of their branches."""
    if all(key.startswith(COMMUNICATOR) for key in default):
        return {key: _below_communicator(below, change) for key, below in default.items()}
    return change(default)


def _by_size(default: Tree, leaves: Sequence[SizedLeaf], size_condition: str) -> Tree:
    if not size_condition:
        return guarded(leaves[0].leaf, default)
    tree: Tree = {}
    free_from = 0
    for leaf in leaves:
        if leaf.low > LARGEST:
            break
        if leaf.low > free_from:
            tree[f"{size_condition}<={leaf.low - 1}"] = default
        tree[f"{size_condition}<={min(leaf.high, LARGEST)}"] = guarded(leaf.leaf, default)
        free_from = leaf.high + 1
    tree[f"{size_condition}=any"] = default
    return tree


def guarded(leaf: Leaf, default: Tree) -> Tree:
    """The leaf where its guards hold, the default elsewhere."""
    tree: Tree = {leaf.key: {parameter: {} for parameter in leaf.parameters}}
    for guard in reversed(leaf.guards):
        if guard == COUNT_AT_LEAST_POW2:
            tree = {"count<pow2": default, "count=any": tree}
        else:
            tree = {guard: tree, _otherwise(guard): default}
    return tree


def _otherwise(guard: str) -> str:
    """The key for when a guard does not hold: the opposite of a yes or no, else anything."""
    name, _, value = guard.partition("=")
    opposite = {"yes": "no", "no": "yes"}.get(value, "any")
    return f"{name}={opposite}"


def leaves(tree: Tree) -> set[str]:
    """Every algorithm or composition key of a tree."""
    found: set[str] = set()
    for key, below in tree.items():
        if key.startswith(("algorithm=", "composition=")):
            found.add(key)
        else:
            found |= leaves(below)
    return found


def faults(tree: Tree, names: frozenset[str]) -> list[str]:
    """What would make the library stop at such a tree, as sentences; empty for a sound one.

    Each object must hold one algorithm or composition that the library knows (one of ``names``), or
    conditions of which the last holds for all that the others leave.
    """
    if not tree:
        return ["a branch ends without an algorithm"]
    found = []
    keys = list(tree)
    named = [key for key in keys if key.startswith(("algorithm=", "composition="))]
    if named:
        if len(keys) > 1:
            found.append(f"{named[0]} stands beside {', '.join(key for key in keys if key != named[0])}")
        if named[0].partition("=")[2] not in names:
            found.append(f"the library does not know {named[0]}")
        return found
    if any(key.endswith("=any") for key in keys[:-1]):
        found.append(f"{', '.join(keys)}: nothing can be reached behind '=any'")
    if "<" in keys[-1] or keys[-1] in ("comm_size=pow2", "comm_size=node_comm_size"):
        found.append(f"{keys[-1]} is the last of its kind and leaves larger values without an algorithm")
    for below in tree.values():
        found += faults(below, names)
    return found
