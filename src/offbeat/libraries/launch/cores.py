"""The cores that processes on this node may use: affinity, hardware threads and control-group limits."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from offbeat.base.reading import read_system_text


class Cores(Struct, frozen=True, kw_only=True):
    """Cores of this node, as this process may use them.

    ``logical`` counts the hardware threads that the affinity mask and the control group's CPU limit leave;
    ``physical`` counts the cores they belong to. ``machine_logical`` is what the machine has. ``quota`` is
    the control group's limit in cores, or ``None``. ``governor`` is the CPU frequency governor, empty where
    it cannot be read.
    """

    logical: int
    physical: int
    machine_logical: int
    quota: float | None = None
    governor: str = ""


def available(root: Path = Path("/")) -> Cores:
    """The cores of this node; ``root`` is the folder that holds ``sys`` and ``proc``."""
    threads = os.sched_getaffinity(0)
    quota = cpu_quota(root)
    limit = max(1, int(quota + 1e-9)) if quota is not None else len(threads)
    return Cores(
        logical=min(len(threads), limit),
        physical=min(len({_core_of(root, thread) for thread in threads}), limit),
        machine_logical=os.cpu_count() or len(threads),
        quota=quota,
        governor=read_system_text(
            root / f"sys/devices/system/cpu/cpu{min(threads)}/cpufreq/scaling_governor"
        ),
    )


def memory_domains(root: Path = Path("/")) -> int:
    """The ccNUMA domains of this node with cores for this process; 1 if the system does not say it."""
    usable = os.sched_getaffinity(0)
    folders = (root / "sys/devices/system/node").glob("node[0-9]*")
    return max(
        1,
        sum(
            not usable.isdisjoint(_parse_cpu_list(read_system_text(folder / "cpulist"))) for folder in folders
        ),
    )


def _parse_cpu_list(text: str) -> set[int]:
    """The hardware threads of a list such as ``0-3,8``."""
    numbers: set[int] = set()
    for part in text.split(",") if text else []:
        first, _, last = part.partition("-")
        numbers.update(range(int(first), int(last or first) + 1))
    return numbers


def clock_source(root: Path = Path("/")) -> str:
    """The kernel's time source behind CLOCK_MONOTONIC (``tsc``, ``hpet``, ...); empty if unknown."""
    return read_system_text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource")


def cpu_quota(root: Path = Path("/")) -> float | None:
    """The tightest CPU limit of this process's control groups, in cores; ``None`` where there is none."""
    return min(_quotas(root), default=None)


def _quotas(root: Path) -> Iterator[float]:
    """The CPU limits of this process's control groups and of their parents, in cores."""
    for line in read_system_text(root / "proc/self/cgroup").splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0":
            yield from _limits_upwards(root / "sys/fs/cgroup", path, _limit_v2)
        elif "cpu" in controllers.split(","):
            yield from _limits_upwards(root / "sys/fs/cgroup" / controllers, path, _limit_v1)
            yield from _limits_upwards(root / "sys/fs/cgroup/cpu", path, _limit_v1)


def _limits_upwards(mount: Path, path: str, limit_of: Callable[[Path], float | None]) -> Iterator[float]:
    folder = mount / path.lstrip("/")
    while True:
        limit = limit_of(folder)
        if limit is not None:
            yield limit
        if folder == mount or mount not in folder.parents:
            return
        folder = folder.parent


def _limit_v2(folder: Path) -> float | None:
    values = read_system_text(folder / "cpu.max").split()
    if len(values) != 2 or values[0] == "max":
        return None
    return int(values[0]) / int(values[1])


def _limit_v1(folder: Path) -> float | None:
    quota, period = (
        read_system_text(folder / "cpu.cfs_quota_us"),
        read_system_text(folder / "cpu.cfs_period_us"),
    )
    if not quota or not period or int(quota) <= 0:
        return None
    return int(quota) / int(period)


def _core_of(root: Path, thread: int) -> tuple[str, str] | int:
    topology = root / f"sys/devices/system/cpu/cpu{thread}/topology"
    package, core = read_system_text(topology / "physical_package_id"), read_system_text(topology / "core_id")
    return (package, core) if core else thread
