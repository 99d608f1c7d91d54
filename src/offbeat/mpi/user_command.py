"""A user's launch command in its parts: the launcher, its options, and the program with its arguments.

So that measurements run as the program does: with the same launcher, options, binding and nodes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from offbeat.errors import BadInput
from offbeat.mpi.environment import count_option, is_launcher, is_srun
from offbeat.mpi.installation import Installation
from offbeat.mpi.libraries import library_of

_TWO_VALUES = ("--mca", "-mca", "--gmca", "-gmca", "--prtemca", "--pmixmca", "-genv", "-env", "--genv")
"""Launcher options with two values."""

_ONE_VALUE = (
    *("-H", "--host", "-host", "--hosts", "-hosts", "-f", "--hostfile", "-hostfile", "-machinefile"),
    *("--machinefile", "-x", "--bind-to", "-bind-to", "--map-by", "-map-by", "--rank-by", "-rank-by"),
    *("-ppn", "-N", "--npernode", "-npernode", "-wdir", "-wd", "--wdir", "--launch-agent", "-launcher"),
    *("-genvlist", "-envlist", "-A", "-p", "-t", "-J", "-w", "-C", "-m", "--prefix", "-path", "-configfile"),
)
"""Launcher options whose value may be mistaken for a program."""

_FILES = ("-f", "--hostfile", "-hostfile", "--machinefile", "-machinefile")
"""Launcher options whose value is a file."""


_SETTINGS = {
    "-x": "",
    "-genv": "",
    "-env": "",
    "--genv": "",
    "--mca": "OMPI_MCA_",
    "-mca": "OMPI_MCA_",
    "--gmca": "OMPI_MCA_",
    "-gmca": "OMPI_MCA_",
}
"""Launcher options that set a variable of the processes → what its name in the environment has before it."""

NEXT_PROGRAM = ":"
"""The word between the programs of an MPMD command."""


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

    Raises :class:`BadInput` for several programs in one launch (MPMD), and if there is no program.
    """
    name, by_srun = Path(argv[0]).name, is_srun(argv)
    if not (is_launcher(argv) or by_srun):
        return UserCommand(launcher="", options=[], variables={}, program=list(argv))
    options: list[str] = []
    variables: dict[str, str] = {}
    program: list[str] = []
    for words, is_option in _words(argv, environ):
        if not is_option:
            program += words
        elif (setting := _setting(words, environ)) is not None:
            variables[setting[0]] = setting[1]
        elif not count_option(words[0], by_srun=by_srun):
            options += [words[0], *(_absolute(words[0], value) for value in words[1:])]
    if not program:
        raise BadInput(f"there is no program in the command: {' '.join(argv)}")
    if NEXT_PROGRAM in program:
        raise BadInput(
            f"{' '.join(argv)} starts several programs (:), whose launch cannot be repeated for measurements;"
            " trace it with 'offbeat trace run', and describe the measurement in a study file"
        )
    kind = "srun" if by_srun else "mpiexec" if name.startswith("mpiexec") else "mpirun"
    return UserCommand(launcher=kind, options=options, variables=variables, program=program)


def forward_variables(
    command: Sequence[str], variables: Mapping[str, str], installation: Installation
) -> list[str]:
    """A user's launcher command with options after its name that forward variables to every process.

    They replace options of the user that set the same variables: launchers refuse both. Open MPI's options
    hold for one program of an MPMD command, so they are repeated for each program.
    """
    library = library_of(installation)
    options = library.forwarding_options(variables)
    argv = [command[0], *options]
    for words, is_option in _words(command, os.environ):
        setting = _setting(words, os.environ) if is_option else None
        if setting is None or setting[0] not in variables:
            argv += words
        if words == [NEXT_PROGRAM] and library.forwards_per_program:
            argv += options
    return argv


def _words(argv: Sequence[str], environ: Mapping[str, str]) -> Iterator[tuple[list[str], bool]]:
    """The words of a command after its first: each launcher option with its values, and whether it is one."""
    place, in_options, by_srun = 1, True, is_srun(argv)
    while place < len(argv):
        option = argv[place]
        in_options = option == NEXT_PROGRAM or (in_options and option.startswith("-"))
        is_option = in_options and option != NEXT_PROGRAM
        count = 1
        if is_option:
            count = count_option(option, by_srun=by_srun) or 1 + _value_count(argv, place, environ)
        yield list(argv[place : place + count]), is_option
        place += count


def _value_count(argv: Sequence[str], place: int, environ: Mapping[str, str]) -> int:
    """How many values the option at a place has; of an unknown option, the next word if it is no program."""
    option, following = argv[place], argv[place + 1 :]
    if option in _TWO_VALUES:
        return 2
    if option in _ONE_VALUE:
        return 1
    if "=" in option or not following or following[0].startswith("-"):
        return 0
    return 0 if shutil.which(following[0], path=environ.get("PATH", os.defpath)) is not None else 1


def _setting(words: Sequence[str], environ: Mapping[str, str]) -> tuple[str, str] | None:
    """The variable that a launcher option sets, and its value; None for other options."""
    prefix = _SETTINGS.get(words[0])
    if prefix is None or len(words) < 2:
        return None
    if len(words) == 3:
        return prefix + words[1], words[2]
    name, _, value = words[1].partition("=")
    return name, value if "=" in words[1] else environ.get(name, "")


def _absolute(option: str, value: str) -> str:
    return str(Path(value).absolute()) if option in _FILES else value
