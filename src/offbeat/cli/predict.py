"""``offbeat predict``: the run time of a traced program with each algorithm."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.cli.completion import result_directories
from offbeat.cli.output import AllNotes, Json, print_notes, prints_text, stdout, write_json
from offbeat.cli.trace_options import Collective, Communicator, Directory, Site, Size, size_of, summed_up

if TYPE_CHECKING:
    from offbeat.predict.prediction import Prediction

PICTURE = "expected-run-time"


def command(
    trace: Directory,
    results: Annotated[
        Path,
        typer.Argument(
            help="The result directory of a study or an import.",
            metavar="RESULTS",
            autocompletion=result_directories,
        ),
    ],
    collective: Collective = "",
    site: Site = "",
    communicator: Communicator = "",
    size: Size = "",
    scenario: Annotated[
        str, typer.Option(help="Which of several scenarios or replays shows how this program arrives.")
    ] = "",
    ran: Annotated[
        str,
        typer.Option(
            help="What the trace ran with, such as linear: gains are against the prediction for that. If not"
            " given, it is taken to be default, the library's own decisions.",
            metavar="ALGORITHM",
        ),
    ] = "",
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            help="All calls that the results cover, together: with the library's own decisions, and with"
            " the choices of each rule.",
        ),
    ] = False,
    json: Json = "",
    all_notes: AllNotes = False,
    pictures: Annotated[
        Path | None,
        typer.Option(help="Folder for the picture, as PNG, PDF and SVG.", metavar="FOLDER"),
    ] = None,
) -> None:
    """Predict the run time of a traced program with each algorithm.

    Without a choice of calls, those are taken that the summary names as the first to tune; if the results do
    not cover them, the next ones that they do.
    """
    from offbeat.predict import document
    from offbeat.predict.cells import source
    from offbeat.predict.predict import Wishes, predict
    from offbeat.results.read import read_study
    from offbeat.trace.read import open_trace

    opened = open_trace(trace)
    measured = read_study(results)
    wishes = Wishes(
        collective=collective,
        site=site,
        communicator=communicator,
        size=size_of(size),
        scenario=scenario,
        ran=ran,
        everything=everything,
    )
    first = opened.headers[0]
    made = predict(opened, summed_up(opened), source(measured, first.library), wishes)
    if prints_text(json):
        _print(made, all_notes=all_notes)
    write_json(json, lambda: document.encoded(made))
    if pictures is not None:
        _draw(made, pictures)


def _print(made: Prediction, *, all_notes: bool) -> None:
    from offbeat.predict import wording
    from offbeat.table import Fitted

    console = stdout()
    for line in wording.head(made):
        console.print(line, markup=False)
    print_notes(console, made.notes, everything=all_notes)
    shown = wording.table(made)
    console.print()
    console.print(Fitted(shown.headings, shown.rows, title=shown.title))
    for line in shown.notes:
        console.print(line, markup=False)
    console.print()
    for line in (wording.sentence(made), wording.ran_sentence(made)):
        if line:
            console.print(line, markup=False)


def _draw(made: Prediction, folder: Path) -> None:
    from rich.console import Console

    from offbeat.predict.draw import prediction_figure  # loading matplotlib takes its time
    from offbeat.report.pictures import write

    write(prediction_figure(made), folder, PICTURE)
    Console(stderr=True, highlight=False, soft_wrap=True).print(
        f"picture: {folder}/{PICTURE}.png", markup=False
    )
