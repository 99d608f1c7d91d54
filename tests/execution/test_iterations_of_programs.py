"""The number of iterations of real programs on real libraries: by marks, and as well by call sites."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from proxy_program import Proxy, built_for
from real_libraries import real_installation

from offbeat.libraries.installations import build
from offbeat.programs.iterations.iteration_table import read_table
from offbeat.programs.iterations.iterations import CALL_SITES, MARKS, Iterations, find_iterations
from offbeat.trace.files import format as form
from offbeat.trace.files.trace_folder import Trace, open_trace
from offbeat.trace.messages.message_matching import MessageMatcher
from offbeat.trace.summary import summarise

pytestmark = pytest.mark.slow


def traced(program: Proxy, folder: Path, p: int, *options: str) -> Path:
    """The trace of a run with point-to-point calls."""
    place = build.build_native(program.mpi).parents[1]
    (tracer,) = place.glob("lib*/**/liboffbeat-trace.so")
    variables = [f"LD_PRELOAD={tracer}", f"OFFBEAT_TRACE_DIR={folder}", "OFFBEAT_TRACE_MESSAGES=1"]
    done = program.run(p, *options, variables=variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def messages_within_s(trace: Trace, iterations: Iterations) -> float:
    """The time in point-to-point calls that begin between the first and the last edge of their rank."""
    begins_ns, ends_ns = iterations.edges_ns[:, 0], iterations.edges_ns.max(axis=1)
    spent_ns = 0
    for matched in MessageMatcher(trace).batches():
        for batch in matched.batches:
            is_within = (batch.enter_ns >= begins_ns[batch.file]) & (batch.enter_ns < ends_ns[batch.file])
            spent_ns += int(batch.spent_ns[is_within & (batch.kind != form.MARK)].sum())
    return spent_ns / 1e9


@pytest.mark.parametrize(
    ("library", "name", "p", "options", "iterations"),
    [
        pytest.param(
            "openmpi5", "cavity", 2, "--nx=24 --ny=24 --nz=24 --steps=60 --collective-step=7", 60, id="cavity"
        ),
        pytest.param(
            "mpich4", "multigrid", 2, "--nx=16 --ny=16 --nz=16 --levels=3 --iterations=30", 30, id="multigrid"
        ),
        pytest.param(
            "intelmpi",
            "multigrid",
            3,
            "--nx=16 --ny=16 --nz=16 --levels=2 --iterations=30 --allreduce=ring",
            30,
            marks=pytest.mark.alone,  # computing times distinguish iterations from the steps of the ring
            id="multigrid with a ring",
        ),
        pytest.param("mpich5", "regions", 2, "--nx=16 --ny=16 --nz=16 --steps=50", 50, id="regions"),
    ],
)
def test_marks_and_call_sites_give_the_number_of_iterations_of_each_example(
    tmp_path: Path, library: str, name: str, p: int, options: str, iterations: int
) -> None:
    trace = open_trace(traced(built_for(library, name), tmp_path / "t", p, *options.split()))
    by_marks, by_sites = (find_iterations(trace, way=way) for way in (MARKS, CALL_SITES))
    assert by_marks.counts.tolist() == [iterations] * p
    assert by_sites.counts.tolist() == [iterations] * p
    table, summary = read_table(trace, by_marks), summarise(trace)
    assert (table.times_s() > 0).all()
    within_s = messages_within_s(trace, by_marks)
    assert 0 < within_s <= summary.messages_spent_s * (1 + 1e-9)  # sums round differently
    assert table.message_s.sum() == pytest.approx(within_s, rel=1e-3)
    assert table.collective_s.sum() <= 1.001 * summary.spent_s
    assert (table.mpi_s() <= table.times_s() * 1.001 + 1e-9).all()
    assert (table.waiting_s() <= table.mpi_s() + 1e-6).all()


def test_the_iterations_of_the_fft_are_found_without_marks(tmp_path: Path) -> None:
    mpi = real_installation("openmpi4")
    fft = Proxy(mpi, build.build_native(mpi).with_name("offbeat-ft"))
    folder = traced(fft, tmp_path / "t", 2, "--class", "S", "--iterations", "40")
    iterations = find_iterations(open_trace(folder))
    assert (iterations.way, iterations.counts.tolist()) == (CALL_SITES, [40, 40])
    assert np.diff(iterations.edges_ns, axis=1).min() > 0
