"""The tracer wraps every collective and point-to-point function of mpi.h; its libraries export the wrappers
and nothing else."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from real_libraries import REPOSITORY
from traced_program import Traced

from offbeat.libraries.installations.installation import Installation
from offbeat.model.study.collectives import PROPERTIES

SOURCES = REPOSITORY / "native/trace"

COLLECTIVE = re.compile(
    r"\bMPI_(?:I?(?:barrier|bcast|gatherv?|scatterv?|allgatherv?|alltoall[vw]?|reduce(?:_scatter(?:_block)?)?"
    r"|allreduce|scan|exscan|neighbor_\w+?))(?:_init)?(?:_c)?\(",
    re.IGNORECASE,
)
POINT_TO_POINT = re.compile(
    r"\bMPI_(?:I?[bsr]?send(?:_init)?|I?recv|Recv_init|I?mrecv|I?sendrecv(?:_replace)?|I?m?probe"
    r"|(?:Wait|Test)(?:all|any|some)?|Start(?:all)?|Request_free|Cancel)(?:_c)?\(",
    re.IGNORECASE,
)
RETURNS_COMMUNICATOR = re.compile(
    r"\b(MPI_\w+)\(([^;{]*?MPI_Comm\s*\*[^;{]*?)\)\s*[A-Z_()0-9, ]*;", re.DOTALL
)

NO_CONSTRUCTORS = {"MPI_Comm_get_parent", "MPI_Comm_f2c", "MPI_Comm_group"}
"""Functions that return an existing communicator."""

OTHERS = ("Init", "Init_thread", "Finalize", "Abort", "Pcontrol", "Session_init", "Session_finalize")
"""Functions that are wrapped beside those in wrapped_functions.h."""

SHARED_BY_BOTH_LIBRARIES = {
    "offbeat_tracer_has_pmpi_name",
    "offbeat_tracer_next_symbol",
    "offbeat_tracer_this_thread",
}

REPLACED = {"dlsym"}
"""Functions of the dynamic linker that the preload library replaces."""


def table_functions() -> tuple[set[str], set[str]]:
    """Functions with a buffer, without the prefix ``MPI_``: variants of collectives, and sends and receives;
    and functions without one: constructors and destructors of communicators, probes, calls on requests.
    """
    text = re.sub(r"#define.*", "", (SOURCES / "wrapped_functions.h").read_text(encoding="utf-8"))
    rows = re.findall(r"^OFFBEAT_(\w+)\((\w+), \w+", text, re.MULTILINE)
    collectives = [(name.capitalize(), name) for name in PROPERTIES]
    variants = {variant for name, lower in collectives for variant in (name, f"I{lower}", f"{name}_init")}
    messages = {name for kind, name in rows if kind == "MESSAGE_FUNCTION"}
    return variants | messages, {name for _, name in rows} - messages


def c_names() -> set[str]:
    with_buffers, others = table_functions()
    return {f"MPI_{name}{suffix}" for name in with_buffers for suffix in ("", "_c")} | {
        f"MPI_{name}" for name in others
    }


def fortran_names() -> set[str]:
    with_buffers, others = table_functions()
    suffixes = ("_", "_f08_", "_f08ts_", "_f08ts_large_", "_c_f08ts_")
    names = {f"mpi_{name}{suffix}" for name in with_buffers for suffix in suffixes}
    names |= {f"mpi_{name}{suffix}" for name in (*others, *OTHERS) for suffix in suffixes[:2]}
    return {name.lower() for name in names}


def exported(library: Path) -> set[str]:
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True
    )
    return {line.split()[-1].partition("@")[0] for line in listed.stdout.splitlines()}


def headers_of(installation: Installation) -> str:
    """mpi.h and the headers of its functions, without comments."""
    text = (installation.include / "mpi.h").read_text(encoding="utf-8", errors="replace")
    for header in installation.include.glob("mpi_*proto*.h"):
        text += header.read_text(encoding="utf-8", errors="replace")
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def declared(installation: Installation) -> set[str]:
    text = headers_of(installation)
    collectives = {match[:-1] for match in COLLECTIVE.findall(text)}
    constructors = {name for name, _ in RETURNS_COMMUNICATOR.findall(text)} - NO_CONSTRUCTORS
    return {name for name in collectives | constructors if not name.startswith("MPI_T_")}


def test_every_collective_of_mpi_h_is_wrapped(mpi_installation: Installation) -> None:
    names = declared(mpi_installation)
    assert {"MPI_Allreduce", "MPI_Ineighbor_alltoallw", "MPI_Comm_split", "MPI_Comm_free"} <= names
    assert names - c_names() == set()


def test_every_point_to_point_function_of_mpi_h_is_wrapped(mpi_installation: Installation) -> None:
    text = headers_of(mpi_installation)
    names = {match[:-1] for match in POINT_TO_POINT.findall(text)}
    assert {"MPI_Send", "MPI_Irsend", "MPI_Recv_init", "MPI_Imrecv", "MPI_Improbe", "MPI_Testsome"} <= names
    assert names - c_names() == set()


def test_the_tracer_exports_its_wrappers_only(traced: Traced) -> None:
    wrappers = c_names() | {f"MPI_{name}" for name in OTHERS} | fortran_names()
    assert exported(traced.library.with_name("liboffbeat-tracer.so")) == wrappers


def test_the_preload_library_exports_trampolines_of_what_the_mpi_library_has(traced: Traced) -> None:
    in_c = c_names() | {f"MPI_{name}" for name in OTHERS}
    mpi = (in_c & exported(traced.mpi.library)) | fortran_names()
    pmpi = {f"P{name}" if name[0] == "M" else f"p{name}" for name in mpi}
    assert {"MPI_Allreduce", "PMPI_Allreduce", "mpi_wait_f08_", "pmpi_comm_split_"} <= mpi | pmpi
    assert exported(traced.library) == mpi | pmpi | SHARED_BY_BOTH_LIBRARIES | REPLACED


def test_all_symbols_of_the_tracer_have_its_prefix() -> None:
    """A name with another prefix could also be defined in a library that the tracer is linked with."""
    defined = {
        name
        for source in SOURCES.glob("*.c")
        for name in re.findall(
            r"^(?!static\b)\w[\w ()*]*?\b(offbeat_\w+)\s*(?:\(.*|\[.*|=.*|;)$",
            source.read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    }
    assert {"offbeat_tracer_call_path", "offbeat_tracer_state", "offbeat_tracer_functions"} <= defined
    assert {name for name in defined if not name.startswith("offbeat_tracer_")} == set()
