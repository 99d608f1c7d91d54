"""Drawn calls on a real MPI library with naive collectives in place of its own, right or wrong on purpose."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import pytest
from real_libraries import real_installation

from offbeat.libraries.installations import build
from offbeat.libraries.installations.installation import Installation
from offbeat.measurement.engines.driver_launches import Launches, LaunchSpec
from offbeat.measurement.legal_calls.algorithm_checks import Failure, Setup, trials
from offbeat.measurement.legal_calls.corpus import read_call
from offbeat.measurement.legal_calls.drawn_calls import LegalCall, drawn_calls, legal_call
from offbeat.model.study.collectives import CHECKED
from offbeat.model.study.schema import MpiSection

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).resolve().parents[2] / "native" / "testing" / "naive_collectives.c"


@pytest.fixture(scope="module")
def library() -> Installation:
    return real_installation("openmpi4")


def is_right_in_library(call: LegalCall) -> bool:
    """Whether MPI_Reduce_local is right: Open MPI compares numbers of MPI_OFFSET without their sign."""
    return not (call.command.op in ("min", "max") and call.command.send == "offset")


@pytest.fixture(scope="module")
def naive(library: Installation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library to preload."""
    file = tmp_path_factory.mktemp("naive") / "libnaive.so"
    options = ["-std=c11", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", f"-I{library.include}"]
    mpi = library.library  # the launcher loads the file as well, and has no MPI
    subprocess.run(["cc", *options, SOURCE, "-o", file, mpi, f"-Wl,-rpath,{mpi.parent}"], check=True)
    return file


Trial = Callable[..., list[Failure]]


@pytest.fixture
def trial(library: Installation, own_cache: Path, naive: Path, tmp_path: Path) -> Trial:
    """Tries drawn calls with the naive collectives that have a fault, up to the first one that fails."""
    driver = build.build_native(library)

    def try_drawn(collectives: Sequence[str], number: int, fault: str = "") -> list[Failure]:
        section = MpiSection(environment={"LD_PRELOAD": str(naive), "NAIVE_FAULT": fault})
        launches = Launches(library, driver, section, tmp_path, logs=tmp_path / "logs", scratch=tmp_path)
        drawn = [call for name in collectives for call in islice(drawn_calls(name, 4, [64, 4096], 1), number)]
        calls = list(filter(is_right_in_library, drawn))
        found = trials(
            launches, Setup(LaunchSpec(p=4, nodes=0, ppn=0, steerable=False)), calls, 60, most_failures=1
        ).failures
        launches.close()
        return found

    return try_drawn


def test_every_drawn_call_is_right_with_naive_collectives(trial: Trial) -> None:
    """So it is legal, and the driver's expectation is right."""
    found = trial(CHECKED, 60)
    assert not found, [(one.outcome, one.simplest.command.line()) for one in found]


def test_a_datatype_that_the_library_itself_misplaces_is_no_fault_of_a_collective(
    library: Installation, own_cache: Path, tmp_path: Path
) -> None:
    """Open MPI 4.1.4 reverses single bytes wrongly, also in MPI_Unpack."""
    launches = Launches(
        library, build.build_native(library), MpiSection(), tmp_path, logs=tmp_path, scratch=tmp_path
    )
    line = "call collective=bcast members=0,1 send=char receive=vector[3,1,-1](char) elements=36"
    calls = [legal_call(read_call(line)), legal_call(read_call(line.replace("-1", "-2")))]
    result = trials(launches, Setup(LaunchSpec(p=2, nodes=0, ppn=0, steerable=False)), calls, 60)
    launches.close()
    assert result.failures == [] and result.misplaced_calls == calls[:1]


@pytest.mark.parametrize(
    ("collective", "fault", "kind"),
    [
        ("bcast", "raw-bcast", "lower-bounds"),
        ("allreduce", "reversed", "noncommutative"),
        ("gather", "crash", "null-arguments"),
        ("scatter", "next-block", "roots"),
        ("scatter", "gaps", ""),
        ("allgather", "in-place", "in-place"),
        ("alltoallw", "first-type", "types-differ"),
    ],
)
def test_a_deliberately_wrong_collective_is_found_and_named(
    trial: Trial, collective: str, fault: str, kind: str
) -> None:
    (found,) = trial([collective], 60, fault=fault)
    assert not kind or found.kind == kind, found.simplest.command.line()
