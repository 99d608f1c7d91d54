"""The arrivals of one row of a summary, call by call: what patterns and replays are made from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.errors import BadInput
from offbeat.trace.calls import Calls, calls
from offbeat.trace.cells import powers
from offbeat.trace.match import MOST_RECORDS, Matcher
from offbeat.trace.read import Trace
from offbeat.trace.summary import Row, Summary, Told
from offbeat.units import format_size

MOST_VALUES = 16_000_000
"""Delays that are held at once: 128 MiB. Of more calls, every second, fourth, ... is kept."""


class Arrivals(Struct, kw_only=True, eq=False):
    """Delays of calls that every traced rank made, in seconds behind the first rank: ``delays_s`` (calls, p),
    NaN where a rank is not traced. ``began_s`` is when each call's first rank arrived, since the first of
    them. ``step`` tells which calls: 1 all of them, 2 every second one. ``number`` is each call's number.
    """

    row: Row
    delays_s: NDArray[np.float64]
    began_s: NDArray[np.float64]
    number: NDArray[np.int64]
    step: int


def choose_row(
    summary: Summary,
    *,
    collective: str = "",
    site: str = "",
    communicator: str = "",
    size: int | None = None,
) -> Row:
    """The row that fits every wish; of several, the one whose operation takes the most time.

    A wish fits a site if it is part of its words, a collective by its MPI name in any case, with or without
    ``MPI_``. Raises :class:`BadInput` where nothing fits, with what there is.
    """
    fit = [
        row
        for row in summary.rows
        if row.processes > 1
        and len(row.delays_s)
        and row.kind not in ("constructor", "initialisation")
        and _bare(collective) in ("", _bare(row.collective), _bare(row.function))
        and site in row.site
        and communicator in ("", row.communicator)
        and (size is None or row.least_bytes <= size <= row.most_bytes)
    ]
    if not fit:
        raise BadInput(f"the trace {summary.directory} has no such calls{_instead(summary)}")
    return max(fit, key=lambda row: row.operation_s)


def collect(
    trace: Trace,
    row: Row,
    *,
    most_records: int = MOST_RECORDS,
    most_values: int = MOST_VALUES,
    told: Told | None = None,
) -> Arrivals:
    """Read the trace once more for the arrivals of a row, in the order of its calls."""
    total, collector = trace.most_records, _Collector(row, most_values)
    matcher = Matcher(
        trace, most_records=most_records, told=None if told is None else lambda done: told(done, total)
    )
    for matched in matcher.batches():
        collector.add(calls(matched))
    return collector.arrivals()


class _Collector:
    """Keeps the calls of a row: all of them, or every second, fourth, ... where they are too many."""

    def __init__(self, row: Row, most_values: int) -> None:
        self._row, self._most = row, most_values
        self._met, self._step = 0, 1
        self._delays: list[NDArray[np.float64]] = []
        self._began: list[NDArray[np.int64]] = []
        self._numbers: list[NDArray[np.int64]] = []

    def add(self, found: Calls) -> None:
        """Keep what is the row's of these calls."""
        site, function, kind, power, communicator = self._row.key
        chosen = found.is_whole & (found.communicator == communicator) & (found.site == site)
        chosen &= (found.function == function) & (found.kind == kind) & (powers(found.bytes) == power)
        number = self._met + np.cumsum(chosen) - 1
        self._met += int(np.count_nonzero(chosen))
        chosen &= number % self._step == 0
        if not chosen.any():
            return
        delays = found.delays_s(chosen, self._row.processes)
        # In a damaged file a rank may arrive twice instead of another one.
        sound = ~np.isnan(delays[:, ~np.isnan(self._row.delays_s)]).any(axis=1)
        self._delays.append(delays[sound])
        self._began.append(found.first_ns[chosen][sound])
        self._numbers.append(number[chosen][sound])
        while (held := sum(map(len, self._delays))) * self._row.processes > self._most and held > 1:
            self._thin_out()

    def _thin_out(self) -> None:
        self._step *= 2
        kept = [numbers % self._step == 0 for numbers in self._numbers]
        self._delays = [part[keep] for part, keep in zip(self._delays, kept, strict=True)]
        self._began = [part[keep] for part, keep in zip(self._began, kept, strict=True)]
        self._numbers = [part[keep] for part, keep in zip(self._numbers, kept, strict=True)]

    def arrivals(self) -> Arrivals:
        """What was kept, in the order in which the calls began. Raises :class:`BadInput` if nothing was."""
        row = self._row
        if not any(map(len, self._delays)):
            raise BadInput(
                f"{row.function} at {row.site} was never recorded on all traced ranks of {row.communicator};"
                " trace more of the run, or choose other calls"
            )
        began = np.concatenate(self._began)
        order = np.argsort(began, kind="stable")
        number = np.concatenate(self._numbers)[order]
        return Arrivals(
            row=row,
            delays_s=np.concatenate(self._delays)[order],
            began_s=(began[order] - began.min()) / 1e9,
            # Starts of several requests come in turns.
            number=np.arange(len(number)) if self._step == 1 else number,
            step=self._step,
        )


def described(row: Row) -> str:
    """A row in words: ``MPI_Alltoall of 32 KiB at transpose (ft.c:118) on MPI_COMM_WORLD``."""
    least, most = format_size(row.least_bytes), format_size(row.most_bytes)
    size = "" if row.most_bytes == 0 else f" of {least}" if least == most else f" of {least} to {most}"
    return f"{row.function}{size} at {row.site} on {row.communicator}"


def short_name(row: Row) -> str:
    """A name for files: ``alltoall-32KiB``."""
    size = format_size(row.most_bytes).replace(" ", "")
    return f"{_bare(row.collective)}-{size}" if row.most_bytes else _bare(row.collective)


def _bare(collective: str) -> str:
    return collective.lower().removeprefix("mpi_")


def _instead(summary: Summary) -> str:
    """What there is to choose from."""
    there = dict.fromkeys(described(row) for row in summary.rows if row.processes > 1 and len(row.delays_s))
    if not there:
        return f"; {Path(summary.directory).name} holds no calls of two ranks or more that could be compared"
    words = list(there)[:8]
    return "; there are: " + "; ".join(words) + ("; ..." if len(there) > len(words) else "")
