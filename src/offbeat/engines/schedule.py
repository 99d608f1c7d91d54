"""The order in which a study's cases are measured in one round."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from offbeat.study.case import Case
from offbeat.study.cases import order


def schedule(
    cases: Sequence[Case], seed: int, launch_of: Callable[[Case], Hashable], round_number: int = 0
) -> list[Case]:
    """The shuffled order of :func:`offbeat.study.cases.order`, rearranged where cases need several launches.

    ``launch_of`` names the launch that a case needs. In the first round through the study, number 0, every
    launch runs twice at most at each placement: first come all no-delay cases, whose runtimes the skews may
    depend on, launch by launch; then all others, launch by launch. In later rounds every launch runs once.
    Within a launch the shuffled order stays.
    """
    shuffled = order(cases, seed, round_number)
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
        is_late = round_number == 0 and case.skew_policy != "none"
        return placement, is_late, launch_rank[launch_of(case)]

    return sorted(shuffled, key=key)


def _placement(case: Case) -> tuple[int, int, int]:
    return case.p, case.nodes, case.ppn
