"""``offbeat verify``: verify that the library obeys its tuning files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from offbeat.cli.completion import libraries
from offbeat.cli.output import Json, prints_text, stdout, write_json
from offbeat.cli.selection_options import ResultDirectories
from offbeat.cli.trace_options import TraceOption


def command(
    directories: ResultDirectories,
    tuning: Annotated[
        Path | None,
        typer.Option(
            "--tuning", "-t", help="The folder with the tuning files. [default: 'tuning' in the first DIR]"
        ),
    ] = None,
    mpi: Annotated[
        str,
        typer.Option(
            "--mpi",
            help="The MPI installation to launch. [default: the one written for]",
            metavar="PREFIX",
            autocompletion=libraries,
        ),
    ] = "",
    trace: TraceOption = None,
    json: Json = "",
) -> None:
    """Prove, configuration by configuration, which algorithm runs with the tuning files, and that they break
    no legal call.

    DIR may also be the folder of a library in a knowledge base of 'offbeat site'.
    """
    from offbeat.measurement.results.merge import merge_studies
    from offbeat.measurement.results.read import read_study
    from offbeat.selection.tuning_files.manifest import FOLDER
    from offbeat.selection.verification.proofs import legend, table
    from offbeat.selection.verification.verification import verify_folder
    from offbeat.trace.files.trace_folder import open_trace
    from offbeat.trace.summary import summary_of_trace
    from offbeat.tuning.prediction.affected_calls import calls_affected_by_files
    from offbeat.tuning.site.merge import results_in_library_folder

    summary = summary_of_trace(open_trace(trace)) if trace is not None else None
    verification = verify_folder(
        lambda: merge_studies([results_in_library_folder(one) or read_study(one) for one in directories]),
        tuning or directories[0] / FOLDER,
        mpi,
    )
    if prints_text(json):
        console = stdout()
        proofs = verification.proofs.proofs
        console.print(table(proofs))
        lines = [*legend(proofs), *verification.sentences]
        if summary is not None:
            lines.append(
                f"The file {calls_affected_by_files(verification.manifest.tuning, summary).sentence}."
            )
        for sentence in lines:
            console.print(sentence, markup=False)
    write_json(json, lambda: verification.proofs)
    verification.raise_if_not_obeyed()
