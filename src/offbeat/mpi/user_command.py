"""A user's launch command in its parts: the launcher, its options, and the program with its arguments.

So that measurements run as the program does: with the same launcher, options, binding and nodes.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from offbeat.errors import BadInput
from offbeat.mpi.environment import count_option, is_launcher, is_srun

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


class UserCommand(Struct, frozen=True, kw_only=True):
    """A launch command: ``launcher`` is ``srun``, ``mpirun`` or ``mpiexec``, and empty without one.

    ``options`` are those of the launcher without the number of processes, with absolute paths of files;
    ``program`` is the program with its arguments.
    """

    launcher: str
    options: list[str]
    program: list[str]


def user_command(argv: Sequence[str], environ: Mapping[str, str] = os.environ) -> UserCommand:
    """The parts of a command.

    Raises :class:`BadInput` for several programs in one launch (MPMD), and if there is no program.
    """
    name, by_srun = Path(argv[0]).name, is_srun(argv)
    if not (is_launcher(argv) or by_srun):
        return UserCommand(launcher="", options=[], program=list(argv))
    options: list[str] = []
    place = 1
    while place < len(argv) and argv[place].startswith("-"):
        option, words = argv[place], count_option(argv[place], by_srun=by_srun)
        values = argv[place + 1 : place + words] if words else _values(argv, place, environ)
        if not words:
            options += [option, *(_absolute(option, value) for value in values)]
        place += 1 + len(values)
    program = list(argv[place:])
    if not program:
        raise BadInput(f"there is no program in the command: {' '.join(argv)}")
    if ":" in program:
        raise BadInput(
            f"{' '.join(argv)} starts several programs (:), whose launch cannot be repeated for measurements;"
            " trace it with 'offbeat trace run', and describe the measurement in a study file"
        )
    kind = "srun" if by_srun else "mpiexec" if name.startswith("mpiexec") else "mpirun"
    return UserCommand(launcher=kind, options=options, program=program)


def _values(argv: Sequence[str], place: int, environ: Mapping[str, str]) -> Sequence[str]:
    """The values of the option at a place; of an unknown option, the next word if it is no program."""
    option, following = argv[place], argv[place + 1 :]
    if option in _TWO_VALUES:
        return following[:2]
    if option in _ONE_VALUE:
        return following[:1]
    if "=" in option or not following or following[0].startswith("-"):
        return []
    return [] if _is_program(following[0], environ) else following[:1]


def _is_program(word: str, environ: Mapping[str, str]) -> bool:
    return shutil.which(word, path=environ.get("PATH", os.defpath)) is not None


def _absolute(option: str, value: str) -> str:
    return str(Path(value).absolute()) if option in _FILES else value
