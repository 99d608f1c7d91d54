"""The records of a trace as frames, one piece of one rank after another: what every export is made from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from offbeat.trace import format as form
from offbeat.trace.rank_file import RankFile
from offbeat.trace.read import Trace
from offbeat.trace.sites import named

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
    "bytes": (pl.Int64, "message size as studies state it"),
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

Told = Callable[[int, int], None]
"""Called with the number of records given out so far, and how many there are at most."""


def origin_ns(trace: Trace) -> int:
    """The shared time at which the first rank returned from MPI_Init: the 0 of exported times."""
    times = [
        int(clock.shared_ns(np.array([file.header.began_ns]))[0])
        for file, clock in zip(trace.files, trace.clocks.of_file, strict=True)
        if clock is not None
    ]
    return min(times, default=0)


def pieces(
    trace: Trace, *, ranks: Sequence[int] | None = None, told: Told | None = None
) -> Iterator[pl.DataFrame]:
    """Frames with COLUMNS, by rank, then lane, then in the order of return; ``ranks`` chooses some."""
    origin, done, names = origin_ns(trace), 0, SiteNames(trace)
    for number, file in enumerate(trace.files):
        if trace.clocks.of_file[number] is None or (ranks is not None and file.header.rank not in ranks):
            continue
        ids = trace.communicators.index_of_ids(file)
        for lane in sorted(file.lanes):
            pages = file.lanes[lane]
            for begin in range(0, len(pages), PAGES_AT_ONCE):
                records = file.records(pages[begin : begin + PAGES_AT_ONCE])
                yield _frame(trace, number, lane, records, ids, origin, names)
                done += len(records)
                if told is not None:
                    told(done, trace.most_records)


class SiteNames:
    """Names of sites, asked for as they are met."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.texts: list[str] = []

    def upto_date(self) -> list[str]:
        """The text of every site met so far, by its number."""
        fresh = self._trace.sites.all[len(self.texts) :]
        self.texts += [one.text for one in named(fresh)]
        return self.texts


def _frame(
    trace: Trace,
    number: int,
    lane: int,
    records: NDArray[Any],
    ids: NDArray[np.int32],
    origin: int,
    names: SiteNames,
) -> pl.DataFrame:
    file, clock = trace.files[number], trace.clocks.of_file[number]
    assert clock is not None
    within = ids[np.minimum(records["communicator"], len(ids) - 1)]
    known = np.array([one in file.definitions.functions for one in range(_ids(file) + 1)])
    sound = (within >= 0) & known[np.minimum(records["function"], _ids(file))]
    sound &= (records["exit_ns"] >= records["enter_ns"]) & (records["bytes"] < 2**62)
    if not sound.all():
        records, within = records[sound], within[sound]
    flags = records["flags"]
    sites = trace.sites_of(file).numbers(records["address"])
    labels = [one.label for one in trace.communicators.all]
    sizes = np.array([one.size for one in trace.communicators.all] or [0])
    definitions = file.definitions
    functions = {place: one.name for place, one in definitions.functions.items()}
    collectives = {place: one.collective for place, one in definitions.functions.items()}
    datatypes = {place: one.name or f"derived {place}" for place, one in definitions.datatypes.items()}
    operations = {place: one.name for place, one in definitions.operations.items()}
    values = {
        "rank": np.full(len(records), file.header.rank, dtype=np.int32),
        "host": [file.header.host] * len(records),
        "lane": np.full(len(records), lane, dtype=np.int32),
        "function": _texts(records["function"], functions),
        "collective": _texts(records["function"], collectives),
        "moment": _texts(flags & form.PHASE, dict(enumerate(MOMENTS))),
        "completed_by": _texts(flags >> form.BY_SHIFT, dict(enumerate(COMPLETED_BY))),
        "communicator": _texts(within, dict(enumerate(labels))),
        "communicator_index": within,
        "processes": sizes[within],
        "sequence": records["sequence"],
        "round": records["round"],
        "enter_ns": clock.shared_ns(records["enter_ns"]) - origin,
        "exit_ns": clock.shared_ns(records["exit_ns"]) - origin,
        "bound_ns": clock.bound_ns(records["enter_ns"]),
        "bytes": records["bytes"].astype(np.int64),
        "datatype": _texts(records["datatype"], datatypes),
        "operation": _texts(records["operation"], operations),
        "commutes": (flags & form.COMMUTES) != 0,
        "root": records["root"],
        "in_place": (flags & form.IN_PLACE) != 0,
        "failed": (flags & form.FAILED) != 0,
        "site": _texts(sites, dict(enumerate(names.upto_date()))),
    }
    return pl.DataFrame(
        {name: pl.Series(name, values[name]).cast(dtype) for name, (dtype, _) in COLUMNS.items()}
    )


def _ids(file: RankFile) -> int:
    """One more than the largest id of a function in a file."""
    return max(file.definitions.functions, default=0) + 1


def _texts(numbers: NDArray[Any], texts: dict[int, str]) -> pl.Series:
    """The text of each number; empty where there is none."""
    met, back = np.unique(numbers, return_inverse=True)
    words = pl.Series([texts.get(int(one), "") for one in met], dtype=pl.String)
    return words.gather(back) if len(met) else pl.Series([], dtype=pl.String)
