"""The record of an MPI library: everything that differs between MPI libraries outside the driver.

Each library has a module with one :class:`Library` in it (:mod:`offbeat.libraries.families.openmpi`,
:mod:`offbeat.libraries.families.mpich`, :mod:`offbeat.libraries.families.intelmpi`);
:mod:`offbeat.libraries.families.libraries` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.placement import Placement
from offbeat.model.study.algorithm import Algorithm, distinct_from_default


class Library(Struct, frozen=True, kw_only=True):
    """How an MPI library is recognised, launched and made to use an algorithm.

    ``family`` is the key under which results and files name the library, ``title`` is for people.
    """

    family: str
    title: str

    wheel: str
    """The Python package that installs the library as a wheel."""

    version_pattern: str
    """Matches the beginning of MPI_Get_library_version; its group ``short`` is the version."""

    launcher_pattern: str
    """The same for the output of ``mpirun --version``."""

    header_version: Callable[[Mapping[str, str]], str | None]
    """The version in the macros of an ``mpi.h``; None where the header belongs to another library."""

    module_pattern: str
    """Matches the lower-case name of an environment module that holds this library."""

    srun_plugin: str
    """Slurm's plugin that starts processes of this library."""

    arguments: Callable[[Placement, Mapping[str, str]], list[str]]
    """The arguments of ``mpirun`` for a placement and variables that all processes get."""

    environment: Callable[[Installation, Placement, Mapping[str, str]], dict[str, str]] = (
        lambda installation, placement, inherited: {}
    )
    """Variables that any launch needs, given the inherited environment; the user's own values are kept."""

    steering_environment: dict[str, str] = {}
    """Variables without which the library ignores forced algorithms."""

    forwarding_options: Callable[[Mapping[str, str]], list[str]]
    """Launcher options that pass variables to every process."""

    forwards_per_program: bool = False
    """Whether these options must be repeated for each program of an MPMD command."""

    ignores_options_beside_program_file: Callable[[Installation], bool] = lambda installation: False
    """Whether a launcher that reads the programs from a file ignores the options that pass variables."""

    unbound_options: tuple[str, ...] = ()
    """Launcher options with which a process may run on every core of its node that the launcher gives it."""

    unbound_variables: dict[str, str] = {}
    """The same for libraries that bind by environment variables."""

    launcher_folder_on_path: bool = False
    """Whether the launcher's folder must come first on PATH."""

    names_functions: Callable[[Path], bool]
    """Whether the library file holds the names of its algorithm functions even when it is stripped."""

    steering: Callable[[], Steering]
    """How the library is made to use an algorithm."""

    setting_prefixes: tuple[str, ...]
    """The beginnings of the names of variables that force an algorithm; they identify the library to which an
    algorithm's settings belong."""

    collective_variables: Callable[[Algorithm], tuple[str, ...]]
    """The beginnings of the names of environment variables that belong to the collective of an algorithm."""

    environment_prefix: str = ""
    """What the name of a variable has before it in the environment, but not in an algorithm's settings."""

    chooses_algorithms: Callable[[str, str], bool] = lambda name, value: False
    """Whether an environment variable (name, value) chooses algorithms of collectives, or changes what they
    do. Measurements do not inherit such variables."""

    forces_algorithms: Callable[[str], bool] = lambda name: False
    """Whether a variable that chooses algorithms forces one or names a tuning file; others set parameters."""

    neutral_value: Callable[[str], str | None] = lambda name: None
    """The value with which such a variable has no effect; None where it has to be unset."""

    parameter_files: Callable[[Installation, Mapping[str, str]], list[Path]] = lambda _, environ: []
    """The files in which the library looks for variables under an environment."""

    parameter_file: tuple[str, ...] = ()
    """The files in which users (below their home) and sites (below the prefix) set variables; or empty."""

    name_in_rule: Callable[[Algorithm], str] = lambda algorithm: algorithm.name
    """The name of an algorithm that is true for every number of processes of a rule."""

    is_limited_to_measured_p: Callable[[Algorithm], bool] = lambda algorithm: False
    """Whether a tuning file may use an algorithm for the measured number of processes only."""

    interfaces_variable: str = ""
    """The variable for the number of network interfaces of a process (MPICH's VCIs); empty without one."""

    applies_to_smaller: bool = False
    """Whether settings belong to a number of launched processes and apply to all their communicators."""

    sizeless: Mapping[str, str] = {}
    """Collectives for which a tuning file has one rule for all message sizes, and why, in a sentence."""

    guarded_calls: tuple[str, ...] = ()
    """Kinds of legal calls (:data:`offbeat.model.study.algorithm.KINDS`) that a tuning file keeps from
    algorithms that are wrong for them."""

    def file_processes(self, p: int, launch_size: int) -> int:
        """The number of processes by which a tuning file finds the rule for communicators of ``p`` processes,
        in a launch of ``launch_size``."""
        return launch_size if self.applies_to_smaller else p


class Variable(Struct, frozen=True, kw_only=True):
    """One MPI_T control variable, as the driver lists it.

    ``type`` is ``int``, ``text`` or ``other``; ``settable`` says whether it can be written while the program
    runs; ``items`` are the (value, name) pairs of an enumeration.
    """

    name: str
    type: str
    settable: bool
    value: str
    items: list[tuple[int, str]]
    description: str


def by_name(variables: Sequence[Variable]) -> dict[str, Variable]:
    """The variables by name."""
    return {variable.name: variable for variable in variables}


class Steering:
    """How an MPI library is made to use an algorithm. Libraries override what differs for them.

    Algorithm names and values always come from the library itself: they change between versions.
    """

    variables_regex: str
    """Which control variables to request from the library."""

    same_functions_are_duplicates = True
    """Whether algorithms that enter the same functions are the same: true where the library merely numbers
    its settings, or where each name is a function of its own; false where a function takes further parameters
    from the name."""

    def environment(self, installation: Installation) -> dict[str, str]:
        """Variables for every launch: forced algorithms take effect, and silent fallbacks become visible."""
        return {}

    def foreign_choices(self, variables: Sequence[Variable]) -> list[Variable]:
        """The variables that choose algorithms in a launch in which offbeat forces none."""
        return []

    def fallback_environment(self) -> dict[str, str]:
        """Further variables under which a forced algorithm may fall back, as one in a tuning file does."""
        return {}

    def algorithms(
        self, collective: str, variables: Sequence[Variable], installation: Installation
    ) -> list[Algorithm]:
        """The algorithms of a collective, without ``default``, the library's own decision.

        An algorithm that the library itself calls ``default`` (allgatherv in Open MPI) gets another name.
        """
        library_algorithms = self.listed_algorithms(collective, variables, installation)
        return [
            msgspec.structs.replace(algorithm, name=distinct_from_default(algorithm.name, number))
            for number, algorithm in enumerate(library_algorithms, start=1)
        ]

    def listed_algorithms(
        self, collective: str, variables: Sequence[Variable], installation: Installation
    ) -> list[Algorithm]:
        """The algorithms of a collective by the library's name, in the library's order."""
        raise NotImplementedError

    def with_parameters(
        self, plain: Algorithm, parameters: Mapping[str, str], variables: Sequence[Variable]
    ) -> Algorithm | None:
        """The algorithm with parameters such as fanout and segment; None if it has no such parameter."""
        return None

    def force_arguments(self, algorithm: Algorithm, variables: Sequence[Variable]) -> list[str] | None:
        """The arguments of the driver's ``force``; None where the algorithm needs a launch of its own."""
        raise NotImplementedError

    def launch_environment(self, algorithm: Algorithm) -> dict[str, str]:
        """The variables that force the algorithm for a whole launch."""
        return dict(algorithm.settings)

    def functions_of(self, collective: str, functions: Sequence[str]) -> list[str]:
        """The entered functions that belong to the collective. Functions of other collectives that
        do a part of the work are left out: these may be tuned themselves."""
        raise NotImplementedError

    def identify_executed(self, collective: str, functions: Sequence[str]) -> str:
        """The entered function that did the collective's work, the first one of the collective as it calls
        the others; empty if none of them belongs to it."""
        return next(iter(self.functions_of(collective, functions)), "")

    def name_matches(self, algorithm: Algorithm, function: str) -> bool:
        """Whether a function's name is that of the algorithm; always if names say nothing of functions."""
        return True

    def named_by_function(self, algorithm: Algorithm, function: str) -> Algorithm:
        """The algorithm renamed after the executed function, where the library only numbers algorithms."""
        return algorithm
