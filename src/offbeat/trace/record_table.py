"""The records of a trace as data frames, part by part and rank by rank, for all exports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from offbeat.trace import format as form
from offbeat.trace.message_sizes import MessageSizes
from offbeat.trace.read import Progress, Trace

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
    "datatype": (pl.String, "element type; empty if there is none"),
    "operation": (pl.String, "of reductions: the operation; empty for one of the program's own"),
    "commutes": (pl.Boolean, "the operation commutes"),
    "root": (pl.Int32, "rank in the communicator; -1 if there is none"),
    "in_place": (pl.Boolean, "MPI_IN_PLACE was given"),
    "failed": (pl.Boolean, "it returned an error"),
    "site": (pl.String, "where it was called: function and line, or file and offset"),
}
"""The columns of an exported trace: column → (polars type, meaning)."""

MOMENTS = ("call", "issue", "start", "completion")
COMPLETED_BY = (
    *("", "wait", "waitall", "waitany", "waitsome"),
    *("test", "testall", "testany", "testsome", "request_free"),
)
PAGES_AT_ONCE = 32


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
    done, whole = 0, _Whole(trace)
    for number, file in enumerate(trace.files):
        if trace.clocks.of_file[number] is None or (ranks is not None and file.header.rank not in ranks):
            continue
        of_rank = _OfRank(trace, number, whole)
        for lane in sorted(file.lanes):
            pages = file.lanes[lane]
            for begin in range(0, len(pages), PAGES_AT_ONCE):
                records = file.records(pages[begin : begin + PAGES_AT_ONCE])
                yield of_rank.frame(lane, records)
                done += len(records)
                if on_progress is not None:
                    on_progress(done, trace.most_records)


class _Whole:
    """Data that all ranks share: the origin of times, communicators, and labels of sites."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.origin_ns = origin_ns(trace)
        self.labels = {one.index: one.label for one in trace.communicators.all}
        self.sizes = np.array([one.size for one in trace.communicators.all] or [0])
        self._sites: dict[int, str] = {}

    def sites(self) -> dict[int, str]:
        """The text of every site so far, by its number."""
        first = len(self._sites)
        fresh = self._trace.sites.all[first:]
        self._sites |= {first + place: one.path for place, one in enumerate(fresh)}
        return self._sites


class _OfRank:
    """Converts the records of one file to frames."""

    def __init__(self, trace: Trace, number: int, whole: _Whole) -> None:
        file, clock = trace.files[number], trace.clocks.of_file[number]
        assert clock is not None
        self._file, self._clock, self._whole = file, clock, whole
        self._sites = trace.sites_of(file)
        self._sizes = MessageSizes(file)
        self._ids = trace.communicators.index_of_ids(file)
        last = max(file.definitions.functions, default=0) + 1
        self._known = np.array([one in file.definitions.functions for one in range(last + 1)])

    def frame(self, lane: int, records: NDArray[Any]) -> pl.DataFrame:
        """Records of one lane, without invalid ones."""
        within = self._ids[np.minimum(records["communicator"], len(self._ids) - 1)]
        sound = (within >= 0) & self._known[
            np.minimum(records["function"].astype(np.int32), len(self._known) - 1)
        ]
        sound &= (records["exit_ns"] >= records["enter_ns"]) & (records["bytes"] < 2**62)
        if not sound.all():
            records, within = records[sound], within[sound]
        header = self._file.header
        values = {
            "rank": np.full(len(records), header.rank, dtype=np.int32),
            "host": [header.host] * len(records),
            "lane": np.full(len(records), lane, dtype=np.int32),
            "communicator": _texts(within, self._whole.labels),
            "communicator_index": within,
            "processes": self._whole.sizes[within],
        }
        values |= self._what(records) | self._when(records) | self._how(records)
        return pl.DataFrame(
            {name: pl.Series(name, values[name]).cast(dtype) for name, (dtype, _) in COLUMNS.items()}
        )

    def _what(self, records: NDArray[Any]) -> dict[str, Any]:
        """The columns that identify the call and its site."""
        functions = self._file.definitions.functions
        sites = self._sites.numbers(records["address"])
        return {
            "function": _texts(records["function"], {place: one.name for place, one in functions.items()}),
            "collective": _texts(
                records["function"], {place: one.collective for place, one in functions.items()}
            ),
            "sequence": records["sequence"],
            "round": records["round"],
            "site": _texts(sites, self._whole.sites()),
        }

    def _when(self, records: NDArray[Any]) -> dict[str, Any]:
        """The columns on the part of the call and its times."""
        flags, origin = records["flags"], self._whole.origin_ns
        return {
            "moment": _texts(flags & form.PHASE, dict(enumerate(MOMENTS))),
            "completed_by": _texts(flags >> form.BY_SHIFT, dict(enumerate(COMPLETED_BY))),
            "enter_ns": self._clock.shared_ns(records["enter_ns"]) - origin,
            "exit_ns": self._clock.shared_ns(records["exit_ns"]) - origin,
            "bound_ns": self._clock.bound_ns(records["enter_ns"]),
        }

    def _how(self, records: NDArray[Any]) -> dict[str, Any]:
        """The columns on the arguments of the call, and whether it failed."""
        definitions, flags = self._file.definitions, records["flags"]
        datatypes = {place: one.name or f"derived {place}" for place, one in definitions.datatypes.items()}
        operations = {place: one.name for place, one in definitions.operations.items()}
        return {
            "bytes": self._sizes.sizes(records),
            "sent_bytes": self._sizes.sent(records),
            "datatype": _texts(records["datatype"], datatypes),
            "operation": _texts(records["operation"], operations),
            "commutes": (flags & form.COMMUTES) != 0,
            "root": records["root"],
            "in_place": (flags & form.IN_PLACE) != 0,
            "failed": (flags & form.FAILED) != 0,
        }


def _texts(numbers: NDArray[Any], texts: dict[int, str]) -> pl.Series:
    """The text of each number; empty if there is none."""
    unique, inverse = np.unique(numbers, return_inverse=True)
    values = pl.Series([texts.get(int(one), "") for one in unique], dtype=pl.String)
    return values.gather(inverse) if len(unique) else pl.Series([], dtype=pl.String)
