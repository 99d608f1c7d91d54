"""What a notebook shows of each object: parts of the reports, in one element with a style of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import polars as pl
from msgspec.structs import replace

from offbeat.base.document.tables import Fact, Table
from offbeat.base.terminal_table import limit_notes
from offbeat.base.units import counted, format_size, format_time
from offbeat.model.study.schema import SIMULATING
from offbeat.presentation.drawing.page import Code, Details, Facts, Lines, Part, ShownGrid, Text, fragment
from offbeat.presentation.selection.text import headline
from offbeat.presentation.study_report import facts, outcome
from offbeat.presentation.study_report.configurations import views
from offbeat.presentation.study_report.grids import grids
from offbeat.presentation.study_report.labels import DASH, joined, size_label, span
from offbeat.presentation.study_report.tuning_status import proof_table, rule_table
from offbeat.selection.choices import wording
from offbeat.selection.choices.delay_table import Configuration
from offbeat.selection.choices.restrictions import unfinished

if TYPE_CHECKING:
    from offbeat.api.results import Results
    from offbeat.api.selection import Selection
    from offbeat.api.trace import Trace
    from offbeat.api.tuned_program import TunedProgram
    from offbeat.api.tuning_files import TuningFiles, Verification
    from offbeat.model.study.study_file import LoadedStudy
    from offbeat.presentation.study_report.configurations import ConfigurationView

MOST_ROWS = 20
"""Rows of a table, and configurations with details; a frame has all."""


def study_html(loaded: LoadedStudy) -> str:
    """What a study asks for, and its text."""
    study = loaded.study
    simulates = study.engine in SIMULATING
    machine = f"{study.simulator.platform}, algorithms of {study.simulator.family}"
    shapes = [*study.patterns.shapes, *study.patterns.files, *study.patterns.replays]
    rows = [
        [
            ", ".join(one.names),
            ", ".join(map(format_size, one.sizes)) or DASH,
            ", ".join(one.algorithms),
        ]
        for one in study.collective
    ]
    rows += [
        ["partitioned_send", ", ".join(map(format_size, one.sizes)), ", ".join(one.approaches)]
        for one in study.partitioned
    ]
    processes = study.processes
    placed = f"{_numbers(processes.nodes)} nodes × {_numbers(processes.ppn)} processes"
    return fragment(
        [
            Text(text=f"Study {study.name}", kind="verdict"),
            Facts(
                facts=[
                    Fact(
                        name="simulated" if simulates else "measured with",
                        value=machine if simulates else f"MPI library: {study.mpi.prefix}",
                    ),
                    Fact(name="processes", value=_numbers(processes.p) if processes.p else placed),
                    Fact(name="arrival patterns", value=", ".join(shapes)),
                ]
            ),
            Table(
                title="",
                name="What is measured",
                headings=["operation", "message sizes", "algorithms"],
                rows=rows,
                texts=(0, 1, 2),
            ),
            Details(title="study.toml", parts=[Code(text=loaded.text)]),
        ]
    )


def _numbers(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))


def results_html(results: Results) -> str:
    """How far the study is, what was measured, and what limits the reliability of the numbers."""
    study = unfinished(results)
    done = study.sentence if study else f"All {counted(results.cases.height, 'case')} are done."
    cases = results.cases.group_by("collective", "p", "bytes", maintain_order=True).agg(
        pl.len().alias("cases"),
        pl.col("algorithm").n_unique(),
        pl.col("pattern").n_unique(),
        pl.col("last_delay_s").min().alias("low"),
        pl.col("last_delay_s").max().alias("high"),
    )
    rows = [
        [
            row["collective"],
            str(row["p"]),
            DASH if row["collective"] == "barrier" else format_size(row["bytes"]),
            str(row["algorithm"]),
            str(row["pattern"]),
            str(row["cases"]),
            DASH if row["low"] is None else span(format_time(row["low"]), format_time(row["high"])),
        ]
        for row in cases.iter_rows(named=True)
    ]
    title = joined(str(results.study.get("name") or results.directory.name), facts.libraries(results))
    headings = ["collective", "p", "message size", "algorithms", "patterns", "cases", "last delays"]
    return fragment(
        [
            Text(text=title, kind="verdict"),
            Text(text=f"{done} Directory: {results.directory}", kind="muted"),
            _shortened(Table(title="", name="What was measured", headings=headings, rows=rows)),
            *_cautions(results.warnings),
        ]
    )


def selection_html(selection: Selection) -> str:
    """The outcome in a sentence, the choices, and the measured delays of each configuration."""
    results = selection.results
    all_views = views(results.cases, selection)
    chosen = [view for view in all_views if view.choice is not None]
    parts: list[Part] = [
        Text(text=outcome.verdict(chosen, all_views), kind="verdict"),
        Text(text=headline(selection), kind="muted"),
    ]
    if chosen:
        parts.append(_shortened(_choices(chosen, wording.share_label(selection.terms.within))))
    parts += [
        Details(
            title=view.title,
            remark=view.left_out,
            parts=[ShownGrid(grid=grid) for grid in grids(view, selection.terms.within)],
        )
        for view in all_views[:MOST_ROWS]
    ]
    return fragment([*parts, *_cautions(results.warnings), *_notes(selection.notes)])


def _choices(chosen: Sequence[ConfigurationView], within: str) -> Table:
    rows = []
    for view in chosen:
        choice = view.choice
        assert choice is not None
        certainty = None if choice.not_measured else choice.certainty
        same = wording.confidence(certainty.same_choice if certainty else None)
        rows.append(
            [
                joined(view.configuration.collective, view.operation),
                str(view.configuration.p),
                _placement(view.configuration),
                size_label(view.configuration) or DASH,
                choice.algorithm,
                "partial" if choice.not_measured else same,
                wording.confidence(certainty.within_tolerance if certainty else None),
                choice.no_delay_winner or DASH,
                wording.typeset(wording.cost(choice.cost_of_no_delay_winner)),
                wording.typeset(wording.cost(choice.cost_of_default)),
            ]
        )
    return Table(
        title="",
        name="Selection",
        headings=[
            "collective",
            "p",
            "nodes × ppn",
            "message size",
            "selected",
            "same choice",
            f"within {within}",
            "no-delay winner",
            "slowdown of the no-delay winner",
            "slowdown of the library default",
        ],
        rows=rows,
        texts=(0, 4, 7),
    )


def _placement(configuration: Configuration) -> str:
    known = configuration.nodes and configuration.ppn
    return f"{configuration.nodes}×{configuration.ppn}" if known else DASH


def files_html(files: TuningFiles) -> str:
    """What the files hold, and how they are used."""
    return fragment(
        [
            Text(text=f"{files.sentence}.", kind="verdict"),
            Text(text="Use them with one of"),
            Code(text="\n".join(files.usage)),
            _shortened(rule_table(files.manifest.tuning.rules)),
            *([Text(text=files.extent, kind="muted")] if files.extent else []),
            *_cautions(files.warnings),
            *_notes(files.notes),
        ]
    )


def verification_html(done: Verification) -> str:
    """The outcome, and the proof of each rule."""
    first, *others = done.sentences
    return fragment(
        [
            Text(text=first, kind="verdict"),
            *_cautions([done.why_not] if done.why_not else []),
            *_notes(others),
            _shortened(proof_table(done.proofs.proofs)),
        ]
    )


def trace_html(trace: Trace) -> str:
    """What to tune first, and where the time goes."""
    from offbeat.trace.summary import head, tables

    summary = trace.summary
    shown = [table for table in tables(summary, MOST_ROWS) if table.rows]
    return fragment(
        [
            Text(text=trace.sentence, kind="verdict"),
            Lines(lines=head(summary)),
            *(Details(title=table.title, parts=[replace(table, title="")]) for table in shown),
            *_notes(summary.notes),
        ]
    )


def tuned_html(tuned: TunedProgram) -> str:
    """The first sections of the report: the verdict with the use of the files, and where the time goes."""
    from offbeat.presentation.drawing.pictures import Album
    from offbeat.presentation.pages.tuned_program import first_sections

    parts: list[Part] = []
    for section in first_sections(tuned.outcome, tuned.requested.installation, Album(None, tuned.directory)):
        is_first = not parts
        parts += section.parts if is_first else [Details(title=section.title, parts=section.parts)]
    return fragment([*parts, Text(text=f"The report: {tuned.report}", kind="muted")])


def _shortened(table: Table) -> Table:
    """The first rows of a table, with a note on the others."""
    left = len(table.rows) - MOST_ROWS
    if left <= 0:
        return table
    note = f"{counted(left, 'further row')}: table() has all"
    return replace(table, rows=table.rows[:MOST_ROWS], notes=[*table.notes, note])


def _cautions(sentences: Iterable[str]) -> list[Part]:
    return [Text(text=sentence, kind="caution") for sentence in sentences]


def _notes(sentences: Iterable[str]) -> list[Part]:
    shown, _ = limit_notes(sentences, everything=True)
    return [Lines(lines=shown, kind="remarks")] if shown else []
