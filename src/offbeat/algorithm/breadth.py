"""Which calls of an algorithm are checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from offbeat.algorithm.subject import Call, Listed, Portion, Subject
from offbeat.errors import BadInput
from offbeat.study.case import REDUCING, ROOTED

FEW_ROOTS = (0, 1, -1)
"""The first, the second and the last rank: what a tree that is rotated by the root gets wrong shows there."""

LARGE = (96, 100, 127, 128, 129, 200, 255, 256, 257, 500, 512, 1000, 1023, 1024, 1025, 1100)
LARGE_WITH_MANY_MESSAGES = (96, 128, 129, 200, 257, 1100)
"""For algorithms in which everybody sends to everybody: 1,100 ranks are 1.2 million messages."""

PLACEMENTS = ((3, False), (4, True), (8, False))
"""Ranks per node, and whether nodes are filled in turn: for algorithms that know about nodes."""

IN_BYTES = {"segment": (1, 4, 20, 64), "chunk_size": (0, 4, 20, 64)}
"""Parameters that are sizes, with values for elements of 4 bytes; 1 is less than an element."""


class Task(Struct, frozen=True, kw_only=True):
    """An algorithm, with values for its parameters, and calls of it."""

    subject: Subject
    portion: Portion

    @property
    def calls(self) -> int:
        """How many calls these are."""
        portion = self.portion
        roots = 1
        if self.subject.collective in ROOTED:
            roots = len({root % portion.p for root in portion.roots if -portion.p <= root < portion.p})
            roots = roots or portion.p
        return roots * len(portion.counts) * len(portion.commutative)


def counts(p: int, collective: str) -> tuple[int, ...]:
    """Counts around which algorithms behave differently: none, few, about p, odd, large."""
    if collective == "barrier":
        return (0,)
    return tuple(sorted({0, 1, 2, 3, p - 1, p, p + 1, 17, 1000}))


def quick(subject: Subject, ps: Iterable[int] = ()) -> Iterator[Task]:
    """Some seconds for the whole catalogue: p up to 16 and around powers of two, other placements at some."""
    for p in ps or (*range(1, 17), 24, 31, 32, 33, 64, 65, 70):
        roots = () if p <= 8 else FEW_ROOTS
        yield _task(subject, p, roots=roots, counts=counts(p, subject.collective))
        if p in (7, 12, 24):
            yield from _placed(subject, p, FEW_ROOTS)
    if not ps:
        for variant in variants(subject):
            for p in (3, 8, 13):
                yield _task(variant, p, roots=FEW_ROOTS, counts=_some(subject))


def everything(subject: Subject, ps: Iterable[int] = ()) -> Iterator[Task]:
    """p from 1 to 70 with every root and count, other placements and parameters, and p up to 1,100."""
    for p in ps or range(1, 71):
        yield _task(subject, p, counts=counts(p, subject.collective))
        yield from _placed(subject, p, FEW_ROOTS)
    for variant in variants(subject, combined=30):
        for p in ps or (*range(1, 34), 48, 63, 64, 65, 70):
            yield _task(variant, p, roots=FEW_ROOTS, counts=_some(subject))
    if not ps:
        for p in LARGE_WITH_MANY_MESSAGES if everybody_to_everybody(subject) else LARGE:
            yield _task(subject, p, roots=FEW_ROOTS, counts=_large_counts(subject, p))


def _large_counts(subject: Subject, p: int) -> tuple[int, ...]:
    """Fewer elements than ranks only up to 129: some algorithms pad them to p blocks of p elements each."""
    if subject.collective == "barrier":
        return (0,)
    return (3, p) if p < 130 else (p, p + 1)


def parse_ps(text: str) -> list[int]:
    """``1-16,64`` → 1 to 16 and 64, ascending. Raises :class:`BadInput` for anything else."""
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.strip().isdecimal()):
            raise BadInput(f"--p: {part.strip()!r} is no number of processes; write it like 1-16,64,1024")
        low, high = int(first), int(last if dash else first)
        if not 1 <= low <= high <= MOST_RANKS:
            raise BadInput(f"--p: {part.strip()!r}: p goes from 1 to {MOST_RANKS}, the smaller one first")
        found |= set(range(low, high + 1))
    return sorted(found)


MOST_RANKS = 100_000
"""Beyond that, checking what everybody sends everybody would take more memory than machines have."""


def everybody_to_everybody(subject: Subject) -> bool:
    """Whether the messages of a call grow with p²: seen at p = 32, where the others have some 200."""
    try:
        return len(subject.messages(Call(p=32, count=64))["source"]) > 32 * 12
    except ValueError:
        return True


def _task(
    subject: Subject, p: int, *, roots: tuple[int, ...] = (), counts: tuple[int, ...], **placement: int
) -> Task:
    reduces = subject.collective in REDUCING
    portion = Portion(
        p=p,
        roots=roots,
        counts=counts,
        commutative=(True, False) if reduces else (True,),
        ranks_per_node=placement.get("ranks_per_node", 0),
        by_node=bool(placement.get("by_node", 0)),
    )
    return Task(subject=subject, portion=portion)


def _placed(subject: Subject, p: int, roots: tuple[int, ...]) -> Iterator[Task]:
    for ranks_per_node, by_node in PLACEMENTS:
        if ranks_per_node < p:
            yield _task(
                subject, p, roots=roots, counts=_some(subject), ranks_per_node=ranks_per_node, by_node=by_node
            )


def _some(subject: Subject) -> tuple[int, ...]:
    return (0,) if subject.collective == "barrier" else (1, 17, 100)


def variants(subject: Subject, combined: int = 0) -> Iterator[Subject]:
    """Other values of an algorithm's parameters: of each alone, then so many combinations of all of them."""
    if not isinstance(subject, Listed) or subject.given:
        return
    defaults = dict(subject.parameters)
    values = {
        name: IN_BYTES.get(name) or tuple(smallest + step for step in (0, 1, 2, 3, 7))
        for name, smallest in zip(defaults, subject.smallest, strict=True)
    }
    chosen = [{name: value} for name in values for value in values[name]]
    if len(values) > 1:
        several = list(product(*(own[:3] for own in values.values())))
        every = max(1, len(several) // combined) if combined else len(several)
        chosen += [dict(zip(values, one, strict=True)) for one in several[1::every]]
    for given in chosen:
        if given.items() - defaults.items():
            parameters = tuple((defaults | given).items())
            yield replace(subject, parameters=parameters, given=tuple(given))
