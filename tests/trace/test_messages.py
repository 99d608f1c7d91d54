"""Messages in traces are read as the tracer writes them, and each send is matched to its receive."""

from __future__ import annotations

import itertools
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest
import trace_factory as factory
from hypothesis import given, settings
from hypothesis import strategies as st

from offbeat.trace.calls.key_matching import match
from offbeat.trace.document import summary_document
from offbeat.trace.files import format as form
from offbeat.trace.files.rank_file import RankFile
from offbeat.trace.files.record_table import MESSAGE_COLUMNS, message_pieces, pieces
from offbeat.trace.files.trace_folder import Trace, open_trace
from offbeat.trace.messages.message_matching import MessageCounts, MessageMatcher
from offbeat.trace.summary import summarise

NATIVE = Path(__file__).resolve().parents[2] / "native"
WORLD, REVERSED = 1, 3
ANY = -1
WAIT = form.COMPLETION | 1 << form.BY_SHIFT

FUNCTION = {
    (form.SEND, "call"): "MPI_Send",
    (form.SEND, "issue"): "MPI_Isend",
    (form.SEND, "start"): "MPI_Send_init",
    (form.RECEIVE, "call"): "MPI_Recv",
    (form.RECEIVE, "issue"): "MPI_Irecv",
    (form.RECEIVE, "start"): "MPI_Recv_init",
    (form.PARTITIONED_SEND, "init"): "MPI_Psend_init",
    (form.PARTITIONED_RECEIVE, "init"): "MPI_Precv_init",
}


@dataclass
class Post:
    """A send or a receive as it was posted; ``peer`` and ``tag`` are world rank and tag, or ANY."""

    rank: int
    at: int
    peer: int
    tag: int
    channel: tuple[int, bool]  # communicator, whether partitioned
    how: str
    request: int
    matched: Post | None = None

    def accepts(self, sent: Post) -> bool:
        return self.channel == sent.channel and self.peer in (ANY, sent.rank) and self.tag in (ANY, sent.tag)


@dataclass
class Machine:
    """An MPI library of p ranks: queues of posted receives and of messages that arrived unexpected."""

    p: int
    rng: Any
    clock: int = 0
    posted: list[Post] = field(default_factory=list)
    waiting: dict[int, list[Post]] = field(default_factory=dict)  # rank → receives that wait, as posted
    unexpected: dict[int, list[Post]] = field(default_factory=dict)
    in_flight: dict[tuple[int, int], list[Post]] = field(default_factory=dict)  # source, destination

    def post(self, rank: int, peer: int, tag: int, channel: tuple[int, bool], how: str) -> Post:
        self.clock += 10
        return Post(rank, self.clock, peer, tag, channel, how, request=self.clock)

    def send(self, sent: Post) -> None:
        self.posted.append(sent)
        self.in_flight.setdefault((sent.rank, sent.peer), []).append(sent)

    def receive(self, receive: Post) -> None:
        """Take the first matching message that arrived, or wait; a blocking receive is not posted if it
        would wait."""
        arrived = self.unexpected.setdefault(receive.rank, [])
        for sent in arrived:
            if receive.accepts(sent):
                arrived.remove(sent)
                receive.matched = sent
                break
        if receive.matched is None and receive.how == "call":
            return
        if receive.matched is None:
            self.waiting.setdefault(receive.rank, []).append(receive)
        self.posted.append(receive)

    def deliver(self) -> None:
        """One message arrives: the first one of any pair of ranks that have some in flight."""
        pairs = [pair for pair, sent in self.in_flight.items() if sent]
        if not pairs:
            return
        pair = pairs[self.rng.integers(len(pairs))]
        sent = self.in_flight[pair].pop(0)
        for receive in self.waiting.setdefault(pair[1], []):
            if receive.accepts(sent):
                self.waiting[pair[1]].remove(receive)
                receive.matched = sent
                return
        self.unexpected.setdefault(pair[1], []).append(sent)


def run(p: int, steps: int, rng: Any) -> Machine:
    """Random sends, receives and arrivals."""
    machine = Machine(p, rng)
    for _ in range(steps):
        rank, peer, tag = (int(rng.integers(limit)) for limit in (p, p, 3))
        channel = (WORLD if rng.random() < 0.6 else REVERSED, bool(rng.random() < 0.2))
        how = "init" if channel[1] else ["call", "issue", "start"][rng.integers(3)]
        kind = rng.integers(3)
        if kind == 0:
            machine.send(machine.post(rank, peer, tag, channel, how))
        elif kind == 1:
            is_any = rng.random(2) < (0 if channel[1] else 0.3)
            machine.receive(
                machine.post(rank, ANY if is_any[0] else peer, ANY if is_any[1] else tag, channel, how)
            )
        else:
            machine.deliver()
    while any(machine.in_flight.values()):
        machine.deliver()
    return machine


def written(folder: Path, machine: Machine) -> Trace:
    """The trace of a run: the posts and, later and in any order, their completions."""
    ranks = factory.files(machine.p)
    members = list(range(machine.p))[::-1]
    for one in ranks:
        one.definitions.append(factory.communicator(REVERSED, members, one.rank, ordinal=1, parent=1))
    ends = machine.rng.permutation(len(machine.posted)) * 10 + machine.clock + 1000
    for number, post in sorted(enumerate(machine.posted), key=lambda item: item[1].at):
        write_post(ranks[post.rank], machine, post, int(machine.rng.integers(2)))
        if post.how in ("issue", "start"):
            write_completion(ranks[post.rank], machine, post, int(ends[number]))
    return open_trace(factory.write(folder, ranks))


def is_receive(post: Post, machine: Machine) -> bool:
    return post.matched is not None or any(post in waiting for waiting in machine.waiting.values())


def values_of(post: Post, machine: Machine, *, resolved: bool) -> dict[str, Any]:
    kinds = (form.SEND, form.RECEIVE, form.PARTITIONED_SEND, form.PARTITIONED_RECEIVE)
    kind = kinds[is_receive(post, machine) + 2 * post.channel[1]]
    stated = post.matched if resolved and post.matched else None
    peer, tag = (stated.rank, stated.tag) if stated else (post.peer, post.tag)
    return {
        "kind": kind,
        "function": FUNCTION[kind, post.how],
        "communicator": post.channel[0],
        "peer": machine.p - 1 - peer if peer >= 0 and post.channel[0] == REVERSED else peer,
        "tag": tag,
        "partition": 4 if post.channel[1] else 0,
    }


def write_post(one: factory.MadeFile, machine: Machine, post: Post, lane: int) -> None:
    values = values_of(post, machine, resolved=post.how == "call")
    times = {"call": (form.CALL, 0, 0), "issue": (form.ISSUE, post.request, 0)}
    times |= {"start": (form.START, post.request, 1), "init": (form.CALL, post.request, 0)}
    flags, request, round_number = times[post.how]
    if post.how == "start":  # its initialisation does not count, wherever it is
        one.message(post.at - 5, post.at - 4, lane=lane, **values, request=post.request, flags=form.CALL)
    any_flags = form.ANY_SOURCE * (post.peer == ANY) + form.ANY_TAG * (post.tag == ANY)
    chosen = {"request": request, "round": round_number, "flags": flags | any_flags}
    one.message(post.at, post.at + 1, lane=lane, **values, **chosen)


def write_completion(one: factory.MadeFile, machine: Machine, post: Post, at: int) -> None:
    chosen = {"request": post.request, "round": int(post.how == "start"), "flags": WAIT}
    if is_receive(post, machine) and post.matched is None:
        if machine.rng.random() < 0.5:  # the program ended without waiting for it
            return
        chosen["flags"] |= form.CANCELLED
    one.message(at, at + 5, lane=2, **values_of(post, machine, resolved=True), **chosen)


Pair = tuple[int, int, int, int]


def pairs_of(machine: Machine) -> set[Pair]:
    return {
        (post.matched.rank, post.matched.at, post.rank, post.at)
        for post in machine.posted
        if post.matched is not None
    }


def matched_in(trace: Trace, most_messages: int = 2_000_000) -> tuple[set[Pair], MessageCounts]:
    """The pairs that are found, and what was counted."""
    matcher = MessageMatcher(trace, most_messages=most_messages)
    pairs: set[Pair] = set()
    for matched in matcher.batches():
        ends = (matched.sends, matched.receives)
        columns = [(side.source, side.destination)[side is ends[1]] for side in ends]
        times = [side.posted_ns.tolist() for side in ends]
        sources, destinations = (column.tolist() for column in columns)
        new = set(zip(sources, times[0], destinations, times[1], strict=True))
        assert not new & pairs
        pairs |= new
    assert matcher.counts.pairs == len(pairs)
    return pairs, matcher.counts


def found_in(trace: Trace, most_messages: int = 2_000_000) -> set[Pair]:
    return matched_in(trace, most_messages)[0]


def read_messages(file: RankFile) -> Any:
    """All messages of a file, lane after lane."""
    parts = [file.messages(pages) for _, pages in sorted(file.message_lanes.items())]
    return np.concatenate([np.empty(0, form.MESSAGE), *parts])


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(p=st.integers(1, 5), steps=st.integers(0, 300), seed=st.integers(0, 2**31))
def test_each_send_finds_the_receive_that_mpi_gave_it(
    tmp_path_factory: pytest.TempPathFactory, p: int, steps: int, seed: int
) -> None:
    machine = run(p, steps, np.random.default_rng(seed))
    trace = written(tmp_path_factory.mktemp("t") / "t", machine)
    assert found_in(trace) == pairs_of(machine)
    assert found_in(trace, most_messages=64) == pairs_of(machine)


@given(st.lists(st.integers(0, 3), max_size=30), st.lists(st.integers(0, 3), max_size=30))
def test_the_kth_of_equal_keys_match(sends: list[int], receives: list[int]) -> None:
    expected = []
    for key in range(4):
        places = [[i for i, one in enumerate(side) if one == key] for side in (sends, receives)]
        expected += list(zip(*places, strict=False))
    found = match(*([np.array(side, np.int64)] for side in (sends, receives)))
    assert list(zip(found.send.tolist(), found.receive.tolist(), strict=True)) == sorted(expected)
    places = [*found.send, *found.waiting_sends], [*found.receive, *found.waiting_receives]
    assert [sorted(side) for side in places] == [list(range(len(side))) for side in (sends, receives)]


def test_messages_between_the_groups_of_an_inter_communicator_match(tmp_path: Path) -> None:
    ranks = factory.files(4)  # groups (0, 1) and (2, 3): each has a rank 0 and a rank 1
    for one in ranks:
        own, other = ([0, 1], [2, 3])[:: 1 if one.rank < 2 else -1]
        one.definitions.append(factory.communicator(3, own, one.rank, ordinal=5, remote=other))
        one.message(100 + one.rank, 110, communicator=3, peer=1, tag=4)
    receive = {"kind": form.RECEIVE, "function": "MPI_Recv", "communicator": 3, "tag": 4}
    for rank, source in ((3, 1), (3, 0), (1, 0), (1, 1)):
        ranks[rank].message(200 + source, 300, peer=source, **receive)
    assert found_in(open_trace(factory.write(tmp_path / "t", ranks))) == {
        *((0, 100, 3, 200), (1, 101, 3, 201)),
        *((2, 102, 1, 200), (3, 103, 1, 201)),
    }


def test_a_wildcard_without_a_status_is_counted_and_not_guessed(tmp_path: Path) -> None:
    ranks = factory.files(2)
    ranks[0].message(10, 20, peer=1)
    wildcard = {"peer": ANY, "tag": 0, "flags": form.ISSUE | form.ANY_SOURCE, "request": 1}
    ranks[1].message(10, 20, kind=form.RECEIVE, function="MPI_Irecv", **wildcard)
    pairs, counts = matched_in(open_trace(factory.write(tmp_path / "t", ranks)))
    assert (pairs, counts.wildcard_receives, counts.without_partner) == (set(), 1, 1)


def test_mpi_proc_null_and_failed_calls_match_nothing(tmp_path: Path) -> None:
    ranks = factory.files(2)
    ranks[0].message(10, 20, peer=form.PEER_PROC_NULL)
    ranks[0].message(30, 40, peer=1, flags=form.FAILED)
    ranks[1].message(10, 20, peer=0, kind=form.RECEIVE, function="MPI_Recv")
    assert found_in(open_trace(factory.write(tmp_path / "t", ranks))) == set()


def table_of(trace: Trace) -> pl.DataFrame:
    return pl.concat(
        [
            pl.DataFrame(schema={name: kind for name, (kind, _) in MESSAGE_COLUMNS.items()}),
            *message_pieces(trace),
        ]
    )


def test_messages_are_a_typed_table(tmp_path: Path) -> None:
    ranks = factory.files(3)
    one = ranks[1]
    one.message(100, 150, peer=2, tag=7, bytes=800)
    irecv = {"kind": form.RECEIVE, "function": "MPI_Irecv", "request": 1}
    one.message(160, 170, peer=ANY, tag=ANY, flags=form.ISSUE | form.ANY_SOURCE | form.ANY_TAG, **irecv)
    one.message(180, 190, peer=0, tag=5, bytes=16, flags=WAIT, **irecv)
    partitioned = {"kind": form.PARTITIONED_SEND, "function": "MPI_Psend_init", "request": 2}
    one.message(200, 210, peer=0, partition=32, bytes=4096, flags=form.CALL, **partitioned)
    ready = {"kind": form.READY, "function": "MPI_Pready", "request": 2, "round": 1}
    one.message(220, 230, peer=0, partition=31, bytes=128, **ready)
    table = table_of(open_trace(factory.write(tmp_path / "t", ranks)))
    assert table.columns == list(MESSAGE_COLUMNS)
    chosen = ["rank", "function", "kind", "moment", "completed_by", "request", "peer", "tag", "bytes"]
    assert table.select(chosen).rows() == [
        (1, "MPI_Send", "send", "call", "", 0, 2, 7, 800),
        (1, "MPI_Irecv", "receive", "issue", "", 1, -1, -1, 8),
        (1, "MPI_Irecv", "receive", "completion", "wait", 1, 0, 5, 16),
        (1, "MPI_Psend_init", "partitioned send", "call", "", 2, 0, 0, 4096),
        (1, "MPI_Pready", "ready", "call", "", 2, 0, 0, 128),
    ]
    assert table["partitions"].to_list() == [None, None, None, 32, None]
    assert table["partition"].to_list() == [None, None, None, None, 31]
    assert table["any_source"].to_list() == [False, True, False, False, False]
    assert (table["exit_ns"] - table["enter_ns"]).to_list() == [50, 10, 10, 10, 10]
    assert table["site"].str.contains("app").all()


@pytest.mark.parametrize(
    "damage",
    [
        *({"peer": 2}, {"peer": -3}, {"tag": -2}, {"communicator": 9}, {"kind": 0}, {"kind": 11}),
        *({"bytes": 2**63}, {"partition": -1}),
    ],
    ids=str,
)
def test_an_impossible_message_is_left_out(tmp_path: Path, damage: dict[str, int]) -> None:
    ranks = factory.files(2)
    ranks[0].message(10, 20, peer=1, tag=1)
    ranks[0].message(30, 40, **({"peer": 1, "tag": 1} | damage))
    ranks[1].message(50, 60, peer=0, tag=1, kind=form.RECEIVE, function="MPI_Recv")
    trace = open_trace(factory.write(tmp_path / "t", ranks))
    assert table_of(trace).height == 2
    assert found_in(trace) == {(0, 10, 1, 50)}


def test_messages_do_not_change_the_summary_of_collectives(tmp_path: Path) -> None:
    def trace_of(folder: Path, with_messages: bool) -> Trace:
        ranks = factory.files(3)
        for one, number in itertools.product(ranks, range(2000)):
            one.call(1000 * number + 10 * one.rank + 100, 1000 * number + 500, sequence=number)
            if with_messages:
                one.message(1000 * number + 600, 1000 * number + 700, peer=(one.rank + 1) % 3)
        return open_trace(factory.write(folder, ranks))

    without, including = (trace_of(tmp_path / str(has), has) for has in (False, True))
    assert table_of(including).height == 6000
    assert table_of(without).height == 0
    assert all(a.equals(b) for a, b in zip(pieces(without), pieces(including), strict=True))
    plain = [msgspec.to_builtins(summary_document(summarise(trace))) for trace in (without, including)]
    for one in plain:
        for name in ("directory", "has_messages", "message_records", "messages"):
            del one[name]
        one["notes"] = [note for note in one["notes"] if "partner" not in note]
    assert plain[0] == plain[1]


WRITER = r"""
#include "trace/thread_state.h"
#include "trace/trace_file.h"
#include <pthread.h>
#include <string.h>

_Thread_local offbeat_tracer_thread offbeat_tracer_this_thread;

enum { MESSAGES = 2 * OFFBEAT_TRACE_MESSAGES_A_PAGE + 3 };

static void write_both(int from) {
    for (int i = from; i < from + MESSAGES; i++) {
        const offbeat_trace_record record = {.enter_ns = 10 * i + 1, .exit_ns = 10 * i + 2, .bytes = 5,
            .communicator = 1, .sequence = (uint32_t)i, .root = -1, .function = 1};
        const offbeat_trace_message message = {.enter_ns = 10 * i + 3, .exit_ns = 10 * i + 4,
            .bytes = 1000 + i,
            .communicator = 1, .request = 7, .round = 2, .peer = 0, .tag = i, .partition = 12, .function = 2,
            .kind = OFFBEAT_TRACE_PARTITIONED_SEND, .flags = OFFBEAT_TRACE_START | OFFBEAT_TRACE_LARGE};
        offbeat_tracer_write_record(&offbeat_tracer_this_thread, &record);
        offbeat_tracer_write_message(&offbeat_tracer_this_thread, &message);
    }
}

static void *write_in_thread(void *unused) {
    write_both(MESSAGES);
    return unused;
}

static void define_function(uint16_t id, const char *name) {
    offbeat_trace_function function = {.id = id, .collective = id, .name_bytes = (uint16_t)strlen(name)};
    offbeat_tracer_define(OFFBEAT_TRACE_FUNCTION, &function, sizeof function, name, strlen(name));
}

int main(int argc, char **argv) {
    if (argc < 2 || offbeat_tracer_file_create(argv[1], 0) != 0)
        return 1;
    offbeat_trace_header *header = offbeat_tracer_file_header();
    header->version = OFFBEAT_TRACE_VERSION;
    header->page_bytes = OFFBEAT_TRACE_PAGE_BYTES;
    header->page_header_bytes = OFFBEAT_TRACE_PAGE_HEADER_BYTES;
    header->record_bytes = OFFBEAT_TRACE_RECORD_BYTES;
    header->size = 1;
    header->began_ns = 1;
    header->state = OFFBEAT_TRACE_FINALIZED;
    offbeat_tracer_file_begin();
    define_function(1, "MPI_Barrier");
    define_function(2, "MPI_Psend_init");
    offbeat_trace_communicator world = {.id = 1, .size = 1};
    offbeat_tracer_define(OFFBEAT_TRACE_COMMUNICATOR, &world, sizeof world, NULL, 0);
    offbeat_trace_clock_point point = {.local_ns = 1, .shared_ns = 1, .is_shared = 1};
    offbeat_tracer_define(OFFBEAT_TRACE_CLOCK_POINT, &point, sizeof point, NULL, 0);
    write_both(0);
    pthread_t thread;
    pthread_create(&thread, NULL, write_in_thread, NULL);
    pthread_join(thread, NULL);
    offbeat_tracer_file_close();
    return 0;
}
"""


@pytest.mark.slow
def test_messages_of_the_tracers_writer_are_read(tmp_path: Path) -> None:
    (tmp_path / "writer.c").write_text(WRITER)
    program, folder = tmp_path / "writer", tmp_path / "t"
    folder.mkdir()
    names = ("mapping_guard", "record_encoder", "thread_state", "trace_config", "trace_file")
    sources = [*(NATIVE / "trace" / f"{name}.c" for name in names), NATIVE / "settings" / "settings.c"]
    line = ["cc", "-std=c11", "-D_POSIX_C_SOURCE=200809L", f"-I{NATIVE}", tmp_path / "writer.c", *sources]
    subprocess.run([*line, "-pthread", "-o", program], check=True)
    subprocess.run([program, folder / "rank-000000.trace"], check=True)
    trace = open_trace(folder)
    count = 2 * (2 * form.MESSAGES_A_PAGE + 3)
    assert trace.notes == []
    (file,) = trace.files
    assert sum(len(file.records(pages)) for pages in file.lanes.values()) == count
    messages = np.sort(read_messages(file), order="tag")
    assert messages["tag"].tolist() == list(range(count))
    assert (messages["enter_ns"] - 10 * messages["tag"]).tolist() == [3] * count
    assert (messages["bytes"] - 1000).tolist() == list(range(count))
    table = table_of(trace)
    whole = {
        "request": 7,
        "round": 2,
        "peer": 0,
        "partitions": 12,
        "kind": "partitioned send",
        "moment": "start",
    }
    assert table.select(list(whole)).unique().rows(named=True) == [whole]


@pytest.mark.parametrize("version", [3, 4])
def test_messages_of_earlier_versions_are_read(tmp_path: Path, version: int) -> None:
    ranks = factory.files(2)
    for one in ranks:
        one.header |= {"version": version, "record_bytes": form.RECORD_BEFORE_5.itemsize}
    ranks[0].message(10, 20, peer=1)
    ranks[1].message(5, 25, peer=0, kind=form.RECEIVE, function="MPI_Recv")
    trace = open_trace(factory.write(tmp_path / "t", ranks))
    assert found_in(trace) == {(0, 10, 1, 5)}
    assert summarise(trace).has_messages
