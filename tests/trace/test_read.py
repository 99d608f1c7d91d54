"""Reading trace files: complete, damaged, of several runs, with all kinds of clocks."""

from __future__ import annotations

import errno
import os
import re
import struct
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import trace_factory as factory

from offbeat.errors import BadInput
from offbeat.trace import call_sites as sites
from offbeat.trace import format as form
from offbeat.trace.clock import RankClock
from offbeat.trace.exports import export
from offbeat.trace.format import ClockPoint, Mapping
from offbeat.trace.rank_file import open_file
from offbeat.trace.read import open_trace, spans
from offbeat.trace.record_table import pieces
from offbeat.trace.summary import Summary, summarise

REPOSITORY = Path(__file__).resolve().parents[2]
HEADER = REPOSITORY / "native" / "trace" / "format.h"

STRUCTURES = {
    "offbeat_trace_header": form.HEADER,
    "offbeat_trace_record": form.RECORD,
    "offbeat_trace_message": form.MESSAGE,
}
BODIES = {
    form.FUNCTION: "offbeat_trace_function",
    form.COMMUNICATOR: "offbeat_trace_communicator",
    form.MEMBERS: "offbeat_trace_members",
    form.COMMUNICATOR_NAME: "offbeat_trace_communicator_name",
    form.COMMUNICATOR_END: "offbeat_trace_communicator_end",
    form.DATATYPE: "offbeat_trace_datatype",
    form.OPERATION: "offbeat_trace_operation",
    form.MAPPING: "offbeat_trace_mapping",
    form.CLOCK_POINT: "offbeat_trace_clock_point",
    form.NOTE: "offbeat_trace_note",
    form.PATH: "offbeat_trace_path",
}
CONSTANTS = {
    "VERSION": form.VERSION,
    "PAGE_BYTES": form.PAGE_BYTES,
    "PAGE_HEADER_BYTES": form.PAGE_HEADER_BYTES,
    "RECORDS_A_PAGE": form.RECORDS_A_PAGE,
    "MESSAGE_BYTES": form.MESSAGE_BYTES,
    "MESSAGES_A_PAGE": form.MESSAGES_A_PAGE,
    "MESSAGES": form.MESSAGES,
    "SEND": form.SEND,
    "PARTITIONED_RECEIVE": form.PARTITIONED_RECEIVE,
    "ARRIVED": form.ARRIVED,
    "UNKNOWN": form.UNKNOWN,
    "PEER_PROC_NULL": form.PEER_PROC_NULL,
    "ANY_SOURCE": form.ANY_SOURCE,
    "ANY_TAG": form.ANY_TAG,
    "CANCELLED": form.CANCELLED,
    "RECORDS": form.RECORDS,
    "DEFINITIONS": form.DEFINITIONS,
    "FINALIZED": form.FINALIZED,
    "EXITED": form.EXITED,
    "ABORTED": form.ABORTED,
    "ISSUE": form.ISSUE,
    "START": form.START,
    "COMPLETION": form.COMPLETION,
    "IN_PLACE": form.IN_PLACE,
    "COMMUTES": form.COMMUTES,
    "FAILED": form.FAILED,
    "FORTRAN": form.FORTRAN,
    "BY_SHIFT": form.BY_SHIFT,
    "BY_FREE": form.BY_FREE,
    "CONSTRUCTOR": form.CONSTRUCTOR,
    "CLOCK_POINT": form.CLOCK_POINT,
    "NOTE": form.NOTE,
    "PATH": form.PATH,
}


def compiled(source: str, folder: Path) -> list[int]:
    """The numbers that a C program prints."""
    (folder / "sizes.c").write_text(source, encoding="utf-8")
    program = folder / "sizes"
    subprocess.run(["cc", "-o", program, folder / "sizes.c"], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    return [int(word) for word in done.stdout.split()]


def test_structures_are_those_of_the_tracer(tmp_path: Path) -> None:
    asked: list[str] = []
    expected: list[int] = []
    for structure, dtype in STRUCTURES.items():
        asked.append(f"sizeof({structure})")
        expected.append(dtype.itemsize)
        for name in dtype.names or ():
            asked.append(f"offsetof({structure}, {name})")
            assert dtype.fields is not None
            expected.append(dtype.fields[name][1])
    for kind, structure in BODIES.items():
        asked.append(f"sizeof({structure})")
        expected.append(form.DEFINITION.size + form.BODIES[kind].size)
    for name, value in CONSTANTS.items():
        asked.append(f"OFFBEAT_TRACE_{name}")
        expected.append(value)
    lines = "\n".join(f'printf("%ld\\n", (long)({one}));' for one in asked)
    source = f'#include <stddef.h>\n#include <stdio.h>\n#include "{HEADER}"\nint main(void) {{ {lines} }}\n'
    compiled_sizes = dict(zip(asked, compiled(source, tmp_path), strict=True))
    assert compiled_sizes == dict(zip(asked, expected, strict=True))


def test_no_kind_of_definition_is_missing() -> None:
    text = HEADER.read_text(encoding="utf-8")
    kinds = re.search(r"Kinds of definitions\. \*/\s*enum \{(.*?)\}", text, re.DOTALL)
    assert kinds is not None
    numbers = [int(number) for number in re.findall(r"= (\d+)", kinds[1])]
    assert sorted(numbers) == sorted(form.BODIES)


def summary_of(folder: Path) -> Summary:
    return summarise(open_trace(folder))


def words(summary: Summary) -> str:
    return "\n".join(summary.notes)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two ranks with 3000 calls each: three pages of records."""
    ranks = factory.files(2)
    for one in ranks:
        for sequence in range(3000):
            one.call(1000 * (sequence + 1), 1000 * (sequence + 1) + 500, sequence=sequence)
    return factory.write(tmp_path / "t", ranks)


def test_a_complete_trace_has_no_notes(folder: Path) -> None:
    summary = summary_of(folder)
    assert summary.notes == []
    assert (summary.records, summary.rows[0].calls, summary.rows[0].whole) == (6000, 3000, 3000)


def test_a_file_truncated_in_a_page_is_read_up_to_its_end(folder: Path) -> None:
    path = folder / "rank-000001.trace"
    path.write_bytes(path.read_bytes()[: 2 * form.PAGE_BYTES + form.PAGE_HEADER_BYTES + 100 * 56 + 20])
    summary = summary_of(folder)
    assert (summary.rows[0].calls, summary.rows[0].whole) == (3000, 100)
    assert "rank 1: the file is truncated in the middle of a page" in words(summary)
    assert "rank 1: 2 pages of 5 are missing" in words(summary)


def test_a_tail_of_zeros_is_ignored(folder: Path) -> None:
    path = folder / "rank-000000.trace"
    path.write_bytes(path.read_bytes() + bytes(5 * form.PAGE_BYTES))
    assert summary_of(folder).rows[0].whole == 3000


@pytest.mark.timeout(60)  # to read the zeros would take many minutes
def test_a_sparse_tail_of_a_terabyte_is_ignored(folder: Path) -> None:
    os.truncate(folder / "rank-000000.trace", 2**40)
    assert summary_of(folder).rows[0].whole == 3000
    os.truncate(folder / "rank-000001.trace", 2**40 + 1)
    summary = summary_of(folder)
    assert "rank-000001.trace has 1.1 TB, more than the limit of 1 TiB; if that is right" in words(summary)
    assert summary.rows[0].calls == 3000


def test_pages_after_a_hole_in_the_file_are_read(folder: Path) -> None:
    path = folder / "rank-000000.trace"
    raw = path.read_bytes()
    with path.open("wb") as file:
        file.write(raw[: 2 * form.PAGE_BYTES])
        file.seek(3 * form.PAGE_BYTES)
        file.write(raw[3 * form.PAGE_BYTES :])
    assert summary_of(folder).rows[0].whole == 3000 - form.RECORDS_A_PAGE


def test_pages_after_a_page_that_was_never_written_are_read(folder: Path) -> None:
    path = folder / "rank-000000.trace"
    raw = bytearray(path.read_bytes())
    raw[2 * form.PAGE_BYTES : 3 * form.PAGE_BYTES] = bytes(form.PAGE_BYTES)
    path.write_bytes(raw)
    summary = summary_of(folder)
    assert summary.rows[0].whole == 3000 - form.RECORDS_A_PAGE


def test_records_that_were_being_written_are_ignored(folder: Path) -> None:
    path = folder / "rank-000000.trace"
    raw = bytearray(path.read_bytes())
    begin = 2 * form.PAGE_BYTES + form.PAGE_HEADER_BYTES
    raw[begin + 48 : begin + 50] = b"\0\0"
    path.write_bytes(raw)
    assert summary_of(folder).rows[0].whole == 2999


def test_records_that_are_invalid_are_ignored_and_counted(folder: Path) -> None:
    path = folder / "rank-000000.trace"
    raw = bytearray(path.read_bytes())
    begin = 2 * form.PAGE_BYTES + form.PAGE_HEADER_BYTES
    raw[begin + 32 : begin + 36] = b"\xff\xff\xff\xff"  # a communicator that was never defined
    raw[begin + 56 : begin + 64] = b"\xff" * 7 + b"\x7f"  # entered after it was left
    path.write_bytes(raw)
    summary = summary_of(folder)
    assert summary.rows[0].whole == 2998
    assert "2 invalid records" in words(summary)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (form.RUNNING, "did not end normally (killed, or still running)"),
        (form.EXITED, "ended without MPI_Finalize"),
        (form.ABORTED, "ended by MPI_Abort"),
    ],
)
def test_how_a_process_ended_is_reported(tmp_path: Path, state: int, message: str) -> None:
    ranks = factory.files(2)
    ranks[1].header = {"state": state, "ended_ns": 0}
    for one in ranks:
        one.call(1000, 2000)
    summary = summary_of(factory.write(tmp_path / "t", ranks))
    assert f"rank 1: {message}" in words(summary)
    assert summary.rows[0].whole == 1


def test_a_killed_run_lasts_until_its_last_record_and_is_reported(tmp_path: Path) -> None:
    ranks = factory.files(1)
    ranks[0].header = {"state": form.RUNNING, "ended_ns": 0, "began_ns": 1000}
    ranks[0].call(2000, 5000)
    summary = summary_of(factory.write(tmp_path / "t", ranks))
    assert summary.run_s == pytest.approx(4e-6)
    assert "counts to its last record only" in words(summary)


def test_a_full_disk_is_reported_once(tmp_path: Path) -> None:
    for number, notes in enumerate(
        ([], [factory.note("3 records found no room in the trace (No space left)")])
    ):
        ranks = factory.files(1)
        ranks[0].header |= {"lost": 3, "lost_because": errno.ENOSPC}
        ranks[0].definitions += notes
        ranks[0].call(2000, 5000)
        text = words(summary_of(factory.write(tmp_path / str(number), ranks)))
        assert text.count("found no room") + text.count("could not be written") == 1


def test_a_trace_of_version_2_is_read_as_before(tmp_path: Path) -> None:
    """A trace of programs/same_calls.c on two ranks, and its records as read before version 3."""
    with tarfile.open(Path(__file__).with_name("version-2.tar.xz")) as archive:
        archive.extractall(tmp_path, filter="data")
    trace = open_trace(tmp_path / "version-2")
    assert trace.notes == []
    assert all(one.message_lanes == {} for one in trace.files)
    records = pl.concat(list(pieces(trace))).drop("site")
    assert records.write_csv() == (tmp_path / "version-2" / "records.csv").read_text(encoding="utf-8")


def test_another_version_is_refused_with_what_to_do(folder: Path) -> None:
    for path in folder.iterdir():
        raw = bytearray(path.read_bytes())
        raw[8] = 9
        path.write_bytes(raw)
    with pytest.raises(BadInput, match=r"version 9; this offbeat reads versions up to 3.*and 1 file more"):
        open_trace(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is truncated within its header, after 0 bytes"),
        (b"OFFBEATT123", "is truncated within its header, after 11 bytes"),
        (bytes(65536), "is empty: its process ended during MPI_Init"),
        (b"#!/bin/sh\n" * 9999, "is not an offbeat trace"),
    ],
)
def test_files_that_are_no_traces_are_named_and_the_others_read(
    folder: Path, content: bytes, message: str
) -> None:
    (folder / "rank-000001.trace").write_bytes(content)
    summary = summary_of(folder)
    assert f"rank-000001.trace {message}" in words(summary)
    assert "1 of 2 ranks have no file (1)" in words(summary)
    assert summary.rows[0].calls == 3000


def test_members_are_reconstructed_if_the_file_that_lists_them_is_missing(tmp_path: Path) -> None:
    ranks = factory.files(3)
    for one in ranks:
        one.call(1000 + 10 * one.rank, 2000)
    folder = factory.write(tmp_path / "t", ranks)
    (folder / "rank-000000.trace").unlink()
    (row,) = summary_of(folder).rows
    assert (row.processes, row.whole) == (3, 1)
    assert np.isnan(row.delays_s[0])
    assert row.delays_s[1:] == pytest.approx([0, 10e-9])


def test_files_of_another_run_are_ignored(folder: Path) -> None:
    other_run = factory.files(9)[5]
    other_run.header = {"run": 8}
    other_run.write(folder)
    summary = summary_of(folder)
    assert summary.rows[0].whole == 3000
    assert "1 file of another run in the folder: ignored" in words(summary)


def test_a_duplicate_rank_is_read_once(folder: Path) -> None:
    (folder / "rank-000001-copy.trace").write_bytes((folder / "rank-000001.trace").read_bytes())
    summary = summary_of(folder)
    assert summary.rows[0].whole == 3000
    assert "rank 1: there is more than one file; the first by name is read" in words(summary)


@pytest.mark.parametrize("offset", [24, 28], ids=["rank", "size"])
def test_a_header_with_impossible_numbers_is_refused(folder: Path, offset: int) -> None:
    for path in folder.iterdir():
        content = bytearray(path.read_bytes())
        content[offset : offset + 4] = (2**31 - 1).to_bytes(4, "little")
        path.write_bytes(content)
    with pytest.raises(BadInput, match="has a damaged header: rank"):
        open_trace(folder)


def test_a_communicator_of_an_impossible_size_is_ignored(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        whole = bytearray(factory.communicator(3, [0, 1], one.rank, ordinal=1, parent=1))
        size = form.DEFINITION.size + 20
        whole[size : size + 4] = (2**32 - 1).to_bytes(4, "little")
        one.definitions.append(bytes(whole))
        one.call(1000, 2000)
        one.call(3000, 4000, communicator=3)
    summary = summary_of(factory.write(tmp_path / "t", ranks))
    assert [(row.communicator, row.calls) for row in summary.rows] == [("MPI_COMM_WORLD", 1)]
    assert "unreadable definition" in words(summary)


def test_folders_without_a_trace_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"holds no trace.*offbeat trace run"):
        open_trace(tmp_path)
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        open_trace(tmp_path / "nowhere")


def test_notes_and_losses_of_the_tracer_are_reported(tmp_path: Path) -> None:
    ranks = factory.files(1)
    ranks[0].definitions.append(factory.note("recording stopped: the disk is full"))
    ranks[0].header = {"lost": 12, "lost_because": 28}
    ranks[0].call(1000, 2000)
    text = words(summary_of(factory.write(tmp_path / "t", ranks)))
    assert "rank 0: recording stopped: the disk is full" in text
    assert "rank 0: 12 records could not be written: the disk was full" in text


def test_truncated_definitions_do_not_stop_the_reading(tmp_path: Path) -> None:
    ranks = factory.files(1)
    ranks[0].definitions.append(b"\xff\xff\x00\x00\x05\x00\x00\x00")
    ranks[0].call(1000, 2000)
    summary = summary_of(factory.write(tmp_path / "t", ranks))
    assert summary.rows[0].calls == 1
    assert "1 unreadable definition" in words(summary)


@pytest.mark.parametrize("seed", range(12))
def test_random_bytes_in_a_file_give_at_most_a_sentence(folder: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    path = folder / "rank-000001.trace"
    raw = bytearray(path.read_bytes())
    for _ in range(40):
        page = int(random.integers(0, len(raw) // form.PAGE_BYTES))
        at = page * form.PAGE_BYTES + int(random.integers(0, 3000))
        raw[at : at + 4] = random.bytes(4)
    path.write_bytes(raw[: len(raw) - int(random.integers(0, 100_000))])
    summary = summary_of(folder)
    assert sum(row.calls for row in summary.rows) >= 2900
    assert words(summary)
    export(open_trace(folder), folder / "out.csv", "csv")


def test_ids_and_members_out_of_range_are_ignored(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        name = b"MPI_Frobnicate"
        packed = struct.pack("<HHHH", 65535, form.BLOCKING, 65535, len(name)) + name
        one.definitions.append(factory.definition(form.FUNCTION, packed))
        one.definitions.append(factory.communicator(3, [0, 1, 2**31 - 1], one.rank, ordinal=1, parent=1))
        one.call(1000, 2000)
        one.call(3000, 4000, communicator=3)
    folder = factory.write(tmp_path / "t", ranks)
    summary = summary_of(folder)
    assert [(row.communicator_index, row.whole) for row in summary.rows] == [(0, 1), (2, 1)]
    export(open_trace(folder), folder / "out.csv", "csv")


# --- clocks


def clock(*points: tuple, drift: float = 4e-4, wander: float = 5e-17) -> RankClock:
    return RankClock([ClockPoint(*one) for one in points], drift, wander)


def test_times_between_clock_points_are_interpolated() -> None:
    line = clock((1000, 5000, 10, 0.0, False), (2000, 6002, 30, 0.0, False))
    assert line.shared_ns(np.array([1000, 1500, 2000])).tolist() == [5000, 5501, 6002]
    assert line.bound_ns(np.array([1000, 1500, 2000])) == pytest.approx([10, 20, 30])


def test_beyond_the_clock_points_the_rate_holds_and_the_bound_grows() -> None:
    line = clock((0, 0, 10, -1e-3, False), (10**6, 10**6, 20, 1e-3, False))
    assert line.shared_ns(np.array([-1000, 10**6 + 1000])).tolist() == [-999, 10**6 + 1001]
    bounds = line.bound_ns(np.array([-(10**6), 3 * 10**6]))
    assert bounds == pytest.approx([10 + 400, 20 + 800])


def test_between_points_far_apart_the_bound_grows_by_the_wander() -> None:
    line = clock((0, 0, 10, 0.0, False), (10**10, 10**10, 10, 0.0, False))
    assert line.bound_ns(np.array([5 * 10**9])) == pytest.approx([10 + 5e-17 * 1e20 / 8])


def test_one_physical_clock_is_exact_and_stays_so() -> None:
    line = clock((0, 0, 0, 0.0, True), (10**10, 10**10, 0, 0.0, True))
    times = np.array([-5, 2**62, 10**15 + 1])
    assert line.shared_ns(times).tolist() == times.tolist()
    assert line.bound_ns(times).tolist() == [0, 0, 0]


def test_the_error_of_time_stamps_is_added_to_every_bound() -> None:
    shared = RankClock([ClockPoint(0, 0, 0, 0.0, True)], 4e-4, 5e-17, stamps_wrong_ns=40)
    assert shared.bound_ns(np.array([-5, 10**9])).tolist() == [40, 40]
    apart = RankClock([ClockPoint(0, 7, 100, 0.0, False)], 4e-4, 5e-17, stamps_wrong_ns=40)
    assert apart.bound_ns(np.array([0])).tolist() == [140]


def test_the_last_of_simultaneous_clock_points_counts_and_their_order_does_not_matter() -> None:
    line = clock((2000, 2000, 1, 0.0, False), (1000, 1000, 1, 0.0, False), (2000, 2500, 1, 0.0, False))
    assert line.shared_ns(np.array([1500, 2000])).tolist() == [1750, 2500]


def test_large_times_lose_nothing() -> None:
    begin = 10**18 + 7
    line = clock((begin, begin + 3, 0, 0.0, False), (begin + 10**9, begin + 10**9 + 5, 0, 0.0, False))
    assert line.shared_ns(np.array([begin + 1])).tolist() == [begin + 4]


def test_a_point_that_replaces_makes_earlier_ones_invalid(tmp_path: Path) -> None:
    (one,) = factory.files(1, points=False)
    one.definitions += [
        factory.point(1, 10**12),
        factory.point(5, 5, replaces=True),
        factory.point(1000, 1010),
    ]
    points = open_file(one.write(tmp_path)).definitions.points
    assert [point.local_ns for point in points] == [5, 1000]


def test_without_clock_points_one_node_is_compared_as_it_is(tmp_path: Path) -> None:
    ranks = factory.files(2, points=False)
    for one in ranks:
        one.call(1000 + 7 * one.rank, 2000)
        one.header = {"began_unix_ns": 10**18 + 12345 * one.rank}
    summary = summary_of(factory.write(tmp_path / "t", ranks))
    assert summary.rows[0].delays_s[1] == pytest.approx(7e-9)
    assert "no clock points; all its processes read the clock" in words(summary)


def test_without_clock_points_nodes_are_compared_by_calendar_and_reported(tmp_path: Path) -> None:
    ranks = factory.files(2, points=False)
    ranks[1].header = {"host": b"node1", "began_ns": 500_001}
    ranks[0].call(1000, 2000)
    ranks[1].call(501_000 + 40, 502_000)
    summary = summary_of(factory.write(tmp_path / "t", ranks))
    assert summary.rows[0].delays_s[1] == pytest.approx(40e-9)
    assert "compared by wall clock time" in words(summary)


def test_a_rank_without_points_takes_those_of_its_node_or_is_ignored(tmp_path: Path) -> None:
    ranks = factory.files(3, points=False)
    ranks[0].definitions.append(factory.point(1, 101, same=False))
    ranks[2].header = {"host": b"node1"}
    for one in ranks:
        one.call(1000 + one.rank, 2000)
    summary = summary_of(factory.write(tmp_path / "t", ranks))
    assert "Rank 2 has no clock points" in words(summary)
    assert summary.rows[0].delays_s == pytest.approx([0, 1e-9, np.nan], nan_ok=True)
    assert [late.name for late in summary.rows[0].latest_nodes] == ["node0"]
    assert summary.rows[0].whole == 1


# --- call sites


def test_a_site_is_named_after_its_function_and_line(tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text("int other(void);\nint caller(void) {\n    return 1 + other();\n}\n", encoding="utf-8")
    library = tmp_path / "program.so"
    subprocess.run(["cc", "-g", "-O0", "-fPIC", "-shared", "-o", library, source], check=True)
    symbols = subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout
    start = next(int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(" caller"))
    code = library.read_bytes()[start : start + 64]
    behind_call = start + code.index(b"\xe8") + 5
    all_sites = sites.CallSites()
    of_file = sites.AddressResolver([Mapping(0x7000000, 0x7100000, 0, str(library))], {}, all_sites)
    (number,) = of_file.numbers(np.array([0x7000000 + behind_call], dtype=np.uint64))
    assert sites.site_labels([all_sites.all[number]]) == ["caller (program.c:3)"]


def test_an_address_outside_of_all_files_is_its_own_label() -> None:
    all_sites = sites.CallSites()
    (number,) = sites.AddressResolver([], {}, all_sites).numbers(np.array([0xABC], dtype=np.uint64))
    assert sites.site_labels([all_sites.all[number]]) == ["0xabc"]


def test_spans_are_short() -> None:
    assert spans([0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"
    assert spans(range(0, 40, 2)) == "0, 2, 4, 6, 8, 10, ..."
