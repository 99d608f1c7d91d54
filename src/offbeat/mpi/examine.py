"""What ``offbeat doctor`` finds out: which installations work, this node, and what will not work here."""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from offbeat.errors import RunFailed
from offbeat.mpi import allocation, cores, modules, probe
from offbeat.mpi.allocation import Allocation
from offbeat.mpi.build import build_native, find_cmake
from offbeat.mpi.check import Check, check
from offbeat.mpi.cores import Cores
from offbeat.mpi.find import Survey
from offbeat.mpi.installation import Installation
from offbeat.mpi.nodes import SeenNode, limits_of_nodes, look_at_nodes


class Node(Struct, frozen=True, kw_only=True):
    """This node: its cores, the kernel's clock, the batch job, and modules that hold MPI libraries."""

    cores: Cores
    kernel_clock: str
    allocation: Allocation | None
    modules: list[str]
    limits: list[str]


class Examination(Struct, frozen=True, kw_only=True):
    """One installation that was tried: ``failure`` is empty when it works; ``limits`` are sentences.

    ``nodes`` are those of the host file or the batch job, where there are several.
    """

    installation: Installation
    driver: str
    check: Check | None
    failure: str
    nodes: list[SeenNode]
    limits: list[str]


class Findings(Struct, frozen=True, kw_only=True):
    """Everything the doctor has to say."""

    survey: Survey
    node: Node
    examined: list[Examination]

    @property
    def works(self) -> bool:
        """Whether something was examined and all of it works."""
        return bool(self.examined) and not any(entry.failure for entry in self.examined)


def look_at_node(environ: Mapping[str, str] = os.environ) -> Node:
    """Look at this node, whatever MPI there is."""
    here = cores.available()
    clock = cores.clock_source()
    return Node(
        cores=here,
        kernel_clock=clock,
        allocation=allocation.current(environ),
        modules=modules.available(environ),
        limits=list(_limits_of_node(here, clock, environ)),
    )


def examine(
    installation: Installation,
    echo: Callable[[str], None] | None = None,
    environ: Mapping[str, str] = os.environ,
    hostfile: Path | None = None,
) -> Examination:
    """Build the native parts for an installation, run two processes, and one on each of several nodes.

    A failure is told, not raised, except :class:`BadInput` for a host file that cannot be read.
    """
    driver, answer, failure, nodes = "", None, "", []
    try:
        built = build_native(installation, echo=echo, environ=environ)
        driver = str(built)
        answer = check(installation, built, environ=environ)
        nodes = look_at_nodes(installation, built, hostfile, allocation.current(environ), environ)
        failure = " ".join(f"{node.host} does not answer." for node in nodes if node.failure)
    except RunFailed as reason:
        failure = str(reason)
    return Examination(
        installation=installation,
        driver=driver,
        check=answer,
        failure=failure,
        nodes=nodes,
        limits=[*_limits_of_installation(installation, answer), *limits_of_nodes(nodes)],
    )


def _limits_of_node(here: Cores, clock: str, environ: Mapping[str, str]) -> Iterator[str]:
    """What will not work on this node, why, and the mend."""
    if here.logical < 2:
        yield "This process may use one core only: any two processes share it, and no figure means anything."
    if here.logical < here.machine_logical:
        why = f"a CPU limit of {here.quota:g} cores" if here.quota is not None else "its affinity mask"
        yield (
            f"Of the machine's {here.machine_logical} hardware threads only {here.logical} can be used:"
            f" {why}."
        )
    if here.governor and here.governor != "performance":
        yield (
            f"The CPU governor is '{here.governor}': cores change their frequency while they wait; ask for"
            " 'performance' (cpupower frequency-set -g performance, as root)."
        )
    if clock in ("hpet", "acpi_pm", "jiffies"):
        yield (
            f"The kernel reads its time from '{clock}', which costs about a microsecond a look; 'tsc' costs"
            " 20 ns."
        )
    try:
        find_cmake(environ)
    except RunFailed as reason:
        yield f"Nothing can be built: {reason}."
    compiler = environ.get("CC", "cc").split()[0]
    if not shutil.which(compiler, path=environ.get("PATH")):
        yield f"Nothing can be built: there is no C compiler '{compiler}' on PATH."


def _limits_of_installation(installation: Installation, answer: Check | None) -> Iterator[str]:
    """What will not work with this installation, why, and what is done instead."""
    if installation.mpicc is None:
        yield (
            f"{installation.mpirun.parent} has no working mpicc: offbeat builds without it; your own programs"
            f" need -I{installation.include} and {installation.library}."
        )
    if answer and not answer.switches:
        yield (
            f"{installation.version_text} takes no other algorithm while it runs: each algorithm is measured"
            " in a launch of its own, so a study takes longer."
        )
    yield from _limits_of_proof(installation, answer)
    if answer and not answer.clock_shared:
        yield (
            "The processes do not read one clock: times of different processes are right to within"
            f" {answer.clock_bound_ns} ns."
        )
    if answer and answer.clock_resolution_ns > 1000:
        yield (
            f"The clock's resolution is {answer.clock_resolution_ns} ns: shorter times cannot be told apart."
        )


def _limits_of_proof(installation: Installation, answer: Check | None) -> Iterator[str]:
    """Which algorithm ran is seen by its function's name, by its messages (UCX), or by who leaves late."""
    library = installation.library.name
    named = (
        installation.family == "openmpi"
        or probe.has_symbols(installation.library)
        or (installation.family == "mpich" and probe.names_its_functions(installation.library))
    )
    if named and platform.machine() in ("x86_64", "aarch64"):
        return
    why = (
        f"{library} has neither symbols nor the names of its functions"
        if not named
        else f"functions cannot be watched on {platform.machine()}"
    )
    device = re.search(r"^MPICH Device:(.*)$", answer.library if answer else "", flags=re.MULTILINE)
    if device and "ucx" in device[1]:
        yield (
            f"{installation.name}: {why}: which algorithm ran is proved by the messages it sends, so two"
            " algorithms with the same messages count as one."
        )
    else:
        yield (
            f"{installation.name}: {why}: which algorithm ran can only be judged by which processes leave"
            " late, and algorithms that make everybody wait look alike."
        )
