"""What the programs in examples/proxies have in common: command line, table, marks of iterations, calls."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from proxy_program import Proxy, built

from offbeat.libraries.installations.installation import Installation

pytestmark = pytest.mark.slow

RECORDER = Path(__file__).with_name("calls_by_iteration.c")
PROGRAMS = ("cavity", "multigrid", "regions")


@pytest.fixture(scope="session")
def recorder(some_mpi_installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that records calls."""
    library = tmp_path_factory.mktemp("recorder") / "recorder.so"
    argv = ["cc", "-shared", "-fPIC", "-o", library, f"-I{some_mpi_installation.include}", RECORDER]
    subprocess.run([str(word) for word in argv], check=True)
    return library


def calls_by_iteration(
    program: Proxy, recorder: Path, folder: Path, p: int, *options: str
) -> list[Counter[str]]:
    """The calls of rank 0 in each iteration; the last one has also what the program calls at its end."""
    calls = folder / "calls"
    variables = [f"LD_PRELOAD={recorder}", f"PROXY_CALLS={calls}"]
    done = program.run(p, *options, variables=variables)
    assert done.returncode == 0, done.stdout + done.stderr
    _, *iterations = calls.read_text(encoding="utf-8").split("\n")
    return [Counter(line.split()) for line in iterations]


@pytest.mark.parametrize(
    ("name", "options", "iterations", "expected"),
    [
        pytest.param(
            "cavity",
            ("--nx=4", "--ny=4", "--nz=4", "--steps=7", "--collective-step=3"),
            7,
            {1: {"Isend": 2, "Irecv": 2, "Wait": 4}, 2: {"Isend": 2, "Irecv": 2, "Wait": 4, "Allreduce": 1}},
            id="cavity",
        ),
        pytest.param(
            "multigrid",  # 10 halo exchanges: one of CG, 4 on each of two levels, one on the coarsest
            ("--nx=8", "--ny=8", "--nz=8", "--levels=3", "--iterations=3"),
            3,
            {0: {"Irecv": 10, "Send": 10, "Wait": 10, "Allreduce": 3}},
            id="multigrid",
        ),
        pytest.param(
            "multigrid",
            ("--nx=8", "--ny=8", "--nz=8", "--levels=1", "--iterations=3", "--allreduce=ring"),
            3,
            {0: {"Irecv": 2, "Send": 2, "Wait": 2, "Sendrecv": 6}},
            id="multigrid with a ring",
        ),
        pytest.param(
            "regions",  # a side has a neighbour; all sides have requests
            ("--nx=4", "--ny=4", "--nz=4", "--steps=5"),
            5,
            {1: {"Allreduce": 1, "Isend": 12, "Irecv": 12, "Waitall": 2}},
            id="regions",
        ),
    ],
)
def test_a_tracer_sees_the_iterations_and_in_each_the_calls_that_the_page_names(
    some_mpi_installation: Installation,
    recorder: Path,
    tmp_path: Path,
    name: str,
    options: tuple[str, ...],
    iterations: int,
    expected: dict[int, dict[str, int]],
) -> None:
    program = built(some_mpi_installation, name)
    calls = calls_by_iteration(program, recorder, tmp_path, 2, *options)
    assert len(calls) == iterations
    assert {i: dict(calls[i]) for i in expected} == expected


@pytest.mark.parametrize("name", PROGRAMS)
def test_help_names_each_option_with_its_default(some_mpi_installation: Installation, name: str) -> None:
    done = built(some_mpi_installation, name).run(1, "--steps", "nonsense", "--help")
    assert done.returncode == 0
    options = re.findall(r"^  (--[a-z-]+)( [NX]| WORD)? .*?(\[[\w.-]+\])?$", done.stdout, re.MULTILINE)
    assert {option for option, _, _ in options} >= {"--nx", "--ny", "--nz", "--json", "--help"}
    assert all(bool(value) == bool(default) for _, value, default in options)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_person_gets_a_table_of_the_times_and_a_verdict(
    some_mpi_installation: Installation, name: str
) -> None:
    done = built(some_mpi_installation, name).run(1, "--nx", "8", "--ny", "8", "--nz", "8")
    assert done.returncode == 0
    rows = re.findall(r"^(\w+) +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+%$", done.stdout, re.MULTILINE)
    assert rows == ["computation", "halo_exchange", "collective", "all"]
    assert re.search(r"^[\d.e+-]+ (MLUP/s|GFLOP/s|Melement/s)$", done.stdout, re.MULTILINE)
    assert re.search(r"^verified: ", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "p", "options", "sentence"),
    [
        ("cavity", 1, ("--frobnicate", "3"), "there is no option '--frobnicate'; see --help"),
        ("cavity", 1, ("nx=4",), "there is no option 'nx=4'; see --help"),
        ("cavity", 1, ("--nx",), "--nx needs a value"),
        ("cavity", 1, ("--json=1",), "--json takes no value"),
        ("cavity", 1, ("--nx", "0"), "--nx must be a whole number from 1 to 100000, not '0'"),
        ("cavity", 1, ("--nx", "-1"), "--nx must be a whole number from 1 to 100000, not '-1'"),
        ("cavity", 1, ("--nx", "1000000000000"), "--nx must be a whole number from 1 to 100000"),
        ("cavity", 1, ("--steps=1.5",), "--steps must be a whole number from 1 to 1000000000, not '1.5'"),
        ("cavity", 1, ("--reynolds", "nan"), "--reynolds must be a number from 0.001 to 1000000, not 'nan'"),
        ("cavity", 1, ("--reynolds=",), "--reynolds must be a number from 0.001 to 1000000, not ''"),
        ("cavity", 1, ("--span", "wall"), "--span must be one of walls|periodic, not 'wall'"),
        ("cavity", 2, ("--nz", "1"), "--nz 1 is too small: each of the 2 processes needs a plane"),
        ("cavity", 1, ("--nx=50000", "--ny=50000"), "--nx 50000 and --ny 50000 are too large"),
        (
            "multigrid",
            1,
            ("--allreduce", "tree"),
            "--allreduce must be one of library|ring|recursive-doubling",
        ),
        ("multigrid", 1, ("--nz=12", "--levels=4"), "--levels 4 does not fit: --nx 32, --ny 32 and --nz 12"),
        ("multigrid", 1, ("--nx=5000", "--ny=5000"), "--nx 5000, --ny 5000 and --nz 32 are too large"),
        ("regions", 1, ("--imbalance", "61"), "--imbalance must be a number from 0 to 60, not '61'"),
        ("regions", 2, ("--nz=1",), "are too small for 2 processes and --imbalance 0"),
    ],
)
def test_options_that_cannot_be_right_are_refused_in_a_sentence(
    some_mpi_installation: Installation, name: str, p: int, options: tuple[str, ...], sentence: str
) -> None:
    done = built(some_mpi_installation, name).run(p, *options)
    assert done.returncode == 2
    assert f"{name}: " in done.stderr
    assert sentence in done.stderr
    assert done.stdout == ""
