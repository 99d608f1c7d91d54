"""What a notebook shows of a study, results, a selection, tuning files, a trace and a tuned program.

Each function returns parts of the reports as HTML, in one element with a style of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import polars as pl
from msgspec.structs import replace

from offbeat.base.document.tables import Fact, Table
from offbeat.base.terminal_table import limit_notes
from offbeat.base.units import amount, format_size, format_time
from offbeat.model.study.schema import SIMULATING
from offbeat.presentation.drawing.page import Code, Details, Facts, Lines, Part, ShownGrid, Text, fragment
from offbeat.presentation.selection.text import headline
from offbeat.presentation.study_report import facts
from offbeat.presentation.study_report import outcome as study_outcome
from offbeat.presentation.study_report.configurations import views
from offbeat.presentation.study_report.grids import grids
from offbeat.presentation.study_report.labels import DASH, joined, size_label, span
from offbeat.presentation.study_report.tuning_status import proof_table, rule_table
from offbeat.selection.choices import wording
from offbeat.selection.choices.delay_table import Configuration
from offbeat.selection.choices.reliability import reliability
from offbeat.selection.choices.restrictions import study_progress

if TYPE_CHECKING:
    from pathlib import Path

    from offbeat.libraries.installations.installation import Installation
    from offbeat.measurement.results.read import Results
    from offbeat.model.study.study_file import LoadedStudy
    from offbeat.presentation.study_report.configurations import ConfigurationView
    from offbeat.selection.choices.choose import Selection
    from offbeat.selection.tuning_files.manifest import Manifest
    from offbeat.selection.verification.verification import Verification
    from offbeat.trace.summary import Summary
    from offbeat.tuning.pipeline.stages import Outcome

MOST_ROWS = 20
"""Rows of a table, and configurations with details; a frame has all."""


def study_html(loaded: LoadedStudy) -> str:
    """Returns what a study asks for, and its text."""
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
    """Returns how far the study is, what was measured, and what limits the reliability of the numbers."""
    study = study_progress(results)
    done = study.sentence if study else f"All {amount(results.cases.height, 'case')} are done."
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
            *_cautions(_warnings(results)),
        ]
    )


def _warnings(results: Results) -> list[str]:
    return [notice.sentence for notice in reliability(results)]


def selection_html(selection: Selection, results: Results) -> str:
    """Returns the outcome in a sentence, the choices, and the measured delays of each configuration."""
    all_views = views(results.cases, selection)
    chosen = [view for view in all_views if view.choice is not None]
    parts: list[Part] = [
        Text(text=study_outcome.verdict(chosen, all_views), kind="verdict"),
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
    return fragment([*parts, *_cautions(_warnings(results)), *_notes(selection.notes)])


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


def files_html(manifest: Manifest, *, extent: str, warnings: Sequence[str], notes: Sequence[str]) -> str:
    """Returns what tuning files hold, and how they are used.

    ``extent`` says which sizes the rules cover, ``warnings`` what limits the numbers behind the files.
    """
    return fragment(
        [
            Text(text=f"{manifest.sentence}.", kind="verdict"),
            Text(text="Use them with one of"),
            Code(text="\n".join(manifest.tuning.usage)),
            _shortened(rule_table(manifest.tuning.rules)),
            *([Text(text=extent, kind="muted")] if extent else []),
            *_cautions(warnings),
            *_notes(notes),
        ]
    )


def verification_html(verification: Verification) -> str:
    """Returns the outcome of verifying tuning files, and the proof of each rule."""
    outcome_sentence, *details = verification.sentences
    return fragment(
        [
            Text(text=outcome_sentence, kind="verdict"),
            *_cautions([verification.why_not] if verification.why_not else []),
            *_notes(details),
            _shortened(proof_table(verification.proofs.proofs)),
        ]
    )


def trace_html(summary: Summary) -> str:
    """Returns what to tune first, and where the time of a traced program goes."""
    from offbeat.trace.recommendation import sentence
    from offbeat.trace.summary_tables import head, tables

    shown = [table for table in tables(summary, MOST_ROWS) if table.rows]
    return fragment(
        [
            Text(text=sentence(summary), kind="verdict"),
            Lines(lines=head(summary)),
            *(Details(title=table.title, parts=[replace(table, title="")]) for table in shown),
            *_notes(summary.notes),
        ]
    )


def tuned_html(outcome: Outcome, installation: Installation, directory: Path, report: Path) -> str:
    """Returns the first sections of the report of a tuned program: the verdict with the use of the files, and
    where the time goes."""
    from offbeat.presentation.drawing.picture_files import Album
    from offbeat.presentation.pages.tuned_program import first_sections

    parts: list[Part] = []
    for section in first_sections(outcome, installation, Album(None, directory)):
        is_first = not parts
        parts += section.parts if is_first else [Details(title=section.title, parts=section.parts)]
    return fragment([*parts, Text(text=f"The report: {report}", kind="muted")])


def _shortened(table: Table) -> Table:
    """The first rows of a table, with a note on the others."""
    left = len(table.rows) - MOST_ROWS
    if left <= 0:
        return table
    note = f"{amount(left, 'further row')}: table() has all"
    return replace(table, rows=table.rows[:MOST_ROWS], notes=[*table.notes, note])


def _cautions(sentences: Iterable[str]) -> list[Part]:
    return [Text(text=sentence, kind="caution") for sentence in sentences]


def _notes(sentences: Iterable[str]) -> list[Part]:
    shown, _ = limit_notes(sentences, is_complete=True)
    return [Lines(lines=shown, kind="remarks")] if shown else []
