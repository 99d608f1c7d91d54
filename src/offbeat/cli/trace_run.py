"""``offbeat trace run``: run a program with the tracer in front of its MPI library."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from offbeat.base.units import amount
from offbeat.cli.completion import libraries

CONTEXT = {
    "allow_extra_args": True,
    "allow_interspersed_args": False,
}
"""Arguments after ``--`` are not parsed."""

ProgramCommand = Annotated[
    list[str],
    typer.Argument(help="The command, such as 'mpirun -n 64 ./app', after --.", metavar="-- COMMAND..."),
]
ProgramMpi = Annotated[
    str,
    typer.Option(
        "--mpi", help="The program's MPI library. [default: that of the launcher]", autocompletion=libraries
    ),
]

ComparedTime = Annotated[
    str,
    typer.Option(
        help="Compare, instead of the wall time, the last number (in seconds) that this regular expression"
        " matches in the output: its first group, or the whole match.",
        metavar="REGEX",
    ),
]
"""The option ``--time`` of all commands that run a program several times."""


def command(
    arguments: ProgramCommand,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder for the trace.", metavar="DIR")
    ] = Path("offbeat-trace"),
    mpi: ProgramMpi = "auto",
    ranks: Annotated[str, typer.Option(help="Only these ranks of MPI_COMM_WORLD, such as 0-3,8.")] = "",
    messages: Annotated[
        bool, typer.Option("--messages", help="Also record point-to-point calls: sends, receives, waits, ...")
    ] = False,
    every: Annotated[
        str, typer.Option(help="Only every Nth collective of a communicator.", metavar="N")
    ] = "",
    collectives: Annotated[
        str, typer.Option(help="Only these collectives, such as allreduce,alltoall.")
    ] = "",
    comm_sizes: Annotated[str, typer.Option(help="Only communicators of these sizes, such as 16-.")] = "",
    window: Annotated[str, typer.Option(help="Only these seconds since MPI_Init, such as 10-60.")] = "",
    limit: Annotated[
        str, typer.Option("--bytes", help="Limit on the size of a rank's file, such as '100 MB'.")
    ] = "",
    depth: Annotated[
        str,
        typer.Option(
            help="Number of callers that distinguish call sites, 1 to 16 [default: 4]; 0: as 1, but without"
            " Python frames."
        ),
    ] = "",
    sync_level: Annotated[
        str, typer.Option(help="MPI_Pcontrol with this level (3 or more) synchronises clocks again.")
    ] = "",
) -> None:
    """Run an unmodified program and record its MPI calls; its output and exit status are unchanged.

    If the command succeeds without writing a trace, the status is 1.
    """
    from rich.console import Console

    from offbeat.trace import recording
    from offbeat.trace.recording import RANKS

    options = {
        "RANKS": ranks,
        "EVERY": every,
        "COLLECTIVES": collectives,
        "MESSAGES": "1" if messages else "",
        "COMM_SIZES": comm_sizes,
        "WINDOW": window,
        "BYTES": limit,
        "DEPTH": depth,
        "SYNC_LEVEL": sync_level,
    }
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    recording.check_options(output, options)
    recording.check_command(arguments)
    installation = recording.find_installation(mpi, arguments)
    library = recording.tracer_library(installation, lambda line: console.print(line, markup=False))
    prepared_command = recording.prepare(arguments, output, options, installation, library)
    status = recording.run(prepared_command)
    file_count = len(list(output.glob("*.trace")))
    if file_count:
        ranks = amount(file_count, "rank")
        message = f"trace: {output} ({ranks}); see it with: offbeat trace summary {shlex.quote(str(output))}"
    else:
        requested_ranks = recording.tracer_variables(options).get(RANKS, "")
        reason = _why_none(status, installation.version_text, requested_ranks)
        message = f"no trace was written to {output}: {reason}"
    console.print(message, markup=False)
    _end_as(status if file_count or status else 1)


def _why_none(status: int, library: str, ranks: str) -> str:
    """Likely reasons why nothing was recorded, by the command's status."""
    if status:
        how = f"by signal {-status}" if status < 0 else f"with status {status}"
        return (
            f"the command ended {how} before any process recorded a call; see its output for the reason. If"
            f" the program's MPI library is not {library}, give it with --mpi"
        )
    processes = f"none of the selected ranks ({ranks})" if ranks else "no process"
    return (
        f"the command succeeded, and {processes} called MPI_Init of {library} where the tracer could see it."
        " Possible reasons: the program does not use MPI; it uses another MPI library (give it with --mpi);"
        " it uses MPI sessions only, and no communicator of all its processes; it is linked statically;"
        " LD_PRELOAD was removed on the way to the program"
    )


def _end_as(status: int) -> None:
    """Exit with the program's status, or by the signal that ended it."""
    if status < 0:
        sys.stdout.flush()
        if -status not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    raise typer.Exit(status)
