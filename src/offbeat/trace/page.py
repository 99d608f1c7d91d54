"""The report of a trace: one self-contained HTML file, and its pictures as files."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from offbeat.drawing import page
from offbeat.drawing.page import Code, Details, Facts, Section, Text
from offbeat.drawing.pictures import Album
from offbeat.drawing.tables import Fact
from offbeat.trace.arrivals import Arrivals
from offbeat.trace.call_site_stats import CallSiteStats, description_of, file_stem_of
from offbeat.trace.draw import course_figure, delay_figure, distribution_figure
from offbeat.trace.read import Trace
from offbeat.trace.recommendation import sentence, with_arrivals
from offbeat.trace.summary import Summary
from offbeat.trace.tables import head, library_name, stability_text, straggler_text, tables
from offbeat.units import counted, format_time

MOST_DRAWN, MOST_ROWS, OPEN_ROWS = 6, 50, 3
"""Limits of rows with pictures, of rows in tables, and of rows with expanded pictures."""


def drawn_rows(summary: Summary) -> list[CallSiteStats]:
    """The rows with pictures: those with the most operation time."""
    return sorted(with_arrivals(summary.group_rows), key=lambda row: -row.operation_s)[:MOST_DRAWN]


def write_page(
    trace: Trace, summary: Summary, samples: Sequence[Arrivals], path: Path, pictures: Path | None
) -> None:
    """Write the page; ``samples`` are of :func:`drawn_rows`.

    ``pictures`` is the folder for all pictures as PNG, PDF and SVG; None writes none. Raises
    :class:`BadInput` if a file cannot be written.
    """
    program = Path(summary.program).name or "a program"
    nodes = summary.hosts[0] if len(summary.hosts) == 1 else counted(len(summary.hosts), "node")
    sections = [_recommendation(summary), _tables(summary)]
    if drawn := drawn_rows(summary):
        sections.append(_arrivals(summary, drawn, samples, Album(pictures, path.absolute().parent)))
    sections.append(_about(trace, summary))
    page.write_page(
        path,
        page.page(
            f"How the ranks of {program} arrive",
            f"{counted(summary.processes, 'rank')} on {nodes} · {library_name(summary.library)}",
            sections,
            source=summary.directory,
            pictures=pictures,
        ),
    )


def _recommendation(summary: Summary) -> Section:
    lines = [Text(text=line) for line in head(summary)]
    notes = [Text(text=note, kind="caution") for note in summary.notes]
    first = Text(text=sentence(summary), kind="verdict")
    return Section(anchor="verdict", title="What to tune first", parts=[first, *lines, *notes])


def _tables(summary: Summary) -> Section:
    shown = [table for table in tables(summary, MOST_ROWS) if table.rows]
    parts: Sequence[page.Part] = shown or [Text(text="No collective was recorded.")]
    return Section(anchor="tables", title="Call sites", link="Tables", parts=parts)


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
    pairs = (
        ("program", summary.program),
        ("library", summary.library),
        ("ranks", f"{summary.processes}, {summary.traced} of them traced"),
        ("nodes", ", ".join(summary.hosts[:8]) + (", ..." if len(summary.hosts) > 8 else "")),
        ("records", f"{summary.records} in {size / 1e6:.1f} MB"),
        ("recorded", "; ".join(sampling) or "every collective"),
        ("clocks", f"{', '.join(sources)}; times between ranks: {clock}"),
    )
    facts = Facts(facts=[Fact(name=name, value=value) for name, value in pairs])
    return Section(anchor="traced", title="How it was traced", link="How it was traced", parts=[facts])
