"""Whether ``default`` is the library's own decision, by what ran."""

from __future__ import annotations

from offbeat.engines.launches import Launches, LaunchSpec
from offbeat.engines.prove import observe
from offbeat.engines.verdicts import Observation
from offbeat.mpi.library import Steering
from offbeat.study.case import Case
from offbeat.study.evidence import functions


def other_decision(
    launches: Launches,
    observation: Observation,
    case: Case,
    spec: LaunchSpec,
    steering: Steering,
    timeout_s: float,
) -> str:
    """What ran as ``default``, if the library itself decides otherwise; empty if it does not, or if unknown.

    ``observation`` was made in the launch ``spec``, which measures ``default``. The library's own decision is
    what runs in a launch without any setting of offbeat. If the two differ, both are observed once more in
    new launches: some libraries change their decision after a number of calls.
    """
    without_settings = LaunchSpec(p=case.processes, nodes=case.nodes, ppn=case.ppn, steerable=False)
    if spec == without_settings:
        return ""

    def functions_in(place: LaunchSpec) -> str:
        observed = observe(launches, place, [], observation.algorithm, case, timeout_s)
        return _functions_of(observed, case, steering)

    if _are_alike(_functions_of(observation, case, steering), functions_in(without_settings)):
        return ""
    entered = []
    for place in (spec, without_settings):
        launches.close()
        entered.append(functions_in(place))
    ran, decided = entered
    return "" if _are_alike(ran, decided) else f"{ran} ran, but the library itself decides for {decided}"


def _functions_of(observation: Observation, case: Case, steering: Steering) -> str:
    return " ".join(steering.functions_of(case.collective, functions(observation.evidence)))


def _are_alike(ran: str, decided: str) -> bool:
    """Whether two calls entered the same functions of their collective; true if those are unknown."""
    return not ran or not decided or ran == decided
