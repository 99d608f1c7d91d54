"""``offbeat verify``: prove that the library obeys its tuning files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from offbeat.cli.completion import result_directories
from offbeat.cli.output import Json, encoded, is_wanted, stdout, write_json
from offbeat.errors import RunFailed


def command(
    directory: Annotated[
        Path,
        typer.Argument(
            help="The result directory of a study.", metavar="DIR", autocompletion=result_directories
        ),
    ],
    tuning: Annotated[
        Path | None,
        typer.Option("--tuning", "-t", help="The folder with the tuning files. [default: 'tuning' in DIR]"),
    ] = None,
    mpi: Annotated[
        str,
        typer.Option(
            "--mpi", help="The MPI installation to launch. [default: the one written for]", metavar="PREFIX"
        ),
    ] = "",
    json: Json = "",
) -> None:
    """Launch the MPI library with its tuning files and prove, cell by cell, which algorithm runs."""
    from offbeat.engines.progress import RunProgress
    from offbeat.results.read import read_study
    from offbeat.tuning.manifest import read_manifest
    from offbeat.tuning.proofs import legend, summary, table, write_proofs
    from offbeat.tuning.prove_files import prove_files

    folder = tuning or directory / "tuning"
    with RunProgress(doing="look at") as progress:
        proofs = prove_files(read_study(directory), read_manifest(folder), mpi, folder, progress)
    write_proofs(proofs, folder)
    if is_wanted(json):
        console = stdout()
        console.print(table(proofs.proofs))
        for sentence in [*legend(proofs.proofs), summary(proofs)]:
            console.print(sentence, markup=False)
    write_json(json, lambda: encoded(proofs))
    if not proofs.all_obeyed:
        raise RunFailed(
            f"{proofs.library} was not shown to obey the tuning files in {folder} everywhere;"
            " the table above says where, and what ran instead"
        )
