"""``offbeat tune``: from a program to a faster program, in one command."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.base.errors import BadInput
from offbeat.cli.output import Json, check_outputs, prints_text, stdout, write_json
from offbeat.cli.script import Account, Constraint, Memory, Partition, Qos, Scheduler, Setup, job_options
from offbeat.cli.selection_options import SameBits
from offbeat.cli.trace_run import CONTEXT as CONTEXT
from offbeat.cli.trace_run import ComparedTime, ProgramCommand, ProgramMpi

if TYPE_CHECKING:
    from rich.console import Console

    from offbeat.model.study.job_script import JobOptions
    from offbeat.tuning.pipeline.stages import Outcome
    from offbeat.tuning.pipeline.tune_program import Request


def command(
    context: typer.Context,
    arguments: ProgramCommand,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder for everything.", metavar="DIR")
    ] = Path("offbeat-tune"),
    trace: Annotated[
        Path | None,
        typer.Option(help="A trace of this program; without it, the program runs once with the tracer."),
    ] = None,
    budget: Annotated[
        str,
        typer.Option(
            help="The time for everything, in seconds or with a unit; what matters most is measured first.",
            metavar="TIME",
        ),
    ] = "15min",
    share: Annotated[
        float,
        typer.Option(
            min=0.01,
            max=1.0,
            help="Measure the heaviest calls that together take this share of the time that another algorithm"
            " can change.",
        ),
    ] = 0.95,
    time: ComparedTime = "",
    mpi: ProgramMpi = "auto",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the order of runs in the trial.")] = 1,
    same_bits: SameBits = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print the launches of each stage and estimates of the time."),
    ] = False,
    script: Annotated[
        Scheduler | None,
        typer.Option(help="Print a job script for this batch system that runs this command."),
    ] = None,
    job_time: Annotated[
        str, typer.Option(help="With --script: time limit of the job, as HH:MM:SS or D-HH:MM:SS.")
    ] = "01:00:00",
    nodes: Annotated[int, typer.Option(min=0, help="With --script: number of nodes of the job.")] = 0,
    account: Account = "",
    partition: Partition = "",
    qos: Qos = "",
    constraint: Constraint = "",
    memory: Memory = "",
    setup: Setup = None,
    json: Json = "",
) -> None:
    """Find the algorithms of collectives with which a program is faster, and prove that it is.

    Traces the program, measures the collectives that matter with all algorithms under the program's own
    arrivals, writes tuning files for the library, verifies that it obeys them, and runs the program with and
    without them in turn. Recommended is only what is significantly faster.

    If interrupted, the same command resumes and repeats nothing that is done.
    """
    from offbeat.model.study.job_script import parse_time_limit
    from offbeat.tuning.pipeline.directory import LOG
    from offbeat.tuning.pipeline.document import tuning_document
    from offbeat.tuning.pipeline.tune_program import (
        REPORT,
        StagePrinter,
        check_options,
        request,
        tune_program,
    )
    from offbeat.tuning.trial.standard_input import NO_INPUT, kept_standard_input
    from offbeat.tuning.trial.trial import check_command

    check_command(arguments)
    if script is not None:
        check_options(arguments, budget=budget, share=share, time=time)
        options = job_options(context, parse_time_limit(job_time, "--job-time"))
        print(_job_script(script.value, arguments, options), end="")
        return
    check_outputs(json)
    tuning_request = request(
        arguments,
        trace=trace,
        budget=budget,
        share=share,
        time=time,
        mpi=mpi,
        seed=seed,
        same_bits=same_bits,
        keep_input=(lambda: NO_INPUT) if dry_run else kept_standard_input,
    )
    console = stdout()
    if dry_run:
        _describe(console, tuning_request, output)
        return
    from offbeat.presentation.pages.tuned_program import write_report  # importing matplotlib is slow

    printer = StagePrinter(console if prints_text(json) else None)
    outcome = tune_program(tuning_request, output, printer, write_report)
    if prints_text(json):
        _report(console, outcome)
        console.print(
            f"The report: {output / REPORT}; everything that was done: {output / LOG}", markup=False
        )
    write_json(json, lambda: tuning_document(tuning_request.settings, outcome))


_OF_SCRIPT = (
    *("--script", "--job-time", "--nodes", "--account", "--partition", "--queue"),
    *("--qos", "--constraint", "--mem", "--setup"),
)


def _job_script(scheduler: str, arguments: list[str], options: JobOptions) -> str:
    """The job script that runs this command line without the options of the script."""
    from offbeat.libraries.launch.launch_words import process_count
    from offbeat.model.study.job_script import SCHEDULERS, job_of_command

    p = process_count(arguments)
    if p is None:
        raise BadInput(
            "the number of processes of the command is unknown, and a job needs it: start it with -n"
        )
    words = sys.argv[1 : len(sys.argv) - len(arguments)]
    kept_words, index = [], 0
    while index < len(words):
        name, _, value = words[index].partition("=")
        is_of_script = name in _OF_SCRIPT
        kept_words += [] if is_of_script else [words[index]]
        index += 2 if is_of_script and not value else 1
    folder = Path(os.getcwd())  # noqa: PTH109 - must not resolve symbolic links
    job = job_of_command([*kept_words, *arguments], folder, p, options)
    return SCHEDULERS[scheduler](job, options)


def _describe(console: Console, tuning_request: Request, output: Path) -> None:
    """Print the launches; those after the trace if there is one."""
    from offbeat.trace.recording import tracer_library, variables_for
    from offbeat.trace.summary import summary_of_trace
    from offbeat.tuning.pipeline.directory import TRACE
    from offbeat.tuning.pipeline.dry_run import describe_rest, describe_trace
    from offbeat.tuning.pipeline.stages import matching_trace

    settings, installation = tuning_request.settings, tuning_request.installation
    folder = Path(settings.trace) if settings.trace else output / TRACE
    if not settings.trace and not any(folder.glob("*.trace")):
        describe_trace(
            tuning_request.program, variables_for(folder, {}, tracer_library(installation)), console
        )
        return
    trace = matching_trace(folder, settings.command)
    describe_rest(
        trace, summary_of_trace(trace), settings.share, tuning_request.command, installation, console
    )


def _report(console: Console, outcome: Outcome) -> None:
    from offbeat.tuning.trial.wording import time_table

    if outcome.times_s:
        console.print(time_table(outcome.times_s, {}).fit(console.width))
    console.print(" ".join([outcome.conclusion.sentence, *outcome.cautions]), markup=False)
    if outcome.usage:
        console.print("Use it like this, with one of", markup=False)
        for line in outcome.usage:
            console.print(f"  {line}", markup=False)
