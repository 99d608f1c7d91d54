"""The order in which a study's cases are measured."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from offbeat.study.case import Case
from offbeat.study.cases import order


def schedule(cases: Sequence[Case], seed: int, launch_of: Callable[[Case], Hashable]) -> list[Case]:
    """The shuffled order of :func:`offbeat.study.cases.order`, rearranged where cases need several launches.

    ``launch_of`` names the launch that a case needs. At each placement every launch runs twice at most: first
    come all no-delay cases, whose runtimes the skews may depend on, launch by launch; then all others, launch
    by launch. Within a launch the shuffled order stays.
    """
    shuffled = order(cases, seed)
    placement_rank: dict[Hashable, int] = {}
    launch_rank: dict[Hashable, int] = {}
    launches_at: dict[Hashable, set[Hashable]] = {}
    for case in shuffled:
        launch = launch_of(case)
        placement_rank.setdefault(_placement(case), len(placement_rank))
        launch_rank.setdefault(launch, len(launch_rank))
        launches_at.setdefault(_placement(case), set()).add(launch)

    def key(case: Case) -> tuple[int, bool, int]:
        placement = placement_rank[_placement(case)]
        if len(launches_at[_placement(case)]) == 1:
            return placement, False, 0
        return placement, case.skew_policy != "none", launch_rank[launch_of(case)]

    return sorted(shuffled, key=key)


def _placement(case: Case) -> tuple[int, int, int]:
    return case.p, case.nodes, case.ppn
