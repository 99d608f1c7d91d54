"""Which algorithms the collectives of a program run by: those of the program file, if the library has them.

A launch forces one algorithm for all calls of a collective, by variables in its environment. What the library
then executes is observed in a launch of the driver with the same processes and variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct, structs

from offbeat.base.errors import RunFailed
from offbeat.libraries.families.libraries import library_of, title_of
from offbeat.libraries.families.library import Steering, Variable
from offbeat.libraries.installations.build import build_native
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.driver import CommandRefused, Driver, DriverLost
from offbeat.libraries.launch.driver_protocol import ListVariables, Observe
from offbeat.libraries.launch.launch_command import LaunchCommand
from offbeat.model.study.algorithm import Algorithm, split_name
from offbeat.programs.description.program_file import Program
from offbeat.programs.description.schema import PhaseSection
from offbeat.programs.execution.plan import collective_line

PATIENCE_S = 60.0
"""How long the driver may take for an answer."""

Launch = Callable[[Path, int, Mapping[str, str]], LaunchCommand]
"""The command that starts a program with a number of processes and variables."""


class Forced(Struct, frozen=True, kw_only=True):
    """The variables that force the algorithms of a program, and a sentence for each of its collectives."""

    environment: dict[str, str] = {}
    sentences: list[str] = []


def forced(program: Program, installation: Installation, launch: Launch) -> Forced:
    """Find out which algorithms of the program file can be forced, and observe whether the library obeys.

    Raises :class:`RunFailed` if the library cannot be launched at all.
    """
    phases = [
        (name, phase)
        for name, phase in zip(program.phase_names(), program.file.phase, strict=True)
        if phase.kind == "collective"
    ]
    reasons = {name: _why_not(phase, [one for _, one in phases], installation) for name, phase in phases}
    if not any(reason == "" for reason in reasons.values()):
        return Forced(sentences=[_own_choice(name, phase, reasons[name]) for name, phase in phases])
    steering = library_of(installation).steering()
    always = steering.environment(installation)
    driver = build_native(installation)
    variables = _variables(launch(driver, 1, always), steering)
    algorithms = {
        name: _algorithm(phase, steering, variables, installation)
        for name, phase in phases
        if not reasons[name]
    }
    environment = dict(always)
    for algorithm in algorithms.values():
        environment |= steering.launch_environment(algorithm) if algorithm else {}
    if not any(algorithms.values()):
        environment = {}
    sentences = []
    with _launched(launch(driver, program.file.ranks, environment)) as started:
        for name, phase in phases:
            algorithm = algorithms.get(name)
            if algorithm is None:
                reason = reasons[name] or f"{installation.version_text} has no {phase.algorithm}"
                sentences.append(_own_choice(name, phase, reason))
            else:
                sentences.append(_observed(name, phase, algorithm, steering, started))
    return Forced(environment=environment, sentences=sentences)


def _why_not(phase: PhaseSection, phases: list[PhaseSection], installation: Installation) -> str:
    """Why an algorithm cannot be forced, without asking the library; empty if it may be possible."""
    if phase.family != installation.family:
        whose = title_of(phase.family)
        return f"the file names {whose}'s {phase.algorithm}, and the library is {installation.version_text}"
    if not phase.algorithm:
        return "the file names no algorithm"
    others = {one.algorithm for one in phases if one.collective == phase.collective}
    if len(others) > 1:
        return f"the file names several algorithms of {phase.collective}, and a launch forces one"
    return ""


def _own_choice(name: str, phase: PhaseSection, reason: str) -> str:
    return f"{name}: {phase.collective} ran by the library's own choice, as {reason}."


def _algorithm(
    phase: PhaseSection, steering: Steering, variables: list[Variable], installation: Installation
) -> Algorithm | None:
    """The library's algorithm of this name; None if it has none."""
    base, parameters = split_name(phase.algorithm)
    for algorithm in steering.algorithms(phase.collective, variables, installation):
        if algorithm.name == phase.algorithm:
            return algorithm
        if algorithm.name == base and parameters:
            return steering.with_parameters(algorithm, parameters, variables)
    return None


def _variables(command: LaunchCommand, steering: Steering) -> list[Variable]:
    with _launched(command) as driver:
        return driver.ask(ListVariables(regex=steering.variables_regex), timeout_s=PATIENCE_S).variables


def _observed(
    name: str, phase: PhaseSection, algorithm: Algorithm, steering: Steering, driver: Driver
) -> str:
    """What the library executes when the algorithm is forced, as a sentence."""
    line = collective_line(phase)
    call = Observe(**{key: value for key, value in structs.asdict(line).items() if key != "every"})
    by = ", ".join(f"{key}={value}" for key, value in steering.launch_environment(algorithm).items())
    what = f"{name}: {phase.collective} by {algorithm.name}, forced by {by}"
    try:
        answer = driver.ask(call, timeout_s=PATIENCE_S)
    except CommandRefused as refused:
        return f"{what}; which function ran could not be observed: {refused}."
    function = steering.identify_executed(phase.collective, answer.functions.split())
    if not function:
        return f"{what}; which function ran could not be observed."
    if steering.name_matches(algorithm, function):
        return f"{what}; observed: {function}."
    return f"{what}, but the library ran {function} instead."


@contextmanager
def _launched(command: LaunchCommand) -> Iterator[Driver]:
    """A launch of the driver. Raises :class:`RunFailed` if it is lost in the block."""
    with TemporaryDirectory() as scratch:
        try:
            driver = Driver(command.argv, command.environment, Path(scratch) / "log")
        except OSError as error:
            raise RunFailed(f"{command.argv[0]} could not be started: {error.strerror or error}") from None
        try:
            yield driver
        except DriverLost as lost:
            raise RunFailed(
                f"the algorithms of the program's collectives cannot be forced: {lost}; 'offbeat doctor'"
                " shows what works here"
            ) from None
        finally:
            driver.close()
