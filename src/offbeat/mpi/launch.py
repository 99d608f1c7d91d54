"""The exact command that starts processes with an MPI installation."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

from msgspec import Struct

from offbeat.errors import BadInput
from offbeat.mpi import cores as this_node
from offbeat.mpi import intelmpi, mpich, openmpi, srun
from offbeat.mpi.allocation import Allocation
from offbeat.mpi.cores import Cores
from offbeat.mpi.installation import Installation
from offbeat.mpi.placement import Placement, place
from offbeat.mpi.surroundings import cleaned

_FAMILIES: dict[str, ModuleType] = {"openmpi": openmpi, "mpich": mpich, "intelmpi": intelmpi}


class LaunchCommand(Struct, frozen=True, kw_only=True):
    """A command ready to run: ``subprocess.Popen(command.argv, env=command.environment)``.

    ``environment`` is whole; ``changes`` is how it differs from the environment that the command was made in
    (``None``: removed). ``warnings`` are sentences for the user. ``oversubscribed`` says that processes share
    cores.
    """

    argv: list[str]
    environment: dict[str, str]
    changes: dict[str, str | None]
    warnings: list[str]
    oversubscribed: bool


def command(
    installation: Installation,
    driver: Path | Sequence[str],
    p: int,
    *,
    nodes: int = 0,
    ppn: int = 0,
    hostfile: Path | None = None,
    launcher: str = "auto",
    options: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    allocation: Allocation | None = None,
    cores: Cores | None = None,
    steerable: bool = True,
    environ: Mapping[str, str] = os.environ,
) -> LaunchCommand:
    """Make the command that starts ``p`` processes of ``driver``: a program, or one with its arguments.

    ``nodes`` × ``ppn`` places them; 0 leaves it to the launcher. ``launcher`` is ``auto`` (the installation's
    own), ``mpirun``, ``mpiexec`` or ``srun``. ``options`` are the user's further launcher words and replace
    ours of the same name; ``environment`` are variables for the processes. ``allocation`` is the batch job to
    run in and ``cores`` what this node has (looked up when ``None``). ``steerable`` adds what a library needs
    to obey forced algorithms; without it the library is launched as its users would. ``environ`` is the
    environment to start from.

    Raises :class:`BadInput` for what contradicts itself or is not there.
    """
    program = _launcher(installation, launcher, environ)
    by_srun = launcher == "srun"
    placement, warnings = place(
        p,
        nodes=nodes,
        ppn=ppn,
        hostfile=hostfile,
        options=options,
        allocation=allocation,
        cores=cores or this_node.available(),
        by_srun=by_srun,
        as_root=os.geteuid() == 0,
    )
    family = _FAMILIES[installation.family]
    wished = dict(environment or {})
    surroundings = cleaned(environ, installation)
    needed: dict[str, str] = family.environment(installation, placement, surroundings | wished)
    told = _told(installation, placement, steerable) | wished
    if by_srun:
        words = srun.arguments(placement, family.SRUN_PLUGIN, surroundings)
        whole = surroundings | needed | told
    else:
        words = family.arguments(placement, told)
        whole = surroundings | needed | wished
    if installation.family == "intelmpi":
        whole["PATH"] = f"{installation.mpirun.parent}{os.pathsep}{whole.get('PATH', os.defpath)}"
    driver_words = [str(driver)] if isinstance(driver, Path) else [str(word) for word in driver]
    return LaunchCommand(
        argv=[str(program), *words, *options, *driver_words],
        environment=whole,
        changes=_changes(environ, whole),
        warnings=warnings,
        oversubscribed=placement.load == "oversubscribed",
    )


def shell_line(launch: LaunchCommand) -> str:
    """The command as one line for a POSIX shell, with the variables it needs set and unset."""
    removed = [
        word for name, value in sorted(launch.changes.items()) if value is None for word in ("-u", name)
    ]
    assigned = [
        _assignment(name, value) for name, value in sorted(launch.changes.items()) if value is not None
    ]
    front = [*(["env", *removed] if removed else []), *assigned]
    return " ".join([*front, shlex.join(launch.argv)])


def _assignment(name: str, value: str) -> str:
    """``NAME=value``; a folder put in front of PATH as such, instead of the whole list."""
    if name == "PATH":
        return f'PATH={shlex.quote(value.split(os.pathsep)[0])}:"$PATH"'
    return f"{name}={shlex.quote(value)}"


def _launcher(installation: Installation, wanted: str, environ: Mapping[str, str]) -> Path:
    if wanted == "auto":
        return installation.mpirun
    if wanted == "srun":
        found = shutil.which("srun", path=environ.get("PATH"))
        if not found:
            raise BadInput("[mpi] launcher = srun, but there is no srun on PATH; use auto, mpirun or mpiexec")
        return Path(found)
    if wanted not in ("mpirun", "mpiexec"):
        raise BadInput(f"[mpi] launcher = {wanted}: known are auto, mpirun, mpiexec and srun")
    suffix = installation.mpirun.name.removeprefix("mpirun").removeprefix("mpiexec")
    program = installation.mpirun.with_name(wanted + suffix)
    if not os.access(program, os.X_OK):
        raise BadInput(f"[mpi] launcher = {wanted}, but {installation.name} has no {program}; use 'auto'")
    return program


def _told(installation: Installation, placement: Placement, steerable: bool) -> dict[str, str]:
    """The variables that the processes are told beside the user's, by name."""
    told: dict[str, str] = {}
    if steerable:
        told |= _FAMILIES[installation.family].steering_environment(installation, placement)
    if placement.load == "oversubscribed":
        told["OFFBEAT_YIELD"] = "1"
    return told


def _changes(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str | None]:
    removed: dict[str, str | None] = {name: None for name in before if name not in after}
    return removed | {name: value for name, value in after.items() if before.get(name) != value}
