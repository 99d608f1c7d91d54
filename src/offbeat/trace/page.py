"""The report of a trace: one self-contained HTML file, and its pictures as files.

Every text that comes from the trace is escaped by the template engine.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

import offbeat
from offbeat.atomic_write import write_atomically, write_error
from offbeat.report.pictures import Album, EmbeddedFigure
from offbeat.report.standalone_page import environment, style
from offbeat.trace.arrivals import Sample
from offbeat.trace.call_site_stats import CallSiteStats, description_of, file_stem_of
from offbeat.trace.draw import course_figure, delay_figure, distribution_figure
from offbeat.trace.read import Trace
from offbeat.trace.recommendation import sentence, with_arrivals
from offbeat.trace.summary import Summary
from offbeat.trace.tables import head, library_name, stability_text, straggler_text, tables
from offbeat.units import counted, format_time

MOST_DRAWN, MOST_ROWS, OPEN_ROWS = 6, 50, 3
"""Limits of rows with pictures, of rows in tables, and of rows with expanded pictures."""


class InfoLine(Struct, frozen=True, kw_only=True):
    """A line of the table on the trace."""

    name: str
    value: str


class DrawnRow(Struct, frozen=True, kw_only=True):
    """A row with its pictures, and the command that extracts a pattern from it."""

    title: str
    remark: str
    pictures: list[EmbeddedFigure]
    pattern: str


def drawn_rows(summary: Summary) -> list[CallSiteStats]:
    """The rows with pictures: those with the most operation time."""
    return sorted(with_arrivals(summary.group_rows), key=lambda row: -row.operation_s)[:MOST_DRAWN]


def write_page(
    trace: Trace, summary: Summary, samples: Sequence[Sample], path: Path, pictures: Path | None
) -> None:
    """Write the page; ``samples`` are of :func:`drawn_rows`.

    ``pictures`` is the folder for all pictures as PNG, PDF and SVG; None writes none. Raises
    :class:`BadInput` if a file cannot be written.
    """
    page = _page(trace, summary, samples, Album(pictures, path.absolute().parent))
    try:
        write_atomically(path, page.encode())
    except OSError as error:
        raise write_error(path, error, "the report") from error


def _page(trace: Trace, summary: Summary, samples: Sequence[Sample], album: Album) -> str:
    program = Path(summary.program).name or "a program"
    nodes = summary.hosts[0] if len(summary.hosts) == 1 else counted(len(summary.hosts), "node")
    rows = drawn_rows(summary)
    content = {
        "version": offbeat.__version__,
        "title": f"How the ranks of {program} arrive",
        "subtitle": f"{counted(summary.processes, 'rank')} on {nodes} · {library_name(summary.library)}",
        "style": style(),
        "advice": sentence(summary),
        "head": head(summary),
        "notes": summary.notes,
        "tables": [table for table in tables(summary, MOST_ROWS) if table.rows],
        "rows": [
            _drawn(place, row, sample, summary, album)
            for place, (row, sample) in enumerate(zip(rows, samples, strict=True), 1)
        ],
        "open_rows": OPEN_ROWS,
        "about": _about(trace, summary),
        "directory": summary.directory,
        "pictures_directory": album.directory,
    }
    return environment("offbeat.trace").get_template("trace.html.j2").render(content)


def _drawn(place: int, row: CallSiteStats, sample: Sample, summary: Summary, album: Album) -> DrawnRow:
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
    return DrawnRow(
        title=title,
        remark=f"mean skew {format_time(row.skew.mean_s)}, d̂ {format_time(row.last_delay.mean_s)},"
        f" stability {stability_text(row)}",
        pictures=[album.embed(figure, f"{name}-{kind}", alt) for figure, kind, alt in figures],
        pattern=_command(row, summary) if row.memberships == 1 else "",
    )


def _command(row: CallSiteStats, summary: Summary) -> str:
    """The command that extracts a pattern file from exactly this row."""
    argv = ["offbeat", "trace", "pattern", summary.directory, "--collective", row.function.lower()]
    argv += ["--site", row.site, "--communicator", row.communicator, "--size", f"{row.most_bytes} B"]
    return shlex.join([*argv, "--output", f"{file_stem_of(row)}.txt"])


def _about(trace: Trace, summary: Summary) -> list[InfoLine]:
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
    return [InfoLine(name=name, value=value) for name, value in pairs]
