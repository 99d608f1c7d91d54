"""Call sites are those of a debugger's backtrace: wrappers, inlined functions, C++, Fortran, Python."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from real_libraries import real_installation, skip_without
from test_tracer_programs import LU_INPUT, MELT_INPUT, SCALAPACK, program_of, write_hpcc_input
from traced_program import PROGRAMS, Traced, built_for
from typer.testing import CliRunner

from offbeat.cli.trace import app
from offbeat.libraries.launch.launch_command import command
from offbeat.trace.calls.call_sites import CallSite
from offbeat.trace.calls.call_sites import Frame as RecordedFrame
from offbeat.trace.calls.function_names import shorten_name
from offbeat.trace.files.trace_folder import open_trace
from offbeat.trace.summary import summarise

pytestmark = pytest.mark.slow

DEPTH = 4
PAGE_BYTES = 4096
Frame = tuple[str, str]
"""The function, and ``file.c:12`` where that is known."""


@pytest.fixture
def on_openmpi(tmp_path: Path) -> Traced:
    return built_for(real_installation("openmpi4"), tmp_path)


def debugged(traced: Traced, program: Path, *arguments: str, function: str) -> list[list[Frame]]:
    """The callers of a function in the order of its calls, as gdb prints them, innermost first."""
    gdb = shutil.which("gdb")
    if gdb is None:
        skip_without("Debian's package gdb")
    script = traced.folder / "gdb.script"
    lines = ["set pagination off", "set breakpoint pending on", "set print frame-arguments none"]
    lines += ["set width 0", f"break {function}", "commands", "silent", "echo CALL\\n", f"bt {DEPTH + 6}"]
    script.write_text("\n".join([*lines, "continue", "end", "run", ""]), encoding="utf-8")
    debugger = [str(gdb), "--batch", "-nx", "-x", str(script), "--args", str(program), *arguments]
    launch = command(traced.mpi, debugger, 1, steerable=False)
    done = subprocess.run(
        launch.argv,
        env=launch.environment,
        cwd=traced.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    calls: list[list[Frame]] = []
    for line in done.stdout.splitlines():
        if line == "CALL":
            calls.append([])
        elif calls and (match := re.match(r"#([1-9]\d*) +(?:0x([0-9a-f]+) in )?(.*)", line)):
            calls[-1].append(_frame(match[3], match[2]))
    return calls


def _frame(words: str, address: str | None) -> Frame:
    """``solver::norm (x=...) at norm.cpp:12``, ``norm () from libx.so`` as function and line; ``?? ()`` with
    the address inside its page, which is the same wherever the program is loaded."""
    place = re.search(r" at \S*?([^/\s]+:\d+)$", words)
    name = re.sub(r" \([^()]*\)(?: at \S+| from \S+)?$", "", words)
    if name == "??" and address:
        return ("??", f"+0x{int(address, 16) % PAGE_BYTES:03x}")
    return (re.sub(r" from \S+$", "", name), place[1] if place else "")


def recorded(
    traced: Traced, program: Path, *arguments: str, function: str, depth: int = DEPTH
) -> list[CallSite]:
    """The sites of rank 0's calls of a function, in their order."""
    environment = {"OFFBEAT_TRACE_DEPTH": str(depth)}
    traced.trace(program, 1, *arguments, variables=environment)
    trace = open_trace(traced.folder / "trace")
    (file,) = trace.files
    records = file.records(next(iter(file.lanes.values())))
    expected = [number for number, one in file.definitions.functions.items() if one.name == function]
    records = records[[int(one) in expected for one in records["function"]]]
    return [trace.sites.sites[number] for number in trace.sites_of(file).numbers(records["address"])]


def _bare(name: str) -> str:
    """Without namespaces, which gdb also prints for contained procedures."""
    return shorten_name(name).rsplit("::", 1)[-1]


def assert_same(sites: Sequence[CallSite], calls: Sequence[Sequence[Frame]]) -> None:
    """Every call equals gdb's, by :func:`are_same`."""
    assert len(sites) == len(calls) > 0
    for site, call in zip(sites, calls, strict=True):
        assert are_same(site, call), (site, call)


def are_same(site: CallSite, call: Sequence[Frame]) -> bool:
    """Whether function, line and callers equal gdb's, apart from copies of inlined functions."""
    site_frames = [_recorded_frame(one) for one in site.frames]
    debugger_frames = [(_bare(name), place) for name, place in call]
    left = iter(debugger_frames)
    return site_frames[0] == debugger_frames[0] and all(frame in left for frame in site_frames)


def _recorded_frame(frame: RecordedFrame) -> Frame:
    """In the form of :func:`_frame`."""
    if frame.function:
        return (_bare(frame.function), frame.location if frame.line else "")
    return ("??", f"+0x{int(frame.location.rpartition('+')[2], 16) % PAGE_BYTES:03x}")


def test_wrappers_and_inlined_functions_in_c(on_openmpi: Traced) -> None:
    program = on_openmpi.compile_c("call_sites.c", ["-g", "-O2"])
    sites = recorded(on_openmpi, program, function="MPI_Allreduce")
    assert_same(sites, debugged(on_openmpi, program, function="MPI_Allreduce"))
    assert {site.frames[0].text for site in sites} == {"exchanged (call_sites.c:7)", "dot (call_sites.c:14)"}
    assert {site.frames[1].function for site in sites[8:]} == {"first", "second"}


def test_without_debugging_information_symbol_sizes_bound_functions(on_openmpi: Traced) -> None:
    program = on_openmpi.compile_c("call_sites.c", ["-O2"])
    sites = recorded(on_openmpi, program, function="MPI_Allreduce")
    assert_same(sites, debugged(on_openmpi, program, function="MPI_Allreduce"))
    stripped = shutil.copy(program, on_openmpi.folder / "stripped")
    subprocess.run(["strip", stripped], check=True)
    sites = recorded(on_openmpi, stripped, function="MPI_Allreduce")
    assert all(re.fullmatch(r"stripped\+0x[0-9a-f]+", site.frames[0].text) for site in sites)


def test_classes_templates_and_lambdas_in_cpp(on_openmpi: Traced) -> None:
    program = on_openmpi.compile_c("call_sites.cpp", ["-g", "-O1", "-DOMPI_SKIP_MPICXX"], compiler="c++")
    sites = recorded(on_openmpi, program, function="MPI_Allreduce")
    assert_same(sites, debugged(on_openmpi, program, function="MPI_Allreduce"))
    assert sites[0].path.startswith("{anonymous}::summed<> (call_sites.cpp:8) from Grid<>::halo")
    assert sites[0] != sites[1]  # two instances of one template: other callers


def test_modules_and_contained_procedures_in_fortran(on_openmpi: Traced) -> None:
    program = on_openmpi.compile_fortran("call_sites.F90", "MPIF", ["-g", "-O0"])
    sites = recorded(on_openmpi, program, function="MPI_Allreduce")
    calls = debugged(on_openmpi, program, function="mpi_allreduce_")
    assert_same(sites, calls)
    assert {site.frames[0].function for site in sites} == {"inner", "grid::norm"}


def test_own_mpi_wrappers_do_not_hide_calls(traced: Traced) -> None:
    program = traced.compile_c("own_wrappers.c", ["-g", "-O1"])
    ranks = traced.trace(program, 2)
    for rank in ranks:
        assert rank.names == [*["MPI_Allreduce"] * 5, "MPI_Bcast", "MPI_Barrier"]
        assert rank.state == 1 and rank.notes == []
    summary = summarise(open_trace(traced.folder / "trace"))
    assert {row.site for row in summary.rows} == {
        "norm (own_wrappers.c:22)",
        "main (own_wrappers.c:31)",
        "main (own_wrappers.c:32)",
    }


def test_own_mpi_wrappers_have_the_callers_that_the_debugger_shows(on_openmpi: Traced) -> None:
    program = on_openmpi.compile_c("own_wrappers.c", ["-g", "-O1"])
    sites = recorded(on_openmpi, program, function="MPI_Allreduce")
    calls = debugged(on_openmpi, program, function="PMPI_Allreduce")
    assert_same(sites, [[frame for frame in call if frame[0] != "MPI_Allreduce"] for call in calls])


def test_python_functions_and_lines(on_openmpi: Traced) -> None:
    pytest.importorskip("mpi4py")
    script = PROGRAMS / "call_sites.py"
    program = Path(sys.executable)
    sites = recorded(on_openmpi, program, str(script), function="MPI_Allreduce")
    lines = on_openmpi.run(program, 1, str(script)).stdout.splitlines()
    assert lines == [" ".join(f"{one.function}:{one.line}" for one in site.frames) for site in sites]
    assert sites[0].frames[0].text == "dot (call_sites.py:22)"


def test_python_frames_are_not_recorded_if_that_is_requested(on_openmpi: Traced) -> None:
    pytest.importorskip("mpi4py")
    script = str(PROGRAMS / "call_sites.py")
    sites = recorded(on_openmpi, Path(sys.executable), script, function="MPI_Allreduce", depth=0)
    assert all("cpython" in site.frames[0].location for site in sites)


def test_call_paths_of_lammps_equal_those_of_the_debugger(on_openmpi: Traced) -> None:
    program = program_of("lammps", "lmp")
    (on_openmpi.folder / "in.melt").write_text(MELT_INPUT, encoding="utf-8")
    sites = recorded(on_openmpi, program, "-in", "in.melt", function="MPI_Allreduce")
    assert_same(sites, debugged(on_openmpi, program, "-in", "in.melt", function="MPI_Allreduce"))
    assert len({site.frames[0].function for site in sites}) > 5


def test_call_paths_of_hpcc_equal_those_of_the_debugger(on_openmpi: Traced) -> None:
    program = program_of("hpcc", "hpcc")
    write_hpcc_input(on_openmpi.folder, rows=1, columns=1)
    sites = recorded(on_openmpi, program, function="MPI_Allreduce")
    calls = debugged(on_openmpi, program, function="MPI_Allreduce")
    # Some of its tests depend on time: the number of calls differs between runs, their call sites do not.
    by_path = {site.frames: site for site in sites}
    distinct = {tuple(call): call for call in calls}
    assert len(by_path) > 3
    for site in by_path.values():
        assert any(are_same(site, call) for call in distinct.values()), site
    for call in distinct.values():
        assert any(are_same(site, call) for site in by_path.values()), call


def test_call_paths_of_scalapack_equal_those_of_the_debugger(on_openmpi: Traced) -> None:
    program = program_of("scalapack-mpi-test", SCALAPACK / "openmpi-tests" / "xdlu")
    small = LU_INPUT.replace("10 31 57", "10").replace("12 31 50", "12").replace("2 3 4 ", "2 ")
    small = re.sub(r"^3( +number of (problem|NBs))", r"1\1", small, flags=re.MULTILINE)
    small = re.sub(r"^2( +number of process)", r"1\1", small, flags=re.MULTILINE)
    small = small.replace("1 2       values of P", "1         values of P")
    small = small.replace("2 1       values of Q", "1         values of Q")
    (on_openmpi.folder / "LU.dat").write_text(small, encoding="utf-8")
    sites = recorded(on_openmpi, program, function="MPI_Comm_dup")
    assert_same(sites, debugged(on_openmpi, program, function="MPI_Comm_dup"))


# --- rows


def sites_printed(*arguments: object) -> str:
    """The output of a command of ``offbeat trace``, on standard output and standard error."""
    done = CliRunner().invoke(app, [str(word) for word in arguments], env={"COLUMNS": "300"})
    assert done.exit_code == 0, done.output
    return done.output


def test_copies_of_one_line_are_one_row_and_callers_of_a_wrapper_are_two(on_openmpi: Traced) -> None:
    program = on_openmpi.compile_c("call_sites.c", ["-g", "-O2"])
    on_openmpi.trace(program, 2)
    folder = on_openmpi.folder / "trace"
    rows = {row.site: row for row in summarise(open_trace(folder)).rows}
    assert {site: row.calls for site, row in rows.items()} == {
        "exchanged (call_sites.c:7)": 8,
        "dot (call_sites.c:14) from first (call_sites.c:27)": 10,
        "dot (call_sites.c:14) from second (call_sites.c:31)": 10,
    }
    first = rows["dot (call_sites.c:14) from first (call_sites.c:27)"]
    second = rows["dot (call_sites.c:14) from second (call_sites.c:31)"]
    assert first.delays_s.argmax() == 0 and second.delays_s.argmax() == 1
    assert min(first.stability, second.stability) > 0.5
    assert "mean delay over 8 calls" in sites_printed("pattern", folder, "--site", "call_sites.c:7")


def test_callers_that_cannot_be_distinguished_give_a_note_that_recommends_clusters(
    on_openmpi: Traced,
) -> None:
    program = on_openmpi.compile_c("call_sites.c", ["-g", "-O2"])
    on_openmpi.trace(program, 2, variables={"OFFBEAT_TRACE_DEPTH": "1"})
    folder = on_openmpi.folder / "trace"
    (row,) = [row for row in summarise(open_trace(folder)).rows if row.site == "dot (call_sites.c:14)"]
    assert row.calls == 20 and row.stability < 0.5
    assert "--what clusters" in sites_printed("pattern", folder, "--site", "call_sites.c:14")
    assert "the mean pattern explains less than 50%" in sites_printed("summary", folder)


def test_every_library_records_paths(traced: Traced) -> None:
    program = traced.compile_c("call_sites.c", ["-g", "-O2"])
    traced.trace(program, 2)
    sites = {row.site for row in summarise(open_trace(traced.folder / "trace")).rows}
    assert "dot (call_sites.c:14) from first (call_sites.c:27)" in sites
