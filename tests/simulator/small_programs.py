"""Correct programs, for tests that break them."""

from __future__ import annotations

from collections.abc import Callable

from offbeat import _simulator

Write = Callable[[_simulator.Rank], None]


def checked(
    collective: str,
    write: Write,
    p: int = 4,
    *,
    root: int = 0,
    count: int = 3,
    commutative: bool = True,
    ordered: bool = False,
) -> str:
    """The checker's sentence about a program; empty if it is correct."""
    programs = _simulator.Programs(collective, write, p, root=root, count=count, commutative=commutative)
    return programs.check(ordered)


def flat_reduce(rank: _simulator.Rank) -> None:
    """The root receives from all ranks, the last one first, and combines in rank order."""
    if rank.id != rank.root:
        rank.send(rank.root, rank.input)
        return
    arrived = rank.scratch(rank.count)
    for peer in reversed(range(rank.p)):
        own = rank.input if peer == rank.id else arrived
        if peer == rank.p - 1:
            rank.copy(rank.output, rank.input) if own is not arrived else rank.recv(peer, rank.output)
            continue
        if own is arrived:
            rank.recv(peer, arrived)
        rank.reduce(rank.output, own, other_first=True)


def flat_bcast(rank: _simulator.Rank) -> None:
    if rank.id != rank.root:
        rank.recv(rank.root, rank.output)
        return
    for peer in range(rank.p):
        if peer != rank.id:
            rank.isend(peer, rank.output)


def block(whole: _simulator.Span, rank: _simulator.Rank, peer: int) -> _simulator.Span:
    return whole[peer * rank.count : (peer + 1) * rank.count]


def pairwise_alltoall(rank: _simulator.Rank) -> None:
    rank.copy(block(rank.output, rank, rank.id), block(rank.input, rank, rank.id))
    for step in range(1, rank.p):
        to, source = (rank.id + step) % rank.p, (rank.id - step) % rank.p
        rank.sendrecv(to, block(rank.input, rank, to), source, block(rank.output, rank, source))


def posted_allgather(rank: _simulator.Rank) -> None:
    """All messages are posted at once."""
    rank.copy(block(rank.output, rank, rank.id), rank.input)
    for peer in range(rank.p):
        if peer != rank.id:
            rank.irecv(peer, block(rank.output, rank, peer))
    for peer in range(rank.p):
        if peer != rank.id:
            rank.isend(peer, rank.input)


def dissemination_barrier(rank: _simulator.Rank) -> None:
    distance = 1
    while distance < rank.p:
        rank.sendrecv((rank.id + distance) % rank.p, [], (rank.id - distance) % rank.p, [])
        distance *= 2
