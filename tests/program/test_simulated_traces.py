"""Traces of simulated programs: the calls, their times, and what 'offbeat trace' makes of them."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from program_texts import RING, WORK, platform, program

from offbeat.base.errors import BadInput, RunFailed
from offbeat.model.platform.machine import Platform
from offbeat.programs.description.program_file import Program
from offbeat.programs.simulation import simulated_trace
from offbeat.programs.simulation.simulate import Simulated, prepare
from offbeat.programs.simulation.simulated_trace import plan, selected_iterations, simulate_traced
from offbeat.trace.files import format as form
from offbeat.trace.files.rank_file import RankFile
from offbeat.trace.files.rank_writer import RankWriter
from offbeat.trace.files.trace_folder import Trace, open_trace
from offbeat.trace.messages.message_stats import MessageStats
from offbeat.trace.summary import summarise

ALLREDUCE = '[[phase]]\nkind = "collective"\ncollective = "allreduce"\nbytes = [8]\n'
ALLREDUCE += 'algorithm = "recursive_doubling"\n'
REDUCE = (
    '[[phase]]\nkind = "collective"\ncollective = "reduce"\nalgorithm = "binomial"\nbytes = [3]\nroot = 2\n'
)
NOISE = '[[noise]]\nphase = "triad"\ntime = "3 ms"\ndistribution = "exponential"\npick = "all"\n'


def traced(
    one: Program,
    folder: Path,
    iterations: tuple[int, int] | None = None,
    machine: Platform | None = None,
) -> tuple[Simulated, Trace]:
    run = prepare(one, machine or platform())
    simulated = simulate_traced(run, plan(run, folder, iterations))
    return simulated, open_trace(folder)


def messages_of(file: RankFile) -> NDArray[Any]:
    return file.messages(file.message_lanes.get(0, np.zeros(0, np.int64)))


def records_of(file: RankFile) -> NDArray[Any]:
    return file.records(file.lanes.get(0, np.zeros(0, np.int64)))


def marks_s(file: RankFile) -> NDArray[np.float64]:
    rows = messages_of(file)
    return (rows["enter_ns"][rows["kind"] == form.MARK] - file.header.began_ns) / 1e9


def call_times(file: RankFile) -> NDArray[np.int64]:
    """Begin and end of each call but marks, (n, 2), in the order of time."""
    rows = messages_of(file)
    messages = rows[rows["kind"] != form.MARK]
    both = [np.stack([part["enter_ns"], part["exit_ns"]], axis=1) for part in (messages, records_of(file))]
    return np.unique(np.concatenate(both), axis=0)


def names(file: RankFile) -> list[str]:
    """The functions of a rank's calls, in the order of time."""
    functions = file.definitions.functions
    calls: dict[tuple[int, int], str] = {}
    for row in messages_of(file):
        is_wait = row["flags"] & form.PHASE == form.COMPLETION
        name = "MPI_Waitall" if is_wait else functions[int(row["function"])].name
        calls[int(row["enter_ns"]), int(row["exit_ns"])] = name
    for row in records_of(file):
        calls[int(row["enter_ns"]), int(row["exit_ns"])] = functions[int(row["function"])].name
    return [calls[times] for times in sorted(calls)]


SENDS = st.sampled_from(["nonblocking", "blocking", "synchronous", "buffered"])
RANGES = st.tuples(st.integers(0, 5), st.integers(1, 6)).filter(lambda pair: pair[0] < pair[1])
NEIGHBOURS = st.sampled_from(["ring", "line", "grid", "box"])


@settings(max_examples=25)
@given(SENDS, NEIGHBOURS, st.sampled_from(["1 kB", "1 MB"]), st.integers(1, 13), RANGES)
def test_the_trace_has_the_times_of_the_simulation(
    sends: str, neighbours: str, size: str, p: int, traced_range: tuple[int, int]
) -> None:
    first, end = traced_range
    halo = f'{RING}sends = "{sends}"\n'.replace('"ring"', f'"{neighbours}"').replace("1 MB", size)
    one = program(WORK, halo, f"{ALLREDUCE}every = 2\n", NOISE, ranks=p, iterations=6)
    with TemporaryDirectory() as folder:
        run, trace = traced(one, Path(folder) / "trace", (first, end))
        rows = [(marks_s(file), call_times(file)) for file in trace.files]
    plain = prepare(one, platform()).simulate()
    np.testing.assert_array_equal(run.iteration_end_s, plain.iteration_end_s)  # tracing changes nothing
    assert len(trace.files) == p and not trace.notes
    for rank, (marks, times) in enumerate(rows):
        ends = run.iteration_end_s[first : end - 1, rank]
        begin = run.iteration_end_s[first - 1, rank] if first else 0.0
        np.testing.assert_allclose(marks, [begin, *ends], atol=60e-9)  # a nanosecond for each call
        assert (times[:, 1] > times[:, 0]).all() and (times[1:, 0] >= times[:-1, 1]).all()
        spent_s = np.diff(times, axis=1).sum() / 1e9
        assert spent_s == pytest.approx(run.communication_s[first:end, rank].sum(), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize(
    ("sends", "calls"),
    [
        ("nonblocking", ["MPI_Irecv"] * 2 + ["MPI_Isend"] * 2 + ["MPI_Waitall"]),
        ("synchronous", ["MPI_Irecv"] * 2 + ["MPI_Issend"] * 2 + ["MPI_Waitall"]),
        ("buffered", ["MPI_Irecv"] * 2 + ["MPI_Ibsend"] * 2 + ["MPI_Waitall"]),
        ("blocking", ["MPI_Irecv"] * 2 + ["MPI_Send"] * 2 + ["MPI_Waitall"]),
    ],
)
def test_a_rank_makes_the_calls_of_its_phases(sends: str, calls: list[str], tmp_path: Path) -> None:
    one = program(WORK, f'{RING}sends = "{sends}"\n', REDUCE, ranks=4, iterations=2)
    _, trace = traced(one, tmp_path / "trace")
    iteration = ["MPI_Pcontrol", *calls, "MPI_Reduce"]
    assert names(trace.files[1]) == 2 * iteration
    posted = messages_of(trace.files[1])[1:5]
    assert posted["peer"].tolist() == [0, 2, 2, 0] and set(posted["bytes"]) == {10**6}
    record = records_of(trace.files[1])[1]
    assert (record["root"], record["bytes"], record["sequence"]) == (2, 3, 1)
    assert trace.files[0].definitions.datatypes[int(record["datatype"])] == "MPI_BYTE"  # 3 bytes: no doubles


def message_rows(trace: Trace) -> dict[str, MessageStats]:
    return {row.function: row for row in summarise(trace).messages}


def test_every_message_finds_its_partner_and_the_site_is_the_phase(tmp_path: Path) -> None:
    one = program(WORK, RING, RING.replace("halo", "again"), NOISE, ranks=2, iterations=40)
    _, trace = traced(one, tmp_path / "trace")
    summary = summarise(trace)
    waits = [row for row in summary.messages if row.function == "MPI_Waitall"]
    assert Counter(row.site for row in waits) == {"halo (program.toml:9)": 1, "again (program.toml:15)": 1}
    assert sum(row.sent for row in waits) == sum(row.received for row in waits) == 40 * 2 * 2 * 2
    assert not any(row.unknown_s for row in waits) and not summary.notes


def late(rank: int, milliseconds: int) -> str:
    return (
        f'[[noise]]\nphase = "triad"\ntime = "{milliseconds} ms"\npick = "list"\nranks = [{rank}]\nlast = 1\n'
    )


def test_waiting_for_a_late_sender_is_the_delay_of_the_simulation(tmp_path: Path) -> None:
    line = RING.replace("ring", "line")
    _, trace = traced(program(WORK, line, late(1, 10), ranks=2, iterations=1), tmp_path / "trace")
    (wait,) = [row for row in summarise(trace).messages if row.function == "MPI_Waitall"]
    assert wait.late_sender_s == pytest.approx(10e-3, abs=1e-8)
    assert wait.late_receiver_s == 0


def test_waiting_for_a_late_receiver_is_the_delay_of_the_simulation(tmp_path: Path) -> None:
    halo = RING.replace('"ring"', '"offsets"') + 'offsets = [1]\nperiodic = false\nsends = "blocking"\n'
    _, trace = traced(program(WORK, halo, late(1, 10), ranks=2, iterations=1), tmp_path / "trace")
    rows = message_rows(trace)
    assert rows["MPI_Send"].late_receiver_s == pytest.approx(10e-3, abs=1e-8)
    assert rows["MPI_Waitall"].late_sender_s == 0
    assert "MPI_Waitall" in names(trace.files[0])  # also a rank with nothing to wait for calls it


def test_blocking_sends_end_one_after_the_other(tmp_path: Path) -> None:
    line = f'{RING}sends = "blocking"\n'
    run, trace = traced(program(line, ranks=3, iterations=1), tmp_path / "trace")
    rows = messages_of(trace.files[0])
    sends = rows[(rows["kind"] == form.SEND)]
    transfer_ns = 1e6 / 5e9 * 1e9  # at the machine's 5 GB/s inside a node, and 1 µs of latency
    assert sends["exit_ns"] - sends["enter_ns"] == pytest.approx([transfer_ns + 1000] * 2, rel=0.01)
    assert sends["exit_ns"][1] <= run.iteration_end_s[0, 0] * 1e9 + 2


def test_header_and_notes_say_what_was_simulated_and_where_ranks_are(tmp_path: Path) -> None:
    one = program(WORK, RING, ranks=12, iterations=5, head="seed = 42")
    _, trace = traced(one, tmp_path / "trace", (2, 4))
    assert [file.header.host for file in trace.files] == ["node0"] * 8 + ["node1"] * 4
    assert [file.memory_domain for file in trace.files] == [0] * 4 + [1] * 4 + [2] * 4
    header = trace.headers[0]
    assert header.program.endswith("/program.toml") and "seed 42" in header.library
    assert header.sampling == "iterations 3 to 4 of 5" and trace.notes == []


def test_long_traces_are_written_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = program(WORK, RING, ALLREDUCE, NOISE, ranks=8, iterations=700)
    traced(one, tmp_path / "whole")
    monkeypatch.setattr("offbeat.programs.simulation.simulate.EVENTS_AT_ONCE", 997)
    monkeypatch.setattr(simulated_trace, "_ENTRIES_AT_ONCE", 100)
    _, trace = traced(one, tmp_path / "pieces")
    whole = open_trace(tmp_path / "whole")
    for file, other in zip(trace.files, whole.files, strict=True):
        np.testing.assert_array_equal(messages_of(file), messages_of(other))
        np.testing.assert_array_equal(records_of(file), records_of(other))
        assert file.size_bytes == other.size_bytes


def test_the_planned_size_is_that_of_the_files(tmp_path: Path) -> None:
    one = program(WORK, f"{RING}every = 3\n", f"{ALLREDUCE}every = 2\n", ranks=5, iterations=2000)
    run = prepare(one, platform())
    planned = plan(run, tmp_path / "trace", (10, 1800))
    simulate_traced(run, planned)
    assert sum(path.stat().st_size for path in (tmp_path / "trace").iterdir()) == planned.size_bytes


def test_more_than_the_limit_is_refused_with_iterations_that_fit(tmp_path: Path) -> None:
    run = prepare(program(WORK, RING, ranks=32, iterations=100_000), platform())
    with pytest.raises(BadInput, match=r"takes 1\.85 GB.*--trace-iterations 1-\d+") as caught:
        plan(run, tmp_path / "trace")
    fitting = int(str(caught.value).split("1-")[1].split(",")[0])
    assert plan(run, tmp_path / "trace", (0, fitting)).size_bytes <= 1.01e9
    with pytest.raises(BadInput, match="the program has iterations 1 to 100000"):
        plan(run, tmp_path / "trace", (0, 10**6))


def test_a_folder_that_cannot_be_used_is_refused_before_the_simulation(tmp_path: Path) -> None:
    run = prepare(program(WORK, RING, ranks=2, iterations=2), platform())
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot create the folder"):
        plan(run, tmp_path / "file" / "trace")
    simulate_traced(run, plan(run, tmp_path / "trace"))
    with pytest.raises(BadInput, match="holds a trace already; give another folder with --trace"):
        plan(run, tmp_path / "trace")


def test_a_full_disk_is_a_failed_run_and_leaves_a_trace_that_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = prepare(program(WORK, RING, ranks=2, iterations=400), platform())
    monkeypatch.setattr("offbeat.programs.simulation.simulate.EVENTS_AT_ONCE", 500)
    monkeypatch.setattr(simulated_trace, "_ENTRIES_AT_ONCE", 100)
    append, calls = RankWriter.append, Counter[str]()

    def full(writer: RankWriter, *parts: NDArray[Any]) -> None:
        calls["append"] += 1
        if calls["append"] > 5:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        append(writer, *parts)

    monkeypatch.setattr(RankWriter, "append", full)
    with pytest.raises(RunFailed, match="No space left on device; free space there"):
        simulate_traced(run, plan(run, tmp_path / "trace"))
    summary = summarise(open_trace(tmp_path / "trace"))
    assert summary.message_records > 0
    assert any("did not end normally" in note for note in summary.notes)


def test_a_killed_simulation_leaves_a_trace_that_reads(tmp_path: Path) -> None:
    arguments = ["simulate", "mst", "--platform", "fritz", "-p", "18", "--trace", str(tmp_path / "trace")]
    killed = subprocess.Popen(
        [sys.executable, "-c", _KILLED, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    assert killed.wait(timeout=60) == -signal.SIGKILL
    summary = summarise(open_trace(tmp_path / "trace"))
    assert summary.message_records > 0
    assert any("did not end normally (killed, or still running)" in note for note in summary.notes)


_KILLED = """
import os, signal, sys
from offbeat.cli.program import app
from offbeat.programs.simulation import simulated_trace
from offbeat.trace.files.rank_writer import RankWriter
simulated_trace._ENTRIES_AT_ONCE = 1000
append, done = RankWriter.append, []
def kill(writer, *parts):
    append(writer, *parts)
    done.append(1)
    if len(done) == 10:
        os.kill(os.getpid(), signal.SIGKILL)
RankWriter.append = kill
app(sys.argv[1:])
"""


@pytest.mark.parametrize("text", ["0", "0-5", "5-4", "a", "1-", "-3", "1-1000000000000"])
def test_iterations_that_do_not_exist_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match="write the first and the last one, from 1"):
        selected_iterations(text)


def test_iterations_are_numbered_from_1() -> None:
    assert selected_iterations("3-7") == (2, 7)
    assert selected_iterations("4") == (3, 4)
    assert selected_iterations("") is None
