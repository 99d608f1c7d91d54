"""The options that exclude calls from a trace, and which of their values are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from traced_program import PAGE_BYTES, Traced, read

pytestmark = pytest.mark.slow

BARRIERS, REDUCTIONS = 100, 10
"""Of programs/barriers.c with the argument 100."""


@pytest.fixture
def program(some_traced: Traced) -> Path:
    return some_traced.compile_c("barriers.c")


def counts(traced: Traced, program: Path, p: int = 3, **variables: str) -> dict[int, tuple[int, int]]:
    """Rank → barriers and reductions that were recorded."""
    ranks = traced.trace(program, p, str(BARRIERS), variables=variables)
    return {
        trace.rank: (trace.names.count("MPI_Barrier"), trace.names.count("MPI_Allreduce")) for trace in ranks
    }


def test_ranks_outside_of_the_set_write_no_file(some_traced: Traced, program: Path) -> None:
    whole = (BARRIERS, REDUCTIONS)
    assert counts(some_traced, program, OFFBEAT_TRACE_RANKS="0,2-") == {0: whole, 2: whole}


def test_members_are_written_where_rank_0_writes_nothing(some_traced: Traced, program: Path) -> None:
    ranks = some_traced.trace(program, 3, "5", variables={"OFFBEAT_TRACE_RANKS": "1-2"})
    assert [trace.communicators[1].members for trace in ranks] == [(0, 1, 2), ()]


def test_every_kth_call_is_the_same_call_on_all_ranks(some_traced: Traced, program: Path) -> None:
    ranks = some_traced.trace(program, 3, str(BARRIERS), variables={"OFFBEAT_TRACE_EVERY": "7"})
    sequences = [trace.records["sequence"].tolist() for trace in ranks]
    assert sequences == [list(range(0, BARRIERS + REDUCTIONS, 7))] * 3
    assert ranks[0].sampling == "OFFBEAT_TRACE_EVERY=7"


def test_only_chosen_collectives_are_recorded(some_traced: Traced, program: Path) -> None:
    recorded = counts(some_traced, program, OFFBEAT_TRACE_COLLECTIVES="allreduce,bcast")
    assert recorded == dict.fromkeys(range(3), (0, REDUCTIONS))


@pytest.mark.parametrize(("sizes", "recorded"), [("2,4-", (0, 0)), ("1-3", (BARRIERS, REDUCTIONS))])
def test_only_communicators_of_chosen_sizes_are_recorded(
    some_traced: Traced, program: Path, sizes: str, recorded: tuple[int, int]
) -> None:
    assert counts(some_traced, program, OFFBEAT_TRACE_COMM_SIZES=sizes) == dict.fromkeys(range(3), recorded)


def test_a_window_begins_and_ends_in_the_run(some_traced: Traced, program: Path) -> None:
    ranks = some_traced.trace(program, 2, "60", "10000", variables={"OFFBEAT_TRACE_WINDOW": "0.2-0.4"})
    for trace in ranks:
        assert len(trace.records) > 0
        slack_ns = 50_000_000  # the window counts from rank 0's moment on the shared clock
        assert trace.records["enter_ns"].min() >= trace.began_ns + 200_000_000 - slack_ns
        assert trace.records["enter_ns"].max() <= trace.began_ns + 400_000_000 + slack_ns
        assert trace.records["sequence"].min() > 0


def test_the_byte_limit_holds_and_lost_calls_are_counted(some_traced: Traced, program: Path) -> None:
    limit = 4 * PAGE_BYTES
    ranks = some_traced.trace(program, 2, "50000", variables={"OFFBEAT_TRACE_BYTES": str(limit)})
    for trace in ranks:
        assert trace.bytes <= limit + PAGE_BYTES  # definitions may take another page
        assert trace.lost > 0
        assert trace.lost_because == -1
        assert len(trace.records) + trace.lost == 55000
        assert trace.records["sequence"].tolist() == list(range(len(trace.records)))
        assert any("OFFBEAT_TRACE_BYTES" in note for note in trace.notes)


def test_a_file_size_limit_ends_the_trace_and_not_the_program(some_traced: Traced, program: Path) -> None:
    blocks, calls = 2048, 200_000  # of 512 bytes: 1 MiB, for 1.7 MiB of records
    limited = f'ulimit -f {blocks}; exec "$0" "$@"'
    done = some_traced.run(Path("/bin/sh"), 1, "-c", limited, str(program), str(calls))
    assert done.returncode == 0
    assert done.stdout.count("is done") == 1
    (sentence,) = [line for line in done.stderr.splitlines() if line.startswith("offbeat:")]
    assert "found no room in the trace (File too large)" in sentence
    (trace,) = read(some_traced.folder / "trace")
    assert trace.bytes <= blocks * 512
    assert trace.lost > 0
    assert len(trace.records) + trace.lost == calls + calls // 10
    assert trace.records["sequence"].tolist() == list(range(len(trace.records)))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OFFBEAT_TRACE_EVERY", "0"),
        ("OFFBEAT_TRACE_RANKS", "first"),
        ("OFFBEAT_TRACE_COLLECTIVES", "alreduce"),
        ("OFFBEAT_CLOCK_METHOD", "sundial"),
    ],
)
def test_an_invalid_option_leaves_the_program_untraced(
    some_traced: Traced, program: Path, name: str, value: str
) -> None:
    done = some_traced.run(program, 2, "10", variables={name: value})
    assert done.returncode == 0
    assert done.stdout.count("is done") == 2
    (sentence,) = [line for line in done.stderr.splitlines() if line.startswith("offbeat:")]
    assert value in sentence
    assert "untraced" in sentence
    assert read(some_traced.folder / "trace") == []


def test_an_unwritable_folder_leaves_the_program_untraced(some_traced: Traced, program: Path) -> None:
    in_the_way = some_traced.folder / "file"
    in_the_way.write_text("no folder", encoding="utf-8")
    done = some_traced.run(program, 2, "10", variables={"OFFBEAT_TRACE_DIR": str(in_the_way / "trace")})
    assert done.returncode == 0
    assert done.stdout.count("is done") == 2
    assert done.stderr.count("OFFBEAT_TRACE_DIR") == 2
