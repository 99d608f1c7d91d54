"""Programs of another MPI library than the tracer's run unchanged; programs without MPI load no MPI."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
from real_libraries import LIBRARIES, real_installation, skip_without
from test_trace_run import run_traced
from traced_program import PROGRAMS, Traced, built_for

SAID = re.compile(
    r"^offbeat: (\S+) uses (.+) \((\S+)\), and the tracer was built for (\S+): the program continues", re.M
)


def outcome(done: subprocess.CompletedProcess[str]) -> tuple[bool, list[str]]:
    """How a program ended and what it printed."""
    lines = re.findall(r"\w[^\n]*?: rank \d of \d, sum \d", done.stdout)
    return done.returncode == 0, sorted(lines)


@pytest.mark.parametrize("library", list(LIBRARIES))
def test_a_program_of_any_library_prints_and_ends_as_without_the_tracer(traced: Traced, library: str) -> None:
    other = built_for(real_installation(library), traced.folder)
    program = other.compile_c("library.c")
    plain, lines = outcome(traced.run(program, 2, traced=False))
    done = traced.run(program, 2)
    is_well, printed = outcome(done)
    assert (is_well, printed) == (plain, lines), done.stderr
    counts = SAID.findall(done.stderr)
    if other.mpi.library.resolve() == traced.mpi.library.resolve():
        assert len(printed) == 2
    if not plain:  # some libraries refuse another library's launcher, which then ends the reporting process
        return
    if (traced.folder / "trace").exists():
        assert counts == []
        assert {path.name for path in (traced.folder / "trace").iterdir()} >= {"rank-000000.trace"}
    else:
        ((name, version, file, built_for_name),) = counts
        assert name == str(program)
        assert all(" ".join(line.split()).startswith(version) for line in printed)
        assert Path(file).resolve() == other.mpi.library.resolve()
        assert traced.mpi.library.resolve().name.startswith(built_for_name.partition(".so")[0])


@pytest.mark.parametrize(("family", "library"), [("openmpi4", "mpich4"), ("mpich4", "openmpi4")])
def test_trace_run_names_the_other_library_and_ends_with_1(tmp_path: Path, family: str, library: str) -> None:
    traced = built_for(real_installation(family), tmp_path)
    program = built_for(real_installation(library), tmp_path).compile_c("library.c")
    done = run_traced(traced, 2, [str(program)])
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("rank 0 of 1, sum 1") == 2
    assert len(SAID.findall(done.stderr)) == 1
    assert "no trace was written" in done.stderr


@pytest.mark.parametrize("library", ["openmpi5", "mpich5"])
def test_mpi4py_runs_with_the_library_that_it_chooses_itself(traced: Traced, library: str) -> None:
    if importlib.util.find_spec("mpi4py") is None:
        skip_without("mpi4py")
    chosen = real_installation(library).library
    python, script = Path(sys.executable), str(PROGRAMS / "python_calls.py")
    variables = {"MPI4PY_LIBMPI": str(chosen)}
    plain, lines = outcome(traced.run(python, 2, script, variables=variables, traced=False))
    done = traced.run(python, 2, script, variables=variables)
    is_well, printed = outcome(done)
    assert (is_well, printed) == (plain, lines), done.stderr
    assert (traced.folder / "trace").exists() == (plain and not SAID.findall(done.stderr))
    if traced.mpi.library.resolve() == chosen.resolve():
        assert len(list((traced.folder / "trace").iterdir())) == 2


def test_a_program_without_mpi_has_no_mpi_library_loaded(traced: Traced) -> None:
    done = subprocess.run(
        ["/usr/bin/env", f"LD_PRELOAD={traced.library}", "cat", "/proc/self/maps"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(traced.library.resolve()) in done.stdout
    assert "libmpi" not in done.stdout
    assert done.stderr == ""
