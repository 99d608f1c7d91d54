"""The tracer's point-to-point calls on the real libraries: all are recorded, programs are unchanged, and the
matching is that of the library, which the sizes of messages tell."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from real_fortran import libraries_with
from real_libraries import real_installation
from traced_program import Traced, built_for

from offbeat.trace.files.record_table import message_pieces
from offbeat.trace.files.trace_folder import Trace, open_trace
from offbeat.trace.messages.message_matching import MessageCounts, MessageMatcher
from offbeat.trace.summary import Summary, summarise

pytestmark = pytest.mark.slow

MESSAGES = {"OFFBEAT_TRACE_MESSAGES": "1"}
SEND_MODES = ("Send", "Bsend", "Ssend", "Rsend")
REQUEST_FUNCTIONS = (
    *("Wait", "Waitall", "Waitany", "Waitsome"),
    *("Test", "Testall", "Testany", "Testsome", "Start", "Startall", "Cancel", "Request_free"),
)


def recorded(traced: Traced, program: Path, p: int, *arguments: str) -> Trace:
    """The trace of a program, which prints the same as without the tracer."""
    lines = []
    for is_traced in (False, True):
        done = traced.run(program, p, *arguments, variables=MESSAGES, traced=is_traced)
        # Launchers may mix the lines of ranks.
        lines.append((done.returncode, sorted("".join(done.stdout.split()))))
        assert "offbeat:" not in done.stderr
    assert lines[0] == lines[1]
    trace = open_trace(traced.folder / "trace")
    assert trace.notes == []
    return trace


def table_of(trace: Trace) -> pl.DataFrame:
    return pl.concat(list(message_pieces(trace)))


def matched(trace: Trace) -> tuple[MessageCounts, list[int]]:
    """What was counted, and the sizes of the matched messages, which are the same at both ends."""
    matcher = MessageMatcher(trace, most_messages=64)
    sizes: list[int] = []
    for batch in matcher.batches():
        assert batch.sends.bytes.tolist() == batch.receives.bytes.tolist()
        sizes += batch.sends.bytes.tolist()
    assert matcher.counts.invalid == 0
    return matcher.counts, sizes


def times_add_up(summary: Summary, table: pl.DataFrame) -> None:
    """The time in the rows of a summary is that of all calls, each counted once."""
    table = table.filter(pl.col("kind") != "mark")
    calls = table.unique(["rank", "lane", "enter_ns", "exit_ns"])
    inside = (calls["exit_ns"] - calls["enter_ns"]).sum()
    polled = calls.filter(pl.col("kind") == "poll")
    outside = (polled["exit_ns"] - polled["enter_ns"] - polled["spent_ns"]).sum()
    assert table["spent_ns"].sum() <= inside - outside
    assert summary.messages_spent_s == pytest.approx(table["spent_ns"].sum() / 1e9)
    assert 0 <= summary.messages_waited_s <= summary.messages_spent_s
    assert summary.messages_spent_s + summary.spent_s <= summary.thread_run_s


def every_message(traced: Traced, arguments: list[str]) -> Trace:
    exchange = ["-DEXCHANGE"] if traced.declares("MPI_Isendrecv") else []
    return recorded(traced, traced.compile_c("every_message.c", [*arguments, *exchange]), 2)


def test_every_point_to_point_function_is_recorded(traced: Traced) -> None:
    is_large = traced.declares("MPI_Send_c")
    trace = every_message(traced, ["-DLARGE"] if is_large else [])
    table, summary = table_of(trace), summarise(trace)
    functions = [f"MPI_{mode}" for mode in SEND_MODES] + [f"MPI_I{mode.lower()}" for mode in SEND_MODES]
    functions += [f"MPI_{mode}_init" for mode in SEND_MODES]
    functions += [f"MPI_{name}" for name in ("Recv", "Irecv", "Recv_init", "Mprobe", "Improbe", "Imrecv")]
    functions += [f"MPI_{name}" for name in ("Sendrecv", "Sendrecv_replace", "Probe", "Iprobe", "Pcontrol")]
    if traced.declares("MPI_Isendrecv"):
        functions += ["MPI_Isendrecv", "MPI_Isendrecv_replace"]
    assert set(functions) <= set(table["function"])
    called = {row.function for row in summary.messages}
    assert {f"MPI_{name}" for name in REQUEST_FUNCTIONS if not name.startswith("Start")} <= called
    starts = table.filter(pl.col("moment") == "start")
    assert starts["round"].value_counts().sort("round").rows() == [(1, 10), (2, 8)]
    mark = table.filter(pl.col("kind") == "mark")
    assert mark.sort("rank", "enter_ns").select("rank", "tag").rows() == [(0, 2), (0, 7), (1, 2), (1, 7)]
    assert table.filter("cancelled")["tag"].to_list() == [7777, 7777]
    times_add_up(summary, table)
    assert summary.has_messages
    assert {one.is_inter for one in trace.communicators.table} == {False}


def test_the_status_of_a_receive_tells_its_sender_and_size(traced: Traced) -> None:
    trace = every_message(traced, [])
    table = table_of(trace)
    received = table.filter((pl.col("kind") == "receive") & ~pl.col("cancelled") & (pl.col("peer") != -2))
    done = received.filter((pl.col("moment") == "completion") | (pl.col("request") == 0))
    done = done.filter(~pl.col("function").str.contains("Isendrecv"))  # MPICH does not set its status
    assert (done["bytes"] == 4 * done["tag"]).all()
    assert (done["peer"] == 1 - done["rank"]).all()
    nothing = table.filter(pl.col("peer") == -2)
    assert sorted(nothing["function"].unique()) == ["MPI_Isend", "MPI_Recv", "MPI_Send"]
    counts, sizes = matched_up_to_exchanges(trace)
    messages = 27 if traced.declares("MPI_Isendrecv") else 25
    assert set(sizes) >= {4 * number for number in range(1, messages + 1)} - {80, 84}
    is_exact = traced.mpi.family == "openmpi"
    assert (counts.wildcard_receives, counts.without_partner) == ((0, 0) if is_exact else (4, 4))


def matched_up_to_exchanges(trace: Trace) -> tuple[MessageCounts, list[int]]:
    """As :func:`matched`, but a receive of MPI_Isendrecv may have the size of its buffer."""
    matcher = MessageMatcher(trace)
    sizes: list[int] = []
    for batch in matcher.batches():
        is_same = batch.sends.bytes == batch.receives.bytes
        assert set(batch.sends.bytes[~is_same].tolist()) <= {80, 84}
        sizes += batch.sends.bytes.tolist()
    return matcher.counts, sizes


def test_random_messages_match_as_the_library_delivered_them(traced: Traced) -> None:
    rounds = 25
    trace = recorded(traced, traced.compile_c("random_messages.c"), 4, "7", str(rounds))
    counts, sizes = matched(trace)
    assert sorted(sizes) == [4 * (number + 3) for number in range(24 * rounds)]
    assert (counts.wildcard_receives, counts.without_partner, counts.abandoned_ends) == (0, 0, 0)
    table, summary = table_of(trace), summarise(trace)
    assert table.filter(pl.col("kind") == "mark").height == 4 * rounds
    polls = table.filter(pl.col("kind") == "poll")
    assert int(polls["calls"].max() or 0) > 1  # consecutive tests are one row
    assert (polls["spent_ns"] <= polls["exit_ns"] - polls["enter_ns"]).all()
    times_add_up(summary, table)
    assert [row for row in summary.rows if row.function == "MPI_Ibarrier"]


@pytest.mark.parametrize("case", ["fail", "mix", "pause"])
def test_rare_cases_are_unchanged(traced: Traced, case: str) -> None:
    trace = recorded(traced, traced.compile_c("odd_messages.c", ["-w"]), 1 if case == "fail" else 4, case)
    if case == "fail":
        assert table_of(trace).filter("failed").height > 0
        return
    counts, sizes = matched(trace)
    if case == "pause":  # ranks pause at different times, with messages in flight
        skipped = table_of(trace)["skipped"].sum()
        assert skipped > 20
        assert 150 < len(sizes) < 240
        return
    assert (len(sizes), counts.without_partner) == (12, 0)
    table = table_of(trace)
    shared = summarise(trace)
    assert table.filter((pl.col("function") == "MPI_Irecv") & (pl.col("moment") == "completion")).height >= 4
    times_add_up(shared, table)


def test_many_outstanding_requests_and_threads_match(some_traced: Traced) -> None:
    program = some_traced.compile_c("odd_messages.c", ["-w"])
    counts, _ = matched_quickly(recorded(some_traced, program, 2, "outstanding"))
    assert (counts.pairs, counts.without_partner, counts.abandoned_ends) == (20_000, 0, 0)
    counts, _ = matched_quickly(recorded_again(some_traced, program, "threads"))
    assert (counts.pairs, counts.without_partner) in ((1200, 0), (0, 0))  # 0: without MPI_THREAD_MULTIPLE


def recorded_again(traced: Traced, program: Path, case: str) -> Trace:
    for path in (traced.folder / "trace").iterdir():
        path.unlink()
    return recorded(traced, program, 2, case)


def matched_quickly(trace: Trace) -> tuple[MessageCounts, int]:
    matcher = MessageMatcher(trace)
    return matcher.counts, sum(len(batch.sends) for batch in matcher.batches())


FORTRAN = [
    (binding, library, arguments)
    for binding in ("USE_F08", "USE_MPI", "MPIF_H")
    for library in libraries_with(binding)
    for arguments in ([], ["-DLARGE"])
    if not arguments or (binding == "USE_F08" and library.startswith("mpich"))
]


@pytest.mark.parametrize(("binding", "library", "arguments"), FORTRAN, ids=str)
def test_fortran_programs_are_recorded_as_those_in_c(
    binding: str, library: str, arguments: list[str], tmp_path: Path
) -> None:
    traced = built_for(real_installation(library), tmp_path)
    trace = recorded(traced, traced.compile_fortran("every_message.F90", binding, arguments), 2)
    counts, sizes = matched(trace)
    assert sorted(sizes) == sorted([4 * number for number in range(1, 25)] * 2)
    assert (counts.wildcard_receives, counts.without_partner) == (0, 0)
    kinds = dict(table_of(trace)["kind"].value_counts().rows())
    del kinds["poll"]  # as many as the program polled
    assert kinds == {"mark": 2, "probe": 4, "receive": 102, "requests": 18, "send": 92}
    assert table_of(trace).filter("cancelled").height == 2


def test_marks_alone_are_recorded_unless_messages_are_asked_for(some_traced: Traced) -> None:
    program = some_traced.compile_c("random_messages.c")
    assert some_traced.run(program, 4, "3", "2").returncode == 0
    trace = open_trace(some_traced.folder / "trace")
    assert table_of(trace)["kind"].unique().to_list() == ["mark"]
    assert not summarise(trace).has_messages


def test_a_window_leaves_messages_matchable(some_traced: Traced) -> None:
    program = some_traced.compile_c("random_messages.c")
    window = MESSAGES | {"OFFBEAT_TRACE_WINDOW": "0.002-0.05", "OFFBEAT_TRACE_BYTES": "4 MiB"}
    assert some_traced.run(program, 4, "5", "60", variables=window).returncode == 0
    matched(open_trace(some_traced.folder / "trace"))
