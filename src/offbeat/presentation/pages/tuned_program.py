"""The report of a tuned program as one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from offbeat.base.document.tables import Table
from offbeat.base.units import amount
from offbeat.libraries.installations.installation import Installation
from offbeat.presentation.drawing import page
from offbeat.presentation.drawing.page import Code, Lines, Part, Section, Text
from offbeat.presentation.drawing.picture_files import Album
from offbeat.presentation.pages.trace import delay_figure
from offbeat.presentation.pictures.prediction import prediction_figure
from offbeat.presentation.pictures.time_use import time_use_figure
from offbeat.trace.calls.call_site_stats import description_of
from offbeat.trace.summary import Summary
from offbeat.trace.summary_tables import library_name, tables
from offbeat.tuning.pipeline.deployment import deployments, moved_note
from offbeat.tuning.pipeline.stages import Outcome
from offbeat.tuning.pipeline.time_use import LEAST_SHARE, Help, helps, shown_uses, time_use
from offbeat.tuning.prediction.measured_configuration import Estimate
from offbeat.tuning.trial.wording import expectation_table, time_table

MOST_ROWS, MOST_DRAWN = 20, 6
"""Limits of rows in tables, and of calls whose arrivals are drawn."""


def write_report(outcome: Outcome, installation: Installation, path: Path) -> None:
    """Write the page. Raises :class:`BadInput` if the file cannot be written."""
    album = Album(None, path.absolute().parent)
    summary = outcome.summary
    sections = first_sections(outcome, installation, album)
    if outcome.gains:
        sections.append(
            Section(anchor="tried", title="What was tried", link="Tried", parts=_tried(outcome, album))
        )
    if outcome.arrivals:
        sections.append(
            Section(
                anchor="arrivals",
                title="How processes arrive",
                link="Arrivals",
                parts=_arrivals(outcome, album),
            )
        )
    sections.append(
        Section(
            anchor="more", title="What would help more than tuning", link="More", parts=_helps_more(outcome)
        )
    )
    page.write_page(
        path,
        page.page(
            f"Tuning {program_name(summary)}",
            f"{amount(summary.processes, 'rank')} · {library_name(summary.library)}",
            sections,
            source=str(path.parent),
            pictures=None,
        ),
    )


def first_sections(outcome: Outcome, installation: Installation, album: Album) -> list[Section]:
    """The verdict with the use of the tuning files, and where the time goes."""
    return [
        Section(anchor="verdict", title="Verdict", parts=_verdict(outcome, installation)),
        Section(anchor="time", title="Where the time goes", link="Time", parts=_time(outcome, album)),
    ]


def program_name(summary: Summary) -> str:
    """The name of the traced program without its folder."""
    return Path(summary.program).name or "a program"


def _verdict(outcome: Outcome, installation: Installation) -> list[Part]:
    parts: list[Part] = [Text(text=outcome.conclusion.sentence, kind="verdict")]
    parts += [Text(text=caution, kind="caution") for caution in outcome.cautions]
    if outcome.files is None:
        return parts
    parts.append(Text(text="Use the tuning files like this:"))
    for way in deployments(outcome.files, installation, outcome.summary.processes):
        parts += [Text(text=way.title), Code(text=way.text)]
    parts.append(Text(text=moved_note(outcome.files), kind="muted"))
    return [*parts, *(Text(text=note, kind="caution") for note in outcome.files.notes)]


def _time(outcome: Outcome, album: Album) -> list[Part]:
    selected, summary = outcome.selected, outcome.summary
    lines = [
        f"After the last arrival in blocking collectives, which another algorithm can change:"
        f" {selected.tunable_share:.1%} of the run time; {outcome.measured_share:.0%} of it was measured.",
        f"Waiting for late ranks, which no algorithm changes: {selected.waiting_share:.1%}.",
        *selected.notes,
    ]
    shown = [table for table in tables(summary, MOST_ROWS) if table.rows]
    by_site = [structs.replace(table, title="By call site") for table in shown[:1]]
    return [Lines(lines=lines), *_time_picture(summary, album), *by_site, *shown[1:]]


def _time_picture(summary: Summary, album: Album) -> list[Part]:
    use = time_use(summary)
    if use is None or not use.together.total:
        return []
    alt = "Share of the run time by collective: " + "; ".join(
        f"{one.name} {one.total:.1%}, of which {one.tunable:.1%} after the last arrival and {one.waited:.1%}"
        " waiting for late ranks"
        for one in shown_uses(use.collectives)
    )
    figure = time_use_figure(use, f"{program_name(summary)} on {amount(summary.processes, 'rank')}")
    return [album.embed(figure, "time", alt)]


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


def _arrivals(outcome: Outcome, album: Album) -> list[Part]:
    parts: list[Part] = []
    for place, sample in enumerate(outcome.arrivals[:MOST_DRAWN]):
        alt = f"Average delay of each rank, {description_of(sample.row)}"
        figure = delay_figure(outcome.summary, sample.row, sample)
        parts.append(album.embed(figure, f"arrivals-{place}", alt))
    return parts


def _helps_more(outcome: Outcome) -> list[Part]:
    """What would help, ranked, and tuning among it."""
    found = helps(outcome.summary)
    if not found:
        return [
            Text(
                text="Nothing else is found: ranks wait for late ones in less than"
                f" {LEAST_SHARE:.0%} of the run time at every call site, and no other change of the calls"
                " would save that much."
            )
        ]
    ranked = sorted([*found[:MOST_ROWS], _tuning(outcome)], key=lambda one: -one.share)
    notes = [
        "At most: the whole share is saved only if nothing of it remains; changes do not add up, because less"
        " waiting in one call can be waiting in the next."
    ]
    return [
        Table(
            title="",
            name="What would help more",
            headings=["what", "saves at most", "why"],
            rows=[[one.what, f"{one.share:.1%}", one.why] for one in ranked],
            texts=(0, 2),
            notes=notes,
        )
    ]


def _tuning(outcome: Outcome) -> Help:
    """Tuning among what helps: its measured gain, or at most the time that another algorithm can change."""
    what, conclusion = "tune the collectives, as above", outcome.conclusion
    if conclusion.choice:
        return Help(what=what, share=conclusion.gain, why="measured, as a share of the whole command")
    if outcome.unmeasured:
        share = sum(one.share for one in outcome.unmeasured)
        return Help(
            what=what, share=share, why=f"{len(outcome.unmeasured)} kinds of calls are not measured yet"
        )
    if outcome.gains:
        return Help(what=what, share=0.0, why="measured: no choice is significantly faster")
    why = "not measured: another algorithm can change the time after the last arrival in blocking collectives"
    return Help(what=what, share=outcome.selected.tunable_share, why=why)
