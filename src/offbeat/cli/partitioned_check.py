"""``offbeat partitioned check``: does a library do what MPI 4.0 says of partitioned communication?"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.base.errors import BadInput
from offbeat.base.units import parse_time
from offbeat.cli.completion import libraries
from offbeat.cli.output import AllNotes, Json, print_notes, prints_text, stdout, write_json

if TYPE_CHECKING:
    from offbeat.partitioned.conformance.outcomes import Check


class Of(StrEnum):
    """Whose functions are checked."""

    library = "library"
    offbeat = "offbeat"
    preload = "preload"


def command(
    mpi: Annotated[
        str,
        typer.Option(
            "--mpi", help="MPI prefix, or a name that 'offbeat doctor' prints.", autocompletion=libraries
        ),
    ] = "auto",
    of: Annotated[
        Of,
        typer.Option(
            "--of",
            help="Whose functions: the MPI library's own, those of offbeat/partitioned.h, or the library's"
            " names under offbeat's preload.",
        ),
    ] = Of.library,
    timeout: Annotated[
        str,
        typer.Option(
            "--timeout", help="A case that takes longer counts as hanging; qualities have at most 5 s."
        ),
    ] = "20 s",
    case: Annotated[
        list[str] | None, typer.Option("--case", help="Only this case. May be given several times.")
    ] = None,
    nodes: Annotated[
        int,
        typer.Option(
            min=1, max=2, help="2 places the processes on two nodes; 1 leaves their places to the launcher."
        ),
    ] = 1,
    hostfile: Annotated[
        Path | None, typer.Option("--hostfile", help="File with the hosts, with --nodes 2.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="A directory that keeps outcomes and logs; a stopped check resumes in it.",
            metavar="DIR",
        ),
    ] = None,
    all_notes: AllNotes = False,
    json: Json = "",
) -> None:
    """Check partitioned communication (MPI 4.0, chapter 4) on this machine's MPI library.

    Two processes run each case. The exit status is 1 if a case that the standard
    requires is wrong, crashes or hangs.
    """
    from offbeat.libraries.installations.build import build_native
    from offbeat.libraries.installations.find import choose
    from offbeat.partitioned.conformance.check import CheckProgress, check, launch_of, program_of
    from offbeat.partitioned.conformance.outcomes import CheckSettings

    if hostfile is not None and nodes != 2:
        raise BadInput("--hostfile: give '--nodes 2', too, to place the processes on two of its hosts")
    installation = choose(mpi)
    launch_of(installation, [], nodes, hostfile)  # refused before anything is built
    settings = CheckSettings(
        library=installation.version_text,
        of=of.value,
        timeout_s=_timeout_s(timeout),
        cases=case or [],
        nodes=nodes,
    )
    with CheckProgress(verb="run", unit="cases", activity="launching") as progress:
        driver = build_native(installation, echo=progress.print)
        launch = launch_of(installation, program_of(installation, settings.of, driver), nodes, hostfile)
        with TemporaryDirectory() as scratch:
            outcome = check(launch, settings, output or Path(scratch) / "check", progress)
    if prints_text(json):
        _show(outcome, all_notes=all_notes)
    write_json(json, lambda: outcome)
    if outcome.failed:
        raise typer.Exit(1)


def _show(outcome: Check, *, all_notes: bool) -> None:
    from offbeat.base.terminal_table import FittedTable
    from offbeat.partitioned.conformance import tables

    console = stdout()
    console.print(FittedTable(tables.HEADINGS, tables.rows(outcome), texts=range(len(tables.HEADINGS))))
    console.print(f"\n{tables.EXPLANATION}\n", soft_wrap=False)
    print_notes(console, tables.failures(outcome), everything=all_notes, word="failed")
    console.print(tables.summary(outcome), markup=False)


def _timeout_s(text: str) -> float:
    try:
        timeout_s = parse_time(text)
    except BadInput as error:
        raise BadInput(f"--timeout: {error}") from None
    if not 1 <= timeout_s <= 3600:
        raise BadInput(f"--timeout {text}: give a time from 1 s to 1 h")
    return timeout_s
