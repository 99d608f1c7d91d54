"""``offbeat program``: programs of many iterations, from a description."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.base.errors import BadInput
from offbeat.base.reading import read_text
from offbeat.base.units import format_time
from offbeat.cli import program_run
from offbeat.cli.output import Json, SchemaFile, check_outputs, echo, print_sentences, stdout, write_schema
from offbeat.cli.program_options import PLATFORM, Anchor, File, Output, PictureFile, Platform, Ranks, Seed
from offbeat.cli.program_report import report

if TYPE_CHECKING:
    from offbeat.programs.simulation.simulate import Run, Simulated
    from offbeat.programs.simulation.simulated_trace import TracedIterations

app = typer.Typer(
    help="Describe, simulate and run programs of many iterations.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

app.command("run")(program_run.run_program)
app.command("times")(program_run.show_times)


@app.command("list")
def list_programs() -> None:
    """List the programs that come with offbeat."""
    from rich.console import Console

    from offbeat.base.terminal_table import FittedTable
    from offbeat.programs.description.description import summary
    from offbeat.programs.description.program_file import PRESETS, load

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
    trace: Annotated[
        Path | None,
        typer.Option(
            "--from-trace",
            help="Write the program of this trace: its messages, collectives and times of work.",
            metavar="DIR",
        ),
    ] = None,
    platform: Annotated[
        str,
        typer.Option(
            "--platform",
            help=f"{PLATFORM} With --from-trace: collectives run by the fastest algorithm there.",
        ),
    ] = "",
    anchor: Anchor = "",
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")] = False,
) -> None:
    """Write a commented program file that can be simulated as it is, or the program of a trace."""
    from offbeat.base.atomic_write import write_new
    from offbeat.programs.description.program_file import PRESETS
    from offbeat.programs.description.template import template

    if preset and trace is not None:
        raise BadInput("--from and --from-trace both say what to write; give one of them")
    if trace is not None:
        text = _traced_text(trace, platform, anchor)
    elif platform or anchor:
        raise BadInput("--platform and --anchor need --from-trace")
    else:
        text = read_text(PRESETS.path_of(preset)) if preset else template()
    write_new(path, text, "the program file", force=force)
    echo(f"wrote {path}; show it with 'offbeat program show {shlex.quote(str(path))}'")


def _traced_text(trace: Path, platform: str, anchor: str) -> str:
    from offbeat.cli.program_options import derived_from
    from offbeat.model.platform import machine

    if not platform:
        raise BadInput("--from-trace needs --platform, on which collectives run by their fastest algorithm")
    derived_program = derived_from(trace, machine.load(platform), anchor)
    for note in derived_program.notes:
        echo(f"note: {note}")
    return derived_program.program.toml


@app.command("schema")
def schema(output: SchemaFile = None) -> None:
    """Print the JSON Schema of program files, for editors and other programs."""
    from offbeat.programs.description.template import schema_text

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
    from offbeat.base.terminal_table import FittedTable
    from offbeat.model.platform import machine
    from offbeat.programs.description.description import facts, noise_rows, phase_rows
    from offbeat.programs.description.program_file import load
    from offbeat.programs.simulation.lockstep import limit_s, lockstep
    from offbeat.programs.simulation.simulate import phase_times_s

    program_file = load(program).resized(ranks=ranks)
    machine_file = machine.load(platform) if platform else None
    alone_s = phase_times_s(program_file, machine_file) if machine_file else None
    console = stdout()
    console.print(program_file.name, style="bold", markup=False)
    console.print(FittedTable(["", ""], facts(program_file), texts=(0, 1), show_header=False))
    console.print()
    headings, rows = phase_rows(program_file, alone_s)
    console.print(FittedTable(headings, rows, texts=range(4)))
    if program_file.file.noise:
        console.print()
        console.print(FittedTable(*noise_rows(program_file), texts=range(4)))
    if machine_file is not None:
        composite = lockstep(program_file, machine_file)
        console.print()
        print_sentences(
            console,
            f"In lockstep an iteration takes {format_time(composite.iteration_s)},"
            f" {format_time(composite.work_s)} of it work;"
            f" communication-to-execution ratio {composite.communication_ratio:.3g}. No execution takes less"
            f" than {format_time(limit_s(program_file, machine_file))}.",
        )


@app.command("simulate")
def simulate(
    program: File,
    platform: Platform,
    ranks: Ranks = 0,
    iterations: Annotated[
        int,
        typer.Option("--iterations", "-n", min=0, help="How many; 0: the file's.", show_default=False),
    ] = 0,
    seed: Seed = None,
    output: Output = None,
    picture: PictureFile = None,
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
    """Simulate a program on a platform: how fast its iterations are, and how far its ranks drift apart."""
    from offbeat.model.platform import machine
    from offbeat.presentation.drawing.picture_files import check_picture_path
    from offbeat.programs.description.program_file import load
    from offbeat.programs.simulation.lockstep import simulated_beside
    from offbeat.programs.simulation.simulate import prepare
    from offbeat.programs.simulation.simulated_trace import plan, selected_iterations

    if picture is not None:
        check_picture_path(picture)
    check_outputs(json, output, picture)
    program_file = load(program).resized(ranks=ranks, iterations=iterations, seed=seed)
    machine_file = machine.load(platform)
    prepared_run = prepare(program_file, machine_file)
    iterations_range = selected_iterations(trace_iterations)
    if iterations_range and trace is None:
        raise BadInput("--trace-iterations needs --trace, the folder of the trace")
    trace_plan = plan(prepared_run, trace, iterations_range) if trace is not None else None
    with simulated_beside(program_file, machine_file) as (composite, limit):
        run = _simulated(prepared_run, trace_plan)
    report(run, composite.result(), limit.result(), json=json, output=output, picture=picture)
    if trace_plan is not None:
        _print_trace(trace_plan)


def _print_trace(trace_plan: TracedIterations) -> None:
    from offbeat.base.units import rounded_size

    iterations = f"iterations {trace_plan.first + 1}-{trace_plan.end}, {rounded_size(trace_plan.size_bytes)}"
    command = f"offbeat trace summary {shlex.quote(str(trace_plan.directory))}"
    echo(f"wrote {trace_plan.directory} ({iterations}); see it with: {command}")


def _simulated(run: Run, trace_plan: TracedIterations | None) -> Simulated:
    """Simulate with a progress bar, and write a trace if one is planned."""
    from offbeat.base.progress_bar import ProgressBar
    from offbeat.programs.simulation.simulated_trace import simulate_traced

    with ProgressBar(f"simulate {run.program.name} on {run.platform.name}", counts=False) as bar:

        def on_progress(count: int, total: int) -> None:
            bar.update(done_count=count, total=total)
            bar.print_periodically(f"simulated {100 * count / total:.0f}% of all iterations")

        if trace_plan is None:
            return run.simulate(on_progress)
        return simulate_traced(run, trace_plan, on_progress)
