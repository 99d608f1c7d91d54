"""A dry run of tuning: the launch of each stage, and an estimate of its time; nothing is run."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path

from rich.console import Console

from offbeat.base.units import format_time
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.user_command import UserCommand
from offbeat.measurement.engines.engine_choice import installation_of, open_engine_of
from offbeat.measurement.runs.dry_run import describe as describe_study
from offbeat.model.study.study_file import from_structure
from offbeat.trace.files.trace_folder import Trace
from offbeat.trace.summary import Summary
from offbeat.tuning.pipeline.conclusion import selected_lines, selected_sentence
from offbeat.tuning.pipeline.program_comparison import (
    FINAL_ROUNDS,
    LEAST_IN_PROGRAM,
    MOST_ALGORITHMS,
    MOST_CHOICES,
    MOST_FINALISTS,
)
from offbeat.tuning.pipeline.traced_calls import select_calls
from offbeat.tuning.pipeline.traced_study import launch_of, write_patterns, write_study
from offbeat.tuning.pipeline.trial_runs import FEWEST_ROUNDS, MOST_ROUNDS
from offbeat.tuning.trial.trial import Command


def describe_trace(command: Command, variables: dict[str, str], console: Console) -> None:
    """Print the launch of the traced run; what follows depends on it."""
    argv, _ = command.with_variables(variables)
    console.print("trace: the program runs once with the tracer:", markup=False)
    console.print(f"  {shlex.join(argv)}", markup=False)
    console.print(
        "What is measured then depends on the trace. To see it before, trace the program with 'offbeat trace"
        " run', and give the trace to this command with --trace.",
        markup=False,
    )


def describe_rest(
    trace: Trace,
    summary: Summary,
    share: float,
    command: UserCommand,
    installation: Installation,
    console: Console,
) -> None:
    """Print what is measured and tried after the trace, with the launches and estimates of the time."""
    selected = select_calls(trace, summary, share)
    console.print(selected_sentence(selected), *selected_lines(selected), sep="\n", markup=False)
    if not selected.calls:
        console.print("There is nothing to measure.", markup=False)
        return
    launch = launch_of(command, installation)
    with tempfile.TemporaryDirectory() as scratch:
        sections = write_patterns(trace, summary, selected.calls, Path(scratch))
        path = Path(scratch) / "study.toml"
        study = from_structure(write_study(sections, summary.program, launch, path), path)
        describe_study(study, open_engine_of(study, Path(scratch), installation_of(study, None)), console)
    most = MOST_ALGORITHMS + FINAL_ROUNDS * (MOST_FINALISTS + 1)
    console.print(
        f"compare: up to {most} runs for each kind of calls that takes {LEAST_IN_PROGRAM:.0%} of the"
        " run time, as many as --budget leaves",
        markup=False,
    )
    console.print(
        f"try: {FEWEST_ROUNDS} to {MOST_ROUNDS} rounds of 2 to {MOST_CHOICES} runs, each of"
        f" {format_time(summary.mean_run_s)} or more (the time from MPI_Init to the end in the trace)",
        markup=False,
    )
