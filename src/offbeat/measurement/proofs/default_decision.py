"""Whether ``default`` is the library's own decision: by the variables of a launch, and by what ran."""

from __future__ import annotations

from collections.abc import Sequence

from offbeat.base.errors import BadInput, RunFailed
from offbeat.base.units import enumeration
from offbeat.libraries.families.libraries import library_of
from offbeat.libraries.families.library import Steering, Variable
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.plain_command import without_choices
from offbeat.measurement.engines.driver_launches import Launches, LaunchSpec
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
    """A sentence on what ran as ``default``, if the library itself decides otherwise; else empty.

    ``observation`` was made in the launch ``spec``, which measures ``default``. The library's own decision is
    what runs in a launch without any setting of offbeat. If the two differ, both are observed once more in
    new launches: some libraries change their decision after a number of calls.
    """
    without_settings = LaunchSpec(p=case.processes, nodes=case.nodes, ppn=case.ppn, steerable=False)
    if spec == without_settings:
        return ""

    def functions_in(launch_spec: LaunchSpec) -> str:
        new_observation = observe(launches, launch_spec, [], observation.algorithm, case, timeout_s)
        return _functions_of(new_observation, case, steering)

    if _are_alike(_functions_of(observation, case, steering), functions_in(without_settings)):
        return ""
    functions = []
    for launch_spec in (spec, without_settings):
        launches.close()
        functions.append(functions_in(launch_spec))
    ran, decision = functions
    return "" if _are_alike(ran, decision) else f"{ran} ran, but the library itself decides for {decision}"


def refuse_forced(loaded_study: LoadedStudy, installation: Installation) -> None:
    """Raise :class:`BadInput` if a study forces algorithms for all its launches."""
    library, section = library_of(installation), loaded_study.study.mpi
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
                f"{loaded_study.where(key)} {name} forces algorithms in every launch of the study, also where"
                " the library should decide ('default'); name algorithms under 'algorithms' of [[collective]]"
            )


def refuse_chosen(steering: Steering, variables: Sequence[Variable], installation: Installation) -> None:
    """Raise :class:`RunFailed` if variables choose algorithms in a launch in which offbeat forces none."""
    variables_set = steering.foreign_choices(variables)
    if variables_set:
        texts = enumeration([f"{one.name} = {one.value}" for one in variables_set])
        raise RunFailed(
            f"{installation.name} is launched with {texts}, which offbeat does not set and cannot take back:"
            " then neither the library's own decision nor each algorithm can be measured. Remove the setting"
            " where it is made: an options file of mpirun (--tune, -am), or the site's file"
            " openmpi-mca-params-override.conf"
        )


def _functions_of(observation: Observation, case: Case, steering: Steering) -> str:
    return " ".join(steering.functions_of(case.collective, functions(observation.evidence)))


def _are_alike(ran: str, decision: str) -> bool:
    """Whether two calls entered the same functions of their collective; true if those are unknown."""
    return not ran or not decision or ran == decision
