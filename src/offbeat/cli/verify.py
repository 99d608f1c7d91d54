"""``offbeat verify``: prove that the library obeys its tuning files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from offbeat.cli.trace_options import TraceOption, summed_up
from offbeat.engines.progress import RunProgress
from offbeat.errors import RunFailed
from offbeat.predict.reach import reach_of_files
from offbeat.results.read import read_study
from offbeat.trace.read import open_trace
from offbeat.tuning.manifest import read_manifest
from offbeat.tuning.proofs import disobeyed, legend, table, write_proofs
from offbeat.tuning.proofs import summary as summary_of
from offbeat.tuning.prove_files import prove_files
from offbeat.tuning.verify_calls import sentences, write_tried
from offbeat.units import counted


def command(
    directory: Annotated[Path, typer.Argument(help="The result directory of a study.", metavar="DIR")],
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
    trace: TraceOption = None,
) -> None:
    """Prove, cell by cell, which algorithm runs with the tuning files, and that they break no legal call."""
    folder = tuning or directory / "tuning"
    summary = summed_up(open_trace(trace)) if trace is not None else None
    with RunProgress(doing="look at") as progress:
        manifest = read_manifest(folder)
        proofs, tried = prove_files(read_study(directory), manifest, mpi, folder, progress)
    write_proofs(proofs, folder)
    write_tried(tried, folder)
    console = Console(highlight=False)
    console.print(table(proofs.proofs))
    for sentence in legend(proofs.proofs):
        console.print(sentence, soft_wrap=True)
    console.print(summary_of(proofs), soft_wrap=True)
    if summary is not None:
        reach = reach_of_files(read_manifest(folder).tuning, summary)
        console.print(f"The file {reach.words}.", soft_wrap=True, markup=False)
    for sentence in disobeyed(proofs):
        console.print(sentence, soft_wrap=True, markup=False)
    for sentence in [*manifest.tuning.insisted, *sentences(tried)]:
        console.print(sentence, soft_wrap=True, markup=False)
    if proofs.changed_files:
        raise RunFailed(
            f"{', '.join(proofs.changed_files)} changed since 'offbeat export' wrote it; write the files anew"
            " with 'offbeat export'"
        )
    if not proofs.all_obeyed:
        raise RunFailed(
            f"{proofs.library} was not shown to obey the tuning files in {folder} everywhere;"
            " the table above says where, and what ran instead"
        )
    if tried.broken:
        raise RunFailed(
            f"the tuning files in {folder} break {counted(len(tried.broken), 'legal call')} that"
            f" {tried.library} gets right without them: {tried.broken[0].call}:"
            f" {tried.broken[0].with_files}. 'offbeat export' writes files without what is known to be wrong"
        )
