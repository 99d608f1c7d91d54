"""Facts about this node: cores, control groups, environment modules."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from installation_factory import described, script

from offbeat.libraries.installations import modules
from offbeat.libraries.launch import cores


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def a_machine(root: Path, siblings: dict[int, tuple[int, int]]) -> Path:
    """/sys of a machine; hardware thread → (package, core)."""
    for thread, (package, core) in siblings.items():
        topology = root / f"sys/devices/system/cpu/cpu{thread}/topology"
        write(topology / "physical_package_id", f"{package}\n")
        write(topology / "core_id", f"{core}\n")
    return root


def test_hardware_threads_of_one_core_count_as_one_core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = a_machine(tmp_path, {0: (0, 0), 1: (0, 1), 2: (0, 0), 3: (0, 1), 4: (1, 0)})
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2, 4})
    here = cores.available(root)
    assert (here.logical, here.physical, here.quota) == (3, 2, None)


@pytest.mark.parametrize(
    ("usable", "domains"), [({0, 1}, 1), ({1, 12}, 2), ({0, 4, 8, 12}, 2), ({0, 4, 10}, 2), ({5}, 1)]
)
def test_memory_domains_without_cores_of_this_process_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, usable: set[int], domains: int
) -> None:
    assert cores.memory_domains(tmp_path) == 1  # the system does not say it
    for number, threads in enumerate(("0-3,8-11\n", "4-7,12\n", "\n")):  # the last one has memory alone
        write(tmp_path / f"sys/devices/system/node/node{number}/cpulist", threads)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: usable)
    assert cores.memory_domains(tmp_path) == domains


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"proc/self/cgroup": "0::/job\n", "sys/fs/cgroup/job/cpu.max": "150000 100000\n"}, 1.5),
        ({"proc/self/cgroup": "0::/job/step\n", "sys/fs/cgroup/job/cpu.max": "300000 100000\n"}, 3.0),
        ({"proc/self/cgroup": "0::/job\n", "sys/fs/cgroup/job/cpu.max": "max 100000\n"}, None),
        (
            {
                "proc/self/cgroup": "4:cpu,cpuacct:/job\n",
                "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "200000\n",
                "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000\n",
            },
            2.0,
        ),
        ({"proc/self/cgroup": "4:cpu:/\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n"}, None),
        ({}, None),
    ],
)
def test_cpu_limits_of_control_groups_are_read_in_both_versions(
    tmp_path: Path, files: dict[str, str], quota: float | None
) -> None:
    for name, text in files.items():
        write(tmp_path / name, text)
    if any("cfs_quota" in name for name in files):
        write(tmp_path / "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
    assert cores.cpu_quota(tmp_path) == quota


def test_a_cpu_limit_reduces_the_cores_to_at_least_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = a_machine(tmp_path, {thread: (0, thread) for thread in range(8)})
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    write(tmp_path / "proc/self/cgroup", "0::/\n")
    for limit, expected in (("350000 100000", 3), ("50000 100000", 1), ("900000 100000", 8)):
        write(tmp_path / "sys/fs/cgroup/cpu.max", limit)
        assert (cores.available(root).logical, cores.available(root).physical) == (expected, expected)


def test_this_very_node_has_cores_and_a_clock() -> None:
    here = cores.available()
    assert 1 <= here.physical <= here.logical <= here.machine_logical


LMOD = """/opt/modules/Core:
gcc/12.2
openmpi/
openmpi/4.1.6-gcc12
OpenMPI/5.0.3(default)
impi/2021.9
intel-oneapi-mpi/2021.12
mpi/mpich-x86_64 <L>
simpi-tools/1
compiler/2024
"""


def test_modules_that_look_like_mpi_are_listed_by_name() -> None:
    assert modules.mpi_modules(LMOD) == [
        "OpenMPI/5.0.3",
        "impi/2021.9",
        "intel-oneapi-mpi/2021.12",
        "mpi/mpich-x86_64",
        "openmpi/4.1.6-gcc12",
    ]


@pytest.mark.parametrize("system", ["lmod", "modules", "old"])
def test_each_module_system_is_queried_in_its_own_way(tmp_path: Path, system: str) -> None:
    written = "echo openmpi/$3-$4 >&2\n"
    program = script(tmp_path / "bin/modulecmd", written)
    environ = {
        "lmod": {"LMOD_CMD": str(program)},
        "modules": {"MODULES_CMD": str(program)},
        "old": {"MODULESHOME": str(tmp_path)},
    }[system]
    expected = {"lmod": "", "modules": "openmpi/--terse-", "old": "openmpi/-t-"}[system]
    modules_found = modules.available(environ)
    assert len(modules_found) == 1
    assert modules_found[0].startswith(expected)


def test_without_modules_there_are_none(tmp_path: Path) -> None:
    assert modules.available({}) == []
    assert modules.available({"LMOD_CMD": str(tmp_path / "gone")}) == []


def test_a_system_library_belongs_to_no_module() -> None:
    environ = {"LOADEDMODULES": "openmpi/4.1.4"}
    assert modules.module_of(described("openmpi", 4, 1, 4, prefix="/usr"), environ) == ""
    assert modules.module_of(described("openmpi", 4, 1, 4), environ) == "openmpi/4.1.4"
    assert modules.module_of(described("mpich", 4, 1, 4), environ) == ""
    assert modules.module_of(described("intelmpi", 2021, 9), environ) == ""


@pytest.mark.parametrize(
    "name", ["impi/2021.9.0", "intel-oneapi-mpi/2021.9", "mpi/2021.9", "intel/2023a:toolchain/impi-2021.9"]
)
def test_intels_module_goes_by_many_names(name: str) -> None:
    installation = described("intelmpi", 2021, 9)
    assert (
        modules.module_of(installation, {"LOADEDMODULES": f"gcc/12:openmpi/4.1:{name}"})
        == name.split(":")[-1]
    )
