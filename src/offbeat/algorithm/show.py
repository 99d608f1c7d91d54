"""A call of an algorithm as it is shown: its messages, and its exits where a pattern is given."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from offbeat.algorithm.choose import subject
from offbeat.algorithm.exits import Timed, timed
from offbeat.algorithm.rounds import Pattern, pattern
from offbeat.algorithm.subject import Call, Subject
from offbeat.errors import BadInput
from offbeat.platform.machine import load
from offbeat.study.case import ROOTED
from offbeat.units import format_size

MOST_RANKS = 1024
"""Every rank to every other are a million messages then: nobody reads a drawing of more."""

MOST_BYTES = 2**40
"""No call has a larger message."""


class Shown(Struct, frozen=True, kw_only=True):
    """All that is shown of a call."""

    subject: Subject
    call: Call
    messages: Pattern
    timed: Timed | None


def shown(
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
) -> Shown:
    """The messages of a call on a platform; with ``arrivals``, a shape or a pattern file, its exits, too.

    ``bytes`` is the message size of the MPI call. ``ppn`` puts so many ranks on each node, in blocks; 0
    leaves it to the platform. Raises :class:`BadInput` for what doesn't exist or fit.
    """
    chosen = subject(name, family, collective)
    rooted = chosen.collective in ROOTED
    if p > MOST_RANKS:
        raise BadInput(f"--p {p}: at most {MOST_RANKS} processes can be drawn")
    if max(bytes, element_bytes) > MOST_BYTES:
        raise BadInput(f"--size and --element: at most {format_size(MOST_BYTES)} can be drawn")
    if not 0 <= root < p:
        raise BadInput(f"--root {root} is no rank of p = {p}; write a rank from 0 to {p - 1}")
    if root and not rooted:
        raise BadInput(f"--root {root}: {chosen.collective} has no root; leave it out")
    if bytes % element_bytes:
        raise BadInput(f"--size: {bytes} B are not a whole number of elements of {element_bytes} B")
    machine = load(platform)
    nodes = -(-p // ppn) if ppn else 0
    if nodes * ppn > p:
        raise BadInput(f"--ppn {ppn}: p = {p} ranks don't fill {nodes} nodes; take a p that {ppn} divides")
    call = Call(
        p=p,
        root=root,
        count=0 if chosen.collective == "barrier" else bytes // element_bytes,
        element_bytes=element_bytes,
        node_of_rank=tuple(machine.node_of_rank(p, nodes=nodes, ppn=ppn).tolist()),
    )
    drawn = pattern(chosen, call, rooted=rooted)
    exits = timed(chosen, call, machine, arrivals, skew_s, seed=seed, ppn=ppn) if arrivals else None
    return Shown(subject=chosen, call=call, messages=drawn, timed=exits)


def encoded(one: Shown) -> str:
    """The call, its messages and, if there are any, its arrivals and exits in seconds, as JSON."""
    plain = {
        "algorithm": one.subject.title,
        "collective": one.subject.collective,
        "parameters": dict(one.subject.parameters),
        "call": one.call,
        "rounds": one.messages.rounds,
        "messages": one.messages.messages,
    }
    if one.timed:
        plain["exits"] = {
            "platform": one.timed.platform,
            "pattern": one.timed.pattern,
            "evaluation": one.timed.evaluation,
            "arrivals_s": one.timed.arrivals_s.tolist(),
            "exits_s": one.timed.exits_s.tolist(),
            "last_delay_s": one.timed.last_delay_s,
            "total_delay_s": one.timed.total_delay_s,
        }
    return msgspec.json.encode(plain).decode()
