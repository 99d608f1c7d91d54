"""``offbeat trace run``: a program as it is, with the tracer in front of its MPI library."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from offbeat.units import counted

CONTEXT = {
    "allow_extra_args": True,
    "ignore_unknown_options": True,
    "allow_interspersed_args": False,
}
"""How words behind ``--`` are read: as they are."""


def command(
    words: Annotated[
        list[str],
        typer.Argument(help="The command, such as 'mpirun -n 64 ./app', behind --.", metavar="-- COMMAND..."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder for the trace.", metavar="DIR")
    ] = Path("offbeat-trace"),
    mpi: Annotated[
        str,
        typer.Option("--mpi", help="The program's MPI library. [default: that of the launcher]"),
    ] = "auto",
    ranks: Annotated[str, typer.Option(help="Only these ranks of MPI_COMM_WORLD, such as 0-3,8.")] = "",
    every: Annotated[str, typer.Option(help="Only every so many-th call of a communicator.")] = "",
    collectives: Annotated[str, typer.Option(help="Only these, such as allreduce,alltoall.")] = "",
    comm_sizes: Annotated[str, typer.Option(help="Only communicators of these sizes, such as 16-.")] = "",
    window: Annotated[str, typer.Option(help="Only these seconds since MPI_Init, such as 10-60.")] = "",
    limit: Annotated[
        str, typer.Option("--bytes", help="A rank's file grows to this, such as '100 MB'.")
    ] = "",
    depth: Annotated[
        str,
        typer.Option(
            help="So many callers tell call sites apart, 1 to 16 [default: 4]; 0: Python is not asked."
        ),
    ] = "",
    sync_level: Annotated[
        str, typer.Option(help="MPI_Pcontrol with this level synchronises clocks anew (3 or more).")
    ] = "",
) -> None:
    """Run a program as it is, and record its collectives; its output and exit status are unchanged.

    A command that ends well without a trace has status 1.
    """
    from rich.console import Console

    from offbeat.trace import run as launch
    from offbeat.trace.options import RANKS

    wishes = {
        "RANKS": ranks,
        "EVERY": every,
        "COLLECTIVES": collectives,
        "COMM_SIZES": comm_sizes,
        "WINDOW": window,
        "BYTES": limit,
        "DEPTH": depth,
        "SYNC_LEVEL": sync_level,
    }
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    launch.refuse(output, wishes)
    launch.refuse_command(words)
    installation = launch.find_installation(mpi, words)
    library = launch.tracer(installation, lambda line: console.print(line, markup=False))
    started = launch.prepare(words, output, wishes, installation, library)
    with launch.held(output):
        status = launch.run(started)
    written = len(list(output.glob("*.trace")))
    if written:
        ranks = counted(written, "rank")
        said = f"trace: {output} ({ranks}); see it with: offbeat trace summary {shlex.quote(str(output))}"
    else:
        wanted = launch.wished(wishes).get(RANKS, "")
        said = f"no trace was written to {output}: {_why_none(status, installation.version_text, wanted)}"
    console.print(said, markup=False)
    _end_as(status if written or status else 1)


def _why_none(status: int, library: str, ranks: str) -> str:
    """Why nothing was recorded, as far as the command's status tells."""
    if status:
        how = f"by signal {-status}" if status < 0 else f"with status {status}"
        return (
            f"the command ended {how} before any process recorded; what it printed should say why. If the"
            f" program's MPI library is not {library}, name it with --mpi"
        )
    which = f"no rank of those wished for ({ranks})" if ranks else "no process"
    return (
        f"the command ended well, but {which} called MPI_Init of {library}. If the program's library is"
        " another one, name it with --mpi; a program that is linked statically, or that sets LD_PRELOAD anew,"
        " is not recorded"
    )


def _end_as(status: int) -> None:
    """End as the program did: with its status, or by its signal."""
    if status < 0:
        sys.stdout.flush()
        if -status not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    raise typer.Exit(status)
