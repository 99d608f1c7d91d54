"""``offbeat platform``: simulated machines."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from offbeat.base.units import format_time
from offbeat.cli.completion import libraries, platforms
from offbeat.cli.output import SchemaFile, echo, stdout, write_schema
from offbeat.model.platform import bundled_platforms

app = typer.Typer(
    help="List, show, write and calibrate simulated machines.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Picture = Annotated[
    Path | None, typer.Option("--picture", help="Picture to write as well: a .png, .svg or .pdf file.")
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")]


@app.command("list")
def list_platforms() -> None:
    """List the built-in platforms."""
    from rich.console import Console

    from offbeat.base.terminal_table import FittedTable
    from offbeat.model.platform import description, machine

    table = FittedTable(["name", "nodes × cores", "joined by", "source"], texts=range(4))
    for name in bundled_platforms.PRESETS.names():
        table.add_row(*description.summary(machine.load(name)))
    Console(highlight=False).print(table)


@app.command("show")
def show_platform(
    platform: Annotated[
        str,
        typer.Argument(
            help="A platform file, or a name that 'offbeat platform list' prints.", autocompletion=platforms
        ),
    ] = bundled_platforms.DEFAULT_PRESET,
    picture: Picture = None,
    route: Annotated[
        tuple[int, int] | None,
        typer.Option("--route", help="Two nodes: show which links a message takes from one to the other."),
    ] = None,
) -> None:
    """Show the properties of a platform, and the time of a single message by size and distance."""
    from offbeat.base.terminal_table import FittedTable
    from offbeat.model.platform import description, machine

    platform_file = machine.load(platform)
    console = stdout()
    console.print(f"{platform_file.name}", style="bold", markup=False)
    console.print(FittedTable(["", ""], description.facts(platform_file), texts=(0, 1), show_header=False))
    headings, rows = description.by_size(platform_file)
    console.print("\nA single message: time and bandwidth")
    console.print(FittedTable(headings, rows))
    if route:
        latency_s, links = description.route(platform_file, *route)
        console.print(f"\nFrom node {route[0]} to node {route[1]}: {format_time(latency_s)}")
        console.print(FittedTable(["link", "bandwidth", "share of the rate"], links))
    if picture is not None:
        from offbeat.presentation.pictures.platform import picture as draw_picture  # matplotlib loads slowly

        draw_picture(platform_file, picture)
        console.print(f"wrote {picture}", markup=False)


@app.command("init")
def init_platform(
    path: Annotated[Path, typer.Argument(help="The platform file to write.", metavar="PATH")] = Path(
        "platform.toml"
    ),
    preset: Annotated[
        str,
        typer.Option("--from", help="A platform of 'offbeat platform list' to start from."),
    ] = "",
    force: Force = False,
) -> None:
    """Write a commented platform file that can be used as it is."""
    from offbeat.base.atomic_write import write_new
    from offbeat.model.platform import machine, template

    text = (
        machine.load(str(bundled_platforms.PRESETS.path_of(preset))).text if preset else template.template()
    )
    write_new(path, text, "the platform file", force=force)
    print(f"wrote {path}; see what it comes to with 'offbeat platform show {shlex.quote(str(path))}'")


@app.command("schema")
def platform_schema(output: SchemaFile = None) -> None:
    """Print the JSON Schema of platform files, for editors and other programs."""
    from offbeat.model.platform.template import schema_text

    write_schema(output, schema_text())


@app.command("calibrate")
def calibrate_platform(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The platform file to write.", metavar="PATH")
    ] = Path("platform.toml"),
    mpi: Annotated[
        str,
        typer.Option(
            "--mpi", help="MPI prefix, or a name that 'offbeat doctor' prints.", autocompletion=libraries
        ),
    ] = "auto",
    nodes: Annotated[
        int,
        typer.Option(
            "--nodes", min=0, help="Nodes to measure on. [default: 2 in a batch job that has them, else 1]"
        ),
    ] = 0,
    ppn: Annotated[
        int,
        typer.Option(
            "--ppn",
            min=0,
            help="Processes per node, enough to saturate a node's link. [default: its cores, 16 at most]",
        ),
    ] = 0,
    hostfile: Annotated[
        Path | None, typer.Option("--hostfile", help="File with the hosts, passed to the launcher.")
    ] = None,
    largest: Annotated[
        str, typer.Option("--largest", help="The largest message: bytes, or a size such as '8 MiB'.")
    ] = "8 MiB",
    cold: Annotated[
        bool,
        typer.Option(
            "--cold",
            help="Send messages that are in no cache. By default, the sender has just written each message,"
            " and the receiver has read the last one.",
        ),
    ] = False,
    base: Annotated[
        str,
        typer.Option(
            "--base",
            help="The platform (file or name) that supplies what cannot be measured here: the number of"
            " nodes, and on one node everything between nodes.",
        ),
    ] = "",
    picture: Picture = None,
    measurements: Annotated[
        Path | None, typer.Option("--measurements", help="File to keep the measurements in, as JSON.")
    ] = None,
    refit: Annotated[
        Path | None,
        typer.Option("--refit", help="File of --measurements to fit again; nothing is measured then."),
    ] = None,
    force: Force = False,
) -> None:
    """Measure messages and memory traffic on this machine, and write the platform file that fits them best.

    Prints the measured time and the time of the fitted model for each size.
    """

    from offbeat.base.atomic_write import check_new, write_new
    from offbeat.base.terminal_table import FittedTable
    from offbeat.libraries.calibration.calibration import (
        CalibrationSettings,
        calibrate,
        measure_here,
        parse_largest,
    )
    from offbeat.libraries.calibration.measured_times import read as read_measurements
    from offbeat.libraries.calibration.measured_times import write as write_measurements
    from offbeat.libraries.installations.find import choose
    from offbeat.model.platform import machine

    check_new(output, force=force)
    if measurements is not None:
        check_new(measurements, force=True)
    base_machine = machine.load(base) if base else None
    if refit is None:
        largest_bytes = parse_largest(largest)
        settings = CalibrationSettings(
            nodes=nodes, ppn=ppn, hostfile=hostfile, largest=largest_bytes, is_cold=cold
        )
        message_times = measure_here(choose(mpi), settings, echo)
    else:
        message_times = read_measurements(refit)
    if measurements is not None:
        write_measurements(message_times, measurements)
    fit = calibrate(message_times, base_machine)
    console = stdout()
    console.print(FittedTable(*fit.table()))
    for line in fit.lines():
        console.print(line, markup=False)
    write_new(output, fit.text, "the platform file", force=force)
    console.print(f"wrote {output}", markup=False)
    if picture is not None:
        from offbeat.presentation.pictures.calibration import picture as draw_picture

        draw_picture(message_times, fit.residuals, picture)
        console.print(f"wrote {picture}", markup=False)
