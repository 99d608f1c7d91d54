"""The report of a trace: its figures, and one self-contained HTML file."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator
from numpy.typing import NDArray

from offbeat.base.document.tables import Fact
from offbeat.base.units import amount, format_time
from offbeat.presentation.drawing import page
from offbeat.presentation.drawing.axes import (
    framed_axes,
    legend_beside_title,
    time_axis,
    titled_figure,
    whole_numbers,
)
from offbeat.presentation.drawing.page import Code, Details, Facts, Section, Text
from offbeat.presentation.drawing.palette import BLUE, BROWN, GREY, MUTED, ORANGE
from offbeat.presentation.drawing.picture_files import Album
from offbeat.presentation.drawing.rank_delays import draw_delays
from offbeat.presentation.drawing.terminal_bars import BAND, time_unit
from offbeat.trace.calls.arrivals import Arrivals
from offbeat.trace.calls.call_aggregates import upper_ns
from offbeat.trace.calls.call_site_stats import CallSiteStats, description_of, file_stem_of
from offbeat.trace.files.trace_folder import Trace
from offbeat.trace.recommendation import changeable_s, sentence, with_arrivals
from offbeat.trace.summary import Summary
from offbeat.trace.summary_tables import head, library_name, stability_text, straggler_text, tables

_WIDTH, _HEIGHT, _LOW = 7.2, 3.4, 2.9
_SQUARES, _LINES = 256, 200


def delay_figure(summary: Summary, row: CallSiteStats, sample: Arrivals | None = None) -> Figure:
    """Mean delay of each rank relative to the first arrival, over all calls (figure 1).

    A sample of the calls adds a band with most of their delays. With more ranks than steps, a step is the
    maximum over neighbouring ranks, and the axis label says so.
    """
    bound = "one clock" if row.bound_s == 0 else f"clock error at most {format_time(row.bound_s)}"
    stable = "" if math.isnan(row.stability) else f", stability {row.stability:.2f}"
    figure, axes = _framed(
        _HEIGHT,
        "Average process delay (skew)",
        f"{amount(row.whole, 'call')}: {description_of(row)}, {row.processes} processes",
        f"mean skew {format_time(row.skew.mean_s)}{stable}; {bound}; {library_name(summary.library)}",
    )
    delays = np.nan_to_num(row.delays_s, nan=0.0)
    low, high = _spread(sample, row)
    largest_s = max(float(delays.max(initial=0.0)), float(high.max(initial=0.0)))
    scale_s, unit = time_unit(largest_s)
    band = None if sample is None else (low / scale_s, high / scale_s)
    each = draw_delays(
        axes,
        delays / scale_s,
        band,
        most=_SQUARES,
        labels=("mean", f"{BAND[0]:.0%} to {BAND[1]:.0%} of the calls"),
    )
    missing = np.flatnonzero(np.isnan(row.delays_s))
    if len(missing):
        axes.plot(missing, np.zeros(len(missing)), "x", color=ORANGE, markersize=4, label="not traced")
    if sample is not None or len(missing):
        legend_beside_title(axes)
    axes.set_xlabel("rank" if each == 1 else f"rank (the latest of {each})", fontsize=9)
    axes.set_ylabel(f"delay [{unit}]", fontsize=9)
    axes.set_ylim(0, largest_s / scale_s * 1.06 or 1.0)
    axes.set_xlim(-0.7, len(delays) - 0.3)
    whole_numbers(axes.xaxis, 8)
    return figure


def distribution_figure(summary: Summary, row: CallSiteStats) -> Figure:
    """The cumulative distribution of skew and last delay over the calls."""
    figure, axes = _framed(
        _LOW, "Skew and d̂ of the calls", description_of(row), "share of the calls that are below a time"
    )
    lines = ((0, BLUE, "-", "skew", row.skew), (2, BROWN, "--", "d̂", row.last_delay))
    ends_ns: list[float] = []
    for place, colour, dashes, name, times in lines:
        edges_ns, shares = _cumulated(row.histograms[place])
        if len(edges_ns):
            label = f"{name}: mean {format_time(times.mean_s)}, median {format_time(times.median_s, 2)}"
            axes.plot(edges_ns, shares, color=colour, linestyle=dashes, linewidth=1.8, label=label)
            ends_ns += [float(edges_ns[0]), float(edges_ns[-1])]
    time_axis(axes, "x", is_log=True, per_second=1e9)
    if ends_ns:
        axes.set_xlim(min(ends_ns) / 1.3, max(ends_ns) * 1.3)
        legend_beside_title(axes)
        subs = (1.0, 2.0, 5.0) if max(ends_ns) < 1000 * min(ends_ns) else (1.0,)
        axes.xaxis.set_major_locator(LogLocator(subs=subs, numticks=30))
    axes.set_yticks(np.linspace(0, 1, 5), ["0%", "25%", "50%", "75%", "100%"])
    axes.set_ylim(0, 1.02)
    axes.set_ylabel("share of calls", fontsize=9)
    axes.grid(alpha=0.25)
    return figure


def _cumulated(histogram: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Upper ends of the bins from the first to the last used one, in ns, and the share below each end."""
    used_bins = np.flatnonzero(histogram)
    if not len(used_bins):
        return np.empty(0), np.empty(0)
    places = np.arange(used_bins[0] - 1, used_bins[-1] + 1)
    shares = np.concatenate([[0.0], np.cumsum(histogram[used_bins[0] : used_bins[-1] + 1])]) / histogram.sum()
    return upper_ns(places), shares


def course_figure(row: CallSiteStats, sample: Arrivals) -> Figure:
    """Delays of single calls over the run as a map of calls and ranks: are always the same ranks late?

    With more ranks than squares, a square is the maximum over neighbouring ranks.
    """
    chosen = np.unique(np.linspace(0, len(sample.delays_s) - 1, _LINES).astype(int))
    calls = sample.delays_s[chosen]
    p = calls.shape[1]
    each = math.ceil(p / _SQUARES)
    filled = np.where(np.isnan(calls), -1.0, calls)
    squares = np.maximum.reduceat(filled, np.arange(0, p, each), axis=1)
    squares = np.where(squares < 0, np.nan, squares)
    most_s = float(np.nanquantile(squares, 0.99)) or float(np.nanmax(squares))
    scale_s, unit = time_unit(most_s)
    shown = f"{len(calls)} of {amount(row.whole, 'call')}" if len(calls) < row.whole else "every call"
    figure, axes = _framed(
        _HEIGHT, "Delays over the run, call by call", f"{shown}: {description_of(row)}", right=0.8
    )
    colours = colormaps["Blues"].with_extremes(bad=GREY)
    last = max(row.whole - 1, 1) if len(calls) > 1 else 1
    image = axes.imshow(
        squares / scale_s,
        aspect="auto",
        interpolation="nearest",
        cmap=colours,
        vmin=0,
        vmax=max(most_s / scale_s, 1e-12),
        extent=(-0.5, p - 0.5, last + 0.5, -0.5),
    )
    bar = figure.colorbar(image, cax=figure.add_axes((0.89, 0.14, 0.018, 0.64)), extend="max")
    bar.ax.tick_params(labelsize=8, colors=MUTED)
    bar.set_label(f"delay [{unit}]", fontsize=8)
    axes.set_xlabel("rank" if each == 1 else f"rank (the latest of {each})", fontsize=9)
    axes.set_ylabel("call", fontsize=9)
    whole_numbers(axes.xaxis, 8)
    whole_numbers(axes.yaxis, 5)
    return figure


def _framed(height: float, title: str, *lines: str, right: float = 0.17) -> tuple[Figure, Axes]:
    """A figure with a title, lines below it, and axes that end ``right`` inches from the right edge."""
    figure = titled_figure(_WIDTH, height, title, *lines)
    return figure, framed_axes(figure, 0.72, 0.48, right, 0.4 + 0.18 * len(lines))


def _spread(sample: Arrivals | None, row: CallSiteStats) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The ends of the band of each rank, (p,) each; zeros without a sample."""
    if sample is None or not len(sample.delays_s):
        return np.zeros(len(row.delays_s)), np.zeros(len(row.delays_s))
    low, high = np.quantile(np.nan_to_num(sample.delays_s, nan=0.0), BAND, axis=0)
    return np.asarray(low), np.asarray(high)


MOST_DRAWN, MOST_ROWS, OPEN_ROWS = 6, 50, 3
"""Limits of rows with pictures, of rows in tables, and of rows with expanded pictures."""


def drawn_rows(summary: Summary, most: int = MOST_DRAWN) -> list[CallSiteStats]:
    """The rows with pictures: those with the most operation time."""
    return sorted(with_arrivals(summary.group_rows), key=lambda row: -changeable_s(row))[:most]


def write_page(
    trace: Trace, summary: Summary, samples: Sequence[Arrivals], path: Path, pictures: Path | None
) -> None:
    """Write the page; ``samples`` are of :func:`drawn_rows`.

    ``pictures`` is the folder for all pictures as PNG, PDF and SVG; None writes none. Raises
    :class:`BadInput` if a file cannot be written.
    """
    program = Path(summary.program).name or "a program"
    nodes = summary.hosts[0] if len(summary.hosts) == 1 else amount(len(summary.hosts), "node")
    recommendation = [
        Text(text=sentence(summary), kind="verdict"),
        *(Text(text=line) for line in head(summary)),
    ]
    recommendation += [Text(text=note, kind="caution") for note in summary.notes]
    shown = [table for table in tables(summary, MOST_ROWS) if table.rows]
    parts: Sequence[page.Part] = shown or [Text(text="No collective was recorded.")]
    sections = [
        Section(anchor="verdict", title="What to tune first", parts=recommendation),
        Section(anchor="tables", title="Call sites", link="Tables", parts=parts),
    ]
    if drawn := drawn_rows(summary):
        sections.append(_arrivals(summary, drawn, samples, Album(pictures, path.absolute().parent)))
    sections.append(_about(trace, summary))
    page.write_page(
        path,
        page.page(
            f"How the ranks of {program} arrive",
            f"{amount(summary.processes, 'rank')} on {nodes} · {library_name(summary.library)}",
            sections,
            source=summary.directory,
            pictures=pictures,
        ),
    )


def _arrivals(
    summary: Summary, rows: Sequence[CallSiteStats], samples: Sequence[Arrivals], album: Album
) -> Section:
    explanation = Text(
        text="The call sites whose operation takes the most time. A delay is behind the first rank to arrive"
        " of the same call; the skew is the largest of them."
    )
    drawn = [
        _drawn(place, row, sample, summary, album)
        for place, (row, sample) in enumerate(zip(rows, samples, strict=True), 1)
    ]
    return Section(anchor="rows", title="How ranks arrive", link="Pictures", parts=[explanation, *drawn])


def _drawn(place: int, row: CallSiteStats, sample: Arrivals, summary: Summary, album: Album) -> Details:
    title, name = description_of(row), f"{place}-{file_stem_of(row)}"
    latest = straggler_text(row.latest_ranks) or "unknown"
    figures = [
        (
            delay_figure(summary, row, sample),
            "delay",
            f"Average delay of each rank, {title}; latest ranks: {latest}",
        ),
        (
            distribution_figure(summary, row),
            "distribution",
            f"Distribution of skew and d̂, {title}; the table has its quantiles",
        ),
    ]
    if len(sample.delays_s) > 1:
        course = f"Delays of single calls over the run, {title}; stability {stability_text(row)}"
        figures.append((course_figure(row, sample), "course", course))
    parts: list[page.Part] = [album.embed(figure, f"{name}-{kind}", alt) for figure, kind, alt in figures]
    if row.memberships == 1:
        parts.append(Text(text="As an arrival pattern for studies:", kind="muted"))
        parts.append(Code(text=_command(row, summary)))
    return Details(
        title=title,
        remark=f"mean skew {format_time(row.skew.mean_s)}, d̂ {format_time(row.last_delay.mean_s)},"
        f" stability {stability_text(row)}",
        parts=parts,
        is_open=place <= OPEN_ROWS,
        kind="cell",
    )


def _command(row: CallSiteStats, summary: Summary) -> str:
    """The command that extracts a pattern file from exactly this row."""
    argv = ["offbeat", "trace", "pattern", summary.directory, "--collective", row.function.lower()]
    argv += ["--site", row.site, "--communicator", row.communicator, "--size", f"{row.most_bytes} B"]
    return shlex.join([*argv, "--output", f"{file_stem_of(row)}.txt"])


def _about(trace: Trace, summary: Summary) -> Section:
    headers = trace.headers
    sources = sorted({header.source for header in headers})
    sampling = sorted({header.sampling for header in headers if header.sampling})
    size = sum(file.size_bytes for file in trace.files)
    clock = "the same clock" if summary.bound_s == 0 else f"error at most {format_time(summary.bound_s)}"
    recorded = "every collective" + (", every point-to-point call" if summary.has_messages else "")
    pairs = (
        ("program", summary.program),
        ("library", summary.library),
        ("ranks", f"{summary.processes}, {summary.traced} of them traced"),
        ("nodes", ", ".join(summary.hosts[:8]) + (", ..." if len(summary.hosts) > 8 else "")),
        ("records", f"{summary.records + summary.message_records} in {size / 1e6:.1f} MB"),
        ("recorded", "; ".join(sampling) or recorded),
        ("clocks", f"{', '.join(sources)}; times between ranks: {clock}"),
    )
    facts = Facts(facts=[Fact(name=name, value=value) for name, value in pairs])
    return Section(anchor="traced", title="How it was traced", link="How it was traced", parts=[facts])
