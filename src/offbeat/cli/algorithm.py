"""``offbeat algorithm``: the algorithms of collectives, their messages, and whether they are right."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from offbeat.base.errors import BadInput, RunFailed
from offbeat.base.units import parse_size, parse_time
from offbeat.cli.completion import algorithms, collectives
from offbeat.cli.output import Json, prints_text, stdout, write_json
from offbeat.model.platform import bundled_platforms

app = typer.Typer(
    help="List, draw and prove the algorithms of the simulator, and yours.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

NAME = (
    "COLLECTIVE/NAME, such as 'reduce/chain(fanout=2)', or FILE.py:FUNCTION for one that is written in Python"
)

Family = Annotated[
    str,
    typer.Option(
        help="Library whose names are used: openmpi, mpich or simgrid; default: the first with this name."
    ),
]
OfFunction = Annotated[str, typer.Option("--collective", help="The collective that a function computes.")]


@app.command("list")
def list_algorithms(
    collective: Annotated[
        str,
        typer.Argument(
            help="Only those of this collective.", metavar="COLLECTIVE", autocompletion=collectives
        ),
    ] = "",
    family: Annotated[str, typer.Option(help="Only those of openmpi, mpich or simgrid.")] = "",
    json: Json = "",
) -> None:
    """List the algorithms that can be simulated, with their parameters."""

    from offbeat.simulation.algorithms import document, lookup, tables

    entries = lookup.list_algorithms(collective, family)
    if prints_text(json):
        stdout().print(tables.catalogue_table(entries))
    write_json(json, lambda: document.catalogue_document(entries))


@app.command("show")
def show_algorithm(
    name: Annotated[str, typer.Argument(help=f"{NAME}.", metavar="ALGORITHM", autocompletion=algorithms)],
    p: Annotated[int, typer.Option("--p", min=1, help="Number of processes.")] = 8,
    size: Annotated[
        str, typer.Option(help="Message size as the MPI call states it, such as '64 KiB'.")
    ] = "1 KiB",
    root: Annotated[int, typer.Option(help="The root of a collective that has one.")] = 0,
    element: Annotated[
        str, typer.Option(help="Size of an element; messages are split between elements only.")
    ] = "1 B",
    family: Family = "",
    collective: OfFunction = "",
    pattern: Annotated[
        str,
        typer.Option(
            help="Show when each rank leaves under this arrival pattern: a file, or a shape's name."
        ),
    ] = "",
    skew: Annotated[
        str,
        typer.Option(
            help="The largest delay of a shape: seconds, or a time such as '100 us'; if not given, as long as"
            " the call takes when all ranks arrive together."
        ),
    ] = "",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the shape 'random'.")] = 1,
    platform: Annotated[
        str, typer.Option(help="A platform file, or a name that 'offbeat platform list' prints.")
    ] = bundled_platforms.DEFAULT_PRESET,
    ppn: Annotated[
        int, typer.Option(min=0, help="Processes per node, in blocks; 0: placed by the platform.")
    ] = 0,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", "-o", help="Picture to write as well: a .png, .svg or .pdf file."),
    ] = None,
    json: Json = "",
) -> None:
    """Draw the messages of an algorithm round by round and, with --pattern, when each rank leaves."""
    from offbeat.simulation.algorithms import document, exits, message_drawing, messages

    if skew and not pattern:
        raise BadInput("--skew is the largest delay of a shape: name the shape with --pattern")
    call = messages.show_call(
        name,
        family=family,
        collective=collective,
        p=p,
        root=root,
        bytes=parse_size(size),
        element_bytes=max(parse_size(element), 1),
        platform=platform,
        ppn=ppn,
        arrivals=pattern,
        skew_s=parse_time(skew) if skew else None,
        seed=seed,
    )
    console = stdout()
    write_json(json, lambda: document.call_document(call))
    if prints_text(json):
        unicode = console.encoding.lower().startswith("utf")
        lines = message_drawing.draw_messages(call.messages, width=console.width, unicode=unicode)
        if call.exits:
            lines += ["", *exits.bars(call.exits, width=console.width, unicode=unicode)]
        console.print("\n".join(lines), markup=False)
    if picture is not None:
        from offbeat.presentation.pictures.algorithm import picture as draw_picture  # matplotlib loads slowly

        draw_picture(call.messages, call.exits, picture)
        print(f"wrote {picture}", file=sys.stderr)


@app.command("check")
def check_algorithms(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help=f"{NAME}; or a COLLECTIVE, for all of its algorithms.",
            metavar="ALGORITHM...",
            autocompletion=algorithms,
        ),
    ] = None,
    family: Annotated[str, typer.Option(help="Only algorithms of openmpi, mpich or simgrid.")] = "",
    collective: OfFunction = "",
    every: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Check p from 1 to 70 with every root, more counts, placements and parameters, and some p up"
            " to 1,100, instead of a sample.",
        ),
    ] = False,
    p: Annotated[
        str, typer.Option("--p", help="Numbers of processes to check instead, such as '1-16,64'.")
    ] = "",
    jobs: Annotated[int, typer.Option(min=0, help="Number of parallel checks; 0: one for each core.")] = 0,
    json: Json = "",
) -> None:
    """Prove that algorithms compute their collective, for many p, roots, counts and parameters."""
    from rich.console import Console

    from offbeat.simulation.algorithms import check, check_matrix, document, tables

    outcomes = check.check_with_progress(
        names or [],
        family=family,
        collective=collective,
        is_exhaustive=every,
        ps=check_matrix.parse_ps(p) if p else [],
        jobs=jobs,
        console=Console(stderr=True),
    )
    write_json(json, lambda: document.CheckDocument(algorithms=outcomes))
    if prints_text(json):
        stdout().print(tables.outcomes_table(outcomes))
    if check.wrong(outcomes):
        raise RunFailed(tables.summary(outcomes))
