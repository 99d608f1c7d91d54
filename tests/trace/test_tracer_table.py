"""Every collective that an mpi.h declares is in the table, and every wrapper is exported."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from real_libraries import REPOSITORY
from traced_program import Traced

from offbeat.mpi.installation import Installation

TABLE = REPOSITORY / "native/trace/table.h"

COLLECTIVE = re.compile(
    r"\bMPI_(?:I?(?:barrier|bcast|gatherv?|scatterv?|allgatherv?|alltoall[vw]?|reduce(?:_scatter(?:_block)?)?"
    r"|allreduce|scan|exscan|neighbor_\w+?))(?:_init)?(?:_c)?\(",
    re.IGNORECASE,
)
MAKES_COMMUNICATOR = re.compile(r"\b(MPI_\w+)\(([^;{]*?MPI_Comm\s*\*[^;{]*?)\)\s*[A-Z_()0-9, ]*;", re.DOTALL)

NO_COLLECTIVES = {
    "MPI_Comm_get_parent",
    "MPI_Comm_f2c",
    "MPI_Comm_group",
}
"""They give a communicator that is there already."""


def table_names() -> set[str]:
    names = set()
    text = re.sub(r"#define.*", "", TABLE.read_text(encoding="utf-8"))
    for kind, name, lower in re.findall(r"^OFFBEAT_(\w+)\((\w+), (\w+)", text, re.MULTILINE):
        variants = [name, f"I{lower}", f"{name}_init"] if kind == "COLLECTIVE" else [name]
        endings = ("", "_c") if kind == "COLLECTIVE" else ("",)
        names |= {f"MPI_{variant}{ending}" for variant in variants for ending in endings}
    return names


def declared(installation: Installation) -> set[str]:
    text = (installation.include / "mpi.h").read_text(encoding="utf-8", errors="replace")
    for header in installation.include.glob("mpi_*proto*.h"):
        text += header.read_text(encoding="utf-8", errors="replace")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    collectives = {found[:-1] for found in COLLECTIVE.findall(text)}
    makers = {name for name, _ in MAKES_COMMUNICATOR.findall(text)} - NO_COLLECTIVES
    return {name for name in collectives | makers if not name.startswith("MPI_T_")}


def test_every_collective_of_mpi_h_is_in_the_table(mpi_installation: Installation) -> None:
    found = declared(mpi_installation)
    assert {"MPI_Allreduce", "MPI_Ineighbor_alltoallw", "MPI_Comm_split", "MPI_Comm_free"} <= found
    assert found - table_names() == set()


def shown(library: Path) -> set[str]:
    """What a shared library shows to the linker."""
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True
    )
    return {line.split()[-1].partition("@")[0] for line in listed.stdout.splitlines()}


def test_a_function_that_the_mpi_library_lacks_is_not_shown(traced: Traced) -> None:
    has, exported = shown(traced.mpi.library), shown(traced.library)
    assert "MPI_Allreduce" in has
    assert (exported & table_names()) - has == set()
    assert table_names() & has <= exported


@pytest.mark.parametrize("ending", ["_", "_f08_", "_f08ts_", "_f08ts_large_", "_c_f08ts_"])
def test_the_library_exports_every_wrapper_and_nothing_else(some_traced: Traced, ending: str) -> None:
    exported = shown(some_traced.library)
    assert table_names() & shown(some_traced.mpi.library) <= exported
    assert all(name.startswith(("MPI_", "PMPI_", "mpi_", "pmpi_", "offbeat_")) for name in exported)
    collectives = [name for name in table_names() if COLLECTIVE.fullmatch(f"{name}(") and name[-2:] != "_c"]
    assert {f"{name.lower()}{ending}" for name in collectives} <= exported
