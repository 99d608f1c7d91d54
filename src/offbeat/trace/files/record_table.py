"""The records and the messages of a trace as data frames, part by part and rank by rank.

Records are calls of collectives; messages are all others: point-to-point and partitioned communication, calls
on requests, and marks.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from offbeat.trace.calls.call_bytes import MessageSizes
from offbeat.trace.files import format as form
from offbeat.trace.files.trace_folder import Progress, Trace
from offbeat.trace.messages.message_batches import CallTimes, is_without_communicator

COLUMNS: dict[str, tuple[type[pl.DataType], str]] = {
    "rank": (pl.Int32, "rank in MPI_COMM_WORLD"),
    "host": (pl.String, "node"),
    "lane": (pl.Int32, "threads of a process that call MPI at the same time have lanes of their own"),
    "function": (pl.String, "the collective as it was called, such as MPI_Iallreduce"),
    "collective": (pl.String, "the blocking function that does the same"),
    "moment": (pl.String, "call, issue, start, or completion: which part of a call the row is"),
    "completed_by": (pl.String, "of a completion: the kind of function, such as wait or testall"),
    "communicator": (pl.String, "its name, or its number and what made it"),
    "communicator_index": (pl.Int32, "number of the communicator in this trace"),
    "processes": (pl.Int32, "size of the communicator"),
    "sequence": (pl.Int64, "number of the call on its communicator, from 0: the same on all of its ranks"),
    "round": (pl.Int64, "of a persistent collective's starts: 1, 2, ...; else 0"),
    "enter_ns": (
        pl.Int64,
        "when it was entered, in ns on the shared clock since the first MPI_Init returned",
    ),
    "exit_ns": (pl.Int64, "when it was left, on the same clock"),
    "bound_ns": (pl.Float64, "largest error of these times against the other ranks', in ns"),
    "bytes": (
        pl.Int64,
        "message size as studies state it: bytes per process as the MPI call states it. Whole vector of"
        " bcast, reductions and scans; one block of gather, scatter, allgather, alltoall and"
        " reduce_scatter_block; mean block of alltoallv, alltoallw and reduce_scatter",
    ),
    "sent_bytes": (
        pl.Int64,
        "bytes of all blocks of this process's send vector: bytes × processes of alltoall and"
        " reduce_scatter_block, the sum of the counts of alltoallv, alltoallw and reduce_scatter; else as"
        " bytes",
    ),
    "blocks": (
        pl.Int64,
        "of calls with counts for each process: the number of blocks; of gatherv and scatterv at the root"
        " only; else 0",
    ),
    "empty_blocks": (pl.Int64, "how many of these blocks have no bytes"),
    "largest_block_bytes": (pl.Int64, "the largest of these blocks"),
    "datatype": (pl.String, "element type; empty if there is none"),
    "operation": (pl.String, "of reductions: the operation; empty for one of the program's own"),
    "commutes": (pl.Boolean, "the operation commutes"),
    "root": (pl.Int32, "rank in the communicator; -1 if there is none"),
    "in_place": (pl.Boolean, "MPI_IN_PLACE was given"),
    "failed": (pl.Boolean, "it returned an error"),
    "site": (pl.String, "where it was called: function and line, or file and offset"),
}
"""The columns of an exported trace: column → (polars type, meaning)."""

MESSAGE_COLUMNS: dict[str, tuple[type[pl.DataType], str]] = {
    **{name: COLUMNS[name] for name in ("rank", "host", "lane")},
    "function": (pl.String, "the MPI function that was called, such as MPI_Isend"),
    "kind": (
        pl.String,
        "send, receive, partitioned send, partitioned receive, ready (MPI_Pready), arrived (MPI_Parrived),"
        " probe (that found a message), requests (a call on requests for which nothing else was recorded),"
        " poll (consecutive tests and probes that found nothing), or mark (MPI_Pcontrol)",
    ),
    **{name: COLUMNS[name] for name in ("moment", "completed_by")},
    **{name: COLUMNS[name] for name in ("communicator", "communicator_index", "processes")},
    "request": (pl.Int64, "number of the request in the rank's file, from 1; 0 of a blocking call"),
    "round": (pl.Int64, "of a persistent request's starts and what follows them: 1, 2, ...; else 0"),
    "peer": (
        pl.Int32,
        "destination or source: rank in the communicator (in the remote group of an inter-communicator);"
        " -1 if no status has resolved MPI_ANY_SOURCE, -2 for MPI_PROC_NULL",
    ),
    "tag": (
        pl.Int32,
        "tag of the message; -1 if no status has resolved MPI_ANY_TAG; of a mark the level of MPI_Pcontrol",
    ),
    "any_source": (pl.Boolean, "the receive was posted with MPI_ANY_SOURCE"),
    "any_tag": (pl.Boolean, "the receive was posted with MPI_ANY_TAG"),
    "partition": (pl.Int32, "of ready and arrived: number of the partition, from 0; else null"),
    "partitions": (pl.Int32, "of partitioned sends and receives: number of partitions; else null"),
    "skipped": (
        pl.Int32,
        "of sends and receives: how many with the same communicator, peer and tag were not recorded (a window"
        " or a pause) since the previous recorded one",
    ),
    "bytes": (
        pl.Int64,
        "size of the message, of ready and arrived of the partition, of a receive that is not complete the"
        " size of its buffer",
    ),
    "calls": (pl.Int32, "of a poll: the number of calls; else 1"),
    "spent_ns": (
        pl.Int64,
        "time in the MPI function, in ns: the sum of the column is the time in these calls. Of the rows of"
        " one call (a wait for several requests, MPI_Sendrecv) the first has its time, the others 0; 0 as"
        " well where the completed collectives have it; of a poll the time inside of its calls",
    ),
    "datatype": COLUMNS["datatype"],
    **{name: COLUMNS[name] for name in ("enter_ns", "exit_ns", "bound_ns")},
    "cancelled": (pl.Boolean, "the request was cancelled: no message was sent or received"),
    **{name: COLUMNS[name] for name in ("failed", "site")},
}
"""The columns of messages: column → (polars type, meaning)."""

KINDS = (
    *("", "send", "receive", "partitioned send", "partitioned receive", "ready", "arrived"),
    *("probe", "requests", "poll", "mark"),
)
MOMENTS = ("call", "issue", "start", "completion")
COMPLETING_FUNCTIONS = (
    *("", "wait", "waitall", "waitany", "waitsome"),
    *("test", "testall", "testany", "testsome", "request_free"),
)
RECORDS_AT_ONCE = 32_768


def origin_ns(trace: Trace) -> int:
    """The shared time at which the first rank returned from MPI_Init: the 0 of exported times."""
    times = [
        int(clock.shared_ns(np.array([file.header.began_ns]))[0])
        for file, clock in zip(trace.files, trace.clocks.of_file, strict=True)
        if clock is not None
    ]
    return min(times, default=0)


def pieces(
    trace: Trace, *, ranks: Sequence[int] | None = None, on_progress: Progress | None = None
) -> Iterator[pl.DataFrame]:
    """Frames with COLUMNS, by rank, then lane, then in the order of exits; ``ranks`` selects some."""
    record_count = 0
    for of_rank in _ranks(trace, ranks):
        for lane, pages in _parts(of_rank.file.lanes, of_rank.file.records_a_page):
            records = of_rank.file.records(pages)
            yield of_rank.frame(lane, records)
            record_count += len(records)
            if on_progress is not None:
                on_progress(record_count, trace.most_records)


def message_pieces(
    trace: Trace, *, ranks: Sequence[int] | None = None, on_progress: Progress | None = None
) -> Iterator[pl.DataFrame]:
    """Frames with MESSAGE_COLUMNS, by rank, then lane, then in the order of exits."""
    message_count = 0
    for of_rank in _ranks(trace, ranks):
        calls: dict[int, CallTimes] = {}
        for lane, pages in _parts(of_rank.file.message_lanes, form.MESSAGES_A_PAGE):
            messages = of_rank.file.messages(pages)
            yield of_rank.message_frame(lane, messages, calls.setdefault(lane, CallTimes()))
            message_count += len(messages)
            if on_progress is not None:
                on_progress(message_count, trace.most_messages)


def rows_in_order(
    trace: Trace, *, ranks: Sequence[int] | None = None, on_progress: Progress | None = None
) -> Iterator[dict[str, Any]]:
    """Rows of both tables, by rank, then lane, then in the order of exits; only messages have a ``kind``."""
    row_count, most_rows = 0, trace.most_records + trace.most_messages
    for of_rank in _ranks(trace, ranks):
        file = of_rank.file
        for lane in sorted(file.lanes.keys() | file.message_lanes.keys()):
            tables = (_record_rows(of_rank, lane), _message_rows(of_rank, lane))
            for row in heapq.merge(*tables, key=lambda row: row["exit_ns"]):
                yield row
                row_count += 1
                if on_progress is not None and row_count % form.RECORDS_A_PAGE == 0:
                    on_progress(row_count, most_rows)


def _record_rows(of_rank: _OfRank, lane: int) -> Iterator[dict[str, Any]]:
    lanes = {lane: of_rank.file.lanes.get(lane, np.empty(0, np.int64))}
    for _, pages in _parts(lanes, of_rank.file.records_a_page):
        yield from of_rank.frame(lane, of_rank.file.records(pages)).iter_rows(named=True)


def _message_rows(of_rank: _OfRank, lane: int) -> Iterator[dict[str, Any]]:
    calls = CallTimes()
    lanes = {lane: of_rank.file.message_lanes.get(lane, np.empty(0, np.int64))}
    for _, pages in _parts(lanes, form.MESSAGES_A_PAGE):
        messages = of_rank.file.messages(pages)
        yield from of_rank.message_frame(lane, messages, calls).iter_rows(named=True)


def _ranks(trace: Trace, ranks: Sequence[int] | None) -> Iterator[_OfRank]:
    """The selected ranks that have a clock."""
    whole = _Whole(trace)
    for number, file in enumerate(trace.files):
        if trace.clocks.of_file[number] is not None and (ranks is None or file.header.rank in ranks):
            yield _OfRank(trace, number, whole)


def _parts(lanes: dict[int, NDArray[np.int64]], rows_a_page: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Each lane with a few of its pages at a time."""
    at_once = max(RECORDS_AT_ONCE // rows_a_page, 1)
    for lane, pages in sorted(lanes.items()):
        for begin in range(0, len(pages), at_once):
            yield lane, pages[begin : begin + at_once]


class _Whole:
    """Data that all ranks share: the origin of times, communicators, and labels of sites."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.origin_ns = origin_ns(trace)
        self.labels = {one.index: one.label for one in trace.communicators.table}
        self.sizes = np.array([one.size for one in trace.communicators.table] or [0])
        self._sites: dict[int, str] = {}

    def sites(self) -> dict[int, str]:
        """The text of every site so far, by its number."""
        first = len(self._sites)
        new_sites = self._trace.sites.sites[first:]
        self._sites |= {first + place: one.path for place, one in enumerate(new_sites)}
        return self._sites


class _OfRank:
    """Converts the records of one file to frames."""

    def __init__(self, trace: Trace, number: int, whole: _Whole) -> None:
        file, clock = trace.files[number], trace.clocks.of_file[number]
        assert clock is not None
        self.file, self._clock, self._whole = file, clock, whole
        self._sites = trace.sites_of(file)
        self._sizes = MessageSizes(file)
        self._ids = trace.communicators.index_of_ids(file)
        last = max(file.definitions.functions, default=0) + 1
        self._is_defined = np.array([one in file.definitions.functions for one in range(last + 1)])

    def frame(self, lane: int, records: NDArray[Any]) -> pl.DataFrame:
        """Records of one lane, without invalid ones."""
        records = records[self._is_sound(records)]
        definitions, flags = self.file.definitions, records["flags"]
        collectives = {place: one.collective for place, one in definitions.functions.items()}
        values = self._call_values(lane, records) | self._when(records)
        values |= {name: records[name] for name in ("sequence", "root")} | {
            "collective": _texts(records["function"], collectives),
            "bytes": self._sizes.sizes(records),
            "sent_bytes": self._sizes.sent_bytes(records),
            "blocks": records["blocks"],
            "empty_blocks": records["empty_blocks"],
            "largest_block_bytes": np.minimum(records["largest_bytes"], 2**63 - 1),
            "operation": _texts(records["operation"], definitions.operations),
            "commutes": (flags & form.COMMUTES) != 0,
            "in_place": (flags & form.IN_PLACE) != 0,
        }
        return _frame(values, COLUMNS)

    def message_frame(self, lane: int, messages: NDArray[Any], calls: CallTimes) -> pl.DataFrame:
        """Messages of one lane, without invalid ones."""
        messages = messages[self._is_sound_message(messages)]
        kinds, flags = messages["kind"], messages["flags"]
        is_poll, is_transfer = kinds == form.POLL, (kinds == form.SEND) | (kinds == form.RECEIVE)
        partition = messages["partition"]
        values = self._call_values(lane, messages) | self._when(messages)
        values |= {name: messages[name] for name in ("request", "peer", "tag")} | {
            "kind": _texts(kinds, dict(enumerate(KINDS))),
            "any_source": (flags & form.ANY_SOURCE) != 0,
            "any_tag": (flags & form.ANY_TAG) != 0,
            "partition": _only(partition, (kinds == form.READY) | (kinds == form.ARRIVED)),
            "partitions": _only(
                partition, (kinds == form.PARTITIONED_SEND) | (kinds == form.PARTITIONED_RECEIVE)
            ),
            "skipped": _only(partition, is_transfer),
            "bytes": np.where(is_poll, 0, messages["bytes"]),
            "calls": np.where(is_poll, partition, 1),
            "spent_ns": calls.spent_ns(messages),
            "cancelled": (flags & form.CANCELLED) != 0,
        }
        return _frame(values, MESSAGE_COLUMNS)

    def _is_sound_message(self, messages: NDArray[Any]) -> NDArray[np.bool_]:
        """Which messages are possible."""
        sizes = self._whole.sizes[self._communicator_index(messages)]
        has_no_communicator = is_without_communicator(messages)
        is_sound = (messages["kind"] >= form.SEND) & (messages["kind"] <= form.MARK)
        is_sound &= (messages["peer"] >= form.PEER_PROC_NULL) & (
            messages["peer"] < sizes
        ) | has_no_communicator
        is_sound &= (messages["tag"] >= form.UNKNOWN) | (messages["kind"] == form.MARK)
        return np.asarray(
            is_sound & self._is_sound(messages, has_no_communicator) & (messages["partition"] >= 0)
        )

    def _communicator_index(self, entries: NDArray[Any]) -> NDArray[np.int32]:
        """The index of each communicator, -1 if it is not defined."""
        return self._ids[np.minimum(entries["communicator"], len(self._ids) - 1)]

    def _is_sound(self, entries: NDArray[Any], may_lack_communicator: Any = False) -> NDArray[np.bool_]:
        """Which records or messages have a known communicator and function, and possible times and sizes."""
        has_known_function = self._is_defined[
            np.minimum(entries["function"].astype(np.int32), len(self._is_defined) - 1)
        ]
        is_possible = (entries["exit_ns"] >= entries["enter_ns"]) & (entries["bytes"] < 2**62)
        has_communicator = (self._communicator_index(entries) >= 0) | may_lack_communicator
        return np.asarray(has_communicator & has_known_function & is_possible)

    def _call_values(self, lane: int, entries: NDArray[Any]) -> dict[str, Any]:
        """The columns that identify the process, the communicator, the call and its site."""
        header, definitions = self.file.header, self.file.definitions
        communicator_index = self._communicator_index(entries)
        sites = self._sites.numbers(entries["address"])
        functions = {place: one.name for place, one in definitions.functions.items()}
        datatypes = {place: name or f"derived {place}" for place, name in definitions.datatypes.items()}
        return {
            "rank": np.full(len(entries), header.rank, dtype=np.int32),
            "host": [header.host] * len(entries),
            "lane": np.full(len(entries), lane, dtype=np.int32),
            "communicator": _texts(communicator_index, self._whole.labels),
            "communicator_index": communicator_index,
            "processes": np.where(communicator_index >= 0, self._whole.sizes[communicator_index], 0),
            "function": _texts(entries["function"], functions),
            "round": entries["round"],
            "site": _texts(sites, self._whole.sites()),
            "datatype": _texts(entries["datatype"], datatypes),
            "failed": (entries["flags"] & form.FAILED) != 0,
        }

    def _when(self, records: NDArray[Any]) -> dict[str, Any]:
        """The columns on the part of the call and its times."""
        flags, origin = records["flags"], self._whole.origin_ns
        return {
            "moment": _texts(flags & form.PHASE, dict(enumerate(MOMENTS))),
            "completed_by": _texts(flags >> form.BY_SHIFT, dict(enumerate(COMPLETING_FUNCTIONS))),
            "enter_ns": self._clock.shared_ns(records["enter_ns"]) - origin,
            "exit_ns": self._clock.shared_ns(records["exit_ns"]) - origin,
            "bound_ns": self._clock.bound_ns(records["enter_ns"]),
        }


def _only(values: NDArray[Any], is_valid: NDArray[np.bool_]) -> pl.Series:
    """The values where they are valid, else null."""
    return pl.Series(values).set(pl.Series(~is_valid), None)


def _frame(values: dict[str, Any], columns: dict[str, tuple[type[pl.DataType], str]]) -> pl.DataFrame:
    """A frame with exactly these columns, of their types."""
    return pl.DataFrame(
        {name: pl.Series(name, values[name]).cast(dtype) for name, (dtype, _) in columns.items()}
    )


def _texts(numbers: NDArray[Any], texts: dict[int, str]) -> pl.Series:
    """The text of each number; empty if there is none."""
    unique, inverse = np.unique(numbers, return_inverse=True)
    values = pl.Series([texts.get(int(one), "") for one in unique], dtype=pl.String)
    return values.gather(inverse) if len(unique) else pl.Series([], dtype=pl.String)
