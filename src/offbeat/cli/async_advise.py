"""``offbeat async advise``: whether running out of step helps a program, and what to change first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.base.errors import BadInput
from offbeat.base.units import amount, parse_size
from offbeat.cli.output import (
    Json,
    check_outputs,
    print_notes,
    print_sentences,
    prints_text,
    stdout,
    write_json,
)
from offbeat.cli.program_options import Anchor, Platform, Ranks

if TYPE_CHECKING:
    from offbeat.model.platform.machine import Platform as Machine
    from offbeat.programs.advice.assess import Assessment, Report
    from offbeat.programs.advice.assess_trace import TraceAssessment


def command(
    program: Annotated[
        str,
        typer.Argument(
            help="A program file, a name that 'offbeat program list' prints, or a trace.", metavar="PROGRAM"
        ),
    ],
    platform: Platform,
    ranks: Ranks = 0,
    iterations: Annotated[
        int,
        typer.Option(
            "--iterations",
            "-n",
            min=0,
            help="Iterations of each simulation; 0: up to 500, fewer with many messages.",
            show_default=False,
        ),
    ] = 0,
    seeds: Annotated[int, typer.Option(min=2, max=1000, help="Simulations of each change.")] = 5,
    memory: Annotated[
        str,
        typer.Option(
            "--memory",
            help="For a trace: the memory traffic of a rank in an iteration, reads and writes together, such"
            " as '300 MB'. [default: not known]",
            metavar="SIZE",
        ),
    ] = "",
    anchor: Anchor = "",
    json: Json = "",
) -> None:
    """Say whether running out of step helps a program, and what to change first.

    The program is simulated as it is, with rarer collectives, with other algorithms for them, and with
    delays of some ranks that bring the others out of step. From a trace, the command derives such a program:
    'offbeat program init --from-trace' writes it to a file.
    """
    from offbeat.model.platform import machine

    check_outputs(json)
    machine_file = machine.load(platform)
    if Path(program).is_dir():
        if ranks:
            raise BadInput("--ranks: a trace has the ranks of its run; leave this option out")
        _advise_trace(Path(program), machine_file, memory, anchor, iterations, seeds, json)
        return
    for option, value in (("--memory", memory), ("--anchor", anchor)):
        if value:
            raise BadInput(f"{option} is for traces, and {program} is a program; leave this option out")
    from offbeat.programs.advice.assess import assess
    from offbeat.programs.advice.document import assessment_document
    from offbeat.programs.description.program_file import load

    program_file = load(program).resized(ranks=ranks)
    with _progress(f"simulate {program_file.name} on {machine_file.name}") as on_progress:
        assessment = assess(
            program_file, machine_file, iterations=iterations, seeds=seeds, on_progress=on_progress
        )
    if prints_text(json):
        print_sentences(
            stdout(),
            f"{assessment.program} on {assessment.platform}: {amount(assessment.ranks, 'rank')}",
        )
        _print(assessment)
    write_json(json, lambda: assessment_document(assessment))


def _advise_trace(
    directory: Path, machine_file: Machine, memory: str, anchor: str, iterations: int, seeds: int, json: str
) -> None:
    from offbeat.cli.program_options import derived_from
    from offbeat.programs.advice.assess_trace import assess_trace
    from offbeat.programs.advice.document import trace_document

    traffic_bytes = _traffic_bytes(memory) if memory else None
    derived_program = derived_from(directory, machine_file, anchor)
    with _progress(f"simulate {derived_program.program.name} on {machine_file.name}") as on_progress:
        assessment = assess_trace(
            derived_program,
            machine_file,
            traffic_bytes=traffic_bytes,
            iterations=iterations,
            seeds=seeds,
            on_progress=on_progress,
        )
    if prints_text(json):
        _print_of_trace(assessment)
    write_json(json, lambda: trace_document(assessment))


def _traffic_bytes(text: str) -> int:
    try:
        size = parse_size(text)
    except BadInput as error:
        raise BadInput(f"--memory: {error}") from None
    if not 0 < size < 2**62:
        raise BadInput(f"--memory {text}: give the bytes of a rank in an iteration, such as '300 MB'")
    return size


@contextmanager
def _progress(title: str) -> Iterator[Report]:
    from offbeat.base.progress_bar import ProgressBar

    with ProgressBar(title) as bar:

        def on_progress(activity: str, count: int, total: int) -> None:
            bar.update(done_count=count, total=total)
            bar.print_periodically(f"{activity}: {count} of {total} simulations")

        yield on_progress


def _print_of_trace(assessment: TraceAssessment) -> None:
    from offbeat.programs.advice import wording

    console = stdout()
    print_sentences(
        console,
        f"{assessment.program} on {assessment.cases[0].assessment.platform}:"
        f" {amount(assessment.ranks, 'rank')}",
        *wording.of_trace(assessment),
    )
    print_notes(console, assessment.notes, everything=True)
    for case in assessment.cases:
        console.print()
        console.print(f"If {case.assumption}:", style="bold", markup=False)
        _print(case.assessment)


def _print(assessment: Assessment) -> None:
    from offbeat.base.terminal_table import FittedTable
    from offbeat.programs.advice import wording

    console = stdout()
    print_sentences(console, wording.verdict(assessment), wording.first(assessment))
    console.print()
    console.print(
        FittedTable(
            ["precondition", "holds", "because"], wording.precondition_rows(assessment), texts=(0, 1, 2)
        )
    )
    console.print()
    console.print(FittedTable(wording.HEADINGS, wording.gain_rows(assessment), texts=(0,)))
    console.print()
    print_sentences(console, wording.basis(assessment))
