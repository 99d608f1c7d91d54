"""What ``offbeat async report`` writes as JSON."""

from __future__ import annotations

import numpy as np
from msgspec import Struct, structs

from offbeat.programs.iterations.idle_waves import IdleWave
from offbeat.programs.iterations.performance import Part, Performance
from offbeat.programs.iterations.report import Report
from offbeat.programs.iterations.step_effect import Estimate


class PerformanceSummary(Struct, frozen=True, kw_only=True):
    """The speed of the iterations against lockstep; times are means of an iteration.

    ``balanced_s`` is the time if no rank waited for another, ``work_s`` that of computation alone. ``whole``
    divides the mean iteration. ``faster`` is how much faster the iterations are than in lockstep;
    ``computation_faster`` how much faster ranks compute out of step than in step, null if the iterations do
    not tell. ``headroom`` is how much faster an iteration would be if all communication and waiting were
    hidden. ``communication_ratio`` is the communication-to-execution ratio (CER).
    """

    ranks: int
    iterations: int
    measured_s: float
    lockstep_s: float
    balanced_s: float
    work_s: float
    whole: Part
    faster: Estimate
    computation_faster: Estimate | None
    headroom: float
    communication_ratio: float


class RankMeans(Struct, frozen=True, kw_only=True):
    """A rank, and how its mean iteration divides.

    ``domain`` is the number of its memory domain. ``collective_s`` and ``message_s`` are the times in
    collectives and in point-to-point calls; ``collective_waiting_s`` and ``late_partner_s`` the parts of them
    in which the rank waits.
    """

    rank: int
    domain: int
    iteration_s: float
    computed_s: float
    collective_s: float
    message_s: float
    collective_waiting_s: float
    late_partner_s: float


class RankClusters(Struct, frozen=True, kw_only=True):
    """Clusters of ranks with similar times.

    ``count`` is their number. ``silhouette`` is from −1 to 1 (well separated). ``agreement`` is the share of
    pairs of ranks that are in the same memory domain and the same cluster, or in different ones of both.
    """

    count: int
    silhouette: float
    agreement: float


class CollectiveWaiting(Struct, frozen=True, kw_only=True):
    """The calls of a collective at one call site; times are sums over ranks.

    ``natural_s`` is the time without waiting, ``waited_s`` that before the last rank arrived.
    """

    site: str
    function: str
    calls: int
    natural_s: float
    waited_s: float


class ReportDocument(Struct, frozen=True, kw_only=True):
    """The iterations of a traced program; without iterations, most values are null or empty.

    ``way`` is how the iterations were found, ``begun_by`` what begins each. ``iterations_a_row`` is how many
    iterations were summed up in each row of the table that the means are of. ``domains`` is the number of
    memory domains.
    """

    directory: str
    program: str
    processes: int
    iterations: int
    way: str
    begun_by: str
    iterations_a_row: int
    domains: int
    performance: PerformanceSummary | None
    ranks: list[RankMeans]
    clusters: RankClusters | None
    idle_waves: list[IdleWave]
    collectives: list[CollectiveWaiting]
    notes: list[str]


def report_document(report: Report) -> ReportDocument:
    """The analysis, with means by rank."""
    iterations = report.table.iterations
    clusters = None if report.similarity is None else report.similarity.clusters
    return ReportDocument(
        directory=str(report.trace.directory),
        program=report.program,
        processes=report.trace.size,
        iterations=iterations.count,
        way=iterations.way,
        begun_by=iterations.begun_by,
        iterations_a_row=iterations.each,
        domains=report.domains.count,
        performance=None if report.performance is None else _performance(report.performance),
        ranks=_ranks(report) if report.table.rows else [],
        clusters=None
        if clusters is None
        else RankClusters(count=clusters.count, silhouette=clusters.silhouette, agreement=clusters.agreement),
        idle_waves=report.waves,
        collectives=[
            CollectiveWaiting(
                site=row.site,
                function=row.function,
                calls=row.calls,
                natural_s=row.operation_s,
                waited_s=row.waited_s,
            )
            for row in report.table.collectives
        ],
        notes=report.notes,
    )


def _performance(performance: Performance) -> PerformanceSummary:
    return PerformanceSummary(
        **structs.asdict(performance),
        headroom=performance.headroom,
        communication_ratio=performance.communication_ratio,
    )


def _ranks(report: Report) -> list[RankMeans]:
    table, each = report.table, report.table.iterations.each
    columns = {
        name: (values.mean(axis=0, dtype=np.float64) / each).tolist()
        for name, values in (
            ("iteration_s", table.times_s()),
            ("computed_s", table.computed_s()),
            ("collective_s", table.collective_s),
            ("message_s", table.message_s),
            ("collective_waiting_s", table.collective_waiting_s),
            ("late_partner_s", table.late_partner_s),
        )
    }
    numbers = zip(table.iterations.ranks.tolist(), report.domains.of_rank.tolist(), strict=True)
    return [
        RankMeans(rank=rank, domain=domain, **{name: values[place] for name, values in columns.items()})
        for place, (rank, domain) in enumerate(numbers)
    ]
