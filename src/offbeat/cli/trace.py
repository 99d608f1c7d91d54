"""``offbeat trace``: record the MPI calls of a program; show where time goes and which ranks are late."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.base.errors import BadInput
from offbeat.cli import trace_run
from offbeat.cli.output import AllNotes, Json, print_notes, prints_text, stdout, write_json
from offbeat.cli.trace_options import Collective, Communicator, Directory, Site, Size, size_of

if TYPE_CHECKING:
    from offbeat.model.pattern import pattern_file
    from offbeat.trace.calls.arrivals import Arrivals
    from offbeat.trace.calls.call_site_stats import CallSiteStats
    from offbeat.trace.files.trace_folder import Trace
    from offbeat.trace.summary import Summary


app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Record the MPI calls of a program; show where the time goes and how its processes arrive.",
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
    """Show where the time in MPI goes: waiting or operation, late ranks, what to tune first."""
    from offbeat.trace.document import summary_document
    from offbeat.trace.files.trace_folder import open_trace
    from offbeat.trace.summary import summary_of_trace

    summary = summary_of_trace(open_trace(directory))
    if prints_text(json):
        _print(summary, rows, apart=apart, all_notes=all_notes)
    write_json(json, lambda: summary_document(summary))
    if pictures is not None:
        _draw(summary, pictures)
        if prints_text(json):
            stdout().print(f"pictures: {pictures}", markup=False)


def _print(summary: Summary, rows: int, *, apart: bool, all_notes: bool) -> None:
    from offbeat.trace.recommendation import sentence
    from offbeat.trace.summary_tables import head, tables

    console = stdout()
    console.print(*head(summary), sep="\n", markup=False)
    print_notes(console, summary.notes, everything=all_notes)
    for table in tables(summary, rows, apart=apart):
        if table.rows:
            console.print()
            console.print(table.fit(console.width))
            console.print(*table.notes, sep="\n", markup=False)
    console.print()
    console.print(sentence(summary), markup=False)


def _draw(summary: Summary, folder: Path) -> None:
    from offbeat.presentation.drawing.picture_files import write_pictures  # importing matplotlib is slow
    from offbeat.presentation.pages.trace import delay_figure, drawn_rows
    from offbeat.trace.calls.call_site_stats import file_stem_of

    for index, row in enumerate(drawn_rows(summary, PICTURES), 1):
        write_pictures(delay_figure(summary, row), folder, f"{index}-{file_stem_of(row)}-delay")


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
    from offbeat.presentation.pages.trace import drawn_rows, write_page  # importing matplotlib is slow
    from offbeat.trace.calls.arrivals import samples
    from offbeat.trace.files.trace_folder import ReadProgress, open_trace
    from offbeat.trace.summary import summary_of_trace

    trace = open_trace(directory)
    summary = summary_of_trace(trace)
    with ReadProgress("reading arrivals") as progress:
        call_samples = samples(trace, drawn_rows(summary), on_progress=progress.show_records)
    path = output or _beside(directory, ".html")
    write_page(trace, summary, call_samples, path, pictures)
    stdout().print(f"report: {path}", markup=False)
    if pictures is not None:
        stdout().print(f"pictures: {pictures}", markup=False)


@app.command("pattern")
def extract_pattern(
    directory: Directory,
    what: Annotated[
        str,
        typer.Option(
            help="mean or median over all calls; clusters: the typical patterns; or calls: every call, for a"
            " replay."
        ),
    ] = "mean",
    call: Annotated[
        int | None, typer.Option(min=0, help="Only the delays of this call, by its number from 0.")
    ] = None,
    most: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="With --what calls: at most N of them, evenly spaced."),
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
            help="Scale to P processes: blocks of neighbouring ranks; the maximum over merged ranks; scaled"
            " to the same skew.",
            metavar="P",
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
    """Extract the arrivals of ranks at a call site as a pattern file or a replay file for studies.

    Without a selection of calls, those that the summary recommends to tune first are used.
    """
    from offbeat.model.pattern import pattern_file
    from offbeat.trace.calls.call_site_stats import description_of
    from offbeat.trace.files.trace_folder import open_trace
    from offbeat.trace.patterns import scale
    from offbeat.trace.recommendation import choose_row
    from offbeat.trace.summary import summary_of_trace

    if what not in ("mean", "median", "clusters", "calls"):
        raise BadInput(f"--what {what}: give mean, median, clusters or calls")
    if most is not None and (what != "calls" or call is not None):
        raise BadInput("--most limits the calls of a replay: give it with --what calls, and without --call")
    trace = open_trace(directory)
    summary = summary_of_trace(trace)
    row = choose_row(summary, collective=collective, site=site, communicator=communicator, size=size_of(size))
    is_default = not (collective or site or communicator or size)
    _print_to_stderr(f"from {description_of(row)}{', the calls to tune first' if is_default else ''}")
    if what == "calls" and call is None:
        _write_replay(trace, summary, row, p, most, output)
        return
    patterns, lines = _patterns(trace, summary, row, what, call, seed)
    patterns = [pattern if p is None else scale(pattern, p) for pattern in patterns]
    _print_to_stderr(*lines)
    if output is None:
        if len(patterns) > 1:
            raise BadInput("there are several clusters; give a folder for their files with --output")
        sys.stdout.write(pattern_file.text(patterns[0]))
        return
    _write_patterns(patterns, output, in_folder=what == "clusters" and call is None)


def _print_to_stderr(*lines: str) -> None:
    """Standard output is for the file."""
    from rich.console import Console

    Console(stderr=True, highlight=False, soft_wrap=True).print(*lines, sep="\n", markup=False)


def _write_replay(
    trace: Trace,
    summary: Summary,
    row: CallSiteStats,
    p: int | None,
    most_calls: int | None,
    output: Path | None,
) -> None:
    from offbeat.model.pattern import replay_file
    from offbeat.presentation.drawing import terminal_bars
    from offbeat.trace.patterns import recorded_calls, scale

    replay = recorded_calls(summary, _arrivals(trace, row), most_calls=most_calls)
    replay = replay if p is None else scale(replay, p)
    _print_to_stderr(terminal_bars.replay_summary(replay))
    if output is None:
        sys.stdout.write(replay_file.text(replay))
    else:
        replay_file.write(output, replay)


def _patterns(
    trace: Trace, summary: Summary, row: CallSiteStats, statistic: str, call: int | None, seed: int
) -> tuple[list[pattern_file.Pattern], list[str]]:
    """The requested patterns, and a summary line for each."""
    from offbeat.presentation.drawing import terminal_bars
    from offbeat.trace.calls.call_site_stats import is_mixed, mixed_note
    from offbeat.trace.patterns import call_pattern, cluster_patterns, mean_pattern, median_pattern

    if call is None and statistic == "mean":
        pattern = mean_pattern(summary, row)
        cautions = [f"caution: {mixed_note(row)}"] if is_mixed(row) else []
        return [pattern], [terminal_bars.summary(pattern), *cautions]
    arrivals = _arrivals(trace, row)
    if call is not None or statistic == "median":
        pattern = median_pattern(summary, arrivals) if call is None else call_pattern(summary, arrivals, call)
        return [pattern], [terminal_bars.summary(pattern)]
    clusters = cluster_patterns(summary, arrivals, seed=seed)
    lines = [
        f"{terminal_bars.summary(pattern)}; {cluster.share:.1%} of the calls, {cluster.skew_share:.1%} of the"
        f" skew, explains {cluster.variance_share:.1%} of the variance of their delays"
        for pattern, cluster in clusters
    ]
    return [pattern for pattern, _ in clusters], lines


def _arrivals(trace: Trace, row: CallSiteStats) -> Arrivals:
    from offbeat.trace.calls.arrivals import collect
    from offbeat.trace.files.trace_folder import ReadProgress

    with ReadProgress("reading arrivals") as progress:
        return collect(trace, row, on_progress=progress.show_records)


def _write_patterns(patterns: list[pattern_file.Pattern], output: Path, *, in_folder: bool) -> None:
    from offbeat.model.pattern import pattern_file

    if not in_folder:
        pattern_file.write(output, patterns[0])
        return
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(
            f"cannot create the folder {output} for the files of the clusters: {error.strerror or error}"
        ) from error
    for pattern in patterns:
        pattern_file.write(output / f"{pattern.name}.txt", pattern)


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
    from offbeat.trace.exports.exports import EXPORTS, export, ranks_of  # importing polars is slow
    from offbeat.trace.files.trace_folder import ReadProgress, open_trace

    if to not in EXPORTS:
        raise BadInput(f"--to {to}: the formats are {', '.join(EXPORTS)}")
    trace = open_trace(directory)
    path = output or _beside(directory, EXPORTS[to][0])
    with ReadProgress("writing") as progress:
        paths = export(trace, path, to, ranks=ranks_of(ranks, trace), on_progress=progress.show_records)
    print_notes(stdout(), trace.notes, everything=True)
    stdout().print(*(f"wrote {one}" for one in paths), sep="\n", markup=False)


def _beside(directory: Path, suffix: str) -> Path:
    """The default output: the name of the trace with a suffix, in the same folder."""
    return directory.absolute().with_name(f"{directory.absolute().name}{suffix}")
