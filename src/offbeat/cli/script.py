"""``offbeat script``: a job script for a study."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.cli.output import write_or_print

if TYPE_CHECKING:
    from offbeat.model.study.job_script import JobOptions


class Scheduler(StrEnum):
    """The batch systems that a job script can be written for."""

    slurm = "slurm"
    pbs = "pbs"


Account = Annotated[str, typer.Option("--account", help="Account or project that the job is charged to.")]
Partition = Annotated[
    str, typer.Option("--partition", "--queue", help="Partition (Slurm) or queue (PBS) of the job.")
]
Qos = Annotated[str, typer.Option("--qos", help="Quality of service (QOS) of the job.")]
Constraint = Annotated[
    str, typer.Option("--constraint", help="Feature that the nodes of the job must have.", metavar="FEATURE")
]
Memory = Annotated[
    str, typer.Option("--mem", help="Memory of each node, such as 16G (PBS: of each chunk).", metavar="SIZE")
]
Setup = Annotated[
    list[str] | None,
    typer.Option(
        "--setup",
        help="A line of the job script that makes MPI or offbeat available, such as 'module load openmpi';"
        " may be given several times.",
        metavar="LINE",
    ),
]


def job_options(context: typer.Context, time_limit_s: int) -> JobOptions:
    """The options of a command for its job: those with the names of the fields of :class:`JobOptions`."""
    from offbeat.model.study.job_script import JobOptions

    names = [name for name in JobOptions.__struct_fields__ if context.params.get(name)]
    return JobOptions(**{name: context.params[name] for name in names}, time_limit_s=time_limit_s)


def command(
    context: typer.Context,
    study: Annotated[Path, typer.Argument(help="The study file.", metavar="STUDY")],
    scheduler: Annotated[
        Scheduler, typer.Option("--scheduler", help="The batch system that the script is for.")
    ] = Scheduler.slurm,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; standard output if not given.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output file if it exists.")] = False,
    time: Annotated[
        str, typer.Option("--time", help="Time limit of the job, as HH:MM:SS or D-HH:MM:SS.")
    ] = "01:00:00",
    account: Account = "",
    partition: Partition = "",
    qos: Qos = "",
    constraint: Constraint = "",
    memory: Memory = "",
    setup: Setup = None,
    nodes: Annotated[
        int, typer.Option("--nodes", help="Number of nodes of the job; as the study requires if not given.")
    ] = 0,
    ppn: Annotated[
        int, typer.Option("--ppn", help="Processes per node of the job; as the study requires if not given.")
    ] = 0,
) -> None:
    """Write a job script that runs a study and, submitted again, resumes it."""
    from offbeat.model.study.job_script import SCHEDULERS, job_of, parse_time_limit
    from offbeat.model.study.study_file import load

    options = job_options(context, parse_time_limit(time))
    text = SCHEDULERS[scheduler.value](job_of(load(study, other_machine=True), options), options)
    if write_or_print(output, text, "the job script", force=force):
        submit = "sbatch" if scheduler is Scheduler.slurm else "qsub"
        print(f"wrote {output}; submit it with '{submit} {shlex.quote(str(output))}'")
