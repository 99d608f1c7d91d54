"""Every algorithm of the simulator computes its collective.

A sample of what ``offbeat algorithm check --all`` proves in some minutes.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from offbeat.model.study.collectives import REDUCING
from offbeat.simulation.algorithms import check, check_matrix, lookup
from offbeat.simulation.algorithms.inspected import CatalogueAlgorithm, CheckBatch

pytestmark = pytest.mark.slow

GROUPS = sorted({(entry.collective, entry.family) for entry in lookup.list_algorithms()})

PROCESSES = (*range(1, 18), 23, 24, 31, 32, 33, 48, 65)
"""All of the smaller ones; of the larger ones those beside powers of two, even, odd and prime."""

ONE_BLOCK = ("barrier", "bcast", "reduce", "gather", "scatter", "scan", "exscan")
"""Collectives of which a process handles few blocks: the check of the others grows with the square of p."""


def sample(algorithm: CatalogueAlgorithm) -> Iterator[check_matrix.CheckTask]:
    """Some p with a few roots and counts each, which vary with p; one large p."""
    reduces = algorithm.collective in REDUCING
    for p in PROCESSES:
        counts = check_matrix.counts(p, algorithm.collective)
        few = {counts[p % len(counts)], counts[(3 * p + 1) % len(counts)]} - {1000} if p > 40 else counts
        yield check_matrix.CheckTask(
            algorithm=algorithm,
            batch=CheckBatch(
                p=p,
                roots=() if p <= 6 else (p % 5, p // 2, -1),
                counts=tuple(few) or (1,),
                ranks_per_node=p % 6,
                by_node=p % 4 == 1,
                commutative=(True, False) if reduces and p % 3 else (True,),
            ),
        )
    is_light = algorithm.collective in ONE_BLOCK
    large = 150 if check_matrix.is_all_to_all(algorithm) else 1100 if is_light else 300
    counts = (0,) if algorithm.collective == "barrier" else (large + 1,)
    yield check_matrix.CheckTask(algorithm=algorithm, batch=CheckBatch(p=large, roots=(1,), counts=counts))


@pytest.mark.parametrize(("collective", "family"), GROUPS)
def test_every_algorithm_computes_its_collective(collective: str, family: str) -> None:
    subjects = lookup.list_algorithms(collective, family)
    outcomes = check.sweep([task for algorithm in subjects for task in sample(algorithm)], jobs=2)
    failures = [f"{outcome.title}: {outcome.findings[0]}" for outcome in check.wrong(outcomes)]
    assert failures == []
    assert [outcome.title for outcome in outcomes if outcome.proved == 0] == []


@pytest.mark.parametrize(("collective", "family"), GROUPS)
def test_every_algorithm_is_correct_with_other_parameters(collective: str, family: str) -> None:
    tasks = [
        check_matrix.CheckTask(
            algorithm=variant,
            batch=CheckBatch(
                p=p, roots=(0, -1), counts=(0,) if collective == "barrier" else (1, 29), ranks_per_node=p % 4
            ),
        )
        for algorithm in lookup.list_algorithms(collective, family)
        for index, variant in enumerate(check_matrix.variants(algorithm, combination_count=8))
        for p in (2 + index % 3, 9 + index % 8)
    ]
    outcomes = check.sweep(tasks, jobs=2)
    assert [f"{outcome.title}: {outcome.findings[0]}" for outcome in check.wrong(outcomes)] == []


@pytest.mark.parametrize("collective", sorted({collective for collective, _ in GROUPS}))
def test_every_collective_has_algorithms_of_open_mpi_mpich_and_simgrid(collective: str) -> None:
    assert {family for own, family in GROUPS if own == collective} == {"openmpi", "mpich", "simgrid"}
