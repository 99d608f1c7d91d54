"""``offbeat init``: write a commented study file, or the study of a traced program."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from offbeat.base.errors import BadInput
from offbeat.cli.completion import trace_directories


def command(
    path: Annotated[Path, typer.Argument(help="The study file to write.", metavar="PATH")] = Path(
        "study.toml"
    ),
    from_trace: Annotated[
        Path | None,
        typer.Option(
            help="Write the study of a traced program: its heaviest collectives, at their sizes and numbers"
            " of processes, under its recorded arrivals.",
            metavar="DIR",
            autocompletion=trace_directories,
        ),
    ] = None,
    share: Annotated[
        float,
        typer.Option(
            min=0.01,
            max=1.0,
            help="With --from-trace: the heaviest calls that together take this share of the time that"
            " another algorithm can change.",
        ),
    ] = 0.95,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")] = False,
) -> None:
    """Write a commented study file that can be run as it is."""
    from offbeat.base.atomic_write import check_new, write_new
    from offbeat.model.study.template import TEMPLATE

    if from_trace is None:
        write_new(path, TEMPLATE, "the study file", force=force)
    else:
        check_new(path, force=force)
        for line in _write_study(from_trace, path, share):
            print(line)
    print(f"wrote {path}; run it with 'offbeat run {shlex.quote(str(path))}'")


def _write_study(directory: Path, path: Path, share: float) -> list[str]:
    """Write the study of a trace and its pattern files; returns sentences on the selected calls."""
    from offbeat.libraries.launch.user_command import UserCommand
    from offbeat.trace.files.trace_folder import open_trace
    from offbeat.trace.summary import summary_of_trace
    from offbeat.tuning.pipeline.conclusion import why_no_calls
    from offbeat.tuning.pipeline.traced_calls import select_calls
    from offbeat.tuning.pipeline.traced_study import Launch, write_patterns, write_study

    trace = open_trace(directory)
    summary = summary_of_trace(trace)
    selection = select_calls(trace, summary, share)
    if not selection.calls:
        raise BadInput(f"{directory} has no calls to measure: {why_no_calls(selection)}")
    unknown = UserCommand(launcher="", options=[], variables={}, program=[])
    sections = write_patterns(trace, summary, selection.calls, path.parent)
    write_study(sections, summary.program, Launch(mpi="auto", command=unknown), path)
    return [
        *(f"{one.name}: {one.share:.1%} of the run time" for one in selection.calls),
        *selection.notes,
    ]
