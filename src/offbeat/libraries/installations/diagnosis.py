"""The diagnosis of ``offbeat doctor``: which installations work, and what this node is and lacks."""

from __future__ import annotations

import os
import platform
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from offbeat.base.errors import RunFailed
from offbeat.libraries.families.libraries import library_of
from offbeat.libraries.installations import modules, probe
from offbeat.libraries.installations.build import build_native, find_cmake
from offbeat.libraries.installations.check import NodeStatus, check, check_nodes, limits_of_nodes
from offbeat.libraries.installations.find import Survey
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch import batch_job as allocation
from offbeat.libraries.launch import cores
from offbeat.libraries.launch.batch_job import Allocation
from offbeat.libraries.launch.cores import Cores
from offbeat.libraries.launch.driver_protocol import LaunchFacts


class Node(Struct, frozen=True, kw_only=True):
    """This node: its cores, the kernel's clock, the batch job, and modules that hold MPI libraries."""

    cores: Cores
    kernel_clock: str
    allocation: Allocation | None
    modules: list[str]
    limits: list[str]


class TriedInstallation(Struct, frozen=True, kw_only=True):
    """One installation that was tried.

    ``failure`` is empty if it works; ``limits`` are sentences. ``nodes`` are those of the host file or the
    batch job, where there are several.
    """

    installation: Installation
    driver: str
    check: LaunchFacts | None
    failure: str
    nodes: list[NodeStatus]
    limits: list[str]


class Diagnosis(Struct, frozen=True, kw_only=True):
    """Everything that ``offbeat doctor`` prints; ``examined`` are the installations that were tried."""

    survey: Survey
    node: Node
    examined: list[TriedInstallation]

    @property
    def works(self) -> bool:
        """Whether at least one installation was tried and all that were tried work."""
        return bool(self.examined) and not any(entry.failure for entry in self.examined)


def inspect_node(environ: Mapping[str, str] = os.environ) -> Node:
    """Inspect this node, independently of any MPI installation."""
    node_cores = cores.available()
    clock = cores.clock_source()
    return Node(
        cores=node_cores,
        kernel_clock=clock,
        allocation=allocation.current(environ),
        modules=modules.available(environ),
        limits=list(_limits_of_node(node_cores, clock, environ, allocation.current(environ))),
    )


def try_installation(
    installation: Installation,
    echo: Callable[[str], None] | None = None,
    environ: Mapping[str, str] = os.environ,
    hostfile: Path | None = None,
) -> TriedInstallation:
    """Build the native parts for an installation, run two processes here, and one on each of several nodes.

    Failures are part of the result, except :class:`BadInput` for a host file that cannot be read.
    """
    driver, answer, failure, nodes = "", None, "", []
    try:
        driver_file = build_native(installation, echo=echo, environ=environ)
        driver = str(driver_file)
        answer = check(installation, driver_file, environ=environ)
        nodes = check_nodes(installation, driver_file, hostfile, allocation.current(environ), environ)
        failure = " ".join(f"{node.host} does not answer." for node in nodes if node.failure)
    except RunFailed as reason:
        failure = str(reason)
    return TriedInstallation(
        installation=installation,
        driver=driver,
        check=answer,
        failure=failure,
        nodes=nodes,
        limits=[*_limits_of_installation(installation, answer), *limits_of_nodes(nodes)],
    )


def _limits_of_node(
    node: Cores, clock: str, environ: Mapping[str, str], job: Allocation | None = None
) -> Iterator[str]:
    """The limits of this node, their reasons and remedies; ``job`` is the batch job, if any."""
    if node.logical < 2 and job is not None and job.cores > 1:
        yield (
            "This process may use only one core of this node: start one process on each of the job's nodes;"
            " processes that share a core wait for each other, so that their times mean nothing."
        )
    elif node.logical < 2:
        yield "This process may use only one core: all processes share it, so measured times mean nothing."
    if node.logical < node.machine_logical:
        why = f"a CPU limit of {node.quota:g} cores" if node.quota is not None else "its affinity mask"
        yield (
            f"Of the machine's {node.machine_logical} hardware threads only {node.logical} can be used:"
            f" {why}."
        )
    if node.governor and node.governor != "performance":
        yield (
            f"The CPU governor is '{node.governor}': cores change their frequency while they wait; choose"
            " 'performance' (cpupower frequency-set -g performance, as root)."
        )
    if clock in ("hpet", "acpi_pm", "jiffies"):
        yield (
            f"The kernel's clock source is '{clock}': reading it takes about a microsecond; 'tsc' takes 20"
            " ns."
        )
    try:
        find_cmake(environ)
    except RunFailed as reason:
        yield f"Nothing can be built: {reason}."
    compiler = environ.get("CC", "cc").split()[0]
    if not shutil.which(compiler, path=environ.get("PATH")):
        yield f"Nothing can be built: there is no C compiler '{compiler}' on PATH."


def _limits_of_installation(installation: Installation, answer: LaunchFacts | None) -> Iterator[str]:
    """The limits of this installation, their reasons, and what offbeat does instead."""
    if installation.mpicc is None:
        yield (
            f"{installation.mpirun.parent} has no working mpicc: offbeat builds without it; your own programs"
            f" need -I{installation.include} and {installation.library}."
        )
    if answer and not answer.switches:
        yield (
            f"{installation.version_text} cannot change algorithms while it runs: each algorithm is measured"
            " in a launch of its own, so a study takes longer."
        )
    yield from _limits_of_proof(installation, answer)
    if answer and not answer.clock_shared:
        yield (
            "The processes have no common physical clock: times of different processes are comparable to"
            f" within {answer.clock_bound_ns} ns."
        )
    if answer and answer.clock_resolution_ns > 1000:
        yield (
            f"The clock's resolution is {answer.clock_resolution_ns} ns: shorter times cannot be"
            " distinguished."
        )


def _limits_of_proof(installation: Installation, answer: LaunchFacts | None) -> Iterator[str]:
    """A sentence on the evidence that identifies executed algorithms: function names, messages, or exits."""
    library = installation.library
    has_names = probe.has_symbols(library) or library_of(installation).names_functions(library)
    if has_names and platform.machine() in ("x86_64", "aarch64"):
        return
    why = (
        f"{library.name} has neither symbols nor the names of its functions"
        if not has_names
        else f"function entries cannot be observed on {platform.machine()}"
    )
    device = re.search(r"^MPICH Device:(.*)$", answer.library if answer else "", flags=re.MULTILINE)
    if device and "ucx" in device[1]:
        yield (
            f"{installation.name}: {why}: an executed algorithm is identified by the messages it sends, so"
            " two algorithms with the same messages are indistinguishable."
        )
    else:
        yield (
            f"{installation.name}: {why}: an executed algorithm is identified only by which processes exit"
            " late when one is delayed, so algorithms that make all processes wait are indistinguishable."
        )
