"""``offbeat program``: programs of many iterations, from a description."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.cli.output import Json, SchemaFile, echo, encoded, prints_text, stdout, write_json, write_schema
from offbeat.errors import BadInput
from offbeat.units import counted, format_time

if TYPE_CHECKING:
    from offbeat.program.simulate import Run, Simulated
    from offbeat.program.simulated_trace import TracedIterations
    from offbeat.program.summary import Summary

app = typer.Typer(
    help="Describe and simulate programs of many iterations.", no_args_is_help=True, rich_markup_mode=None
)

File = Annotated[
    str,
    typer.Argument(help="A program file, or a name that 'offbeat program list' prints.", metavar="PROGRAM"),
]
PLATFORM = "A platform file, or a name that 'offbeat platform list' prints."
Ranks = Annotated[
    int, typer.Option("--ranks", "-p", min=0, help="Number of ranks; 0: the file's.", show_default=False)
]


@app.command("list")
def list_programs() -> None:
    """List the programs that come with offbeat."""
    from rich.console import Console

    from offbeat.program.load import PRESETS, load
    from offbeat.program.show import summary
    from offbeat.table import FittedTable

    table = FittedTable(["name", "title", "ranks", "source"], texts=(0, 1, 3))
    for name in PRESETS.names():
        table.add_row(name, *summary(load(name)))
    Console(highlight=False).print(table)


@app.command("init")
def init(
    path: Annotated[Path, typer.Argument(help="The program file to write.", metavar="PATH")] = Path(
        "program.toml"
    ),
    preset: Annotated[
        str, typer.Option("--from", help="Write this program that comes with offbeat.", metavar="NAME")
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")] = False,
) -> None:
    """Write a commented program file that can be simulated as it is."""
    from offbeat.atomic_write import write_new
    from offbeat.program.load import PRESETS
    from offbeat.program.template import template

    text = PRESETS.path_of(preset).read_text() if preset else template()
    write_new(path, text, "the program file", force=force)
    echo(f"wrote {path}; show it with 'offbeat program show {shlex.quote(str(path))}'")


@app.command("schema")
def schema(output: SchemaFile = None) -> None:
    """Print the JSON Schema of program files, for editors and other programs."""
    from offbeat.program.template import schema_text

    write_schema(output, schema_text())


@app.command("show")
def show_program(
    program: File,
    platform: Annotated[
        str, typer.Option("--platform", help=f"{PLATFORM} Shows how long each phase takes there.")
    ] = "",
    ranks: Ranks = 0,
) -> None:
    """Show the phases and delays of a program, and with a platform how long each phase takes alone."""
    from offbeat.platform import machine
    from offbeat.program.load import load
    from offbeat.program.show import facts, noise_rows, phase_rows
    from offbeat.program.simulate import lockstep
    from offbeat.table import FittedTable

    loaded = load(program).resized(ranks=ranks)
    alone = lockstep(loaded, machine.load(platform)) if platform else None
    console = stdout()
    console.print(loaded.name, style="bold", markup=False)
    console.print(FittedTable(["", ""], facts(loaded), texts=(0, 1), show_header=False))
    console.print()
    headings, rows = phase_rows(loaded, alone)
    console.print(FittedTable(headings, rows, texts=range(4)))
    if loaded.file.noise:
        console.print()
        console.print(FittedTable(*noise_rows(loaded), texts=range(4)))
    if alone is not None:
        console.print(
            f"\nIn lockstep an iteration takes {format_time(alone.iteration_s)},"
            f" {format_time(alone.work_s)} of it work;"
            f" communication-to-execution ratio {alone.communication_ratio:.3g}."
        )


@app.command("simulate")
def simulate(
    program: File,
    platform: Annotated[str, typer.Option("--platform", help=PLATFORM)],
    ranks: Ranks = 0,
    iterations: Annotated[
        int,
        typer.Option("--iterations", "-n", min=0, help="How many; 0: the file's.", show_default=False),
    ] = 0,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of random delays. [default: the file's]")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Parquet file to write as well: the end and the communication time of each iteration of"
            " each rank.",
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", help="Picture to write as well: a .png, .svg or .pdf file."),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            help="Folder to write a trace to as well: all MPI calls of every rank, for 'offbeat trace'.",
            metavar="DIR",
        ),
    ] = None,
    trace_iterations: Annotated[
        str,
        typer.Option(
            "--trace-iterations",
            help="Only these iterations are in the trace, such as 1-100. [default: all, if they need at"
            " most 1 GB]",
            metavar="FIRST-LAST",
        ),
    ] = "",
    json: Json = "",
) -> None:
    """Simulate a program on a platform: how fast its iterations are, and how far its ranks part."""
    from offbeat.drawing.pictures import check_picture_path
    from offbeat.platform import machine
    from offbeat.program.load import load
    from offbeat.program.simulate import lockstep, prepare
    from offbeat.program.simulated_trace import plan, selected_iterations
    from offbeat.program.summary import summarise

    if picture is not None:
        check_picture_path(picture)
    loaded = load(program).resized(ranks=ranks, iterations=iterations, seed=seed)
    on = machine.load(platform)
    prepared = prepare(loaded, on)
    selected = selected_iterations(trace_iterations)
    if selected and trace is None:
        raise BadInput("--trace-iterations needs --trace, the folder of the trace")
    traced = plan(prepared, trace, selected) if trace is not None else None
    composite = lockstep(loaded, on)
    run = _simulated(prepared, traced)
    summary = summarise(run, composite)
    if prints_text(json):
        _print(run, summary)
    write_json(json, lambda: encoded(summary))
    if output is not None:
        from offbeat.program.table import write_iterations

        write_iterations(run, output)
        echo(f"wrote {output}")
    if picture is not None:
        from offbeat.program.picture import picture as draw  # matplotlib loads slowly

        draw(run, composite, picture)
        echo(f"wrote {picture}")
    if traced is not None:
        _print_trace(traced)


def _print_trace(traced: TracedIterations) -> None:
    from offbeat.units import rounded_size

    iterations = f"iterations {traced.first + 1}-{traced.end}, {rounded_size(traced.size_bytes)}"
    command = f"offbeat trace summary {shlex.quote(str(traced.directory))}"
    echo(f"wrote {traced.directory} ({iterations}); see it with: {command}")


def _simulated(run: Run, traced: TracedIterations | None) -> Simulated:
    """Simulate with a progress bar, and write a trace if one is planned."""
    from offbeat.program.simulated_trace import simulate_traced
    from offbeat.progress_bar import ProgressBar

    with ProgressBar(f"simulate {run.program.name} on {run.platform.name}", counts=False) as bar:

        def on_progress(done: int, total: int) -> None:
            bar.update(done=done, total=total)
            bar.print_periodically(f"simulated {100 * done / total:.0f}% of all iterations")

        if traced is None:
            return run.simulate(on_progress)
        return simulate_traced(run, traced, on_progress)


def _print(run: Simulated, summary: Summary) -> None:
    from offbeat.program.summary import sentences
    from offbeat.table import FittedTable, wrap_text

    console = stdout()
    size = f"{counted(summary.ranks, 'rank')}, {counted(summary.iterations, 'iteration')}"
    console.print(f"{summary.program} on {summary.platform}: {size}", markup=False)
    rows = [
        [one.what, format_time(one.iteration_s), f"{one.per_second:.4g}", f"{one.per_second_and_rank:.4g}"]
        for one in (summary.simulated, summary.lockstep, summary.work)
    ]
    console.print(FittedTable(["", "iteration", "iterations/s", "per rank"], rows))
    console.print()
    from rich.text import Text

    for sentence in sentences(run, summary):
        for line in wrap_text(Text(sentence), console.width):
            console.print(line)
