"""The report of a tuned program as one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import structs

from offbeat.drawing import page
from offbeat.drawing.page import Code, Lines, Part, Section, Text
from offbeat.drawing.pictures import Album
from offbeat.drawing.tables import Table
from offbeat.mpi.installation import Installation
from offbeat.predict.draw import prediction_figure
from offbeat.predict.measured_configuration import Estimate
from offbeat.program_tuning.deployment import deployments, moved_note
from offbeat.program_tuning.stages import Outcome
from offbeat.trace.arrivals import samples
from offbeat.trace.call_site_stats import CallSiteStats, description_of
from offbeat.trace.page import delay_figure
from offbeat.trace.summary import library_name, straggler_text, tables
from offbeat.trial.wording import expectation_table, time_table
from offbeat.units import counted, format_time

MOST_ROWS, MOST_DRAWN = 20, 6
"""Limits of rows in tables, and of calls whose arrivals are drawn."""

LEAST_WAITING = 0.01
"""The share of the run time from which on waiting for late ranks is listed."""


def write_report(outcome: Outcome, installation: Installation, path: Path) -> None:
    """Write the page. Raises :class:`BadInput` if the file cannot be written."""
    album = Album(None, path.absolute().parent)
    summary = outcome.summary
    sections = first_sections(outcome, installation)
    if outcome.gains:
        sections.append(
            Section(anchor="tried", title="What was tried", link="Tried", parts=_tried(outcome, album))
        )
    if drawn := [one.row for one in outcome.selected.calls if one.row is not None][:MOST_DRAWN]:
        sections.append(
            Section(
                anchor="arrivals",
                title="How processes arrive",
                link="Arrivals",
                parts=_arrivals(outcome, drawn, album),
            )
        )
    sections.append(
        Section(anchor="more", title="What would help more", link="More", parts=_helps_more(outcome))
    )
    program = Path(summary.program).name or "a program"
    page.write_page(
        path,
        page.page(
            f"Tuning {program}",
            f"{counted(summary.processes, 'rank')} · {library_name(summary.library)}",
            sections,
            source=str(path.parent),
            pictures=None,
        ),
    )


def first_sections(outcome: Outcome, installation: Installation) -> list[Section]:
    """The verdict with the use of the tuning files, and where the time goes."""
    return [
        Section(anchor="verdict", title="Verdict", parts=_verdict(outcome, installation)),
        Section(anchor="time", title="Where the time goes", link="Time", parts=_time(outcome)),
    ]


def _verdict(outcome: Outcome, installation: Installation) -> list[Part]:
    parts: list[Part] = [Text(text=outcome.conclusion.sentence, kind="verdict")]
    if outcome.files is None:
        return parts
    parts.append(Text(text="Use the tuning files like this:"))
    for way in deployments(outcome.files, installation, outcome.summary.processes):
        parts += [Text(text=way.title), Code(text=way.text)]
    parts.append(Text(text=moved_note(outcome.files), kind="muted"))
    return [*parts, *(Text(text=note, kind="caution") for note in outcome.files.notes)]


def _time(outcome: Outcome) -> list[Part]:
    selected = outcome.selected
    lines = [
        f"After the last arrival in blocking collectives, which another algorithm can change:"
        f" {selected.tunable_share:.1%} of the run time; {selected.covered:.0%} of it was measured.",
        f"Waiting for late ranks, which no algorithm changes: {selected.waiting_share:.1%}.",
        *selected.notes,
    ]
    shown = [table for table in tables(outcome.summary, MOST_ROWS) if table.rows]
    return [Lines(lines=lines), *shown]


def _tried(outcome: Outcome, album: Album) -> list[Part]:
    parts: list[Part] = [_gain_table(outcome)]
    if outcome.times_s:
        table = time_table(outcome.times_s, {})
        parts.append(structs.replace(table, title="The program with each choice, in turn"))
    if outcome.expected is not None and outcome.times_s:
        expected = expectation_table(outcome.expected, outcome.times_s)
        parts.append(structs.replace(expected, title="Expected and measured"))
        actual = {name: Estimate.of_runs(times_s) for name, times_s in outcome.times_s.items()}
        figure = prediction_figure(outcome.expected, actual)
        parts.append(album.embed(figure, "expected", "Expected and measured run time of each choice"))
        parts.append(
            Text(
                text="Measured times are of the whole command, including its start; expected times are from"
                " MPI_Init to the end.",
                kind="muted",
            )
        )
    return parts


def _gain_table(outcome: Outcome) -> Table:
    rows = []
    for one in outcome.gains:
        change = one.change
        interval = f"{change.low_s:+.1%} to {change.high_s:+.1%}" if change is not None else "–"
        rows.append(
            [
                one.name,
                one.algorithm,
                f"{one.share:+.1%}" if change is not None else "–",
                interval,
                "tried" if one.is_used else "left to the library",
            ]
        )
    return Table(
        title="The best algorithm for each kind of call",
        headings=["calls", "best algorithm", "expected change after MPI_Init", "95% interval", ""],
        rows=rows,
        texts=(0, 1, 4),
        notes=[
            "Measured with every algorithm under the program's own arrivals. Tried is what is expected to be"
            " faster than the library's own decision with 95% confidence."
        ],
    )


def _arrivals(outcome: Outcome, rows: Sequence[CallSiteStats], album: Album) -> list[Part]:
    parts: list[Part] = []
    for place, (row, sample) in enumerate(zip(rows, samples(outcome.trace, rows), strict=True)):
        alt = f"Average delay of each rank, {description_of(row)}"
        parts.append(album.embed(delay_figure(outcome.summary, row, sample), f"arrivals-{place}", alt))
    return parts


def _helps_more(outcome: Outcome) -> list[Part]:
    """The waiting for late ranks by call site, the longest first."""
    run_s = outcome.summary.thread_run_s
    waiting = sorted(outcome.summary.group_rows, key=lambda row: -row.waited_s)
    lines = [
        f"{description_of(row)}: ranks wait {row.waited_s / run_s:.1%} of the run time for late ones"
        f" (mean skew {format_time(row.skew.mean_s)}; latest ranks:"
        f" {straggler_text(row.latest_ranks) or 'unknown'})"
        for row in waiting
        if run_s > 0 and row.waited_s >= LEAST_WAITING * run_s
    ]
    if not lines:
        return [Text(text="No call site makes ranks wait for 1% of the run time or more.")]
    return [
        Text(text="Balancing the work of the processes would save up to these shares of the run time:"),
        Lines(lines=lines),
    ]
