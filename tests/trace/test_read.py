"""Reading trace files: complete, damaged, of several runs."""

from __future__ import annotations

import errno
import os
import tarfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import trace_factory as factory

from offbeat.base.errors import BadInput
from offbeat.trace.exports.exports import export
from offbeat.trace.files import format as form
from offbeat.trace.files.record_table import pieces
from offbeat.trace.files.trace_folder import open_trace, spans


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two ranks with 3000 calls each: three pages of records."""
    ranks = factory.files(2)
    for one in ranks:
        for sequence in range(3000):
            one.call(1000 * (sequence + 1), 1000 * (sequence + 1) + 500, sequence=sequence)
    return factory.write(tmp_path / "t", ranks)


def test_a_complete_trace_has_no_notes(folder: Path) -> None:
    summary = factory.summary_of(folder)
    assert summary.notes == []
    assert (summary.records, summary.rows[0].calls, summary.rows[0].whole) == (6000, 3000, 3000)


def test_a_file_truncated_in_a_page_is_read_up_to_that_page(folder: Path) -> None:
    path = folder / "rank-000001.trace"
    path.write_bytes(path.read_bytes()[: 3 * form.PAGE_BYTES + form.PAGE_HEADER_BYTES + 100 * 72 + 20])
    summary = factory.summary_of(folder)
    assert (summary.rows[0].calls, summary.rows[0].whole) == (3000, form.RECORDS_A_PAGE)
    assert "rank 1: the file is truncated in the middle of a page" in factory.notes_of(summary)
    assert "rank 1: 2 pages of 6 are missing" in factory.notes_of(summary)
    assert "1 damaged page of rank-000001.trace left out, at byte 196608" in factory.notes_of(summary)


def test_a_tail_of_zeros_is_ignored(folder: Path) -> None:
    path = folder / "rank-000000.trace"
    path.write_bytes(path.read_bytes() + bytes(5 * form.PAGE_BYTES))
    assert factory.summary_of(folder).rows[0].whole == 3000


@pytest.mark.timeout(60)  # to read the zeros would take many minutes
def test_a_sparse_tail_of_a_terabyte_is_ignored(folder: Path) -> None:
    os.truncate(folder / "rank-000000.trace", 2**40)
    assert factory.summary_of(folder).rows[0].whole == 3000
    os.truncate(folder / "rank-000001.trace", 2**40 + 1)
    summary = factory.summary_of(folder)
    assert "rank-000001.trace has 1.1 TB, more than the limit of 1 TiB; if that is right" in factory.notes_of(
        summary
    )
    assert summary.rows[0].calls == 3000


def test_pages_after_a_hole_in_the_file_are_read(folder: Path) -> None:
    path = folder / "rank-000000.trace"
    raw = path.read_bytes()
    with path.open("wb") as file:
        file.write(raw[: 2 * form.PAGE_BYTES])
        file.seek(3 * form.PAGE_BYTES)
        file.write(raw[3 * form.PAGE_BYTES :])
    assert factory.summary_of(folder).rows[0].whole == 3000 - form.RECORDS_A_PAGE


def test_pages_after_a_page_that_was_never_written_are_read(folder: Path) -> None:
    path = folder / "rank-000000.trace"
    raw = bytearray(path.read_bytes())
    raw[2 * form.PAGE_BYTES : 3 * form.PAGE_BYTES] = bytes(form.PAGE_BYTES)
    path.write_bytes(raw)
    summary = factory.summary_of(folder)
    assert summary.rows[0].whole == 3000 - form.RECORDS_A_PAGE


def test_records_that_are_invalid_are_ignored_and_counted(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        for sequence in range(5):
            one.call(1000 * (sequence + 1), 1000 * (sequence + 1) + 500, sequence=sequence)
    ranks[0].call(6000, 7000, communicator=2**32 - 1)  # was never defined
    ranks[0].call(8000, 7500, sequence=6)  # entered after it was left
    summary = factory.summary_of(factory.write(tmp_path / "t", ranks))
    assert summary.rows[0].whole == 5
    assert "2 invalid records" in factory.notes_of(summary)


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
    summary = factory.summary_of(factory.write(tmp_path / "t", ranks))
    assert f"rank 1: {message}" in factory.notes_of(summary)
    assert summary.rows[0].whole == 1


def test_a_killed_run_lasts_until_its_last_record_and_is_reported(tmp_path: Path) -> None:
    ranks = factory.files(1)
    ranks[0].header = {"state": form.RUNNING, "ended_ns": 0, "began_ns": 1000}
    ranks[0].call(2000, 5000)
    summary = factory.summary_of(factory.write(tmp_path / "t", ranks))
    assert summary.run_s == pytest.approx(4e-6)
    assert "counts to its last record only" in factory.notes_of(summary)


def test_a_full_disk_is_reported_once(tmp_path: Path) -> None:
    for number, notes in enumerate(
        ([], [factory.note("3 records found no room in the trace (No space left)")])
    ):
        ranks = factory.files(1)
        ranks[0].header |= {"lost_count": 3, "lost_because": errno.ENOSPC}
        ranks[0].definitions += notes
        ranks[0].call(2000, 5000)
        text = factory.notes_of(factory.summary_of(factory.write(tmp_path / str(number), ranks)))
        assert text.count("found no room") + text.count("could not be written") == 1


def test_a_trace_of_version_2_is_read_as_before(tmp_path: Path) -> None:
    """A trace of programs/same_calls.c on two ranks, and its records as read before version 3."""
    with tarfile.open(Path(__file__).with_name("version-2.tar.xz")) as archive:
        (tmp_path / "version-2").mkdir()
        for member in archive:  # extractall has the argument "filter" since Python 3.11.4 only
            file = archive.extractfile(member)
            if file is not None:
                (tmp_path / member.name).write_bytes(file.read())
    trace = open_trace(tmp_path / "version-2")
    assert trace.notes == []
    assert all(one.message_lanes == {} for one in trace.files)
    records = pl.concat(list(pieces(trace))).drop("site", "blocks", "empty_blocks", "largest_block_bytes")
    assert records.write_csv() == (tmp_path / "version-2" / "records.csv").read_text(encoding="utf-8")


def test_another_version_is_refused_with_what_to_do(folder: Path) -> None:
    for path in folder.iterdir():
        raw = bytearray(path.read_bytes())
        raw[8] = 9
        path.write_bytes(raw)
    with pytest.raises(BadInput, match=r"version 9; this offbeat reads versions up to 5.*and 1 file more"):
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
    summary = factory.summary_of(folder)
    assert f"rank-000001.trace {message}" in factory.notes_of(summary)
    assert "1 of 2 ranks have no file (1)" in factory.notes_of(summary)
    assert summary.rows[0].calls == 3000


def test_members_are_reconstructed_if_the_file_that_lists_them_is_missing(tmp_path: Path) -> None:
    ranks = factory.files(3)
    for one in ranks:
        one.call(1000 + 10 * one.rank, 2000)
    folder = factory.write(tmp_path / "t", ranks)
    (folder / "rank-000000.trace").unlink()
    (row,) = factory.summary_of(folder).rows
    assert (row.processes, row.whole) == (3, 1)
    assert np.isnan(row.delays_s[0])
    assert row.delays_s[1:] == pytest.approx([0, 10e-9])


def test_files_of_another_run_are_ignored(folder: Path) -> None:
    other_run = factory.files(9)[5]
    other_run.header = {"run": 8}
    other_run.write(folder)
    summary = factory.summary_of(folder)
    assert summary.rows[0].whole == 3000
    assert "1 file of another run in the folder: ignored" in factory.notes_of(summary)


def test_a_duplicate_rank_is_read_once(folder: Path) -> None:
    (folder / "rank-000001-copy.trace").write_bytes((folder / "rank-000001.trace").read_bytes())
    summary = factory.summary_of(folder)
    assert summary.rows[0].whole == 3000
    assert "rank 1: there is more than one file; the first by name is read" in factory.notes_of(summary)


@pytest.mark.parametrize("name", ["rank", "size"])
def test_a_header_with_impossible_numbers_is_refused(tmp_path: Path, name: str) -> None:
    ranks = factory.files(2)
    for one in ranks:
        one.header[name] = 2**31 - 1
    with pytest.raises(BadInput, match="has a damaged header: rank"):
        open_trace(factory.write(tmp_path / "t", ranks))


def test_a_changed_header_is_refused(folder: Path) -> None:
    for path in folder.iterdir():
        raw = bytearray(path.read_bytes())
        raw[600] ^= 1  # in the name of the program
        path.write_bytes(raw)
    with pytest.raises(BadInput, match="has a damaged header: it does not match its checksum"):
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
    summary = factory.summary_of(factory.write(tmp_path / "t", ranks))
    assert [(row.communicator, row.calls) for row in summary.rows] == [("MPI_COMM_WORLD", 1)]
    assert "unreadable definition" in factory.notes_of(summary)


def test_folders_without_a_trace_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"holds no trace.*offbeat trace run"):
        open_trace(tmp_path)
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        open_trace(tmp_path / "nowhere")


def test_notes_and_losses_of_the_tracer_are_reported(tmp_path: Path) -> None:
    ranks = factory.files(1)
    ranks[0].definitions.append(factory.note("recording stopped: the disk is full"))
    ranks[0].header = {"lost_count": 12, "lost_because": 28}
    ranks[0].call(1000, 2000)
    text = factory.notes_of(factory.summary_of(factory.write(tmp_path / "t", ranks)))
    assert "rank 0: recording stopped: the disk is full" in text
    assert "rank 0: 12 records could not be written: the disk was full" in text


def test_truncated_definitions_do_not_stop_the_reading(tmp_path: Path) -> None:
    ranks = factory.files(1)
    ranks[0].definitions.append(b"\xff\xff\x00\x00\x05\x00\x00\x00")
    ranks[0].call(1000, 2000)
    summary = factory.summary_of(factory.write(tmp_path / "t", ranks))
    assert summary.rows[0].calls == 1
    assert "1 unreadable definition" in factory.notes_of(summary)


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
    summary = factory.summary_of(folder)
    assert sum(row.calls for row in summary.rows) >= 2900
    assert factory.notes_of(summary)
    export(open_trace(folder), folder / "out.csv", "csv")


def test_ids_and_members_out_of_range_are_ignored(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        name = b"MPI_Frobnicate"
        values = (65535, form.BLOCKING, 65535, len(name))
        one.definitions.append(factory.definition(form.FUNCTION, values, name))
        one.definitions.append(factory.communicator(3, [0, 1, 2**31 - 1], one.rank, ordinal=1, parent=1))
        one.call(1000, 2000)
        one.call(3000, 4000, communicator=3)
    folder = factory.write(tmp_path / "t", ranks)
    summary = factory.summary_of(folder)
    assert [(row.communicator_index, row.whole) for row in summary.rows] == [(0, 1), (2, 1)]
    export(open_trace(folder), folder / "out.csv", "csv")


def test_spans_are_short() -> None:
    assert spans([0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"
    assert spans(range(0, 40, 2)) == "0, 2, 4, 6, 8, 10, ..."
