"""``offbeat clock``: the clock that all processes share, and how well they start by it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.base.errors import BadInput
from offbeat.base.units import parse_size, parse_time
from offbeat.cli.completion import libraries
from offbeat.cli.output import AllNotes, print_notes, stdout
from offbeat.measurement.clock_check.check_plan import METHODS

if TYPE_CHECKING:
    from offbeat.measurement.clock_check import directory as kept

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Check how well processes start together here, by barriers and by a shared clock.",
)

Directory = Annotated[
    Path, typer.Argument(help="The directory that 'offbeat clock check' created.", metavar="DIR")
]

NoPictures = Annotated[
    bool, typer.Option("--no-pictures", help="Write the report alone, without pictures beside it.")
]


@app.command("check")
def check_clock(
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The directory for what is measured; a stopped check resumes in it.",
            metavar="DIR",
        ),
    ] = Path("clock-check"),
    mpi: Annotated[
        str,
        typer.Option(
            "--mpi", help="MPI prefix, or a name that 'offbeat doctor' prints.", autocompletion=libraries
        ),
    ] = "auto",
    processes: Annotated[
        int,
        typer.Option(
            "--processes", "-n", min=0, help="Number of processes. [default: one for each core, at least 2]"
        ),
    ] = 0,
    nodes: Annotated[
        int,
        typer.Option(
            "--nodes", min=0, help="Number of nodes for the processes. [default: placed by the launcher]"
        ),
    ] = 0,
    hostfile: Annotated[
        Path | None, typer.Option("--hostfile", help="File with the hosts, passed to the launcher.")
    ] = None,
    collective: Annotated[
        str, typer.Option(help="The collective that is measured after each start.")
    ] = "reduce",
    size: Annotated[
        list[str] | None,
        typer.Option(
            help="Message size of the collective, such as '1 KiB'; default: 8 B. May be given several times."
        ),
    ] = None,
    algorithm: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this algorithm of the collective; by default all that need no separate launch."
            " May be given several times."
        ),
    ] = None,
    repetitions: Annotated[
        int, typer.Option(help="Starts of each kind, alone and followed by each algorithm.")
    ] = 100,
    method: Annotated[
        list[str] | None,
        typer.Option(help=f"Only this clock method: {', '.join(METHODS)}. May be given several times."),
    ] = None,
    longest_age: Annotated[
        str, typer.Option("--longest-age", help="Clocks are compared up to this age of their sync.")
    ] = "3 s",
    seed: Annotated[
        int, typer.Option(help="Seed of the order of measuring and of artificial clock drift.")
    ] = 1,
    no_pictures: NoPictures = False,
    all_notes: AllNotes = False,
) -> None:
    """Measure exit skews, their effect on a collective, how long a clock synchronisation takes, and how
    accurate clocks are after it.

    Compares each algorithm of MPI_Barrier with the harmonised start. A check that was stopped is resumed by
    the same command.
    """
    from offbeat.libraries.installations.find import choose
    from offbeat.measurement.clock_check.check_plan import CheckSettings
    from offbeat.measurement.clock_check.run import CheckProgress, check, default_processes

    installation = choose(mpi)
    settings = CheckSettings(
        library=installation.version_text,
        p=processes or default_processes(nodes),
        nodes=nodes,
        hostfile=str(hostfile.absolute()) if hostfile else "",
        collective=collective,
        sizes=[parse_size(text) for text in size or ["8 B"]],
        algorithms=algorithm or [],
        repetitions=repetitions,
        ages_s=_ages_s(longest_age),
        methods=_methods(method),
        seed=seed,
    )
    with CheckProgress(all_notes=all_notes) as progress:
        outcome = check(installation, settings, output, progress)
    _show(outcome, pictures=not no_pictures, all_notes=all_notes)


@app.command("report")
def report_clock(
    directory: Directory,
    no_pictures: NoPictures = False,
    all_notes: AllNotes = False,
) -> None:
    """Show an existing check, finished or not, and write its report again; nothing is measured."""
    from offbeat.measurement.clock_check import directory as kept

    _show(kept.read(directory), pictures=not no_pictures, all_notes=all_notes)


def _show(outcome: kept.Check, *, pictures: bool, all_notes: bool) -> None:
    """The tables, the verdict, and the report."""
    from offbeat.measurement.clock_check import directory as kept
    from offbeat.measurement.clock_check.summary import sentence, summary
    from offbeat.presentation.pages.clock_check import write_page  # loading matplotlib takes its time
    from offbeat.presentation.pages.clock_check_tables import left_out, tables

    console = stdout()
    machine, algorithms = outcome.head.machine, outcome.head.algorithms
    if machine is None or algorithms is None:
        raise BadInput(
            f"nothing was measured in {outcome.directory} yet; run 'offbeat clock check' again to resume"
        )
    totals = summary(outcome.rows, machine.p)
    for table in [*tables(totals, machine), left_out(algorithms)]:
        if table.rows:
            console.print(table.fit(console.width))
            console.print(*table.notes, "", sep="\n", markup=False)
    failures = [f"{step}: {why}" for step, why in totals.failures]
    print_notes(console, failures, everything=all_notes, word="failed")
    console.print(sentence(totals, machine), markup=False)
    folder = outcome.directory / kept.PICTURES if pictures else None
    console.print(f"report: {write_page(outcome, totals, folder)}", markup=False)


def _ages_s(longest: str) -> list[float]:
    """10 ms, 30 ms, 0.1 s, ... up to the longest."""
    try:
        longest_s = parse_time(longest)
    except BadInput as error:
        raise BadInput(f"--longest-age: {error}") from None
    if not 0.01 <= longest_s <= 3600:
        raise BadInput(f"--longest-age {longest}: give a time from 10 ms to 1 h")
    steps = [digit * 10.0**power for power in range(-2, 4) for digit in (1, 3)]
    return [*(age for age in steps if age < longest_s * 0.9), longest_s]


def _methods(names: list[str] | None) -> list[str]:
    """The methods in the library's order."""
    for name in names or []:
        if name not in METHODS:
            raise BadInput(f"--method {name}: known are {', '.join(METHODS)}")
    return [name for name in METHODS if not names or name in names]
