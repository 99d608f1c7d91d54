"""The tracer's records of programs whose calls are known."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_fortran import BINDINGS, libraries_with
from real_libraries import installed
from traced_program import (
    COMMUTES,
    COMPLETION,
    FORTRAN,
    IN_PLACE,
    ISSUE,
    LARGE,
    PHASES,
    START,
    RankTrace,
    Traced,
    declares,
)

pytestmark = pytest.mark.slow

BLOCK = 12
BYTES = {
    "Barrier": 0,
    "Bcast": BLOCK,
    "Gather": BLOCK,
    "Gatherv": BLOCK,
    "Scatter": BLOCK,
    "Scatterv": BLOCK,
    "Allgather": BLOCK,
    "Allgatherv": BLOCK,
    "Alltoall": BLOCK,
    "Alltoallv": 4 * BLOCK,
    "Alltoallw": 4 * BLOCK,
    "Reduce": BLOCK,
    "Allreduce": BLOCK,
    "Reduce_scatter": 4 * BLOCK,
    "Reduce_scatter_block": BLOCK,
    "Scan": BLOCK,
    "Exscan": BLOCK,
    "Neighbor_allgather": BLOCK,
    "Neighbor_allgatherv": BLOCK,
    "Neighbor_alltoall": BLOCK,
    "Neighbor_alltoallv": 2 * BLOCK,
    "Neighbor_alltoallw": 2 * BLOCK,
}
"""Collective → bytes in programs/every_collective.c, in the order of its calls."""

ROOTED = {"Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Reduce"}
REDUCING = {"Reduce", "Allreduce", "Reduce_scatter", "Reduce_scatter_block", "Scan", "Exscan"}


def expected_calls(large: bool, persistent: bool, one_scatter: bool) -> list[tuple[str, int, int, int]]:
    """(function, phase, round, bytes) of one round of programs/every_collective.c."""
    calls: list[tuple[str, int, int, int]] = []
    for name, size in BYTES.items():
        if large and name == "Barrier":
            continue
        nonblocking = f"MPI_I{name.lower()}"
        calls += [
            (f"MPI_{name}", 0, 0, size),
            (nonblocking, ISSUE, 0, size),
            (nonblocking, COMPLETION, 0, size),
        ]
        if persistent:
            calls.append((f"MPI_{name}_init", 0, 0, size))
            for turn in (1,) if name == "Scatter" and one_scatter else (1, 2):
                calls += [
                    (f"MPI_{name}_init", START, turn, size),
                    (f"MPI_{name}_init", COMPLETION, turn, size),
                ]
    return calls


def seen_calls(trace: RankTrace) -> list[tuple[str, int, int, int]]:
    """The calls in a rank's records, constructors left out."""
    return [
        (name, int(record["flags"]) & PHASES, int(record["round"]), int(record["bytes"]))
        for name, record in zip(trace.names, trace.records, strict=True)
        if not name.startswith(("MPI_Comm_", "MPI_Cart_"))
    ]


def test_every_collective_is_recorded_with_its_phases_and_bytes(traced: Traced) -> None:
    persistent, large = traced.declares("MPI_Allreduce_init"), traced.declares("MPI_Allreduce_c")
    arguments = ["-DPERSISTENT"] * persistent + ["-DLARGE"] * large
    program = traced.compile_c("every_collective.c", arguments)
    # MPICH 4.0 and Intel MPI fail if a persistent scatter is started a second time, traced or not.
    one_scatter = persistent and traced.run(program, 4, traced=False).returncode != 0
    if one_scatter:
        program = traced.compile_c("every_collective.c", [*arguments, "-DONE_SCATTER"])
    ranks = traced.trace(program, 4)
    expected = expected_calls(False, persistent, one_scatter)
    if large:
        expected += expected_calls(True, persistent, one_scatter)
    assert len(ranks) == 4
    for trace in ranks:
        assert seen_calls(trace) == expected


def test_a_record_has_root_operation_and_width_of_counts(traced: Traced) -> None:
    large = traced.declares("MPI_Allreduce_c")
    for trace in traced.trace(traced.compile_c("every_collective.c", ["-DLARGE"] * large), 4):
        for name, record in zip(trace.names, trace.records, strict=True):
            base = name.removeprefix("MPI_")
            base = base.removesuffix("_init") if base in BYTES else base.removeprefix("I").capitalize()
            assert record["root"] == (1 if base in ROOTED else -1), name
            assert (record["operation"] != 0) == (base in REDUCING), name
            assert bool(record["flags"] & COMMUTES) == (base in REDUCING), name
        marked = sum(1 for record in trace.records if record["flags"] & LARGE)
        assert marked == (3 * (len(BYTES) - 1) if large else 0)


def test_times_do_not_overlap_and_sequences_have_no_holes(traced: Traced) -> None:
    for trace in traced.trace(traced.compile_c("every_collective.c"), 4):
        records = trace.records
        assert (records["exit_ns"] >= records["enter_ns"]).all()
        assert (records["enter_ns"][1:] >= records["exit_ns"][:-1]).all()
        first = records[(records["flags"] & PHASES) != COMPLETION]
        for number in trace.communicators:
            sequences = first["sequence"][first["communicator"] == number].tolist()
            assert sequences == list(range(len(sequences)))


def as_in_all_languages(trace: RankTrace) -> list[tuple[object, ...]]:
    """The fields that must be equal for all bindings and libraries."""
    return [
        (
            name,
            int(record["bytes"]),
            trace.communicators[int(record["communicator"])].identity,
            int(record["sequence"]),
            int(record["root"]),
            int(record["flags"]) & ~FORTRAN,
        )
        for name, record in zip(trace.names, trace.records, strict=True)
    ]


EXPECTED_OF_RANK_1 = [
    ("MPI_Barrier", 0, 0),
    ("MPI_Bcast", 20, 0),
    ("MPI_Allreduce", 28, COMMUTES),
    ("MPI_Allreduce", 12, COMMUTES | IN_PLACE),
    ("MPI_Gather", 8, IN_PLACE),
    ("MPI_Alltoallv", 32, 0),
    ("MPI_Comm_split", 0, 0),
    ("MPI_Reduce", 16, COMMUTES),
    ("MPI_Comm_dup", 0, 0),
    ("MPI_Scan", 24, COMMUTES),
    ("MPI_Iallreduce", 32, COMMUTES | ISSUE),
    ("MPI_Ibarrier", 0, ISSUE),
    ("MPI_Iallreduce", 32, COMMUTES | COMPLETION | 2 << 12),
    ("MPI_Ibarrier", 0, COMPLETION | 2 << 12),
    ("MPI_Ibcast", 36, ISSUE),
    ("MPI_Ibcast", 36, COMPLETION | 1 << 12),
    ("MPI_Ibarrier", 0, ISSUE),
    ("MPI_Ibarrier", 0, COMPLETION | 5 << 12),
    ("MPI_Ibarrier", 0, ISSUE),
    ("MPI_Ibarrier", 0, COMPLETION | 3 << 12),
    ("MPI_Comm_free", 0, 0),
    ("MPI_Comm_free", 0, 0),
]


def test_traces_of_c_and_cxx_programs_are_equal(traced: Traced) -> None:
    in_c = traced.trace(traced.compile_c("same_calls.c"), 4)
    in_cxx = traced.trace(
        traced.compile_c("same_calls.c", ["-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"], "c++"), 4
    )
    observed = [(name, size, flags) for name, size, _, _, _, flags in as_in_all_languages(in_c[1])]
    assert observed == EXPECTED_OF_RANK_1
    assert [as_in_all_languages(rank) for rank in in_cxx] == [as_in_all_languages(rank) for rank in in_c]


@pytest.mark.parametrize(
    ("mpi_installation", "binding"),
    [(library, binding) for binding in BINDINGS for library in libraries_with(binding)],
    indirect=["mpi_installation"],
)
def test_traces_of_fortran_programs_equal_that_of_the_c_program(traced: Traced, binding: str) -> None:
    program = traced.compile_fortran("same_calls.F90", binding)
    in_c = traced.trace(traced.compile_c("same_calls.c"), 4)
    in_fortran = traced.trace(program, 4)
    assert [as_in_all_languages(rank) for rank in in_fortran] == [as_in_all_languages(rank) for rank in in_c]
    assert all((rank.records["flags"] & FORTRAN).all() for rank in in_fortran)
    assert [comm.name for comm in in_fortran[0].communicators.values()].count("half") == 1


WITH_LARGE_COUNTS = [
    name
    for name in libraries_with("USE_F08")
    if (mpi := installed(name)) is None or declares(mpi, "MPI_Allreduce_c")
]


@pytest.mark.parametrize("mpi_installation", WITH_LARGE_COUNTS, indirect=True)
def test_large_counts_of_fortran_are_recorded_as_small_ones_are(traced: Traced) -> None:
    small = traced.trace(traced.compile_fortran("same_calls.F90", "USE_F08"), 4)
    large = traced.trace(traced.compile_fortran("same_calls.F90", "USE_F08", ["-DLARGE"]), 4)
    for of_small, of_large in zip(small, large, strict=True):
        rows = as_in_all_languages(of_large)
        marked = [bool(flags & LARGE) for *_, flags in rows]
        assert marked == [size > 0 for _, size, *_ in rows]
        assert [(*row, flags & ~LARGE) for *row, flags in rows] == as_in_all_languages(of_small)


def test_threads_write_at_the_same_time_and_lose_nothing(traced: Traced) -> None:
    program = traced.compile_c("threads.c")
    done = traced.run(program, 2, traced=False)
    if done.returncode == 77:
        pytest.skip("this library has no MPI_THREAD_MULTIPLE")
    for trace in traced.trace(program, 2):
        assert trace.names.count("MPI_Allreduce") == 4 * 500
        assert trace.names.count("MPI_Comm_free") == 4
        for lane in trace.lanes.values():
            assert (lane["enter_ns"][1:] >= lane["exit_ns"][:-1]).all()


def test_output_and_status_of_a_traced_program_are_unchanged(traced: Traced) -> None:
    program = traced.compile_c("barriers.c")
    # If ranks exit without MPI_Finalize, MPICH 4's launcher ends with their status, or rarely with 1.
    for how, tries in (("finalize", 1), ("exit", 5)):
        assert any(
            _outcome(traced, program, how, traces=True) == _outcome(traced, program, how, traces=False)
            for _ in range(tries)
        )


def _outcome(traced: Traced, program: Path, how: str, *, traces: bool) -> tuple[int, list[str]]:
    """The status of a run, and its output lines in alphabetical order."""
    done = traced.run(program, 2, "20", "0", how, traced=traces)
    return done.returncode, sorted(done.stdout.splitlines())
