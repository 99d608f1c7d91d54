"""``offbeat trace``: record the collectives of a program; show where time goes and which ranks are late."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.cli import trace_pattern, trace_run
from offbeat.cli.output import AllNotes, Json, print_notes, prints_text, stdout, write_json
from offbeat.cli.trace_options import Directory, summary_of_trace
from offbeat.errors import BadInput

if TYPE_CHECKING:
    from offbeat.trace.summary import Summary

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Record the collectives of a program; show where the time goes and how its processes arrive.",
)

MOST_ROWS = 20
"""Default of --rows."""

PICTURES = 5
"""Number of rows with a picture, those with the most operation time."""

app.command("run", context_settings=trace_run.CONTEXT)(trace_run.command)


@app.command("summary")
def summarise_trace(
    directory: Directory,
    rows: Annotated[
        int, typer.Option(min=0, help="Number of rows, those that take the most time; 0: all.")
    ] = MOST_ROWS,
    apart: Annotated[
        bool, typer.Option("--apart", help="Show the communicators of a group separately.")
    ] = False,
    json: Json = "",
    all_notes: AllNotes = False,
    pictures: Annotated[
        Path | None,
        typer.Option(
            help="Folder for pictures of the mean delay by rank, as PNG, PDF and SVG.", metavar="FOLDER"
        ),
    ] = None,
) -> None:
    """Show where the time in collectives goes: waiting or operation, late ranks, what to tune first."""
    import msgspec

    from offbeat.trace.read import open_trace
    from offbeat.trace.summary import as_plain

    summary = summary_of_trace(open_trace(directory))
    if prints_text(json):
        _print(summary, rows, apart=apart, all_notes=all_notes)
    write_json(json, lambda: msgspec.json.encode(as_plain(summary)) + b"\n")
    if pictures is not None:
        _draw(summary, pictures)
        if prints_text(json):
            stdout().print(f"pictures: {pictures}", markup=False)


def _print(summary: Summary, rows: int, *, apart: bool, all_notes: bool) -> None:
    from offbeat.trace.recommendation import sentence
    from offbeat.trace.summary import head, tables

    console = stdout()
    console.print(*head(summary), sep="\n", markup=False)
    print_notes(console, summary.notes, everything=all_notes)
    for table in tables(summary, rows, apart=apart):
        if table.rows:
            console.print()
            console.print(table.fitted(console.width))
            console.print(*table.notes, sep="\n", markup=False)
    console.print()
    console.print(sentence(summary), markup=False)


def _draw(summary: Summary, folder: Path) -> None:
    from offbeat.drawing.pictures import write_pictures  # importing matplotlib is slow
    from offbeat.trace.call_site_stats import file_stem_of
    from offbeat.trace.page import delay_figure, drawn_rows

    for place, row in enumerate(drawn_rows(summary, PICTURES), 1):
        write_pictures(delay_figure(summary, row), folder, f"{place}-{file_stem_of(row)}-delay")


@app.command("report")
def report_trace(
    directory: Directory,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The HTML file to write. [default: beside DIR]", metavar="FILE"),
    ] = None,
    pictures: Annotated[
        Path | None,
        typer.Option(help="Also write all pictures to this folder, as PNG, PDF and SVG.", metavar="FOLDER"),
    ] = None,
) -> None:
    """Write the summary with pictures as one self-contained HTML file."""
    from offbeat.trace.arrivals import samples
    from offbeat.trace.page import drawn_rows, write_page  # importing matplotlib is slow
    from offbeat.trace.read import ReadProgress, open_trace

    trace = open_trace(directory)
    summary = summary_of_trace(trace)
    with ReadProgress("reading arrivals") as progress:
        sampled = samples(trace, drawn_rows(summary), on_progress=progress.show_records)
    path = output or _beside(directory, ".html")
    write_page(trace, summary, sampled, path, pictures)
    stdout().print(f"report: {path}", markup=False)
    if pictures is not None:
        stdout().print(f"pictures: {pictures}", markup=False)


app.command("pattern")(trace_pattern.command)


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
    from offbeat.trace.exports import EXPORTS, export, ranks_of  # importing pyarrow is slow
    from offbeat.trace.read import ReadProgress, open_trace

    if to not in EXPORTS:
        raise BadInput(f"--to {to}: the formats are {', '.join(EXPORTS)}")
    trace = open_trace(directory)
    path = output or _beside(directory, EXPORTS[to][0])
    with ReadProgress("writing") as progress:
        export(trace, path, to, ranks=ranks_of(ranks, trace), on_progress=progress.show_records)
    print_notes(stdout(), trace.notes, everything=True)
    stdout().print(f"wrote {path}", markup=False)


def _beside(directory: Path, suffix: str) -> Path:
    """The default output: the name of the trace with a suffix, in the same folder."""
    return directory.absolute().with_name(f"{directory.absolute().name}{suffix}")
