"""What ran in a launch, so that launches can be compared: functions, messages, and the library's variables.

An algorithm is proved in one launch, measured in another, verified with a tuning file in a third, and used in
a fourth. What was proved holds for the user only where the same thing ran in all of them.
"""

from __future__ import annotations

from msgspec import Struct

from offbeat.engines.prove import call_of
from offbeat.mpi.driver import Driver
from offbeat.mpi.library import Steering, decode
from offbeat.study import evidence
from offbeat.study.case import Case


class Ran(Struct, frozen=True, kw_only=True):
    """What one call ran in one launch.

    ``functions`` are the library's own algorithm functions in the order of entry, ``messages`` a digest of
    who sent how much to whom (empty where messages cannot be seen), ``variables`` the library's control
    variables that decide about algorithms, as the library itself reports them.
    """

    functions: list[str]
    messages: str
    variables: dict[str, str]


def what_ran(driver: Driver, case: Case, steering: Steering, timeout_s: float) -> Ran:
    """Make one call in a launch and look at it. Raises what :meth:`Driver.ask` raises."""
    seen = evidence.from_observation(driver.ask("observe", timeout_s=timeout_s, **call_of(case)))
    listed = driver.ask("variables", timeout_s=timeout_s, regex=steering.selection_regex)["variables"]
    return Ran(
        functions=evidence.functions(seen),
        messages=evidence.identity(evidence.part(seen, evidence.MESSAGES)),
        variables={variable.name: variable.value for variable in decode(listed)},
    )


def different_runs(one: Ran, other: Ran) -> list[str]:
    """A sentence for each way in which something else ran; empty where the same ran.

    Messages are compared where both launches show them.
    """
    found = []
    if one.functions != other.functions:
        found.append(f"functions: {' '.join(one.functions)} here, {' '.join(other.functions)} there")
    if one.messages and other.messages and one.messages != other.messages:
        found.append(f"messages: {one.messages} here, {other.messages} there")
    return found


def different_variables(one: Ran, other: Ran) -> list[str]:
    """A sentence for each variable that the library reports differently."""
    names = sorted(one.variables.keys() | other.variables.keys())
    return [
        f"{name}: {one.variables.get(name, 'missing')} here, {other.variables.get(name, 'missing')} there"
        for name in names
        if one.variables.get(name) != other.variables.get(name)
    ]
