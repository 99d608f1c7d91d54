"""The report of a trace: one HTML file that opens without a network, and its pictures as files.

Every text that comes from the trace is escaped by the template engine.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

import offbeat
from offbeat.report.pictures import Album, EmbeddedFigure
from offbeat.report.standalone_page import environment, style
from offbeat.trace.advice import sentence
from offbeat.trace.choice import with_arrivals
from offbeat.trace.draw import course_figure, delay_figure, distribution_figure
from offbeat.trace.read import Trace
from offbeat.trace.row_words import described, short_name
from offbeat.trace.rows import Row
from offbeat.trace.sampled import Sample
from offbeat.trace.summary import Summary
from offbeat.trace.tables import head, late_words, library_words, stability_words, tables
from offbeat.units import counted, format_time
from offbeat.whole_file import refused, write_whole_file

MOST_DRAWN, MOST_ROWS, OPEN_ROWS = 6, 50, 3
"""Rows that have pictures, that stand in the tables, and whose pictures are open when the page opens."""


class Fact(Struct, frozen=True, kw_only=True):
    """A line of the table on how it was traced."""

    name: str
    value: str


class DrawnRow(Struct, frozen=True, kw_only=True):
    """A row with its pictures, and the command that makes a pattern of it."""

    title: str
    remark: str
    pictures: list[EmbeddedFigure]
    pattern: str


def drawn_rows(summary: Summary) -> list[Row]:
    """The rows that have pictures: those whose operation takes the most time."""
    return sorted(with_arrivals(summary.families), key=lambda row: -row.operation_s)[:MOST_DRAWN]


def write_page(
    trace: Trace, summary: Summary, samples: Sequence[Sample], path: Path, pictures: Path | None
) -> None:
    """Write the page; ``samples`` are of :func:`drawn_rows`.

    ``pictures`` is the folder for every picture as PNG, PDF and SVG; None writes none. Raises
    :class:`BadInput` when a file cannot be written.
    """
    page = _page(trace, summary, samples, Album(pictures, path.absolute().parent))
    try:
        write_whole_file(path, page.encode())
    except OSError as error:
        raise refused(path, error, "the report") from error


def _page(trace: Trace, summary: Summary, samples: Sequence[Sample], album: Album) -> str:
    program = Path(summary.program).name or "a program"
    nodes = summary.hosts[0] if len(summary.hosts) == 1 else counted(len(summary.hosts), "node")
    rows = drawn_rows(summary)
    content = {
        "version": offbeat.__version__,
        "title": f"How the ranks of {program} arrive",
        "subtitle": f"{counted(summary.processes, 'rank')} on {nodes} · {library_words(summary.library)}",
        "style": style(),
        "advice": sentence(summary),
        "head": head(summary),
        "notes": summary.words,
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


def _drawn(place: int, row: Row, sample: Sample, summary: Summary, album: Album) -> DrawnRow:
    title, name = described(row), f"{place}-{short_name(row)}"
    latest = late_words(row.latest_ranks) or "unknown"
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
        course = f"Delays of single calls over the run, {title}; stability {stability_words(row)}"
        figures.append((course_figure(row, sample), "course", course))
    return DrawnRow(
        title=title,
        remark=f"mean skew {format_time(row.skew.mean_s)}, d̂ {format_time(row.last_delay.mean_s)},"
        f" stability {stability_words(row)}",
        pictures=[album.embed(figure, f"{name}-{kind}", alt) for figure, kind, alt in figures],
        pattern=_command(row, summary) if row.memberships == 1 else "",
    )


def _command(row: Row, summary: Summary) -> str:
    """The command that makes a pattern file of exactly this row."""
    words = ["offbeat", "trace", "pattern", summary.directory, "--collective", row.function.lower()]
    words += ["--site", row.site, "--communicator", row.communicator, "--size", f"{row.most_bytes} B"]
    return shlex.join([*words, "--output", f"{short_name(row)}.txt"])


def _about(trace: Trace, summary: Summary) -> list[Fact]:
    headers = trace.headers
    sources = sorted({header.source for header in headers})
    wishes = sorted({header.sampling for header in headers if header.sampling})
    size = sum(file.size_bytes for file in trace.files)
    clock = "one clock" if summary.bound_s == 0 else f"right to {format_time(summary.bound_s)}"
    pairs = (
        ("program", summary.program),
        ("library", summary.library),
        ("ranks", f"{summary.processes}, {summary.traced} of them traced"),
        ("nodes", ", ".join(summary.hosts[:8]) + (", ..." if len(summary.hosts) > 8 else "")),
        ("records", f"{summary.records} in {size / 1e6:.1f} MB"),
        ("recorded", "; ".join(wishes) or "every collective"),
        ("clocks", f"{', '.join(sources)}; times between ranks: {clock}"),
    )
    return [Fact(name=name, value=value) for name, value in pairs]
