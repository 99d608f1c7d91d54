"""Programs whose collectives run on the rows and the columns of a process grid at the same time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from program_texts import WORK, platform, program
from typer.testing import CliRunner

from offbeat.base.errors import BadInput
from offbeat.cli.program import app
from offbeat.libraries.installations.installation import Installation
from offbeat.model.study.communicators import CommunicatorLayout
from offbeat.programs.description.alternatives import messages_of_iteration
from offbeat.programs.description.description import phase_rows
from offbeat.programs.description.program_file import Program
from offbeat.programs.simulation.simulate import prepare
from offbeat.programs.simulation.simulated_trace import plan, simulate_traced
from offbeat.simulation.calls.call_exits import Job, run_job
from offbeat.trace.files.trace_folder import open_trace
from offbeat.trace.summary import summarise

ROWS = '[[phase]]\nkind = "collective"\nname = "rows"\ncollective = "allreduce"\nbytes = ["64 KiB"]\n'
ROWS += 'algorithm = "ring"\ncommunicators = 4\n'
COLUMNS = ROWS.replace('"rows"', '"columns"').replace("= 4", "= 8\nstride = 8")
ROOTED = '[[phase]]\nkind = "collective"\nname = "roots"\ncollective = "bcast"\nbytes = [8]\nroot = 3\n'
ROOTED += 'algorithm = "binomial"\ncommunicators = 8\nstride = 8\nevery = 2\n'
WHOLE = '[[phase]]\nkind = "collective"\nname = "all"\ncollective = "barrier"\nalgorithm = "bruck"\n'
NOISE = '[[noise]]\nphase = "triad"\ntime = "3 ms"\ndistribution = "exponential"\npick = "all"\n'

LAYOUTS = {
    "rows": CommunicatorLayout(p=8, communicators=4),
    "columns": CommunicatorLayout(p=4, communicators=8, stride=8),
}


def grid(*phases: str, iterations: int = 6) -> Program:
    return program(*phases, ranks=32, iterations=iterations)


@pytest.mark.parametrize(("phase", "layout"), [(ROWS, LAYOUTS["rows"]), (COLUMNS, LAYOUTS["columns"])])
def test_a_phase_takes_as_long_as_the_same_call_of_the_engine_sim(
    phase: str, layout: CommunicatorLayout
) -> None:
    machine = platform()
    nodes = machine.node_of_rank(32)
    job = Job(
        platform=machine.file,
        node_of_rank=nodes,
        collective="allreduce",
        family="openmpi",
        algorithm="ring",
        root=0,
        bytes=65536,
        element_bytes=8,
        arrivals_s=np.zeros((1, 32)),
        layout=layout,
    )
    one = grid(phase, iterations=1)
    ends = prepare(one, machine).simulate().iteration_end_s[0]
    expected = run_job(job)
    np.testing.assert_allclose(ends, expected.exits_s[0], rtol=1e-9)
    assert messages_of_iteration(one, machine) == expected.messages


def test_the_trace_shows_rows_and_columns_as_communicators(tmp_path: Path) -> None:
    one = grid(WORK, ROWS, COLUMNS, ROWS.replace('"rows"', '"again"'), ROOTED, WHOLE, NOISE)
    run = prepare(one, platform())
    simulated = simulate_traced(run, plan(run, tmp_path / "trace", (2, 6)))
    trace = open_trace(tmp_path / "trace")
    assert not trace.notes
    members = {tuple(one.members.tolist()) for one in trace.communicators.table}
    expected = {tuple(ranks) for layout in LAYOUTS.values() for ranks in layout.ranks.tolist()}
    assert members == expected | {tuple(range(32))}
    rows = {row.site.split(" (")[0]: row for row in summarise(trace).group_rows}
    assert set(rows) == {"rows", "columns", "again", "roots", "all"}
    numbers = {name: (one.communicators, one.processes) for name, one in rows.items()}
    rows_of_grid, columns = (4, 8), (8, 4)
    assert numbers == {
        "rows": rows_of_grid,
        "columns": columns,
        "again": rows_of_grid,
        "roots": columns,
        "all": (1, 32),
    }
    for name, one in rows.items():
        executed = 2 if name == "roots" else 4
        assert one.calls == one.whole == executed * one.communicators, name
    assert {one.communicator for one in rows.values()} >= {"4 × MPI_Comm_create_group", "MPI_COMM_WORLD"}
    spent_s = sum(one.spent_s for one in rows.values())
    assert spent_s == pytest.approx(simulated.communication_s[2:].sum(), rel=1e-5)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ("communicators = 5", "32 ranks cannot be divided into 5 communicators of two or more"),
        ("communicators = 32", "32 ranks cannot be divided into 32 communicators of two or more"),
        ("communicators = 4\nstride = 3", "stride 3 does not divide the number of communicators, 4"),
        ("stride = 2", "stride 2 does not divide the number of communicators, 1"),
        ("communicators = 0", "communicators"),
    ],
)
def test_layouts_that_do_not_fit_are_refused_with_their_line(keys: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=r"program.toml:\d+: .*" + sentence):
        prepare(grid(ROWS.replace("communicators = 4", keys)), platform())


def test_a_root_is_a_rank_of_its_communicator() -> None:
    with pytest.raises(BadInput, match="the root is rank 4 of 4; write one from 0 to 3"):
        prepare(grid(ROOTED.replace("root = 3", "root = 4")), platform())


def test_phases_are_shown_with_their_communicators() -> None:
    (row,) = phase_rows(grid(COLUMNS), None)[1]
    assert row[2] == "allreduce of 64 KiB by openmpi's ring, 8 communicators at once, stride 8"


@pytest.mark.slow
def test_a_real_run_calls_on_the_same_communicators(
    some_mpi_installation: Installation, tmp_path: Path
) -> None:
    text = "".join(
        phase.replace("communicators = 8\nstride = 8", "communicators = 2\nstride = 2")
        .replace("communicators = 4", "communicators = 2")
        .replace("root = 3", "root = 1")
        for phase in (ROWS, COLUMNS, ROWS.replace('"rows"', '"again"'), ROOTED, WHOLE)
    )
    (tmp_path / "program.toml").write_text(f"ranks = 4\niterations = 6\n{text}")
    arguments = ["run", tmp_path / "program.toml", "--mpi", some_mpi_installation.mpirun]
    arguments += ["--folder", tmp_path / "run", "--trace", tmp_path / "trace"]
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    assert result.exit_code == 0, (result.output, result.exception)
    trace = open_trace(tmp_path / "trace")
    made = {
        tuple(one.members.tolist())
        for one in trace.communicators.table
        if one.constructor == "MPI_Comm_create_group"
    }
    assert made >= {(0, 1), (2, 3), (0, 2), (1, 3)}
    layouts = [row.layout for row in summarise(trace).group_rows if row.collective != "barrier"]
    rows, columns = (CommunicatorLayout(p=2, communicators=2, stride=stride) for stride in (1, 2))
    assert {layout.stride for layout in layouts if layout} == {1, 2}
    calls = {
        layout: sum(row.whole for row in summarise(trace).group_rows if row.layout == layout)
        for layout in (rows, columns)
    }
    assert calls == {rows: 2 * 2 * 6, columns: 2 * (6 + 3)}
