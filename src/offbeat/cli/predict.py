"""``offbeat predict``: the run time of a traced program with each algorithm."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.cli.completion import result_directories
from offbeat.cli.output import AllNotes, Json, print_notes, prints_text, stdout, write_json
from offbeat.cli.trace_options import Collective, Communicator, Directory, Site, Size, size_of

if TYPE_CHECKING:
    from offbeat.tuning.prediction.prediction import Prediction

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
        str,
        typer.Option(help="The scenario or replay with the arrivals of this program, if there are several."),
    ] = "",
    ran: Annotated[
        str,
        typer.Option(
            help="The algorithm that the traced run used, such as linear: gains are relative to its"
            " prediction. If not given, it is assumed to be default, the library's own decisions.",
            metavar="ALGORITHM",
        ),
    ] = "",
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            help="All calls that the results cover together: with the library's own decisions, and with the"
            " choices of each rule.",
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

    Without a selection of calls, those that the summary recommends to tune first are used; if the results do
    not cover them, the next ones that they cover.
    """
    from offbeat.measurement.results.read import read_study
    from offbeat.trace.files.trace_folder import open_trace
    from offbeat.trace.summary import summary_of_trace
    from offbeat.tuning.prediction.document import prediction_document
    from offbeat.tuning.prediction.measured_configuration import measurements
    from offbeat.tuning.prediction.program_prediction import Request, predict

    program_trace = open_trace(trace)
    study_results = read_study(results)
    request = Request(
        collective=collective,
        site=site,
        communicator=communicator,
        size=size_of(size),
        scenario=scenario,
        ran=ran,
        everything=everything,
    )
    first = program_trace.headers[0]
    prediction = predict(
        program_trace, summary_of_trace(program_trace), measurements(study_results, first.library), request
    )
    if prints_text(json):
        _print(prediction, all_notes=all_notes)
    write_json(json, lambda: prediction_document(prediction))
    if pictures is not None:
        _draw(prediction, pictures)


def _print(prediction: Prediction, *, all_notes: bool) -> None:
    from offbeat.tuning.prediction import wording

    console = stdout()
    console.print(*wording.head(prediction), sep="\n", markup=False)
    print_notes(console, prediction.notes, everything=all_notes)
    table = wording.table(prediction)
    console.print()
    console.print(table.fit(console.width))
    console.print(*table.notes, "", wording.sentence(prediction), sep="\n", markup=False)
    if ran := wording.ran_sentence(prediction):
        console.print(ran, markup=False)


def _draw(prediction: Prediction, folder: Path) -> None:
    from rich.console import Console

    from offbeat.presentation.drawing.picture_files import write_pictures  # importing matplotlib is slow
    from offbeat.presentation.pictures.prediction import prediction_figure

    write_pictures(prediction_figure(prediction), folder, PICTURE)
    Console(stderr=True, highlight=False, soft_wrap=True).print(
        f"picture: {folder}/{PICTURE}.png", markup=False
    )
