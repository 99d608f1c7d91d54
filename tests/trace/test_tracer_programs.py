"""Debian's programs: their numbers and status do not change, and the ranks agree on their calls."""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from pathlib import Path

import pytest
from real_libraries import real_installation, skip_without
from traced_program import RankTrace, Traced, built_for, read

pytestmark = pytest.mark.slow

SCALAPACK = Path("/usr/lib/x86_64-linux-gnu/scalapack")

LU_INPUT = """'ScaLAPACK, LU factorization input file'
'MPI machine'
'LU.out'  output file name (if any)
6         device out
3         number of problem sizes
10 31 57  values of M
12 31 50  values of N
3         number of NBs
2 3 4     values of NB
1         number of NRHSs
3         values of NRHS
1         number of NBRHSs
3         values of NBRHS
2         number of process grids
1 2       values of P
2 1       values of Q
1.0       threshold
F         (T or F) test cond. est. and iter. ref. routines: these hang at times, also untraced
"""

MELT_INPUT = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 4 0 4 0 4
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
thermo 5
run 50
"""


def program_of(package: str, path: str | Path) -> Path:
    path_found = shutil.which(path)
    if path_found is None:
        skip_without(f"Debian's package {package}")
    return Path(str(path_found))


@pytest.fixture
def on_openmpi(tmp_path: Path) -> Traced:
    return built_for(real_installation("openmpi4"), tmp_path)


def run_both(
    traced: Traced,
    program: Path,
    p: int,
    *arguments: str,
    output: str = "",
    environment: str = "",
    ignored: str = "",
) -> tuple[list[str], list[RankTrace]]:
    """The lines that a program prints equally in two runs, which it must also print when traced; and the
    trace.

    ``output`` is a file; where there is none, what is printed counts: lines that match ``kept``, without what
    matches ``ignored``.
    """
    runs = []
    for is_traced in (False, False, True):
        if output:
            (traced.folder / output).unlink(missing_ok=True)
        done = traced.run(program, p, *arguments, traced=is_traced)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "offbeat" not in done.stderr
        text = (traced.folder / output).read_text(encoding="utf-8") if output else done.stdout
        lines = [line for line in text.splitlines() if re.search(environment, line)]
        runs.append([re.sub(ignored, "", line) if ignored else line for line in lines])
    first, second, under_trace = runs
    steady = [line for line in first if line in second]
    assert [line for line in steady if line not in under_trace] == []
    return steady, read(traced.folder / "trace")


def assert_ranks_agree(ranks: list[RankTrace]) -> None:
    """On every communicator all members made the same calls in the same order, and no call is missing."""
    calls: dict[tuple[int, int], dict[int, list[tuple[int, str]]]] = defaultdict(lambda: defaultdict(list))
    sizes = {}
    for trace in ranks:
        for name, record in zip(trace.names, trace.records, strict=True):
            communicator = trace.communicators[int(record["communicator"])]
            sizes[communicator.identity] = communicator.size
            calls[communicator.identity][trace.rank].append((int(record["sequence"]), name))
    for identity, by_rank in calls.items():
        first = next(iter(by_rank.values()))
        assert len(by_rank) == sizes[identity]
        assert [number for number, _ in first] == list(range(len(first)))
        assert all(others == first for others in by_rank.values())


def write_hpcc_input(folder: Path, rows: int = 2, columns: int = 2) -> None:
    """Debian's example for hpcc with a small matrix, on a grid of so many processes."""
    text = Path("/usr/share/doc/hpcc/examples/_hpccinf.txt").read_text(encoding="utf-8")
    for value, key in ((100, "Ns"), (rows, "Ps"), (columns, "Qs")):
        text, replacements = re.subn(rf"^\d+( +{key})$", rf"{value}\1", text, flags=re.MULTILINE)
        assert replacements == 1, key
    (folder / "hpccinf.txt").write_text(text, encoding="utf-8")


def test_hpcc_prints_the_same_and_its_calls_are_recorded(on_openmpi: Traced) -> None:
    program = program_of("hpcc", "hpcc")
    write_hpcc_input(on_openmpi.folder)
    steady, ranks = run_both(on_openmpi, program, 4, output="hpccoutf.txt", environment=r"^\w+=\d+$")
    for line in ("Success=1", "HPL_N=100", "PTRANS_residual=0", "MPIRandomAccess_Errors=0"):
        assert line in steady
    # One rank, chosen at random in each run, makes some calls alone.
    calls = sorted(trace.names.count("MPI_Allreduce") for trace in ranks)
    assert calls[0] == calls[2] == pytest.approx(616, abs=60)  # some of its tests depend on time
    assert_ranks_agree(ranks)


def test_lammps_computes_the_same_and_its_ranks_agree(on_openmpi: Traced) -> None:
    program = program_of("lammps", "lmp")
    (on_openmpi.folder / "in.melt").write_text(MELT_INPUT, encoding="utf-8")
    thermodynamics, ranks = run_both(
        on_openmpi, program, 2, "-in", "in.melt", environment=r"^ +\d+ +\S+ +-\d"
    )
    assert len(thermodynamics) == 11
    assert ranks[0].names.count("MPI_Allreduce") > 50
    assert_ranks_agree(ranks)


@pytest.mark.parametrize(("family", "library"), [("openmpi", "openmpi4"), ("mpich", "mpich4")])
def test_scalapack_passes_its_tests_and_its_ranks_agree(tmp_path: Path, family: str, library: str) -> None:
    program = program_of("scalapack-mpi-test", SCALAPACK / f"{family}-tests" / "xdlu")
    traced = built_for(real_installation(library), tmp_path)
    (tmp_path / "LU.dat").write_text(LU_INPUT, encoding="utf-8")
    steady, ranks = run_both(traced, program, 2, ignored=r" +[\d.]+ +[\d.]+ +[\d.]+(?= PASSED)")
    assert sum(line.startswith("WALL") and line.endswith("PASSED") for line in steady) == 18
    assert any("18 tests completed and passed residual checks" in line for line in steady)
    assert sum(len(trace.records) for trace in ranks) > 2000
    assert len(ranks[0].communicators) > 5
    assert_ranks_agree(ranks)
