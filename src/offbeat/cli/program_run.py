"""``offbeat program run`` and ``times``: programs of many iterations with an MPI library."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.base.errors import BadInput, OffbeatError, RunFailed, SignalExit
from offbeat.base.units import amount, parse_size, parse_time
from offbeat.cli.completion import libraries
from offbeat.cli.output import Json, check_outputs, echo
from offbeat.cli.program_options import File, Output, PictureFile, Seed
from offbeat.cli.program_report import report

if TYPE_CHECKING:
    from offbeat.programs.description.program_file import Program
    from offbeat.programs.execution.run import RunSettings
    from offbeat.programs.execution.times import Measured

LEAST_BUFFER = 4096


def run_program(
    program: File,
    ranks: Annotated[
        int,
        typer.Option(
            "--ranks", "-n", "-p", min=0, help="Number of ranks; 0: the file's.", show_default=False
        ),
    ] = 0,
    iterations: Annotated[
        int, typer.Option("--iterations", min=0, help="How many; 0: the file's.", show_default=False)
    ] = 0,
    seed: Seed = None,
    mpi: Annotated[
        str,
        typer.Option(
            "--mpi", help="MPI prefix, or a name that 'offbeat doctor' prints.", autocompletion=libraries
        ),
    ] = "auto",
    nodes: Annotated[
        int,
        typer.Option(
            "--nodes",
            min=0,
            help="Nodes; with --ppn. [default: the launcher's choice]",
            show_default=False,
        ),
    ] = 0,
    ppn: Annotated[
        int, typer.Option("--ppn", min=0, help="Ranks on each node; with --nodes.", show_default=False)
    ] = 0,
    hostfile: Annotated[
        Path | None, typer.Option("--hostfile", help="File with the hosts, passed to the launcher.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            help="Folder, on a file system of all nodes, in which ranks record their times. [default: a"
            " temporary one in this folder]",
            metavar="DIR",
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option("--trace", help="Record a trace of messages and collectives.", metavar="DIR"),
    ] = None,
    buffer: Annotated[
        str,
        typer.Option(
            "--buffer",
            help="Size of the arrays that a rank's work streams through. [default: four times the last-level"
            " cache]",
        ),
    ] = "",
    hang_after: Annotated[
        str, typer.Option("--hang-after", help="End a run in which no iteration ends for this time.")
    ] = "60 s",
    output: Output = None,
    picture: PictureFile = None,
    json: Json = "",
) -> None:
    """Run a program with MPI on this machine: real messages, real memory traffic.

    Prints what 'offbeat program simulate' prints, and which algorithms ran. If a run is
    killed, complete iterations are kept in its folder: 'offbeat program times DIR' shows them.
    """
    from offbeat.presentation.drawing.picture_files import check_picture_path
    from offbeat.programs.description.program_file import load
    from offbeat.programs.execution.run import RunSettings

    if picture is not None:
        check_picture_path(picture)
    check_outputs(json, output, picture)
    settings = RunSettings(
        nodes=nodes,
        ppn=ppn,
        hostfile=hostfile,
        buffer_bytes=_buffer_bytes(buffer),
        hang_after_s=_hang_after_s(hang_after),
        trace=trace,
    )
    program_file = load(program).resized(ranks=ranks, iterations=iterations, seed=seed)
    with _place(folder) as run_folder:
        times, reason = _run(program_file, mpi, settings, run_folder)
        report(times, times.composite, None, json=json, output=output, picture=picture)
    if trace is not None:
        echo(f"trace: {trace}; see it with: offbeat trace summary {shlex.quote(str(trace))}")
    if reason:
        raise RunFailed(reason)


def show_times(
    folder: Annotated[Path, typer.Argument(help="The folder of 'offbeat program run --folder'.")],
    output: Output = None,
    picture: PictureFile = None,
    json: Json = "",
) -> None:
    """Show a run again, also one that was killed: the iterations that all ranks completed."""
    from offbeat.presentation.drawing.picture_files import check_picture_path
    from offbeat.programs.execution.times import read

    if picture is not None:
        check_picture_path(picture)
    check_outputs(json, output, picture)
    times = read(folder)
    report(times, times.composite, None, json=json, output=output, picture=picture)


def _run(program: Program, mpi: str, settings: RunSettings, run_folder: Path) -> tuple[Measured, str]:
    """Run in the folder."""
    from offbeat.base.progress_bar import ProgressBar
    from offbeat.libraries.installations.build import build_native
    from offbeat.libraries.installations.find import choose
    from offbeat.programs.execution.run import prepare, run

    installation = choose(mpi)
    with ProgressBar(f"run {program.name} with {installation.version_text}") as bar:
        launches = prepare(program, installation, settings, run_folder)
        build_native(installation, echo=bar.print)
        for warning in launches.warnings:
            bar.print(f"note: {warning}")

        def on_progress(count: int, total: int) -> None:
            bar.update(done_count=count, total=total)
            bar.print_periodically(f"ran {count} of {amount(total, 'iteration')}")

        return run(launches, run_folder, on_progress)


@contextmanager
def _place(folder: Path | None) -> Iterator[Path]:
    """The folder of a run, or a temporary one, which is kept if complete iterations in it were not shown."""
    from offbeat.programs.execution.times import completed

    run_folder = _created(folder)
    is_temporary = folder is None
    try:
        yield run_folder
    except (SignalExit, OffbeatError) as stop:
        if completed(run_folder / "rank-0.times"):
            is_temporary = False
            command_text = f"offbeat program times {shlex.quote(str(run_folder))}"
            message = f"complete iterations are kept, see them with: {command_text}"
            if isinstance(stop, SignalExit):
                stop.report_progress(f"; {message}")
            else:
                echo(message)
        raise
    finally:
        if is_temporary:
            shutil.rmtree(run_folder, ignore_errors=True)


def _created(folder: Path | None) -> Path:
    """Create the folder of a run, or a temporary one."""
    from offbeat.trace.files.folder import create

    if folder is None:
        try:
            return Path(tempfile.mkdtemp(prefix="offbeat-run-", dir="."))
        except OSError as error:
            remedy = "give one in a folder that you can write to with --folder"
            raise BadInput(f"cannot create a folder for the run here: {error.strerror}; {remedy}") from None
    create(folder)
    return folder


def _buffer_bytes(text: str) -> int:
    if not text:
        return 0
    try:
        size = parse_size(text)
    except BadInput as error:
        raise BadInput(f"--buffer: {error}") from None
    if not LEAST_BUFFER <= size < 2**62:
        raise BadInput(f"--buffer {text}: give a size from {LEAST_BUFFER} B on, such as '256 MiB'")
    return size


def _hang_after_s(text: str) -> float:
    try:
        seconds = parse_time(text)
    except BadInput as error:
        raise BadInput(f"--hang-after: {error}") from None
    if not 1 <= seconds <= 86400:
        raise BadInput(f"--hang-after {text}: give a time from 1 s to 24 h")
    return seconds
