"""Which calls of an algorithm are checked: p, roots, counts, placements and parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from offbeat.base.errors import BadInput
from offbeat.model.study.collectives import REDUCING, ROOTED
from offbeat.simulation.algorithms.inspected import Call, CatalogueAlgorithm, CheckBatch, InspectedAlgorithm

SAMPLE_ROOTS = (0, 1, -1)
"""The first, the second and the last rank; these reveal errors of trees that are rotated by the root."""

LARGE = (96, 100, 127, 128, 129, 200, 255, 256, 257, 500, 512, 1000, 1023, 1024, 1025, 1100)
LARGE_ALL_TO_ALL = (96, 128, 129, 200, 257, 1100)
"""For algorithms with p² messages: 1,100 ranks send 1.2 million."""

PLACEMENTS = ((3, False), (4, True), (8, False))
"""(ranks per node, round-robin placement): for algorithms that take nodes into account."""

SIZE_PARAMETERS = {"segment": (1, 4, 20, 64), "chunk_size": (0, 4, 20, 64)}
"""Parameters that are sizes in bytes, with values for elements of 4 bytes; 1 is less than an element."""


class CheckTask(Struct, frozen=True, kw_only=True):
    """A batch of calls of an algorithm with values for its parameters."""

    algorithm: InspectedAlgorithm
    batch: CheckBatch

    @property
    def calls(self) -> int:
        """The number of calls."""
        batch = self.batch
        roots = 1
        if self.algorithm.collective in ROOTED:
            roots = len({root % batch.p for root in batch.roots if -batch.p <= root < batch.p})
            roots = roots or batch.p
        return roots * len(batch.counts) * len(batch.commutative)


def counts(p: int, collective: str) -> tuple[int, ...]:
    """Counts at which algorithms take different paths: zero, few, about p, odd, large."""
    if collective == "barrier":
        return (0,)
    return tuple(sorted({0, 1, 2, 3, p - 1, p, p + 1, 17, 1000}))


def quick(algorithm: InspectedAlgorithm, ps: Iterable[int] = ()) -> Iterator[CheckTask]:
    """A check of some seconds for the catalogue: p up to 16 and around powers of two, few placements."""
    for p in ps or (*range(1, 17), 24, 31, 32, 33, 64, 65, 70):
        roots = () if p <= 8 else SAMPLE_ROOTS
        yield _task(algorithm, p, roots=roots, counts=counts(p, algorithm.collective))
        if p in (7, 12, 24):
            yield from _placement_tasks(algorithm, p)
    if not ps:
        for variant in variants(algorithm):
            for p in (3, 8, 13):
                yield _task(variant, p, roots=SAMPLE_ROOTS, counts=_sample_counts(algorithm))


def exhaustive(algorithm: InspectedAlgorithm, ps: Iterable[int] = ()) -> Iterator[CheckTask]:
    """p from 1 to 70 with every root and count, other placements and parameters, and p up to 1,100."""
    for p in ps or range(1, 71):
        yield _task(algorithm, p, counts=counts(p, algorithm.collective))
        yield from _placement_tasks(algorithm, p)
    for variant in variants(algorithm, combination_count=30):
        for p in ps or (*range(1, 34), 48, 63, 64, 65, 70):
            yield _task(variant, p, roots=SAMPLE_ROOTS, counts=_sample_counts(algorithm))
    if not ps:
        for p in LARGE_ALL_TO_ALL if is_all_to_all(algorithm) else LARGE:
            yield _task(algorithm, p, roots=SAMPLE_ROOTS, counts=_large_counts(algorithm, p))


def _large_counts(algorithm: InspectedAlgorithm, p: int) -> tuple[int, ...]:
    """Fewer elements than ranks only up to 129: some algorithms pad them to p blocks of p elements each."""
    if algorithm.collective == "barrier":
        return (0,)
    return (3, p) if p < 130 else (p, p + 1)


def parse_ps(text: str) -> list[int]:
    """Parses ``1-16,64``: 1 to 16 and 64, ascending. Raises :class:`BadInput` for anything else."""
    processes: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.strip().isdecimal()):
            raise BadInput(f"--p: {part.strip()!r} is not a number of processes; write it like 1-16,64,1024")
        low, high = int(first), int(last if dash else first)
        if not 1 <= low <= high <= MAX_RANKS:
            raise BadInput(f"--p: {part.strip()!r}: p goes from 1 to {MAX_RANKS}, the smaller one first")
        processes |= set(range(low, high + 1))
    return sorted(processes)


MAX_RANKS = 100_000
"""Checking an all-to-all exchange of more ranks would take more memory than machines have."""


def is_all_to_all(algorithm: InspectedAlgorithm) -> bool:
    """Whether the number of messages grows with p²; decided at p = 32, where others have some 200."""
    try:
        return len(algorithm.messages(Call(p=32, count=64))["source"]) > 32 * 12
    except ValueError:
        return True


def _task(
    algorithm: InspectedAlgorithm,
    p: int,
    *,
    roots: tuple[int, ...] = (),
    counts: tuple[int, ...],
    ranks_per_node: int = 0,
    by_node: bool = False,
) -> CheckTask:
    batch = CheckBatch(
        p=p,
        roots=roots,
        counts=counts,
        commutative=(True, False) if algorithm.collective in REDUCING else (True,),
        ranks_per_node=ranks_per_node,
        by_node=by_node,
    )
    return CheckTask(algorithm=algorithm, batch=batch)


def _placement_tasks(algorithm: InspectedAlgorithm, p: int) -> Iterator[CheckTask]:
    for ranks_per_node, by_node in PLACEMENTS:
        if ranks_per_node < p:
            yield _task(
                algorithm,
                p,
                roots=SAMPLE_ROOTS,
                counts=_sample_counts(algorithm),
                ranks_per_node=ranks_per_node,
                by_node=by_node,
            )


def _sample_counts(algorithm: InspectedAlgorithm) -> tuple[int, ...]:
    return (0,) if algorithm.collective == "barrier" else (1, 17, 100)


def variants(algorithm: InspectedAlgorithm, combination_count: int = 0) -> Iterator[InspectedAlgorithm]:
    """Yields the algorithm with other parameter values: each alone, then ``combination_count`` of all."""
    if not isinstance(algorithm, CatalogueAlgorithm) or algorithm.explicit:
        return
    defaults = algorithm.parameters
    values = {
        name: SIZE_PARAMETERS.get(name) or tuple(smallest + step for step in (0, 1, 2, 3, 7))
        for name, smallest in algorithm.smallest.items()
    }
    value_sets = [{name: value} for name in values for value in values[name]]
    if len(values) > 1:
        combinations = list(product(*(of_one[:3] for of_one in values.values())))
        step = max(1, len(combinations) // combination_count) if combination_count else len(combinations)
        value_sets += [dict(zip(values, combination, strict=True)) for combination in combinations[1::step]]
    for values_set in value_sets:
        if values_set.items() - defaults.items():
            yield replace(algorithm, parameters=defaults | values_set, explicit=tuple(values_set))
