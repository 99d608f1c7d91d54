"""Pictures that compare ranks: phase space, correlation, principal components, idle waves."""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from offbeat.base.units import amount, format_time
from offbeat.presentation.drawing.axes import (
    framed_axes,
    legend_beside,
    time_axis,
    titled_figure,
    whole_numbers,
)
from offbeat.presentation.drawing.palette import LINES, MARKERS, MUTED
from offbeat.presentation.drawing.phase_space import phase_space_grid
from offbeat.presentation.drawing.terminal_bars import time_unit
from offbeat.programs.iterations.report import Report, Similarity
from offbeat.programs.iterations.similarity import Clusters

SNIPPET = 100
"""Iterations of a snippet."""

MOST_SNIPPETS, MOST_DOMAINS, MOST_WAVES = 4, 4, 6

_WIDTH = 9.0


def phase_space_figure(report: Report) -> Figure:
    """The phase space of the time in MPI of one rank of each domain: snippets, and the whole run."""
    table, domain = report.table, report.domains.of_rank
    mpi_s = table.mpi_s() / np.float32(table.iterations.each)
    scale_s, unit = time_unit(float(np.quantile(mpi_s, 0.999)))
    chosen = np.unique(np.linspace(0, report.domains.count - 1, MOST_DOMAINS).astype(int))
    rows = []
    for number in chosen.tolist():
        of_domain = np.flatnonzero(domain == number)
        place = int(of_domain[len(of_domain) // 2])
        rank = table.iterations.ranks[place]
        rows.append((f"rank {rank}, domain {number}\n[{unit}]", mpi_s[:, place].astype(np.float64) / scale_s))
    count = min(MOST_SNIPPETS, max(table.rows // SNIPPET, 1))
    ends = np.linspace(min(SNIPPET, table.rows), table.rows, count).astype(int).tolist()
    snippets = [(max(end - SNIPPET, 0), end) for end in ends]
    if snippets != [(0, table.rows)]:
        snippets.append((0, table.rows))
    left_out = report.domains.count - len(chosen)
    more = f"; {amount(left_out, 'further domain')} not shown" if left_out else ""
    return phase_space_grid(
        "Phase space of the time in MPI",
        f"across: in iteration i, upwards: in iteration i + 1; dark: early, bright: late{more}",
        rows,
        snippets,
        share_limits=True,
    )


def correlation_figure(similarity: Similarity, p: int) -> Figure:
    """The correlation coefficients of the times in MPI between ranks."""
    figure = titled_figure(
        5.6, 4.7, "Correlation of the times in MPI between ranks", "grey: the time of a rank never changes"
    )
    axes = framed_axes(figure, 0.75, 0.5, 1.05, 0.6)
    colours = colormaps["PuOr_r"].with_extremes(bad="#c4c9cf")
    image = axes.imshow(
        similarity.correlation,
        interpolation="nearest",
        aspect="auto",
        cmap=colours,
        vmin=-1,
        vmax=1,
        extent=(-0.5, p - 0.5, p - 0.5, -0.5),
    )
    bar = figure.colorbar(image, cax=figure.add_axes((1 - 0.9 / 5.6, 0.11, 0.025, 0.76)))
    bar.ax.tick_params(labelsize=8, colors=MUTED)
    bar.set_label("correlation coefficient", fontsize=8)
    label = "rank" if similarity.each == 1 else f"rank (means of {similarity.each})"
    axes.set_xlabel(label, fontsize=9)
    axes.set_ylabel(label, fontsize=9)
    for axis in (axes.xaxis, axes.yaxis):
        whole_numbers(axis, 8)
    return figure


def components_figure(report: Report) -> Figure:
    """The ranks by their first two principal components, in clusters, or in domains without clusters."""
    similarity = report.similarity
    assert similarity is not None and similarity.components is not None
    found, clusters = similarity.components, similarity.clusters
    domain = report.domains.of_rank
    groups = domain if clusters is None else clusters.of_rank
    text = "each point is a rank; z-scores of its times in MPI"
    if clusters is not None:
        text += f"; k-means: {amount(clusters.count, 'cluster')}, silhouette {clusters.silhouette:.2f}"
    if groups.max() >= len(MARKERS):
        text += "; colours and markers repeat"
    figure = titled_figure(_WIDTH, 4.2, "Principal components of the ranks", text)
    axes = framed_axes(figure, 0.75, 0.5, 2.1, 0.6)
    for number in range(int(groups.max()) + 1):
        is_named = number < len(MARKERS)
        axes.scatter(
            found.scores[groups == number, 0],
            found.scores[groups == number, 1],
            s=22 if len(domain) <= 256 else 9,
            color=LINES[number % len(LINES)],
            marker=MARKERS[number % len(MARKERS)],
            alpha=0.8,
            linewidths=0,
            label=_group_label(clusters, domain, number) if is_named else None,
        )
    if len(domain) <= 64:
        for rank, (x, y) in zip(report.table.iterations.ranks.tolist(), found.scores, strict=True):
            axes.annotate(str(rank), (x, y), (3, 3), textcoords="offset points", fontsize=7, color=MUTED)
    first, second = (
        f"component {number} ({share:.0%} of the variance)" for number, share in enumerate(found.explained, 1)
    )
    axes.set_xlabel(first, fontsize=9)
    axes.set_ylabel(second, fontsize=9)
    axes.margins(0.08)
    legend_beside(axes)
    return figure


def _group_label(clusters: Clusters | None, domain: np.ndarray, number: int) -> str:
    if clusters is None:
        return f"domain {number}"
    of_cluster = np.unique(domain[clusters.of_rank == number])
    listed = ", ".join(map(str, of_cluster[:4])) + (", ..." if len(of_cluster) > 4 else "")
    return f"cluster {number + 1}\n(domains {listed})"


def waves_figure(report: Report) -> Figure:
    """The largest idle waves: when each of them reaches which rank."""
    waves = report.waves[:MOST_WAVES]
    line = "the time after the delay at which ranks stop waiting for it; lines: the fitted speed"
    figure = titled_figure(_WIDTH, 3.4, "Idle waves", line)
    axes = framed_axes(figure, 0.85, 0.5, 3.1, 0.6)
    for number, wave in enumerate(waves):
        colour, marker = LINES[number % len(LINES)], MARKERS[number % len(MARKERS)]
        distances = np.arange(1, wave.ranks + 1)
        speed = f"{wave.speed:.4g} ranks/s" if np.isfinite(wave.speed) else "at once"
        way = f"direction {wave.direction:+d}"
        label = (
            f"{way} from rank {wave.rank}, iteration {wave.iteration}:\n{speed} ({format_time(wave.delay_s)})"
        )
        axes.plot(distances, wave.times_s, marker, color=colour, markersize=3.5, label=label)
        if np.isfinite(wave.speed):
            times_s = np.mean(wave.times_s) + (distances - distances.mean()) / wave.speed
            axes.plot(distances, times_s, color=colour, linewidth=0.9)
    axes.set_xlabel("ranks from the delayed one", fontsize=9)
    axes.set_ylabel("time after the delay", fontsize=9)
    whole_numbers(axes.xaxis, 9)
    time_axis(axes, "y")
    axes.grid(alpha=0.25)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.04), fontsize=7, frameon=False)
    return figure
