"""Every algorithm of the simulator computes its collective.

A sample of what ``offbeat algorithm check --all`` proves in some minutes.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from offbeat.algorithm import breadth, choose, sweep
from offbeat.algorithm.subject import Listed, Portion
from offbeat.study.case import REDUCING

GROUPS = sorted({(entry.collective, entry.family) for entry in choose.listed()})


def sample(subject: Listed) -> Iterator[breadth.Task]:
    """p from 1 to 70 with a few roots and counts each, which vary with p; one large p."""
    reduces = subject.collective in REDUCING
    for p in range(1, 71):
        counts = breadth.counts(p, subject.collective)
        few = {counts[p % len(counts)], counts[(3 * p + 1) % len(counts)]} - {1000} if p > 40 else counts
        yield breadth.Task(
            subject=subject,
            portion=Portion(
                p=p,
                roots=() if p <= 6 else (p % 5, p // 2, -1),
                counts=tuple(few) or (1,),
                ranks_per_node=p % 6,
                by_node=p % 4 == 1,
                commutative=(True, False) if reduces and p % 3 else (True,),
            ),
        )
    large = 150 if breadth.everybody_to_everybody(subject) else 1100
    counts = (0,) if subject.collective == "barrier" else (large + 1,)
    yield breadth.Task(subject=subject, portion=Portion(p=large, roots=(1,), counts=counts))


@pytest.mark.parametrize(("collective", "family"), GROUPS)
def test_every_algorithm_computes_its_collective(collective: str, family: str) -> None:
    subjects = choose.listed(collective, family)
    outcomes = sweep.sweep([task for subject in subjects for task in sample(subject)], jobs=2)
    told = [f"{outcome.title}: {outcome.findings[0]}" for outcome in sweep.wrong(outcomes)]
    assert told == []
    assert [outcome.title for outcome in outcomes if outcome.proved == 0] == []


@pytest.mark.parametrize(("collective", "family"), GROUPS)
def test_every_algorithm_is_correct_with_other_parameters(collective: str, family: str) -> None:
    tasks = [
        breadth.Task(
            subject=variant,
            portion=Portion(
                p=p, roots=(0, -1), counts=(0,) if collective == "barrier" else (1, 29), ranks_per_node=p % 4
            ),
        )
        for subject in choose.listed(collective, family)
        for index, variant in enumerate(breadth.variants(subject, combined=8))
        for p in (2 + index % 3, 9 + index % 8)
    ]
    outcomes = sweep.sweep(tasks, jobs=2)
    assert [f"{outcome.title}: {outcome.findings[0]}" for outcome in sweep.wrong(outcomes)] == []


@pytest.mark.parametrize("collective", sorted({collective for collective, _ in GROUPS}))
def test_every_collective_has_algorithms_of_open_mpi_mpich_and_simgrid(collective: str) -> None:
    assert {family for own, family in GROUPS if own == collective} == {"openmpi", "mpich", "simgrid"}
