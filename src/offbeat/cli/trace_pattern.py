"""``offbeat trace pattern``: pattern files of how ranks arrive at a call site."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.cli.trace_options import (
    Collective,
    Communicator,
    Directory,
    Site,
    Size,
    size_of,
    summary_of_trace,
)
from offbeat.errors import BadInput

if TYPE_CHECKING:
    from offbeat.pattern import file as pattern_file
    from offbeat.trace.arrivals import Arrivals
    from offbeat.trace.call_site_stats import CallSiteStats
    from offbeat.trace.read import Trace
    from offbeat.trace.summary import Summary


def command(
    directory: Directory,
    what: Annotated[
        str,
        typer.Option(
            help="mean or median over all calls; clusters: the typical patterns; or calls: every call, for a"
            " replay."
        ),
    ] = "mean",
    call: Annotated[
        int | None, typer.Option(min=0, help="The delays of this call alone, by its number from 0.")
    ] = None,
    most: Annotated[
        int | None, typer.Option(min=1, help="For calls: so many of them at most, evenly chosen.")
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
    """Make a pattern file, or a replay file, of how ranks arrive at a call site: usable wherever a shape is.

    Without a choice of calls, those to tune first are taken, as the summary names them.
    """
    from offbeat.pattern import file as pattern_file
    from offbeat.trace.call_site_stats import description_of
    from offbeat.trace.patterns import scaled
    from offbeat.trace.read import open_trace
    from offbeat.trace.recommendation import choose_row

    if what not in ("mean", "median", "clusters", "calls"):
        raise BadInput(f"--what {what}: known are mean, median, clusters, calls")
    if most is not None and (what != "calls" or call is not None):
        raise BadInput("--most says how many calls a replay holds: give --what calls with it, and no --call")
    trace = open_trace(directory)
    summary = summary_of_trace(trace)
    wanted = size_of(size)
    row = choose_row(summary, collective=collective, site=site, communicator=communicator, size=wanted)
    unasked = not (collective or site or communicator or size)
    _say(f"from {description_of(row)}{', the calls to tune first' if unasked else ''}")
    if what == "calls" and call is None:
        _write_replay(trace, summary, row, p, most, output)
        return
    made, said = _patterns(trace, summary, row, what, call, seed)
    made = [pattern if p is None else scaled(pattern, p) for pattern in made]
    _say(*said)
    if output is None:
        if len(made) > 1:
            raise BadInput("there are several clusters; give a folder for their files with --output")
        sys.stdout.write(pattern_file.text(made[0]))
        return
    _write_patterns(made, output, in_folder=what == "clusters" and call is None)


def _say(*lines: str) -> None:
    """On standard error: standard output is for the file."""
    from rich.console import Console

    errors = Console(stderr=True, highlight=False, soft_wrap=True)
    for line in lines:
        errors.print(line, markup=False)


def _write_replay(
    trace: Trace, summary: Summary, row: CallSiteStats, p: int | None, most: int | None, output: Path | None
) -> None:
    from offbeat.pattern import draw as pattern_draw
    from offbeat.pattern import sequence
    from offbeat.trace.patterns import recorded_calls, scaled_replay

    made = recorded_calls(summary, _arrivals(trace, row), most=most)
    made = made if p is None else scaled_replay(made, p)
    _say(pattern_draw.replay_summary(made))
    if output is None:
        sys.stdout.write(sequence.text(made))
    else:
        sequence.write(output, made)


def _patterns(
    trace: Trace, summary: Summary, row: CallSiteStats, what: str, call: int | None, seed: int
) -> tuple[list[pattern_file.Pattern], list[str]]:
    """The patterns that are wished for, and what to say of them."""
    from offbeat.pattern import draw as pattern_draw
    from offbeat.trace.call_site_stats import is_mixed, mixed_note
    from offbeat.trace.patterns import call_pattern, cluster_patterns, mean_pattern, median_pattern

    if call is None and what == "mean":
        pattern = mean_pattern(summary, row)
        mixed = [f"caution: {mixed_note(row)}"] if is_mixed(row) else []
        return [pattern], [pattern_draw.summary(pattern), *mixed]
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


def _arrivals(trace: Trace, row: CallSiteStats) -> Arrivals:
    from offbeat.trace.arrivals import collect
    from offbeat.trace.progress import ReadProgress

    with ReadProgress("reading arrivals") as progress:
        return collect(trace, row, on_progress=progress.update)


def _write_patterns(made: list[pattern_file.Pattern], output: Path, *, in_folder: bool) -> None:
    from offbeat.pattern import file as pattern_file

    if not in_folder:
        pattern_file.write(output, made[0])
        return
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(
            f"cannot make the folder {output}: {error.strerror or error}; clusters are a file each, in a"
            " folder that you can write to"
        ) from error
    for pattern in made:
        pattern_file.write(output / f"{pattern.name}.txt", pattern)
