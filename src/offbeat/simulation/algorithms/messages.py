"""The messages of one call of an algorithm by round, and its exits if an arrival pattern is given.

A message is in round k if the longest chain of messages that ends with it has k messages.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.base.units import format_size
from offbeat.model.platform.machine import load
from offbeat.model.study.collectives import ROOTED
from offbeat.simulation.algorithms.exits import SimulatedExits, simulate_exits
from offbeat.simulation.algorithms.inspected import Call, InspectedAlgorithm
from offbeat.simulation.algorithms.lookup import find_algorithm


class Message(Struct, frozen=True, kw_only=True):
    """One message."""

    source: int
    target: int
    bytes: int
    round: int


class CallMessages(Struct, frozen=True, kw_only=True):
    """All messages of a call, by round, source and target."""

    title: str
    p: int
    root: int | None
    bytes: int
    messages: list[Message]

    @property
    def rounds(self) -> int:
        """The number of the last round; 0 without messages."""
        return max((message.round for message in self.messages), default=0)


def call_messages(algorithm: InspectedAlgorithm, call: Call) -> CallMessages:
    """The messages of a call. Raises :class:`BadInput` with the algorithm's own message if it refuses."""
    try:
        columns = algorithm.messages(call)
    except ValueError as error:
        raise BadInput(f"{algorithm.title} at p = {call.p} and {call.count} elements: {error}") from None
    return CallMessages(
        title=algorithm.title,
        p=call.p,
        root=call.root if algorithm.collective in ROOTED else None,
        bytes=call.count * call.element_bytes,
        messages=_messages(columns, call.element_bytes),
    )


def _messages(arrays: dict[str, Any], element_bytes: int) -> list[Message]:
    sizes = np.asarray(arrays["elements"]) * element_bytes
    columns = (arrays["source"], arrays["target"], sizes, arrays["depth"])
    return [
        Message(source=source, target=target, bytes=size, round=depth)
        for source, target, size, depth in zip(*(column.tolist() for column in columns), strict=True)
    ]


MAX_RANKS = 1024
"""An all-to-all exchange has a million messages at this p; no larger drawing can be read."""

MAX_BYTES = 2**40
"""No call has a larger message."""


class ShownCall(Struct, frozen=True, kw_only=True):
    """A call, its messages and, if an arrival pattern was given, its exits."""

    algorithm: InspectedAlgorithm
    call: Call
    messages: CallMessages
    exits: SimulatedExits | None


def show_call(
    name: str,
    *,
    family: str,
    collective: str,
    p: int,
    root: int,
    bytes: int,
    element_bytes: int,
    platform: str,
    ppn: int,
    arrivals: str,
    skew_s: float | None,
    seed: int,
) -> ShownCall:
    """The messages of a call on a platform; with ``arrivals``, a shape or a pattern file, also its exits.

    ``bytes`` is the message size of the MPI call. ``ppn`` is the number of ranks on each node, in
    blocks; 0 leaves the placement to the platform. Raises :class:`BadInput` for invalid arguments.
    """
    algorithm = find_algorithm(name, family, collective)
    if p > MAX_RANKS:
        raise BadInput(f"--p {p}: at most {MAX_RANKS} processes can be drawn")
    if max(bytes, element_bytes) > MAX_BYTES:
        raise BadInput(f"--size and --element: at most {format_size(MAX_BYTES)} can be drawn")
    if not 0 <= root < p:
        raise BadInput(f"--root {root} is no rank of p = {p}; write a rank from 0 to {p - 1}")
    if root and algorithm.collective not in ROOTED:
        raise BadInput(f"--root {root}: {algorithm.collective} has no root; leave it out")
    if bytes % element_bytes:
        raise BadInput(f"--size: {bytes} B are not a whole number of elements of {element_bytes} B")
    machine = load(platform)
    nodes = -(-p // ppn) if ppn else 0
    if nodes * ppn > p:
        raise BadInput(f"--ppn {ppn}: p = {p} ranks don't fill {nodes} nodes; take a p that {ppn} divides")
    call = Call(
        p=p,
        root=root,
        count=0 if algorithm.collective == "barrier" else bytes // element_bytes,
        element_bytes=element_bytes,
        node_of_rank=tuple(machine.node_of_rank(p, nodes=nodes, ppn=ppn).tolist()),
    )
    messages = call_messages(algorithm, call)
    exits = (
        simulate_exits(algorithm, call, machine, arrivals, skew_s, seed=seed, ppn=ppn) if arrivals else None
    )
    return ShownCall(algorithm=algorithm, call=call, messages=messages, exits=exits)
