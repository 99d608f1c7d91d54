"""The report of a program's iterations as one self-contained HTML file with pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from offbeat.base.units import amount
from offbeat.presentation.drawing import page
from offbeat.presentation.drawing.page import Section, Text
from offbeat.presentation.drawing.picture_files import Album
from offbeat.presentation.pictures.iterations import (
    collectives_figure,
    histogram_figure,
    map_figure,
    performance_figure,
    timeline_figure,
    waiting_figure,
)
from offbeat.presentation.pictures.iterations_by_rank import (
    components_figure,
    correlation_figure,
    phase_space_figure,
    waves_figure,
)
from offbeat.programs.iterations.report import Report
from offbeat.programs.iterations.summary import head, sentences, tables


def write_page(report: Report, path: Path, pictures: Path | None) -> None:
    """Write the page. ``pictures`` is the folder for all pictures as PNG, PDF and SVG; None writes none.

    Raises :class:`BadInput` if a file cannot be written.
    """
    album = Album(pictures, path.absolute().parent)
    lines = sentences(report)
    verdict = [Text(text=lines[0], kind="verdict")] if lines else []
    parts: list[page.Part] = [*verdict, *(Text(text=line) for line in [*lines[1:], *head(report)])]
    parts += [Text(text=note, kind="caution") for note in report.notes]
    sections = [
        Section(anchor="verdict", title="Against lockstep", parts=parts),
        Section(anchor="tables", title="Numbers", link="Numbers", parts=tables(report) or [_NOTHING]),
    ]
    if report.table.collectives:
        alt = "Natural cost and waiting of the collectives with the most time"
        drawn = album.embed(collectives_figure(report), "collectives", alt)
        sections.append(Section(anchor="collectives", title="Collectives", link="Collectives", parts=[drawn]))
    if report.performance is not None:
        sections += _with_pictures(report, album)
    count = amount(report.table.iterations.count, "iteration")
    page.write_page(
        path,
        page.page(
            f"How the iterations of {report.program} run",
            f"{amount(report.trace.size, 'rank')} · {count}",
            sections,
            source=str(report.trace.directory),
            pictures=pictures,
        ),
    )


_NOTHING = Text(text="There is nothing to show: no iterations, and no collectives.")


def _with_pictures(report: Report, album: Album) -> list[Section]:
    return [
        Section(
            anchor="performance",
            title="Performance and skew",
            link="Performance",
            parts=[album.embed(performance_figure(report), "performance", _PERFORMANCE)],
        ),
        Section(anchor="timelines", title="Timelines", link="Timelines", parts=_timelines(report, album)),
        Section(anchor="maps", title="Over ranks and iterations", link="Maps", parts=_maps(report, album)),
        Section(
            anchor="phase-space", title="Phase space", link="Phase space", parts=_phase_space(report, album)
        ),
        Section(anchor="alike", title="Which ranks behave alike", link="Ranks", parts=_alike(report, album)),
        Section(anchor="waves", title="Idle waves", link="Idle waves", parts=_waves(report, album)),
    ]


_PERFORMANCE = "Iterations per second by iteration and by rank, measured and in lockstep; skew by iteration"


def _timelines(report: Report, album: Album) -> list[page.Part]:
    explained = (
        "Ranks in step begin their iterations one below the other. If communication is hidden, some ranks"
        " compute while others communicate."
    )
    parts: list[page.Part] = [Text(text=explained, kind="muted")]
    for number, timeline in enumerate(report.table.timelines, 1):
        first = timeline.first_row * report.table.iterations.each + 1
        alt = f"Timeline of the calls of {amount(len(timeline.ranks), 'rank')} from iteration {first} on"
        parts.append(album.embed(timeline_figure(report, timeline), f"timeline-{number}", alt))
    return parts


def _maps(report: Report, album: Album) -> list[page.Part]:
    return [
        album.embed(map_figure(report), "mpi-map", "Map of the time in MPI by iteration and rank"),
        album.embed(waiting_figure(report), "waiting-map", "Map of waiting by iteration and rank"),
        album.embed(histogram_figure(report), "histogram", "Distribution of the time in MPI by domain"),
    ]


def _phase_space(report: Report, album: Album) -> list[page.Part]:
    if report.table.rows < 3:
        return [Text(text="Phase space needs three iterations.")]
    explained = (
        "A cloud near the diagonal is a time in MPI that persists from one iteration to the next: ranks stay"
        " as far apart as they are. Points near an axis are waiting that is gone in the next iteration. A"
        " program that falls out of step leaves the corner of small times."
    )
    alt = "Phase space of the time in MPI of one rank of each domain, in snippets and of the whole run"
    return [
        Text(text=explained, kind="muted"),
        album.embed(phase_space_figure(report), "phase-space", alt),
    ]


def _alike(report: Report, album: Album) -> list[page.Part]:
    similarity = report.similarity
    assert similarity is not None
    if report.table.p < 2 or not np.isfinite(similarity.correlation).any():
        return [Text(text="There is only one rank, or no time in MPI that changes.")]
    correlated = correlation_figure(similarity, report.table.p)
    parts: list[page.Part] = [
        album.embed(correlated, "correlation", "Correlation of the times in MPI between ranks")
    ]
    if similarity.components is not None:
        alt = "Ranks by their first two principal components, with clusters"
        parts.append(album.embed(components_figure(report), "components", alt))
    clusters = similarity.clusters
    if clusters is not None:
        parts.append(
            Text(
                text=f"{amount(clusters.count, 'cluster')} by k-means: silhouette {clusters.silhouette:.2f}"
                f" (1: well separated, 0: not at all); {clusters.agreement:.0%} of the pairs of ranks are"
                " divided as by memory domains."
            )
        )
    elif similarity.components is not None:
        parts.append(Text(text="There is one memory domain, or one rank in each: no clusters.", kind="muted"))
    return parts


def _waves(report: Report, album: Album) -> list[page.Part]:
    if not report.waves:
        text = "No delay was found that propagates through four ranks or more."
        if report.table.iterations.each > 1:
            text = "Idle waves cannot be followed, because a row of the table is several iterations."
        return [Text(text=text)]
    alt = "Time at which the largest idle waves reach ranks, with their speed"
    return [album.embed(waves_figure(report), "idle-waves", alt)]
