"""Programs that call MPI's own partitioned functions, not rebuilt, with the preload library.

The programs are plain MPI 4. Without the preload, none of them is right on every library.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from msgspec import Struct
from real_fortran import fortran_of, libraries_with, need_gfortran
from real_libraries import LIBRARIES, real_installation

from offbeat.libraries.installations.build import build_native
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.launch_command import command

pytestmark = pytest.mark.slow

PROGRAMS = Path(__file__).with_name("programs")

DATA = ("unequal_counts", "equal_tags", "communicators", "many_communicators", "threads", "other_messages")
REQUESTS = (
    *("waitall", "testall", "waitany", "testany", "waitsome", "testsome"),
    *("test_before_ready", "inactive", "error_in_status"),
)

WITH_PARTITIONED = [name for name in LIBRARIES if name != "openmpi4"]
"""The libraries whose mpi.h declares MPI's partitioned functions."""

IN_FORTRAN = [
    (name, source)
    for binding, source in (("MPIF_H", "partitioned_mpif.f"), ("USE_F08", "partitioned_f08.f90"))
    for name in libraries_with(binding)
    if not name.startswith("openmpi")  # its Fortran libraries call functions that cannot be replaced
]
IN_MPI_F08 = [name for name, source in IN_FORTRAN if source == "partitioned_f08.f90"]


class Preload(Struct, frozen=True):
    """The preload library for an MPI library, and a folder for programs."""

    mpi: Installation
    library: Path
    folder: Path

    def compile_c(self, *sources: str, to: str = "", words: Sequence[str] = ()) -> Path:
        """A program of PROGRAMS, built with plain MPI unless it exists."""
        program = self.folder / (to or sources[0])
        if not program.exists():
            library = self.mpi.library
            line = ["cc", "-w", f"-I{self.mpi.include}", *(str(PROGRAMS / f"{name}.c") for name in sources)]
            line += [*words, str(library), f"-Wl,-rpath,{library.parent}", "-pthread", "-o", str(program)]
            compiled(line)
        return program

    def run(
        self, program: Path, *words: str, environment: Mapping[str, str] | None = None, preloaded: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run a program on two processes."""
        variables = {"LD_PRELOAD": str(self.library)} if preloaded else {}
        variables |= environment or {}
        assigned = [f"{name}={value}" for name, value in variables.items()]
        launch = command(self.mpi, ["/usr/bin/env", *assigned, str(program), *words], 2, steerable=False)
        return subprocess.run(
            launch.argv,
            env=launch.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def lines(self, name: str, *words: str, environment: Mapping[str, str] | None = None) -> list[str]:
        """What a program printed, which must have ended well."""
        done = self.run(self.compile_c(name), *words, environment=environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines()


def compiled(line: list[str]) -> None:
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module", params=WITH_PARTITIONED)
def preload(
    request: pytest.FixtureRequest, own_cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Preload:
    """The preload library of one of WITH_PARTITIONED."""
    mpi = real_installation(request.param)
    (library,) = build_native(mpi).parents[1].glob("lib*/**/liboffbeat-partitioned-preload.so")
    return Preload(mpi, library, tmp_path_factory.mktemp(request.param))


@pytest.mark.parametrize("scenario", DATA)
def test_data_arrives_in_the_right_place(preload: Preload, scenario: str) -> None:
    assert preload.lines("partitioned_data", scenario) == ["done"]


@pytest.mark.parametrize("scenario", REQUESTS)
def test_partitioned_requests_work_beside_requests_of_other_kinds(preload: Preload, scenario: str) -> None:
    assert preload.lines("partitioned_requests", scenario) == ["done"]


def test_partitions_arrive_before_the_last_one_is_ready(preload: Preload) -> None:
    assert preload.lines("partitioned_data", "early") == ["3 partitions arrived early", "done"]


def test_a_started_receive_goes_on_while_the_program_blocks_elsewhere(preload: Preload) -> None:
    assert preload.lines("partitioned_data", "blocked_calls") == ["done"]


def test_a_receive_that_a_thread_starts_goes_on_while_all_threads_wait_elsewhere(preload: Preload) -> None:
    assert preload.lines("partitioned_data", "blocked_before_the_start") == ["done"]


MOVES_MESSAGES_IN_INTERCOMM_CREATE = [name for name in WITH_PARTITIONED if name != "mpich5"]
"""MPICH 5.0.2 does not, so that MPI_Irecv of a large message before the call hangs, too."""


@pytest.mark.parametrize("preload", MOVES_MESSAGES_IN_INTERCOMM_CREATE, indirect=True)
def test_a_started_receive_goes_on_while_an_intercommunicator_is_created(preload: Preload) -> None:
    assert preload.lines("partitioned_data", "blocked_in_intercomm_create") == ["done"]


def test_wrong_calls_fail_with_an_error_class_and_leave_the_request_usable(preload: Preload) -> None:
    sentence, done = preload.lines("partitioned_requests", "errors")
    assert done == "done"
    is_old_mpich = preload.mpi.family == "mpich" and preload.mpi.version[:2] < (4, 1)
    if not is_old_mpich:  # which has no sentences of a program for its own error classes
        assert "partition 1 was marked ready before in this iteration" in sentence


def test_the_environment_chooses_messages_and_refuses_what_it_does_not_know(preload: Preload) -> None:
    right = {"OFFBEAT_PARTITIONED_MESSAGES": "learned", "OFFBEAT_PARTITIONED_LANES": "2"}
    assert preload.lines("partitioned_data", "equal_tags", environment=right) == ["done"]
    wrong = preload.run(
        preload.compile_c("partitioned_data"), "equal_tags", environment={"OFFBEAT_PARTITIONED_LANES": "none"}
    )
    assert wrong.returncode != 0
    assert "OFFBEAT_PARTITIONED_LANES is 'none'; it must be a whole number from 1 to 64" in wrong.stderr


def printed_by_fortran(preload: Preload, source: str) -> list[str]:
    """The words that a Fortran program printed, which must have ended well."""
    need_gfortran()
    fortran = fortran_of(preload.mpi)
    program = preload.folder / Path(source).stem
    compiled([*fortran.before, "-w", str(PROGRAMS / source), *fortran.behind, "-o", str(program)])
    done = preload.run(program)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(("preload", "source"), IN_FORTRAN, indirect=["preload"])
def test_fortran_programs_use_it_where_the_library_has_bindings(preload: Preload, source: str) -> None:
    assert printed_by_fortran(preload, source) == ["3", "early", "right"]


@pytest.mark.parametrize("preload", IN_MPI_F08, indirect=True)
def test_a_started_receive_goes_on_while_a_fortran_program_blocks_elsewhere(preload: Preload) -> None:
    assert printed_by_fortran(preload, "partitioned_blocked_f08.f90") == ["right"]


def test_a_call_of_mpi_init_that_is_not_seen_is_named(preload: Preload) -> None:
    done = preload.run(preload.compile_c("partitioned_unseen"))
    assert done.returncode != 0
    assert "did not see the call of MPI_Init; it sees calls in C" in done.stdout + done.stderr


REFUSAL = (
    "MPI_Waitall does not reach liboffbeat-partitioned-preload.so, because a tool in front of it (in {})"
    " calls the PMPI function; put the tool behind this library in LD_PRELOAD, or run without it"
)


@pytest.mark.parametrize("is_in_front", [True, False])
@pytest.mark.parametrize("passes_on", [True, False])
def test_a_preloaded_tool_is_refused_if_partitioned_requests_would_not_reach_the_library(
    preload: Preload, is_in_front: bool, passes_on: bool
) -> None:
    words = ["-shared", "-fPIC", *(["-DPASSES_ON"] if passes_on else [])]
    tool = preload.compile_c("partitioned_tool", to=f"libtool-{passes_on}.so", words=words)
    libraries = [str(tool), str(preload.library)]
    order = ":".join(libraries if is_in_front else reversed(libraries))
    program = preload.compile_c("partitioned_requests")
    done = preload.run(program, "waitall", environment={"LD_PRELOAD": order})
    if is_in_front and not passes_on:
        assert done.returncode != 0
        assert REFUSAL.format(tool.name) in " ".join((done.stdout + done.stderr).split())
    else:
        assert (done.returncode, done.stdout.splitlines()) == (0, ["done"]), done.stderr
        assert ("calls of MPI_Waitall were counted" in done.stderr) == is_in_front


def test_a_tool_that_is_linked_into_the_program_is_refused_in_the_same_way(preload: Preload) -> None:
    program = preload.compile_c("partitioned_requests", "partitioned_tool", to="with_tool", words=["-ldl"])
    done = preload.run(program, "waitall")
    assert done.returncode != 0
    assert REFUSAL.format("with_tool") in " ".join((done.stdout + done.stderr).split())
