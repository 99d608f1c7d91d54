"""Provenance: where and how results were measured, so that readers can judge and repeat them.

Only the environment variables of the scheduler and the module system below are recorded; no other variable of
the user is.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import psutil

import offbeat
from offbeat.base.reading import read_system_text
from offbeat.measurement.results.schema import SCHEMA_VERSION

SCHEDULER_VARIABLES = (
    "SLURM_JOB_ID",
    "SLURM_JOB_PARTITION",
    "SLURM_JOB_NUM_NODES",
    "SLURM_HET_SIZE",
    "SLURM_JOB_NODELIST",
    "SLURM_NTASKS",
    "SLURM_NTASKS_PER_NODE",
    "SLURM_CPUS_PER_TASK",
    "SLURM_CPUS_ON_NODE",
    "SLURM_CPU_BIND",
    "SLURM_DISTRIBUTION",
    "SLURM_THREADS_PER_CORE",
    "PBS_JOBID",
    "PBS_QUEUE",
    "PBS_NUM_NODES",
    "PBS_NP",
    "LSB_JOBID",
    "LSB_QUEUE",
    "LSB_DJOB_NUMPROC",
)
"""Variables by which Slurm, PBS and LSF describe the job and its placement."""


def provenance(extra: Mapping[str, object] | None = None, *, root: Path = Path("/")) -> dict[str, object]:
    """The facts about this machine, this moment and this offbeat, followed by ``extra``.

    Unknown facts are empty, never guessed. ``root`` is the folder of ``/proc`` and ``/sys``.
    """
    machine = {
        "host": platform.node(),
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cpu": _cpu(root),
        "topology": _topology(root),
        "frequency": _frequency(root),
        "memory_bytes": psutil.virtual_memory().total,
        "load_average": list(os.getloadavg()),
        "modules": [module for module in os.environ.get("LOADEDMODULES", "").split(":") if module],
        "scheduler": {name: os.environ[name] for name in SCHEDULER_VARIABLES if name in os.environ},
    }
    return written_by() | machine | dict(extra or {})


def written_by() -> dict[str, object]:
    """The version of offbeat, the schema version and the time; the only facts of an import."""
    return {
        "schema_version": SCHEMA_VERSION,
        "offbeat_version": offbeat.__version__,
        "python": platform.python_version(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _cpu(root: Path) -> str:
    for line in read_system_text(root / "proc/cpuinfo").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "cpu model", "cpu"):
            return value.strip()
    return platform.processor()


def _topology(root: Path) -> dict[str, object]:
    """Cores, sockets and memory domains, and how many of the processors this process may use."""
    cpus = root / "sys/devices/system/cpu"
    sockets = {read_system_text(path) for path in cpus.glob("cpu[0-9]*/topology/physical_package_id")}
    quota = read_system_text(root / "sys/fs/cgroup/cpu.max").split()
    return {
        "cores": psutil.cpu_count(logical=False),
        "threads": psutil.cpu_count(logical=True),
        "usable_threads": len(os.sched_getaffinity(0)),
        "sockets": len(sockets) or None,
        "numa_nodes": len(list((root / "sys/devices/system/node").glob("node[0-9]*"))) or None,
        "hyperthreading": read_system_text(cpus / "smt/active"),
        "container_cpus": float(quota[0]) / float(quota[1])
        if len(quota) == 2 and quota[0] != "max"
        else None,
    }


def _frequency(root: Path) -> dict[str, object]:
    """CPU frequency settings: a governor other than 'performance' makes timings drift."""
    cpus = root / "sys/devices/system/cpu"
    return {
        "governors": sorted(
            {read_system_text(path) for path in cpus.glob("cpu[0-9]*/cpufreq/scaling_governor")} - {""}
        ),
        "driver": read_system_text(cpus / "cpu0/cpufreq/scaling_driver"),
        "turbo_off": read_system_text(cpus / "intel_pstate/no_turbo"),
        "boost": read_system_text(cpus / "cpufreq/boost"),
    }
