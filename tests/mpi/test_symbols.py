"""The symbols of the native libraries: each exports only its public functions, and no two define one name."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from plain_install import PlainInstall, succeed

HARMONIZE = re.compile(r"MPIX_Harmonize|offbeat_(clock|harmonize|start_context|verdict_text|fortran)(_|$)")
"""How every external name of liboffbeat-harmonize begins, public or not."""

PARTITIONED = re.compile(
    r"offbeat_(psend_init|precv_init|pbcast_init|pallreduce_init|pstart(all)?|pready(_range|_list)?|parrived|pcancel|prequest_free"
    r"|fortran_p\w+|p(test|wait)(all|any|some)?|partitioned_\w+)$"
)
"""Every external name of liboffbeat-partitioned, public or not."""

PRELOAD = {
    *("MPI_Barrier", "mpi_barrier_", "mpi_barrier_f08_"),
    *("MPI_Finalize", "mpi_finalize_", "mpi_finalize_f08_"),
}
PARTITIONED_PRELOAD = {
    *("Init", "Init_thread", "Finalize"),
    *("Psend_init", "Precv_init", "Pready", "Pready_range", "Pready_list", "Parrived", "Start", "Startall"),
    *("Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome"),
    *("Request_free", "Request_get_status", "Cancel", "Recv", "Send", "Ssend", "Rsend", "Sendrecv"),
    *("Probe", "Mprobe", "Mrecv", "Sendrecv_replace"),
    *("Comm_dup", "Comm_dup_with_info", "Comm_idup", "Comm_idup_with_info", "Comm_split", "Comm_split_type"),
    *("Comm_create", "Comm_create_group", "Intercomm_create", "Intercomm_merge", "Cart_create", "Cart_sub"),
    *("Graph_create", "Dist_graph_create", "Dist_graph_create_adjacent"),
}
"""Beside the blocking collectives, which are in native/collectives/collectives.def."""

BY_C = {"Psend_init", "Precv_init", "Recv", "Mrecv", "Send", "Ssend", "Rsend", "Sendrecv", "Sendrecv_replace"}
"""Those whose procedures of mpi_f08 call the functions of C, or that are replaced in C only."""

LINKED_TOGETHER = [
    ("harmonize_objects", "offbeat_collectives", "offbeat-driver"),
    ("harmonize_objects", "preload"),
    ("harmonize_objects", "partitioned_objects"),
    ("partitioned_objects", "partitioned_preload"),
    ("harmonize_objects", "tracer"),
]
"""Targets of native/CMakeLists.txt whose objects are linked into one program or library."""


def declared(install: PlainInstall, *headers: str) -> set[str]:
    """The functions that installed headers declare."""
    names: set[str] = set()
    for header in headers:
        path = install.prefix / "include/offbeat" / header
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        names |= set(re.findall(r"\b((?:offbeat|MPIX)_\w+)\(", text))
    return names


def has_partitioned(install: PlainInstall) -> bool:
    """Whether the MPI library has partitioned functions to replace."""
    return install.mpi.family != "openmpi" or install.mpi.version[0] >= 5


def library(install: PlainInstall, name: str) -> Path:
    (path,) = install.prefix.rglob(name)
    return path


def exported(path: Path) -> set[str]:
    """The functions and data that a shared library exports."""
    lines = succeed(["nm", "--dynamic", "--defined-only", "--portability", path]).splitlines()
    return {line.split()[0].partition("@")[0] for line in lines}


def visible(path: Path) -> set[str]:
    """The external names in an archive that a shared library linked from it would export."""
    table = succeed(["readelf", "--symbols", "--wide", path])
    entry = re.compile(r"^ *\d+: \w+ +\w+ (?:FUNC|OBJECT) +GLOBAL DEFAULT +\d+ (\S+)$", re.MULTILINE)
    return set(entry.findall(table))


def external(install: PlainInstall, target: str) -> list[str]:
    """The external names that the objects of a target define, each as often as it is defined."""
    objects = sorted((install.prefix.with_name("build") / f"CMakeFiles/{target}.dir").rglob("*.o"))
    lines = succeed(["nm", "--extern-only", "--defined-only", "--portability", *objects]).splitlines()
    return [line.split()[0] for line in lines if " " in line]


def without_fortran(names: set[str]) -> set[str]:
    """Without the functions that only the Fortran bindings call, which no header for users declares."""
    return {name for name in names if not name.startswith("offbeat_fortran_")}


def test_the_harmonize_libraries_export_what_their_headers_declare(plain_install: PlainInstall) -> None:
    shared = exported(library(plain_install, "liboffbeat-harmonize.so"))
    archive = visible(library(plain_install, "liboffbeat-harmonize.a"))
    assert without_fortran(shared) == declared(plain_install, "clock.h", "harmonize.h")
    assert archive == shared


def test_the_partitioned_libraries_export_what_their_headers_declare(plain_install: PlainInstall) -> None:
    shared = exported(library(plain_install, "liboffbeat-partitioned.so"))
    assert without_fortran(shared) == declared(plain_install, "partitioned.h", "partitioned_collectives.h")
    assert visible(library(plain_install, "liboffbeat-partitioned.a")) == shared


def test_every_name_of_the_harmonize_library_has_its_prefix(plain_install: PlainInstall) -> None:
    names = external(plain_install, "harmonize_objects")
    assert [name for name in names if not HARMONIZE.match(name)] == []


def test_every_name_of_the_partitioned_library_has_its_prefix(plain_install: PlainInstall) -> None:
    names = external(plain_install, "partitioned_objects")
    assert [name for name in names if not PARTITIONED.match(name)] == []


def test_the_preload_library_exports_the_functions_that_it_replaces(plain_install: PlainInstall) -> None:
    assert exported(library(plain_install, "liboffbeat-preload.so")) == PRELOAD


def test_the_partitioned_preload_library_exports_the_functions_that_it_replaces(
    plain_install: PlainInstall,
) -> None:
    if not has_partitioned(plain_install):
        assert list(plain_install.prefix.rglob("liboffbeat-partitioned-preload.so")) == []
        return
    expected = {f"MPI_{name}" for name in PARTITIONED_PRELOAD}
    expected |= {f"mpi_{name.lower()}_f08_" for name in PARTITIONED_PRELOAD - BY_C}
    assert exported(library(plain_install, "liboffbeat-partitioned-preload.so")) == expected


@pytest.mark.parametrize("targets", LINKED_TOGETHER, ids="-".join)
def test_no_two_objects_that_are_linked_together_define_one_name(
    plain_install: PlainInstall, targets: tuple[str, ...]
) -> None:
    if "partitioned_preload" in targets and not has_partitioned(plain_install):
        return
    names = {target: external(plain_install, target) for target in targets}
    assert all(names.values()), "a target of native/CMakeLists.txt was renamed"
    counts = Counter(name for defined in names.values() for name in defined)
    assert [name for name, count in counts.items() if count > 1] == []
