"""How MPICH walks a selection tree: independent of the code that creates trees, for the tests.

After MPICH's src/mpi/coll/src/csel.c: conditions on the communicator are evaluated when it is created, if
they are above all others; there is no backtracking; below the first other condition ``comm_size<N`` acts like
``comm_size<=N``. Errors that make the library abort raise :class:`Stopped`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

AVERAGE = ("allreduce", "bcast", "reduce", "alltoall")
TOTAL = ("allgather", "allgatherv", "reduce_scatter", "reduce_scatter_block")
WITH_OPERATION = ("allreduce", "reduce", "reduce_scatter", "reduce_scatter_block")


class Stopped(Exception):
    """The library would abort the program here."""


@dataclass(frozen=True)
class Call:
    """A call of a collective: ``size`` bytes per process, ``count`` elements."""

    collective: str
    p: int
    size: int
    count: int = 1 << 30
    hierarchy: bool = False
    commutative: bool = True
    built_in: bool = True
    in_place: bool = False
    inter: bool = False


def walk(tree: dict[str, Any], call: Call) -> str:
    """The algorithm or composition that the library runs; empty if the tree selects none."""
    node, exact = tree[f"collective={call.collective}"], True
    while True:
        if not node:
            raise Stopped("a branch without an end")
        for key, below in node.items():
            if key.startswith(("algorithm=", "composition=")):
                return ";".join([key.partition("=")[2], *below])
            if not is_on_communicator(key):
                exact = False
            if holds(key, call, exact):
                node = below
                break
        else:
            if "<" in list(node)[-1] or "pow2" in list(node)[-1]:
                raise Stopped(f"nothing left after {list(node)[-1]}")
            return ""


def is_on_communicator(key: str) -> bool:
    return key.startswith(("comm_", "is_node_consecutive")) or key.endswith("=any")


def holds(key: str, call: Call, exact: bool) -> bool:
    """Whether one condition holds."""
    bits = 1 << (call.p.bit_length() - 1)
    if key.endswith("=any"):
        return True
    if key.startswith("comm_size<="):
        return call.p <= number(key)
    if key.startswith("comm_size<"):
        return call.p < number(key) if exact else call.p <= number(key)
    if key.startswith(("avg_msg_size", "total_msg_size")):
        return size_holds(key, call)
    if key == "count<pow2":
        return call.count < bits
    flags = {
        "comm_type=intra": not call.inter,
        "comm_type=inter": call.inter,
        "comm_size=pow2": call.p == bits,
        "comm_hierarchy=parent": call.hierarchy,
        "is_node_consecutive=yes": True,
        "is_node_consecutive=no": False,
        "is_sendbuf_inplace=yes": call.in_place,
        "is_sendbuf_inplace=no": not call.in_place,
        "is_commutative=yes": call.commutative,
        "is_commutative=no": not call.commutative,
        "is_op_built_in=yes": call.built_in,
        "is_op_built_in=no": not call.built_in,
        "is_block_regular=yes": True,
        "is_block_regular=no": False,
    }
    if key not in flags:
        raise Stopped(f"unknown key {key}")
    base = call.collective.removeprefix("i")
    if key.startswith(("is_commutative", "is_op")) and base not in WITH_OPERATION:
        raise Stopped(f"{key} is not defined for {call.collective}")
    if key.startswith("is_sendbuf") and not base.startswith("alltoall"):
        raise Stopped(f"{key} is not defined for {call.collective}")
    return flags[key]


def size_holds(key: str, call: Call) -> bool:
    base = call.collective.removeprefix("i")
    known = AVERAGE if key.startswith("avg") else TOTAL
    if base not in known:
        raise Stopped(f"{key} is not defined for {call.collective}")
    if number(key) > 2**31 - 1:
        raise Stopped(f"{key} is no C int")
    size = call.size if key.startswith("avg") else call.size * call.p
    return size <= number(key) if "<=" in key else size < number(key)


def number(key: str) -> int:
    return int(key.replace("<=", "<").partition("<")[2])
