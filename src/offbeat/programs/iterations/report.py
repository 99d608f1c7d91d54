"""The analysis of a traced program's iterations: everything that the terminal and the page show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.base.units import amount, format_time
from offbeat.programs.iterations.idle_waves import IdleWave, idle_waves
from offbeat.programs.iterations.iteration_calls import read_calls
from offbeat.programs.iterations.iteration_table import IterationTable, read_table
from offbeat.programs.iterations.iterations import MOST_CELLS, find_iterations
from offbeat.programs.iterations.memory_domains import Domains, domains_of
from offbeat.programs.iterations.performance import Performance, Skews, performance, skews_of, uneven_work_s
from offbeat.programs.iterations.phases import traced_phases
from offbeat.programs.iterations.similarity import Clusters, Components, clusters, components, correlations
from offbeat.programs.iterations.timelines import timelines_of
from offbeat.trace.files.trace_folder import Progress, Trace


class Similarity(Struct, frozen=True, kw_only=True, eq=False):
    """Which ranks behave alike: the matrix of correlations between groups of ``each`` neighbouring ranks,
    principal components, and clusters; None where there are too few ranks or domains."""

    correlation: NDArray[np.float64]
    each: int
    components: Components | None
    clusters: Clusters | None


class Report(Struct, kw_only=True, eq=False):
    """The analysis. ``table`` has the ranks with the usual number of iterations, and ``domains`` theirs; the
    other values are None if no iterations were found. ``notes`` are caveats."""

    trace: Trace
    table: IterationTable
    domains: Domains
    notes: list[str]
    performance: Performance | None = None
    skews: Skews | None = None
    similarity: Similarity | None = None
    waves: list[IdleWave] = []

    @property
    def program(self) -> str:
        """The file name of the program."""
        return Path(self.trace.headers[0].program).name or "a program"


def analyse(
    trace: Trace,
    *,
    way: str = "",
    anchor: str = "",
    domain_size: int = 0,
    domains: str = "",
    most_cells: int = MOST_CELLS,
    on_progress: Progress | None = None,
) -> Report:
    """Analyse a trace; for the options see :func:`find_iterations` and :func:`domains_of`."""
    halves = _Halves(on_progress)
    iterations = find_iterations(
        trace, way=way, anchor=anchor, most_cells=most_cells, on_progress=halves.first
    )
    of_all = domains_of(trace, iterations.ranks, size=domain_size, listed=domains)
    read = read_table(trace, iterations, timelines_of(iterations), on_progress=halves.second)
    table = read.complete()
    places = np.searchsorted(iterations.ranks, table.iterations.ranks)
    report = Report(
        trace=trace,
        table=table,
        domains=of_all.select(places),
        notes=_notes(trace, read, table),
    )
    if table.rows:
        report.skews = skews_of(table, report.domains)
        report.performance = performance(table, report.skews, _uneven_work_s(trace, table))
        report.similarity = _similarity(table, report.domains)
        report.waves = idle_waves(table)
    return report


def _uneven_work_s(trace: Trace, table: IterationTable) -> NDArray[np.float64] | None:
    """See :func:`uneven_work_s`; None if the calls of the trace do not tell the phases of an iteration."""
    if not trace.has_messages or table.iterations.each > 1 or any(one.sampling for one in trace.headers):
        return None
    return uneven_work_s(traced_phases(read_calls(trace, table.iterations)))


class _Halves:
    """Two parts of the work as one progress, from 0 to 1000."""

    def __init__(self, on_progress: Progress | None) -> None:
        self._on_progress = on_progress

    def first(self, done: int, total: int) -> None:
        """Report the progress of finding the iterations."""
        if self._on_progress is not None:
            self._on_progress(300 * done // max(total, 1), 1000)

    def second(self, done: int, total: int) -> None:
        """Report the progress of reading the table."""
        if self._on_progress is not None:
            self._on_progress(300 + 700 * min(done, total) // max(total, 1), 1000)


def _similarity(table: IterationTable, domains: Domains) -> Similarity:
    mpi_s = table.mpi_s()
    correlation, each = correlations(mpi_s)
    found = components(mpi_s)
    return Similarity(
        correlation=correlation,
        each=each,
        components=found,
        clusters=None if found is None else clusters(found, domains.of_rank),
    )


def _notes(trace: Trace, read: IterationTable, table: IterationTable) -> list[str]:
    """Caveats: first those that decide what the numbers mean; ``table`` is the part that is analysed."""
    notes = list(read.iterations.notes)
    if not trace.has_messages and not read.message_counts.pairs:
        notes.append(
            "point-to-point calls were not recorded and count as computation; 'offbeat trace run --messages'"
            " records them"
        )
    sampling = sorted({header.sampling for header in trace.headers if header.sampling})
    if sampling:
        notes.append(
            f"the trace was sampled ({'; '.join(sampling)}): what was not recorded counts as computation"
        )
    if table.rows < read.rows:
        notes.append(
            f"the analysis has the first {table.iterations.count} iterations, which all its ranks have"
        )
    left = read.p - table.p
    if left and read.rows:
        notes.append(f"{amount(left, 'rank')} with another number of iterations: not in the analysis")
    if read.threads > 1:
        notes.append(
            f"up to {read.threads} threads of a rank call MPI concurrently: their times are added up"
        )
    if read.unknown_s:
        notes.append(
            f"{format_time(read.unknown_s)} (over all ranks) in point-to-point calls whose partner is not in"
            " the trace: counted as natural communication"
        )
    if read.counts.invalid:
        notes.append(f"{amount(read.counts.invalid, 'invalid record')}: ignored")
    return [*notes, *trace.notes, *read.message_counts.notes()]
