"""``offbeat run``: do what a study asks for, and what of it is not done yet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from offbeat.base.errors import BadInput, RunFailed
from offbeat.cli.completion import libraries, one_of
from offbeat.cli.output import AllNotes, Json, prints_text, write_json


def command(
    study: Annotated[
        Path, typer.Argument(help="The study file; 'offbeat init' writes one.", metavar="STUDY")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Result directory. [default: STUDY-results beside the file]"),
    ] = None,
    mpi: Annotated[
        str | None,
        typer.Option(
            help="MPI prefix, or a name that 'offbeat doctor' prints; instead of the study's.",
            autocompletion=libraries,
        ),
    ] = None,
    isolate: Annotated[
        bool, typer.Option(help="Launch once for each algorithm, even where one launch would do.")
    ] = False,
    engine: Annotated[
        str | None,
        typer.Option(
            help="What measures, instead of the study's: mpi (this machine's library), sim (offbeat's"
            " simulator) or smpi (SimGrid's).",
            autocompletion=one_of("mpi", "sim", "smpi"),
        ),
    ] = None,
    platform: Annotated[
        str | None,
        typer.Option(
            help="The simulated machine, instead of the study's: a platform file, or a built-in platform's"
            " name."
        ),
    ] = None,
    family: Annotated[
        str | None,
        typer.Option(help="Whose algorithms are simulated, instead of the study's: openmpi, mpich, simgrid."),
    ] = None,
    executor: Annotated[
        str | None,
        typer.Option(
            help="Where sim computes, instead of the study's: local (this machine's cores), mpi4py or dask."
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Print the cases, how many are measured, the launch commands and an estimate of the time.",
        ),
    ] = False,
    retry: Annotated[
        bool,
        typer.Option("--retry", help="Measure quarantined cases again, for example after a node failed."),
    ] = False,
    stop_before_limit: Annotated[
        float,
        typer.Option(help="Minutes before the batch job's time limit at which no further case is begun."),
    ] = 5.0,
    stopped_status: Annotated[
        int,
        typer.Option(
            min=0,
            max=125,
            help="Exit status of a run that ends before the job's limit and that the same command resumes;"
            " job scripts use 0, so that the next job of a chain (afterok) begins.",
        ),
    ] = 1,
    json: Json = "",
    all_notes: AllNotes = False,
) -> None:
    """Measure a study.

    A run that was killed or reached the job's time limit is resumed by the same command; nothing is measured
    twice. The study may have grown meanwhile: by collectives, sizes, processes, patterns, skews, or blocks
    (repetitions.blocks).
    """
    from rich.console import Console

    from offbeat.measurement.results.read import read_study
    from offbeat.measurement.runs.resume import default_directory
    from offbeat.measurement.runs.run_progress import (
        RunProgress,
        closing_message,
        failure_message,
        run_document,
    )
    from offbeat.measurement.runs.study_run import RunOptions, before_job_ends, print_dry_run, run_study
    from offbeat.selection.choices.reliability import reliability

    if dry_run and json:
        raise BadInput("--json tells how a run ended, and --dry-run runs nothing: leave out one of them")
    out_of_time = before_job_ends(stop_before_limit)
    options = RunOptions(
        mpi=mpi, isolate=isolate, engine=engine, platform=platform, family=family, executor=executor
    )
    loaded_study = options.load(study)
    directory = output or default_directory(study)
    if dry_run:
        print_dry_run(loaded_study, mpi, Console(), directory)
        return
    progress = RunProgress(all_notes=all_notes)
    outcome = run_study(loaded_study, directory, progress, mpi=mpi, retry=retry, out_of_time=out_of_time)
    for notice in reliability(read_study(directory)):
        progress.warn(notice.sentence)
    if prints_text(json):
        print(closing_message(outcome, progress.counts, directory))
    write_json(json, lambda: run_document(outcome, progress.counts, directory, progress.warnings))
    if why := failure_message(outcome, study, directory):
        raise RunFailed(why)
    if outcome.is_stopped:
        raise typer.Exit(stopped_status)
