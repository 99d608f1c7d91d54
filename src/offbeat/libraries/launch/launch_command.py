"""The exact command that starts processes with an MPI installation."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.libraries.families.inherited_settings import (
    inherited_settings,
    neutral_variables,
    removal_note,
    without_settings,
)
from offbeat.libraries.families.libraries import library_of
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch import cores as this_node
from offbeat.libraries.launch.batch_job import Allocation
from offbeat.libraries.launch.cores import Cores
from offbeat.libraries.launch.environment import clean_environment
from offbeat.libraries.launch.placement import Placement, place_processes


class LaunchCommand(Struct, frozen=True, kw_only=True):
    """A command ready to run: ``subprocess.Popen(command.argv, env=command.environment)``.

    ``environment`` is complete; ``changes`` is how it differs from the environment in which the command was
    created (``None``: removed). ``warnings`` are sentences for the user. ``is_oversubscribed`` says that
    processes share cores.
    """

    argv: list[str]
    environment: dict[str, str]
    changes: dict[str, str | None]
    warnings: list[str]
    is_oversubscribed: bool


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
    threads: int = 1,
    environ: Mapping[str, str] = os.environ,
) -> LaunchCommand:
    """Create the command that starts ``p`` processes of ``driver``: a program, or one with its arguments.

    ``nodes`` × ``ppn`` places them; 0 leaves it to the launcher. ``launcher`` is ``auto`` (the installation's
    own), ``mpirun``, ``mpiexec`` or ``srun``. ``options`` are the user's launcher options and replace
    offbeat's options of the same name; ``environment`` are variables for the processes. ``allocation`` is the
    batch job to run in and ``cores`` what this node has (looked up when ``None``). ``steerable`` adds what a
    library needs to obey forced algorithms; without it the library is launched as its users would. A process
    with several ``threads`` is not bound to a core. ``environ`` is the environment to start from.

    Raises :class:`BadInput` for contradictory arguments and for a launcher that does not exist.
    """
    program = _launcher(installation, launcher, environ)
    by_srun = launcher == "srun"
    placement, warnings = place_processes(
        p,
        nodes=nodes,
        ppn=ppn,
        hostfile=hostfile,
        options=options,
        allocation=allocation,
        cores=cores or this_node.available(),
        by_srun=by_srun,
        as_root=os.geteuid() == 0,
        threads=threads,
    )
    library = library_of(installation)
    user_variables = dict(environment or {})
    base_environment = clean_environment(environ, installation)
    settings = inherited_settings(installation, base_environment)
    base_environment = without_settings(base_environment, settings)
    warnings += removal_note(settings)
    library_variables = library.environment(installation, placement, base_environment | user_variables)
    for_processes = (
        neutral_variables(installation, settings)
        | _process_variables(installation, placement, steerable)
        | user_variables
    )
    if by_srun:
        launcher_options = _srun_options(placement, library.srun_plugin, base_environment)
        complete = base_environment | library_variables | for_processes
    else:
        launcher_options = library.arguments(placement, for_processes)
        complete = base_environment | library_variables | user_variables
    if library.launcher_folder_on_path:
        complete["PATH"] = f"{installation.mpirun.parent}{os.pathsep}{complete.get('PATH', os.defpath)}"
    driver_command = [str(driver)] if isinstance(driver, Path) else [str(argument) for argument in driver]
    return LaunchCommand(
        argv=[str(program), *launcher_options, *options, *driver_command],
        environment=complete,
        changes=_changes(environ, complete),
        warnings=warnings,
        is_oversubscribed=placement.load == "oversubscribed",
    )


def shell_line(launch: LaunchCommand) -> str:
    """The command as one line for a POSIX shell, with the variables it needs set and unset."""
    changes = sorted(launch.changes.items())
    unset = [argument for name, value in changes if value is None for argument in ("-u", name)]
    assignments = [_assignment(name, value) for name, value in changes if value is not None]
    return " ".join([*(["env", *unset] if unset else []), *assignments, shlex.join(launch.argv)])


def _assignment(name: str, value: str) -> str:
    """Returns ``NAME=value``; for PATH only the folder that was added in front, not the whole list."""
    if name == "PATH":
        return f'PATH={shlex.quote(value.split(os.pathsep)[0])}:"$PATH"'
    return f"{name}={shlex.quote(value)}"


def _launcher(installation: Installation, launcher: str, environ: Mapping[str, str]) -> Path:
    if launcher == "auto":
        return installation.mpirun
    if launcher == "srun":
        srun = shutil.which("srun", path=environ.get("PATH"))
        if not srun:
            raise BadInput("[mpi] launcher = srun, but there is no srun on PATH; use auto, mpirun or mpiexec")
        return Path(srun)
    if launcher not in ("mpirun", "mpiexec"):
        raise BadInput(f"[mpi] launcher = {launcher}: known are auto, mpirun, mpiexec and srun")
    suffix = installation.mpirun.name.removeprefix("mpirun").removeprefix("mpiexec")
    program = installation.mpirun.with_name(launcher + suffix)
    if not os.access(program, os.X_OK):
        raise BadInput(f"[mpi] launcher = {launcher}, but {installation.name} has no {program}; use 'auto'")
    return program


def _srun_options(placement: Placement, plugin: str, environment: Mapping[str, str]) -> list[str]:
    """Options of Slurm's srun, whatever the library; ``plugin`` starts this library's processes, unless the
    site or the user chose one.

    Variables are passed in srun's own environment, because --export takes no value with a comma.
    """
    if placement.hostfile:
        raise BadInput(
            f"hostfile = {placement.hostfile}: srun takes its nodes from Slurm; leave the hostfile out, or"
            " launch with mpirun"
        )
    options = ["--ntasks", str(placement.p)]
    if placement.nodes:
        options += ["--nodes", str(placement.nodes), "--ntasks-per-node", str(placement.ppn)]
    if not placement.mentions("--mpi") and "SLURM_MPI_TYPE" not in environment:
        options += [f"--mpi={plugin}"]
    if placement.load == "oversubscribed":
        options += ["--overcommit"]
    if not placement.mentions("--cpu-bind"):
        binding = {"own core": "cores", "own thread": "threads"}.get(placement.load, "none")
        options += [f"--cpu-bind={binding}"]
    return [*options, "--kill-on-bad-exit=1", "--export=ALL"]


def _process_variables(installation: Installation, placement: Placement, steerable: bool) -> dict[str, str]:
    variables: dict[str, str] = {}
    if steerable:
        variables |= library_of(installation).steering_environment
    if placement.load == "oversubscribed":
        variables["OFFBEAT_YIELD"] = "1"
    return variables


def _changes(base: Mapping[str, str], target: Mapping[str, str]) -> dict[str, str | None]:
    removals: dict[str, str | None] = {name: None for name in base if name not in target}
    return removals | {name: value for name, value in target.items() if base.get(name) != value}
