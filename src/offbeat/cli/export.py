"""``offbeat export``: write the tuning files that make the MPI library use the selected algorithms."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.cli.completion import libraries
from offbeat.cli.output import AllNotes, print_notes, stdout
from offbeat.cli.selection_options import (
    IncludeIndistinguishable,
    IncludeScenarios,
    ResultDirectories,
    Rule,
    SameBits,
)
from offbeat.cli.trace_options import TraceOption
from offbeat.model.study.algorithm import KINDS

if TYPE_CHECKING:
    from rich.console import Console

Kind = StrEnum("Kind", {kind.replace("-", "_"): kind for kind in KINDS})  # type: ignore[misc]
"""Kinds of legal calls as the option's choices."""


def command(
    directories: ResultDirectories,
    rule: Rule = "average",
    include_scenarios: IncludeScenarios = False,
    include_indistinguishable: IncludeIndistinguishable = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The folder to write into. [default: 'tuning' in the first DIR]"),
    ] = None,
    format_version: Annotated[
        int | None,
        typer.Option(
            "--format",
            min=1,
            max=2,
            help="Open MPI's file format: 1, or 2 for 5.0.7 and later, which also holds limits of "
            "concurrent requests.",
        ),
    ] = None,
    mpi: Annotated[
        str,
        typer.Option(
            "--mpi",
            help="The MPI installation to write for; if not given, the measured one, or the first one of the"
            " family that was simulated.",
            metavar="PREFIX",
            autocompletion=libraries,
        ),
    ] = "",
    allowed: Annotated[
        list[Kind] | None,
        typer.Option(
            "--allow-wrong-results",
            help="Export algorithms even if they are wrong for legal calls of this kind; may be given"
            " several times. The files contain a warning.",
        ),
    ] = None,
    partial: Annotated[
        bool,
        typer.Option("--partial", help="Also export choices of partial configurations; the files say so."),
    ] = False,
    beyond: Annotated[
        float | None,
        typer.Option(
            min=1.0,
            max=1024.0,
            help="The smallest and the largest measured size cover sizes smaller and larger by up to this"
            " factor; 1: no others. [default: the square root of 2]",
            metavar="FACTOR",
        ),
    ] = None,
    same_bits: SameBits = False,
    trace: TraceOption = None,
    all_notes: AllNotes = False,
) -> None:
    """Write tuning files that make the measured MPI library use the selected algorithms."""
    from offbeat.api.results import Results
    from offbeat.trace.files.trace_folder import open_trace
    from offbeat.trace.summary import summary_of_trace
    from offbeat.tuning.prediction.affected_calls import calls_affected_by_files

    summary = summary_of_trace(open_trace(trace)) if trace is not None else None
    selection = Results.open(*directories).select(
        rule,
        bootstrap=0,
        include_scenarios=include_scenarios,
        include_indistinguishable=include_indistinguishable,
    )
    files = selection.export(
        output,
        format_version=format_version,
        mpi=mpi,
        allow_wrong_results=[kind.value for kind in allowed or []],
        partial=partial,
        beyond=beyond,
        same_bits=same_bits,
    )
    console = stdout()
    console.print(f"{files.sentence}:", markup=False)
    for path in files.files:
        console.print(f"  {path}", markup=False)
    for sentence in files.unreliable:
        console.print(f"Warning: {sentence}", markup=False)
    print_use(console, files.usage, files.extent)
    if summary is not None:
        tuning = files.manifest.tuning
        console.print(f"The file {calls_affected_by_files(tuning, summary).sentence}.", markup=False)
    for sentence in files.manifest.tuning.wrong_result_warnings:
        console.print(f"Warning: {sentence}", markup=False)
    print_notes(console, files.notes, everything=all_notes, word="Note")


def print_use(console: Console, usage: Sequence[str], extent: str) -> None:
    """Print the lines that make a launch use tuning files, and which sizes the rules cover."""
    console.print("Use them with one of", markup=False)
    for line in usage:
        console.print(f"  {line}", markup=False)
    console.print(extent, markup=False)
