"""What one call executes in one launch, and how two launches differ."""

from __future__ import annotations

from msgspec import Struct

from offbeat.libraries.families.intelmpi import IntelMpiSteering
from offbeat.libraries.families.library import Steering
from offbeat.libraries.families.mpich import MpichSteering
from offbeat.libraries.families.openmpi import OpenMpiSteering
from offbeat.libraries.launch.driver import Driver
from offbeat.libraries.launch.driver_protocol import ListVariables, Observe
from offbeat.measurement.proofs.prove import call_arguments
from offbeat.model.study import evidence
from offbeat.model.study.case import Case

SELECTION_VARIABLES: dict[type[Steering], str] = {
    OpenMpiSteering: (
        "^coll_(tuned_(use_dynamic_rules|dynamic_rules_filename|.*_algorithm)|[a-z]+_priority"
        "|han_(use_dynamic_file_rules|dynamic_rules_filename|use_.*_algorithm"
        "|.*_dynamic_global_communicator_module))$"
    ),
    MpichSteering: "^MPIR_CVAR_(.*_ALGORITHM|.*DEVICE_COLLECTIVES?|.*TUNING_JSON_FILE|NOLOCAL|ENABLE_SMP.*)$",
    IntelMpiSteering: "^MPIR_CVAR_(USE_[A-Z_]+|.*DEVICE_COLLECTIVES?|NOLOCAL)$",
}
"""Which control variables influence the choice of the algorithm, beside the call itself."""


class ExecutedCall(Struct, frozen=True, kw_only=True):
    """What one call executed in one launch.

    An algorithm is proved in one launch, measured in another, verified with a tuning file in a third, and
    used in a fourth. A proof holds for the user only if all of them execute the same.

    ``functions`` are the library's own algorithm functions in the order of entry, ``messages`` is a digest of
    senders, receivers and sizes (empty if messages cannot be observed), ``variables`` are the library's
    control variables that influence the choice of algorithms, as the library itself reports them.
    """

    functions: list[str]
    messages: str
    variables: dict[str, str]


def observe_executed(driver: Driver, case: Case, steering: Steering, timeout_s: float) -> ExecutedCall:
    """Execute one call in a launch and observe it. Raises what :meth:`Driver.ask` raises."""
    observed = driver.ask(Observe(**call_arguments(case)), timeout_s=timeout_s).evidence
    listed = driver.ask(
        ListVariables(regex=SELECTION_VARIABLES[type(steering)]), timeout_s=timeout_s
    ).variables
    return ExecutedCall(
        functions=evidence.functions(observed),
        messages=evidence.identity(evidence.part(observed, evidence.MESSAGES)),
        variables={variable.name: variable.value for variable in listed},
    )


def execution_differences(one: ExecutedCall, other: ExecutedCall) -> list[str]:
    """A line for each difference between two executions; empty if the same was executed.

    Messages are compared if both launches show them.
    """
    differences = []
    if one.functions != other.functions:
        differences.append(f"functions: {' '.join(one.functions)} here, {' '.join(other.functions)} there")
    if one.messages and other.messages and one.messages != other.messages:
        differences.append(f"messages: {one.messages} here, {other.messages} there")
    return differences


def variable_differences(one: ExecutedCall, other: ExecutedCall) -> list[str]:
    """A line for each variable that the library reports with different values."""
    names = sorted(one.variables.keys() | other.variables.keys())
    return [
        f"{name}: {one.variables.get(name, 'missing')} here, {other.variables.get(name, 'missing')} there"
        for name in names
        if one.variables.get(name) != other.variables.get(name)
    ]
