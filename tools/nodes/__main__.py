"""Several nodes on one machine, for one command: ``python3 tools/nodes [OPTION...] -- COMMAND...``.

Each node has a network, host name, boot, clock, cores and shared memory of its own; files are the machine's.
The command runs on the first node; MPI launchers reach the others by a remote shell that stands in for ssh.
Nothing of the machine's own network or names is changed, nothing of the nodes is left afterwards, and nothing
that they send leaves them. Needs Linux, iproute2, and root or leave to make user namespaces.
docs/howto/nodes.md explains it.
"""

from __future__ import annotations

import argparse
import os
import sys
from decimal import Decimal, InvalidOperation
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from cluster import FORBIDDEN, Forbidden, run
from node import NETWORK, Node

MOST_NODES = 16


def main(arguments: list[str]) -> int:
    """Read the options, create the nodes and run the command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="tools/nodes", description=str(__doc__).split("\n\n")[1])
    parser.add_argument(
        "--nodes", type=int, default=2, help=f"how many nodes, 1 to {MOST_NODES} (default: 2)"
    )
    parser.add_argument(
        "--cores",
        default="",
        help="cores of each node: lists, ranges, colons between nodes (0,1:2-3); default: equal shares",
    )
    parser.add_argument(
        "--offsets",
        default="",
        help="seconds by which each node's clock is ahead of the machine's, to 1 ns: 0,1234.567890123",
    )
    parser.add_argument(
        "--rate", default="", help="limit of each node's link, as tc takes it: 100mbit, 1gbit"
    )
    parser.add_argument("command", nargs="+", help="the command, after --")
    options = parser.parse_args(arguments)
    if not 1 <= options.nodes <= MOST_NODES:
        parser.error(f"--nodes {options.nodes}: 1 to {MOST_NODES} nodes can be made")
    try:
        cores = _cores(options.cores, options.nodes)
        offsets_ns = _offsets_ns(options.offsets, options.nodes)
    except ValueError as error:
        parser.error(str(error))
    nodes = [
        Node(name=f"node{i + 1}", address=f"{NETWORK}.{i + 1}", cores=cores[i], offset_ns=offsets_ns[i])
        for i in range(options.nodes)
    ]
    try:
        return run(nodes, options.command, options.rate, os.environ)
    except Forbidden as reason:
        print(f"nodes cannot be made here: {reason}", file=sys.stderr)
        return FORBIDDEN


def _cores(text: str, nodes: int) -> list[tuple[int, ...]]:
    """The cores of each node. Raises ValueError with a sentence."""
    there = sorted(os.sched_getaffinity(0))
    if not text:
        if len(there) < nodes:
            return [(there[i % len(there)],) for i in range(nodes)]
        share = len(there) // nodes
        return [tuple(there[i * share : (i + 1) * share]) for i in range(nodes)]
    cores_of_nodes = [tuple(sorted(set(_numbers(part)))) for part in text.split(":")]
    if len(cores_of_nodes) != nodes:
        raise ValueError(
            f"--cores {text}: {len(cores_of_nodes)} lists for {nodes} nodes; give one for each, with colons"
        )
    missing = {core for cores in cores_of_nodes for core in cores} - set(there)
    if missing:
        raise ValueError(f"--cores {text}: core {min(missing)} is not there; there are {there}")
    return cores_of_nodes


def _numbers(text: str) -> list[int]:
    numbers: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if not first.isdigit() or not (last or first).isdigit() or int(last or first) < int(first):
            raise ValueError(f"--cores: '{part}' is no core and no range; right would be 0, or 2-3")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def _offsets_ns(text: str, nodes: int) -> list[int]:
    """The clock offset of each node in ns, 0 where none is given. Raises ValueError with a sentence."""
    parts = text.split(",") if text else []
    if len(parts) > nodes:
        raise ValueError(f"--offsets {text}: {len(parts)} offsets for {nodes} nodes")
    offsets_ns = [_nanoseconds(part) for part in parts]
    return offsets_ns + [0] * (nodes - len(offsets_ns))


def _nanoseconds(text: str) -> int:
    """Seconds as nanoseconds. The kernel rejects offsets to before its boot time, and above 146 years."""
    try:
        value = Decimal(text) * 10**9
    except InvalidOperation:
        raise ValueError(f"--offsets: '{text}' is not a number of seconds") from None
    if not value.is_finite() or value != int(value):
        raise ValueError(f"--offsets: '{text}' has more than 9 digits after the point")
    return int(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
