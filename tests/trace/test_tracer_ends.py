"""However a program ends, its records can be read, and it ends as without the tracer."""

from __future__ import annotations

import json
import re

import pytest
from traced_program import ABORTED, EXITED, FINALIZED, Traced, read
from typer.testing import CliRunner

from offbeat.cli.trace import app

pytestmark = pytest.mark.slow

ENDS = {
    "finalize": (FINALIZED, ""),
    "exit": (EXITED, "ended without MPI_Finalize"),
    "_exit": (0, "did not end normally"),
    "abort": (ABORTED, "ended by MPI_Abort|did not end normally"),
    "kill": (0, "did not end normally"),
    "kill-one": (0, "did not end normally"),
    "segv": (0, "did not end normally"),
}
"""How programs/barriers.c ends → the state in the file of such a process, and the summary's note."""


@pytest.mark.parametrize("how", list(ENDS))
def test_all_calls_before_the_end_are_in_the_files_and_the_summary_states_the_end(
    traced: Traced, how: str
) -> None:
    state, note = ENDS[how]
    program = traced.compile_c("barriers.c")
    alone = traced.run(program, 2, "200", "0", how, traced=False)
    done = traced.run(program, 2, "200", "0", how)
    assert (done.returncode == 0) == (alone.returncode == 0)
    ranks = read(traced.folder / "trace")
    assert [trace.rank for trace in ranks] == [0, 1]
    # The launcher may end one process while the other one is ending.
    assert state in {trace.state for trace in ranks}
    assert max(len(trace.records) for trace in ranks) == 220
    for trace in ranks:
        assert trace.records["sequence"].tolist() == list(range(len(trace.records)))
        assert len(trace.points) >= 1
        assert trace.communicators[1].size == 2
        assert (trace.ended_ns != 0) == (trace.state != 0)
    assert len({trace.run for trace in ranks}) == 1
    summary = summarised(traced)
    assert (re.search(note, summary) is not None) if note else "did not end" not in summary


def summarised(traced: Traced) -> str:
    """What ``offbeat trace summary`` prints."""
    answer = traced.folder / "summary.json"
    done = CliRunner().invoke(app, ["summary", str(traced.folder / "trace"), "--json", str(answer)])
    assert done.exit_code == 0, done.output
    calls = {row["function"]: row["calls"] for row in json.loads(answer.read_text(encoding="utf-8"))["rows"]}
    assert {"MPI_Barrier", "MPI_Allreduce"} <= set(calls)
    return done.stdout


def test_an_earlier_trace_is_kept_and_the_next_run_is_untraced_with_a_message(traced: Traced) -> None:
    program = traced.compile_c("barriers.c")
    assert traced.run(program, 2, "10").returncode == 0
    before = {path.name: path.read_bytes() for path in (traced.folder / "trace").iterdir()}
    again = traced.run(program, 2, "10")
    assert again.returncode == 0
    assert again.stderr.count("rank-000000.trace exists already and is not overwritten") == 1
    assert {path.name: path.read_bytes() for path in (traced.folder / "trace").iterdir()} == before
