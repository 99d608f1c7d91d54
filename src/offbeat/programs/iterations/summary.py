"""The analysis of iterations as tables and sentences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from offbeat.base.document.tables import Table
from offbeat.base.units import amount, format_time
from offbeat.programs.iterations.performance import Performance
from offbeat.programs.iterations.report import Report
from offbeat.programs.iterations.step_effect import Estimate
from offbeat.trace.calls.call_site_stats import CallSiteStats, size_text
from offbeat.trace.summary_tables import UNKNOWN, library_name

MOST_RANKS = 32
"""With more ranks, a row is a domain; with more domains, a group of neighbouring ones."""

STRETCHES = 10
"""Rows of the table over the run."""

MOST_COLLECTIVES, MOST_WAVES = 20, 10

LEAST_PERCENT = 0.5
"""Smaller differences count as none, as in ``offbeat async advise``."""


def head(report: Report) -> list[str]:
    """Lines about the run and its iterations."""
    trace, table = report.trace, report.table
    nodes = trace.hosts[0] if len(trace.hosts) == 1 else amount(len(trace.hosts), "node")
    traced = "" if len(trace.files) == trace.size else f", {len(trace.files)} of them traced"
    processes = "1 process" if trace.size == 1 else f"{trace.size} processes"
    library = library_name(trace.headers[0].library)
    lines = [f"{report.program}: {processes} on {nodes}{traced}; {library}"]
    if table.rows:
        iterations = table.iterations
        lines.append(f"{amount(iterations.count, 'iteration')}; each begins with {iterations.begun_by}")
        domains = amount(report.domains.count, "memory domain")
        lines.append(f"{domains}: {_source(report)}")
    return lines


def _source(report: Report) -> str:
    """What a domain is."""
    is_each = report.domains.count > 1 and not report.domains.source.startswith("as ")
    return f"{report.domains.source} each" if is_each else report.domains.source


def sentences(report: Report) -> list[str]:
    """What the numbers mean."""
    found = report.performance
    if found is None:
        return []
    lines = [_against_lockstep(found), _communication(found)]
    share = found.whole.skew_in_domains_s / found.measured_s if found.measured_s else 0.0
    lines.append(
        f"Ranks are {format_time(found.whole.skew_in_domains_s)} apart within a memory domain"
        f" ({share:.0%} of an iteration) and {format_time(found.whole.skew_s)} over all ranks (means)."
    )
    if found.computation_faster is not None:
        lines.append(
            "In the iterations that begin with the largest skew within domains, computation is"
            f" {_compared(found.computation_faster)} in those with the least."
        )
    if report.waves:
        lines.append(_waves(report))
    return lines


def _against_lockstep(found: Performance) -> str:
    against = _compared(found.faster)
    if not np.isfinite(found.headroom):
        return f"An iteration is {against} in lockstep; the ranks compute nothing between their calls."
    return (
        f"An iteration is {against} in lockstep; if all communication and waiting were hidden, it would be"
        f" {100 * found.headroom:.1f}% faster."
    )


def _communication(found: Performance) -> str:
    whole = found.whole
    share = (whole.natural_s + whole.waiting_s) / found.measured_s if found.measured_s else 0.0
    ratio = found.communication_ratio
    text = f"{ratio:.3g}" if np.isfinite(ratio) else "infinite"
    return (
        f"Ranks spend {share:.1%} of an iteration in MPI, {_share(whole.waiting_s, found)} waiting for"
        f" others; communication-to-execution ratio {text}."
    )


def _share(part_s: float, found: Performance) -> str:
    return f"{part_s / found.measured_s:.1%}" if found.measured_s else UNKNOWN


def _compared(faster: Estimate) -> str:
    """A comparison, such as "3.1% (2.2 to 4.0) faster than"."""
    percent, low, high = (100 * value for value in (faster.mean, faster.low, faster.high))
    if max(-low, high) < LEAST_PERCENT or (abs(percent) < LEAST_PERCENT and not low <= 0 <= high):
        return f"as fast ({low:+z.1f} to {high:+z.1f}%) as"
    if low <= 0 <= high:
        return f"between {-low:z.1f}% slower and {high:z.1f}% faster than"
    if percent < 0:
        return f"{-percent:.1f}% ({-high:.1f} to {-low:.1f}) slower than"
    return f"{percent:.1f}% ({low:.1f} to {high:.1f}) faster than"


def _waves(report: Report) -> str:
    speeds = [one.speed for one in report.waves if np.isfinite(one.speed)]
    text = f"{amount(len(report.waves), 'idle wave')}"
    if not speeds:
        return f"{text}: they reach all ranks at once."
    speed = float(np.median(speeds))
    each = float(np.median([one.per_iteration for one in report.waves if np.isfinite(one.speed)]))
    return (
        f"{text}: delays propagate at {speed:.4g} neighbours/s (median), {each:.2g} neighbours in an"
        " iteration without delays."
    )


def tables(report: Report) -> list[Table]:
    """The tables, without empty ones."""
    found: list[Table] = []
    if report.performance is not None:
        found += [_performance(report.performance), _ranks(report), _stretches(report)]
    return [one for one in [*found, _collectives(report), _idle_waves(report)] if one.rows]


def _performance(found: Performance) -> Table:
    rows = []
    for what, iteration_s in (
        ("measured", found.measured_s),
        ("in lockstep", found.lockstep_s),
        ("balanced", found.balanced_s),
        ("work alone", found.work_s),
    ):
        rate = 1 / iteration_s if iteration_s else np.inf
        rows.append(
            [what, format_time(iteration_s), f"{rate:.4g}", f"{found.per_second_and_rank(iteration_s):.4g}"]
        )
    return Table(
        title="Performance",
        headings=["", "iteration", "iterations/s", "per rank"],
        rows=rows,
        notes=[
            "in lockstep: the longest computation plus the longest natural communication of any rank;"
            " balanced: their means over ranks; work alone: the mean computation"
        ],
    )


_DIVISION = ("collectives", "messages", "waited", "late partner")


def _ranks(report: Report) -> Table:
    """Means by rank, or by domain if there are many ranks."""
    table, each = report.table, report.table.iterations.each
    groups, names, what = _groups(report)
    columns = [
        _by_group(values.mean(axis=0, dtype=np.float64) / each, groups)
        for values in (
            table.times_s(),
            table.computed_s(),
            table.collective_s - table.collective_waiting_s,
            table.message_s - table.late_partner_s,
            table.collective_waiting_s,
            table.late_partner_s,
        )
    ]
    rows = []
    for number, name in enumerate(names):
        times = [float(column[number]) for column in columns]
        share = sum(times[2:]) / times[0] if times[0] else 0.0
        rate = 1 / times[0] if times[0] else np.inf
        rows.append([name, f"{rate:.4g}", *(format_time(one) for one in times[1:]), f"{share:.1%}"])
    return Table(
        title=f"By {what}: times of an iteration",
        headings=[
            what,
            "iterations/s",
            "computation",
            "collectives",
            "messages",
            "waited",
            "late partner",
            "MPI",
        ],
        rows=rows,
        notes=[
            "collectives, messages: natural communication; waited: in collectives, until the last process"
            " arrived; late partner: in point-to-point calls, until the partner was ready"
        ],
    )


def _groups(report: Report) -> tuple[NDArray[np.int64], list[str], str]:
    """The group of each rank, the names of the groups, and what they are."""
    ranks, domain = report.table.iterations.ranks, report.domains.of_rank
    if len(ranks) <= MOST_RANKS:
        return np.arange(len(ranks)), [str(rank) for rank in ranks.tolist()], "rank"
    if 1 < report.domains.count <= MOST_RANKS:
        return domain.astype(np.int64), [str(number) for number in range(report.domains.count)], "domain"
    each = -(-len(ranks) // MOST_RANKS)
    group = np.arange(len(ranks)) // each
    edges = [ranks[group == number][[0, -1]].tolist() for number in range(int(group.max()) + 1)]
    return group, [f"{first}-{last}" for first, last in edges], "ranks"


def _by_group(values: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.bincount(groups, weights=values) / np.bincount(groups)


def _stretches(report: Report) -> Table:
    """Means over stretches of the run."""
    table, each, skews = report.table, report.table.iterations.each, report.skews
    assert skews is not None
    bounds = np.unique(np.linspace(0, table.rows, min(STRETCHES, table.rows) + 1).astype(int))
    times_s = table.times_s().mean(axis=1) / each
    mpi_s = table.mpi_s().mean(axis=1, dtype=np.float64) / each
    waiting_s = table.waiting_s().mean(axis=1, dtype=np.float64) / each
    rows = []
    for first, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        part = slice(first, end)
        time_s = float(times_s[part].mean())
        rows.append(
            [
                f"{first * each + 1}-{end * each}",
                format_time(time_s),
                f"{1 / time_s:.4g}" if time_s else UNKNOWN,
                format_time(float(mpi_s[part].mean())),
                format_time(float(waiting_s[part].mean())),
                format_time(float(skews.inside_s[part].mean())),
                format_time(float(skews.across_s[part].mean())),
            ]
        )
    headings = ["iterations", "iteration", "iterations/s", "MPI", "waiting", "skew in domains", "skew"]
    return Table(title="Over the run", headings=headings, rows=rows)


def _collectives(report: Report) -> Table:
    rows = []
    for row in report.table.collectives[:MOST_COLLECTIVES]:
        natural_s, waiting_s = _mean_times_s(row)
        is_known = row.is_compared and row.spent_s > 0
        rows.append(
            [
                row.site,
                row.function,
                size_text(row.least_bytes, row.most_bytes),
                str(row.calls),
                format_time(natural_s),
                format_time(waiting_s) if is_known else UNKNOWN,
                f"{row.waited_s / row.spent_s:.1%}" if is_known else UNKNOWN,
            ]
        )
    return Table(
        title="Collectives: natural cost and waiting",
        headings=["call site", "function", "size", "calls", "natural cost", "waiting", "share of waiting"],
        rows=rows,
        texts=(0, 1),
        notes=["means over calls and ranks of the whole run; waiting: until the last process arrived"],
    )


def _mean_times_s(row: CallSiteStats) -> tuple[float, float]:
    """The mean natural cost and waiting of a rank in a call of a row."""
    arrivals = max(row.calls * row.processes, 1)
    return row.operation_s / arrivals, row.waited_s / arrivals


def _idle_waves(report: Report) -> Table:
    rows = [
        [
            str(wave.rank),
            str(wave.iteration),
            format_time(wave.delay_s),
            f"{wave.direction:+d}",
            str(wave.ranks),
            f"{wave.speed:.4g}" if np.isfinite(wave.speed) else "at once",
            f"{wave.per_iteration:.2g}" if np.isfinite(wave.speed) else "all",
            f"{wave.fit:.2f}",
            f"{format_time(wave.first_s)} to {format_time(wave.last_s)}",
        ]
        for wave in report.waves[:MOST_WAVES]
    ]
    return Table(
        title="Idle waves",
        headings=[
            "rank",
            "iteration",
            "delay",
            "direction",
            "reached",
            "neighbours/s",
            "per iteration",
            "fit",
            "waiting",
        ],
        rows=rows,
        texts=(3,),
        notes=[
            "a delay of a rank; direction: the difference of the numbers of neighbours; reached: how many of"
            " them wait for it, and how much, the first to the last; fit: R² of the line through neighbours"
            " and times"
        ],
    )
