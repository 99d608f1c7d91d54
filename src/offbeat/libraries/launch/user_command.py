"""A user's launch command in its parts: the launcher, its options, and the program with its arguments.

So that measurements run as the program does: with the same launcher, options, binding and nodes.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.libraries.families.libraries import library_of
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.launch_words import (
    END_OF_OPTIONS,
    NEXT_PROGRAM,
    PROGRAM_FILES,
    Word,
    is_count,
    is_launcher,
    is_srun,
    launch_words,
)

_FILES = ("f", "hostfile", "machinefile", "default-hostfile", "rankfile", "rf")
"""Launcher options whose value is a file."""

_SETTINGS = {
    "x": "",
    "genv": "",
    "env": "",
    "mca": "OMPI_MCA_",
    "gmca": "OMPI_MCA_",
    "omca": "OMPI_MCA_",
    "gomca": "OMPI_MCA_",
}
"""Launcher options that set a variable of the processes → what its name in the environment has before it."""

_ONLY_LISTED = ("genvnone", "envnone", "genvlist", "envlist")
"""Launcher options with which variables of the environment do not reach the processes."""

EXPORT = "--export"
"""srun's option for the variables of its environment that processes get, or for their values."""

_NO_VARIABLES = ("NONE", "NIL")


class UserCommand(Struct, frozen=True, kw_only=True):
    """A launch command: ``launcher`` is ``srun``, ``mpirun`` or ``mpiexec``, and empty without one.

    ``options`` are those of the launcher without the number of processes and without those that set
    ``variables`` of the processes, with absolute paths of files. ``program`` is the program with its
    arguments.
    """

    launcher: str
    options: list[str]
    variables: dict[str, str]
    program: list[str]


def user_command(argv: Sequence[str], environ: Mapping[str, str] = os.environ) -> UserCommand:
    """The parts of a command.

    Raises :class:`BadInput` for several programs in one launch (MPMD), for programs in a file, and if there
    is no program.
    """
    name, by_srun = Path(argv[0]).name, is_srun(argv)
    if not (is_launcher(argv) or by_srun):
        return UserCommand(launcher="", options=[], variables={}, program=list(argv))
    options: list[str] = []
    variables: dict[str, str] = {}
    program: list[str] = []
    for word in launch_words(argv, environ):
        if word.option in PROGRAM_FILES:
            raise BadInput(
                f"{' '.join(argv)} reads its programs from a file, whose launch cannot be repeated for"
                " measurements; give a command with one program"
            )
        if not word.option:
            program += word.text
        elif by_srun and word.option == EXPORT:  # measurements need all variables of their environment
            variables |= settings_of(word, environ, by_srun=True)
        elif settings := settings_of(word, environ, by_srun=by_srun):
            variables |= settings
        elif not is_count(word, argv) and word.option != END_OF_OPTIONS:
            options += _from_any_folder(word)
    if not program:
        raise BadInput(f"there is no program in the command: {' '.join(argv)}")
    if NEXT_PROGRAM in program:
        raise BadInput(
            f"{' '.join(argv)} starts several programs (:), whose launch cannot be repeated for measurements;"
            " trace it with 'offbeat trace run', and describe the measurement in a study file"
        )
    kind = "srun" if by_srun else "mpiexec" if name.startswith("mpiexec") else "mpirun"
    return UserCommand(launcher=kind, options=options, variables=variables, program=program)


def with_variables(
    command: Sequence[str],
    variables: Mapping[str, str],
    installation: Installation,
    environ: Mapping[str, str] = os.environ,
) -> tuple[list[str], dict[str, str]]:
    """The command, and the variables of its environment, that give variables to every process.

    Launchers that forward only what their options name get options; srun and programs without a launcher get
    the variables in their environment.
    """
    if is_launcher(command):
        return forward_variables(command, variables, installation, environ), {}
    if is_srun(command):
        return _export_variables(command, variables), dict(variables)
    return list(command), dict(variables)


def forward_variables(
    command: Sequence[str],
    variables: Mapping[str, str],
    installation: Installation,
    environ: Mapping[str, str] = os.environ,
) -> list[str]:
    """A user's launcher command with options after its name that forward variables to every process.

    They replace options of the user that set the same variables: launchers refuse both. Open MPI's options
    hold for one program of an MPMD command, so they are repeated for each program. Raises :class:`BadInput`
    where the launcher ignores such options because it reads the programs from a file.
    """
    library = library_of(installation)
    if library.ignores_options_beside_program_file(installation):
        _check_programs(command, installation, environ)
    options = library.forwarding_options(variables)
    argv = [command[0], *options]
    for text in _remove_options(command, variables, environ):
        argv += text
        if text == [NEXT_PROGRAM] and library.forwards_per_program:
            argv += options
    return argv


def _check_programs(command: Sequence[str], installation: Installation, environ: Mapping[str, str]) -> None:
    """Raise :class:`BadInput` for a command that has its programs in a file."""
    for word in launch_words(command, environ):
        if word.option in PROGRAM_FILES:
            raise BadInput(
                f"{' '.join(word.text)}: {installation.version_text} ignores the options for variables of the"
                " processes if it reads the programs from a file; give the programs in the command, separated"
                f" by '{NEXT_PROGRAM}'"
            )


def following_environment(
    command: Sequence[str], names: Collection[str], environ: Mapping[str, str] = os.environ
) -> list[str] | None:
    """The command whose processes get some variables from its environment: without its own settings of them.

    None if its launcher passes no variables of the environment on.
    """
    if is_srun(command):
        return _export_variables(command, names)
    if not is_launcher(command):
        return list(command)
    if any(word.option in _ONLY_LISTED for word in launch_words(command, environ)):
        return None
    return [command[0], *(part for text in _remove_options(command, names, environ) for part in text)]


def _remove_options(
    command: Sequence[str], names: Collection[str], environ: Mapping[str, str]
) -> Iterator[list[str]]:
    """The words of a command without options that set some variables."""
    for word in launch_words(command, environ):
        if not settings_of(word, environ, by_srun=False).keys() & set(names):
            yield word.text


def _export_variables(command: Sequence[str], names: Collection[str]) -> list[str]:
    """A command of srun whose option --export passes some variables of the environment on."""
    argv = [command[0]]
    for word in launch_words(command):
        if word.option != EXPORT or not word.values:
            argv += word.text
            continue
        items = [item for item in word.values[0].split(",") if item.partition("=")[0] not in names]
        values = [item for item in items if item not in _NO_VARIABLES]
        argv.append(f"{EXPORT}={','.join([*values, *names])}")
    return argv


def settings_of(word: Word, environ: Mapping[str, str], *, by_srun: bool) -> dict[str, str]:
    """The variables that a launcher option sets, and their values; empty for other options."""
    if by_srun:
        items = word.values[0].split(",") if word.option == EXPORT and word.values else []
        return {name: value for name, is_set, value in (item.partition("=") for item in items) if is_set}
    prefix = _SETTINGS.get(word.option)
    if prefix is None or not word.values:
        return {}
    if len(word.values) == 2:
        return {prefix + word.values[0]: word.values[1]}
    name, is_set, value = word.values[0].partition("=")
    return {name: value if is_set else environ.get(name, "")}


def _from_any_folder(word: Word) -> list[str]:
    """The text of an option, with absolute paths of files."""
    if word.option not in _FILES or len(word.text) == 1:
        return word.text
    return [word.text[0], *(str(Path(value).absolute()) for value in word.values)]
