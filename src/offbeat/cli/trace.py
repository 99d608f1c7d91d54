"""``offbeat trace``: record the collectives of a program, and see where the time goes and who is late."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.table import Table as Drawn

from offbeat.errors import BadInput
from offbeat.pattern import draw as pattern_draw
from offbeat.pattern import file as pattern_file
from offbeat.trace import run as launch
from offbeat.trace.advice import sentence
from offbeat.trace.arrivals import Arrivals, choose_row, collect, described, short_name
from offbeat.trace.patterns import call_pattern, cluster_patterns, mean_pattern, median_pattern, scaled
from offbeat.trace.progress import ReadProgress
from offbeat.trace.read import Trace, open_trace
from offbeat.trace.summary import Row, Summary, as_plain, summarize
from offbeat.trace.tables import MOST_ROWS, Table, head, tables
from offbeat.units import parse_size
from offbeat.whole_file import write_whole_file

app = typer.Typer(
    no_args_is_help=True,
    help="Record the collectives of a program; see where the time goes and how its processes arrive.",
)

PICTURES = 5
"""So many rows, those whose operation takes the most time, get a picture."""

Directory = Annotated[Path, typer.Argument(help="The folder with the trace.", metavar="DIR")]
Collective = Annotated[str, typer.Option(help="Only calls of this collective, such as alltoall.")]
Site = Annotated[str, typer.Option(help="Only call sites with this in their words, such as ft.c:118.")]
Communicator = Annotated[str, typer.Option(help="Only this communicator, as the summary names it.")]
Size = Annotated[str, typer.Option(help="Only calls of this size, such as '32 KiB'.")]


@app.command(
    "run",
    context_settings={
        "allow_extra_args": True,
        "ignore_unknown_options": True,
        "allow_interspersed_args": False,
    },
)
def run_traced(
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
    sync_level: Annotated[
        str, typer.Option(help="MPI_Pcontrol with this level synchronises clocks anew (3 or more).")
    ] = "",
) -> None:
    """Run a program as it is, and record its collectives; its output and exit status are unchanged."""
    wishes = {
        "RANKS": ranks,
        "EVERY": every,
        "COLLECTIVES": collectives,
        "COMM_SIZES": comm_sizes,
        "WINDOW": window,
        "BYTES": limit,
        "SYNC_LEVEL": sync_level,
    }
    installation = launch.find_installation(mpi, words)
    library = launch.tracer(installation)
    status = launch.run(launch.prepare(words, output, wishes, installation, library))
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    written = len(list(output.glob("*.trace")))
    if written:
        console.print(
            f"trace: {output} ({written} ranks); see it with: offbeat trace summary {output}", markup=False
        )
    else:
        console.print(
            f"no trace was written to {output}: the program did not call MPI_Init with"
            f" {installation.version_text}; name its library with --mpi",
            markup=False,
        )
    _end_as(status)


@app.command("summary")
def show_summary(
    directory: Directory,
    rows: Annotated[
        int, typer.Option(min=0, help="So many rows, those that take the most time; 0: all.")
    ] = MOST_ROWS,
    json: Annotated[
        Path | None, typer.Option("--json", help="File to write every number to as well.", metavar="FILE")
    ] = None,
    pictures: Annotated[
        Path | None,
        typer.Option(
            help="Folder for pictures of the mean delay by rank, as PNG, PDF and SVG.", metavar="FOLDER"
        ),
    ] = None,
) -> None:
    """Show where the time in collectives goes: waiting or working, who is late, what to tune first."""
    summary = _summary(open_trace(directory))
    console = Console(highlight=False, soft_wrap=True)
    for line in head(summary):
        console.print(line, markup=False)
    for words in summary.words:
        console.print(f"note: {words}", markup=False)
    for table in tables(summary, rows):
        if table.rows:
            console.print()
            console.print(_drawn(table))
            for note in table.notes:
                console.print(note, markup=False)
    console.print()
    console.print(sentence(summary), markup=False)
    if json is not None:
        _write(json, msgspec.json.encode(as_plain(summary)) + b"\n")
    if pictures is not None:
        _draw(summary, pictures)
        console.print(f"pictures: {pictures}", markup=False)


@app.command("pattern")
def make_pattern(
    directory: Directory,
    what: Annotated[
        str, typer.Option(help="mean or median over all calls, or clusters: the typical patterns.")
    ] = "mean",
    call: Annotated[
        int | None, typer.Option(min=0, help="The delays of this call alone, by its number from 0.")
    ] = None,
    collective: Collective = "",
    site: Site = "",
    communicator: Communicator = "",
    size: Size = "",
    p: Annotated[
        int | None,
        typer.Option(
            "--p",
            min=1,
            help="Scale to so many processes: blocks of neighbouring ranks; the latest of those that fall"
            " together; stretched to the same skew.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search for clusters.")] = 1,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="File to write; for clusters a folder. Standard output if not given."
        ),
    ] = None,
) -> None:
    """Make a pattern file of how ranks arrive at a call site: usable wherever a shape is.

    Without a choice of calls, those whose operation takes the most time are taken.
    """
    if what not in ("mean", "median", "clusters"):
        raise BadInput(f"--what {what}: known are mean, median, clusters")
    trace = open_trace(directory)
    summary = _summary(trace)
    wanted = _size(size)
    row = choose_row(summary, collective=collective, site=site, communicator=communicator, size=wanted)
    made, said = _patterns(trace, summary, row, what, call, seed)
    made = [pattern if p is None else scaled(pattern, p) for pattern in made]
    errors = Console(stderr=True, highlight=False, soft_wrap=True)
    for line in [f"from {described(row)}", *said]:
        errors.print(line, markup=False)
    if output is None:
        if len(made) > 1:
            raise BadInput("there are several clusters; give a folder for their files with --output")
        sys.stdout.write(pattern_file.text(made[0]))
        return
    _write_patterns(made, output, in_folder=what == "clusters" and call is None)


@app.command("export")
def export_trace(
    directory: Directory,
    to: Annotated[str, typer.Option(help="perfetto, otf2, parquet or csv.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File to write, or for otf2 a new folder. [default: beside DIR]"),
    ] = None,
    ranks: Annotated[str, typer.Option(help="Only these ranks, such as 0-3,8.")] = "",
) -> None:
    """Write the trace for other tools; Perfetto's JSON opens at https://ui.perfetto.dev."""
    from offbeat.trace.exports import EXPORTS, ranks_of  # loading pyarrow takes its time

    if to not in EXPORTS:
        raise BadInput(f"--to {to}: known are {', '.join(EXPORTS)}")
    suffix, write = EXPORTS[to]
    trace = open_trace(directory)
    path = output or directory.absolute().with_name(f"{directory.absolute().name}{suffix}")
    with ReadProgress("writing") as progress:
        write(trace, path, ranks=ranks_of(ranks, trace), told=progress.told)
    console = Console(highlight=False, soft_wrap=True)
    for words in trace.words:
        console.print(f"note: {words}", markup=False)
    console.print(f"wrote {path}", markup=False)


def _end_as(status: int) -> None:
    """End as the program did: with its status, or by its signal."""
    if status < 0:
        sys.stdout.flush()
        if -status not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    raise typer.Exit(status)


def _summary(trace: Trace) -> Summary:
    with ReadProgress("reading the trace") as progress:
        return summarize(trace, told=progress.told)


def _size(text: str) -> int | None:
    try:
        return parse_size(text) if text else None
    except BadInput as error:
        raise BadInput(f"--size: {error}") from None


def _patterns(
    trace: Trace, summary: Summary, row: Row, what: str, call: int | None, seed: int
) -> tuple[list[pattern_file.Pattern], list[str]]:
    """The patterns that are wished for, and what to say of them."""
    if call is None and what == "mean":
        pattern = mean_pattern(summary, row)
        return [pattern], [pattern_draw.summary(pattern)]
    arrivals = _arrivals(trace, row)
    if call is not None or what == "median":
        pattern = median_pattern(summary, arrivals) if call is None else call_pattern(summary, arrivals, call)
        return [pattern], [pattern_draw.summary(pattern)]
    clusters = cluster_patterns(summary, arrivals, seed=seed)
    said = [
        f"{pattern_draw.summary(pattern)}; {cluster.share:.1%} of the calls, {cluster.skew_share:.1%} of the"
        f" skew, explains {cluster.explained:.1%} of how ranks differ in them"
        for pattern, cluster in clusters
    ]
    return [pattern for pattern, _ in clusters], said


def _arrivals(trace: Trace, row: Row) -> Arrivals:
    with ReadProgress("reading arrivals") as progress:
        return collect(trace, row, told=progress.told)


def _write_patterns(made: list[pattern_file.Pattern], output: Path, *, in_folder: bool) -> None:
    if not in_folder:
        pattern_file.write(output, made[0])
        return
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot make the folder {output}: {error.strerror or error}") from error
    for pattern in made:
        pattern_file.write(output / f"{pattern.name}.txt", pattern)


def _draw(summary: Summary, folder: Path) -> None:
    from offbeat.report.pictures import write as write_picture  # loading matplotlib takes its time
    from offbeat.trace.draw import delay_figure

    drawn = [row for row in summary.rows if row.processes > 1 and len(row.delays_s)]
    for place, row in enumerate(sorted(drawn, key=lambda row: -row.operation_s)[:PICTURES], 1):
        write_picture(delay_figure(summary, row), folder, f"{place}-{short_name(row)}-delay")


def _drawn(table: Table) -> Drawn:
    drawn = Drawn(title=table.title, title_justify="left", box=None, pad_edge=False)
    for number, heading in enumerate(table.headings):
        drawn.add_column(heading, justify="left" if number in table.texts else "right", overflow="fold")
    for row in table.rows:
        drawn.add_row(*row)
    return drawn


def _write(path: Path, content: bytes) -> None:
    try:
        write_whole_file(path, content)
    except OSError as error:
        raise BadInput(
            f"cannot write {path}: {error.strerror or error}; give a file in a folder that you can write to"
        ) from error
