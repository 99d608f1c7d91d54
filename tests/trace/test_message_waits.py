"""A wait for a message is divided into waiting for a late partner and transfer, as documented."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trace_factory as factory
from hypothesis import given, settings
from hypothesis import strategies as st

from offbeat.trace.calls.key_matching import match
from offbeat.trace.files import format as form
from offbeat.trace.files.trace_folder import open_trace
from offbeat.trace.messages.message_stats import MessageStats
from offbeat.trace.summary import Summary, summarise
from offbeat.trace.summary_tables import head, tables

RECEIVE = {"kind": form.RECEIVE, "function": "MPI_Recv"}
WAITALL = form.COMPLETION | 2 << form.BY_SHIFT
WAIT = form.COMPLETION | 1 << form.BY_SHIFT
US = 1000


def made(folder: Path, ranks: list[factory.MadeFile]) -> Summary:
    for one in ranks:  # the completing functions, which messages do not name
        for name in ("MPI_Wait", "MPI_Waitall"):
            if factory.function(name) not in one.definitions:
                one.definitions.append(factory.function(name))
    return summarise(open_trace(factory.write(folder, ranks)))


def row_of(summary: Summary, function: str) -> MessageStats:
    (row,) = [one for one in summary.messages if one.function == function]
    return row


def pair(folder: Path, sent: dict[str, Any], send: tuple[int, int], receive: tuple[int, int]) -> Summary:
    """A blocking send and its receive, with these times in microseconds."""
    ranks = factory.files(2)
    ranks[0].message(send[0] * US, send[1] * US, peer=1, **sent)
    ranks[1].message(receive[0] * US, receive[1] * US, peer=0, **RECEIVE)
    return made(folder, ranks)


def test_a_receiver_waits_until_a_late_sender_begins_to_send(tmp_path: Path) -> None:
    summary = pair(tmp_path / "t", {}, (70, 90), (10, 95))
    row = row_of(summary, "MPI_Recv")
    assert (row.late_sender_s, row.late_receiver_s) == (pytest.approx(60e-6), 0)
    assert row.transfer_s == pytest.approx(25e-6)
    assert row_of(summary, "MPI_Send").waited_s == 0


@pytest.mark.parametrize(
    ("function", "leaves", "waited_us"),
    [
        ("MPI_Ssend", 100, 60),  # synchronous: it waits for the receiver in any case
        ("MPI_Send", 100, 60),  # it did not end before the receive was posted: rendezvous
        ("MPI_Send", 30, 0),  # it ended before: the message was sent without the receiver
        ("MPI_Bsend", 100, 0),  # it never waits for a receiver
    ],
)
def test_a_sender_waits_for_a_late_receiver_only_if_its_mode_does(
    tmp_path: Path, function: str, leaves: int, waited_us: int
) -> None:
    row = row_of(pair(tmp_path / "t", {"function": function}, (10, leaves), (70, 105)), function)
    assert row.late_receiver_s == pytest.approx(waited_us * 1e-6)
    assert row.late_sender_s == 0


def test_a_wait_for_several_messages_waits_for_the_latest_partner(tmp_path: Path) -> None:
    ranks = factory.files(3)
    irecv = {"kind": form.RECEIVE, "function": "MPI_Irecv"}
    for number, sender in enumerate((1, 2), 1):
        ranks[0].message(number * US, number * US + 1, peer=sender, request=number, flags=form.ISSUE, **irecv)
        ranks[sender].message(30 * sender * US, 30 * sender * US + US, peer=0)
    for number, sender in enumerate((1, 2), 1):
        ranks[0].message(10 * US, 80 * US, peer=sender, request=number, flags=WAITALL, **irecv)
    summary = made(tmp_path / "t", ranks)
    row = row_of(summary, "MPI_Waitall")
    assert (row.calls, row.received, row.received_bytes) == (1, 2, 16)
    assert row.spent_s == pytest.approx(70e-6)
    assert row.late_sender_s == pytest.approx(50e-6)  # until rank 2 sends, at 60 µs
    assert row_of(summary, "MPI_Irecv").received == 0


def test_waiting_for_a_rank_without_a_file_is_unknown(tmp_path: Path) -> None:
    ranks = factory.files(3)
    ranks[1].message(10 * US, 60 * US, peer=0, **RECEIVE)
    ranks[1].message(70 * US, 80 * US, peer=2, **RECEIVE)
    ranks[2].message(69 * US, 70 * US, peer=1)
    summary = made(tmp_path / "t", ranks[1:])
    row = row_of(summary, "MPI_Recv")
    assert (row.unknown_s, row.waited_s) == (pytest.approx(50e-6), 0)
    assert "1 message from or to ranks without a file" in factory.notes_of(summary)


def test_polls_probes_and_calls_on_other_requests_count_as_time_in_mpi(tmp_path: Path) -> None:
    ranks = factory.files(1)
    one = ranks[0]
    nothing = {"communicator": 0, "peer": -1, "tag": -1, "bytes": 0}
    polled = nothing | {"bytes": 7 * US, "partition": 12}
    one.message(10 * US, 50 * US, kind=form.POLL, function="MPI_Test", **polled)
    one.message(60 * US, 65 * US, kind=form.REQUESTS, function="MPI_Wait", **nothing)
    one.message(70 * US, 73 * US, kind=form.PROBE, function="MPI_Probe", peer=0, tag=4)
    one.message(80 * US, 99 * US, kind=form.MARK, function="MPI_Pcontrol", **(nothing | {"tag": 2}))
    one.message(100 * US, 110 * US, kind=form.SEND, peer=0, flags=form.ISSUE | form.SHARED, request=1)
    summary = made(tmp_path / "t", ranks)
    assert [(row.function, row.calls) for row in summary.messages] == [
        ("MPI_Test", 12),
        ("MPI_Wait", 1),
        ("MPI_Probe", 1),
        ("MPI_Send", 0),
    ]
    assert summary.messages_spent_s == pytest.approx(15e-6)
    assert (summary.marks, summary.message_records) == (1, 5)


def test_the_summary_shows_messages_beside_collectives(tmp_path: Path) -> None:
    ranks = factory.files(2)
    for one in ranks:
        one.header["ended_ns"] = 1000 * US
        one.call(200 * US, 300 * US)
        one.header["has_messages"] = 1
    ranks[0].message(70 * US, 90 * US, peer=1)
    ranks[1].message(10 * US, 95 * US, peer=0, **RECEIVE)
    summary = made(tmp_path / "t", ranks)
    text = "\n".join(head(summary))
    assert "2 records of point-to-point calls, which take 5.3% of the run time" in text
    assert "waiting for late partners 3.0%" in text
    assert "all recorded MPI calls: 15.3% of the run time" in text
    (table,) = [one for one in tables(summary) if "point-to-point" in one.title]
    assert [row[1] for row in table.rows] == ["MPI_Recv", "MPI_Send"]
    assert table.rows[0][5:9] == ["4.3%", "3.0%", "0.0%", "1.3%"]


def test_a_trace_without_messages_says_how_they_are_recorded(tmp_path: Path) -> None:
    summary = made(tmp_path / "t", factory.files(2))
    assert any("--messages" in line for line in head(summary))


Sides = tuple[list[bool], list[bool]]


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.booleans()), max_size=60), st.data())
def test_messages_that_were_not_recorded_do_not_shift_the_others(
    messages: list[tuple[int, bool, bool]], data: st.DataObject
) -> None:
    """Message i has a key; each end is recorded or skipped. All ends arrive in two parts."""
    ends: list[list[tuple[int, int, int]]] = [[], []]  # key, message, skipped before
    for side in (0, 1):
        skipped = dict.fromkeys(range(3), 0)
        for number, (key, *is_recorded) in enumerate(messages):
            if is_recorded[side]:
                ends[side].append((key, number, skipped[key]))
                skipped[key] = 0
            else:
                skipped[key] += 1
    expected = {
        number for number, (_, is_sent, is_received) in enumerate(messages) if is_sent and is_received
    }
    cuts = [data.draw(st.integers(0, len(side))) for side in ends]
    found, waiting = set(), [np.empty((0, 3), np.int64), np.empty((0, 3), np.int64)]
    for part in (0, 1):
        new = [
            np.array(side[:cut] if part == 0 else side[cut:], np.int64).reshape(-1, 3)
            for side, cut in zip(ends, cuts, strict=True)
        ]
        sends, receives = (np.concatenate(pair) for pair in zip(waiting, new, strict=True))
        matched = match([sends[:, 0]], [receives[:, 0]], sends[:, 2], receives[:, 2])
        pairs = zip(sends[matched.send, 1], receives[matched.receive, 1], strict=True)
        for sent, received in pairs:
            assert sent == received
            found.add(int(sent))
        waiting = [sends[matched.waiting_sends], receives[matched.waiting_receives]]
        waiting[0][:, 2], waiting[1][:, 2] = matched.skipped_sends, matched.skipped_receives
    assert found == expected


@settings(max_examples=50, deadline=None)
@given(times=st.lists(st.integers(1, 60), min_size=4, max_size=80), seed=st.integers(0, 99))
def test_waiting_is_never_more_than_the_time_in_the_calls(
    tmp_path_factory: pytest.TempPathFactory, times: list[int], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    ranks = factory.files(3)
    now = [10, 10, 10]
    for length in times:
        rank, peer = (int(number) for number in rng.integers(0, 3, 2))
        kind = RECEIVE if rng.random() < 0.5 else {"function": ["MPI_Send", "MPI_Ssend"][rng.integers(2)]}
        ranks[rank].message(now[rank], now[rank] + length, peer=peer, **kind)
        now[rank] += length + int(rng.integers(0, 30))
    summary = made(tmp_path_factory.mktemp("t") / "t", ranks)
    for row in summary.messages:
        assert row.late_sender_s >= 0
        assert row.late_receiver_s >= 0
        assert row.waited_s + row.unknown_s <= row.spent_s + 1e-12
    assert summary.messages_spent_s == pytest.approx(sum(times) / 1e9)


@pytest.mark.parametrize("keep", [0.3, 0.7, 0.9])
def test_a_truncated_file_of_messages_is_read_up_to_its_end(tmp_path: Path, keep: float) -> None:
    ranks = factory.files(2)
    for number in range(3000):
        ranks[0].message(100 * number + 10, 100 * number + 20, peer=1)
        ranks[1].message(100 * number + 10, 100 * number + 30, peer=0, **RECEIVE)
    folder = factory.write(tmp_path / "t", ranks)
    path = folder / "rank-000001.trace"
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * keep)])
    summary = summarise(open_trace(folder))
    received = sum(row.received for row in summary.messages)
    assert sum(row.sent for row in summary.messages) == 3000
    assert 0 <= received < 3000
    notes = factory.notes_of(summary)
    assert "truncated in the middle of a page" in notes or "missing" in notes
    assert f"{3000 - received} of the sends and receives have no partner" in notes
