"""Whether ``default`` is the library's own decision: by the variables of a launch, and by what ran."""

from __future__ import annotations

from collections.abc import Sequence

from offbeat.base.errors import BadInput, RunFailed
from offbeat.base.units import enumeration
from offbeat.libraries.families.libraries import library_of
from offbeat.libraries.families.library import Steering, Variable
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.plain_command import without_choices
from offbeat.measurement.engines.launches import Launches, LaunchSpec
from offbeat.measurement.proofs.prove import observe
from offbeat.measurement.proofs.verdicts import Observation
from offbeat.model.study.case import Case
from offbeat.model.study.evidence import functions
from offbeat.model.study.study_file import LoadedStudy


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


def refuse_forced(loaded: LoadedStudy, installation: Installation) -> None:
    """Raise :class:`BadInput` if a study forces algorithms for all its launches."""
    library, section = library_of(installation), loaded.study.mpi
    _, of_options = without_choices(["mpirun", *section.options, "program"], installation)
    settings = [(("mpi", "options"), one.name) for one in of_options]
    settings += [
        (("mpi", "environment"), name)
        for name, value in section.environment.items()
        if library.chooses_algorithms(name, value)
    ]
    for key, name in settings:
        if library.forces_algorithms(name):
            raise BadInput(
                f"{loaded.where(key)} {name} forces algorithms in every launch of the study, also where the"
                " library should decide ('default'); name algorithms under 'algorithms' of [[collective]]"
            )


def refuse_chosen(steering: Steering, variables: Sequence[Variable], installation: Installation) -> None:
    """Raise :class:`RunFailed` if variables choose algorithms in a launch in which offbeat forces none."""
    chosen = steering.foreign_choices(variables)
    if chosen:
        named = enumeration([f"{one.name} = {one.value}" for one in chosen])
        raise RunFailed(
            f"{installation.name} is launched with {named}, which offbeat does not set and cannot take back:"
            " then neither the library's own decision nor each algorithm can be measured. Remove the setting"
            " where it is made: an options file of mpirun (--tune, -am), or the site's file"
            " openmpi-mca-params-override.conf"
        )


def _functions_of(observation: Observation, case: Case, steering: Steering) -> str:
    return " ".join(steering.functions_of(case.collective, functions(observation.evidence)))


def _are_alike(ran: str, decided: str) -> bool:
    """Whether two calls entered the same functions of their collective; true if those are unknown."""
    return not ran or not decided or ran == decided
