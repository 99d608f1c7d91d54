"""``offbeat verify``: verify that the library obeys its tuning files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from offbeat.cli.output import Json, encoded, prints_text, stdout, write_json
from offbeat.cli.selection_options import ResultDirectories
from offbeat.cli.trace_options import TraceOption
from offbeat.errors import RunFailed
from offbeat.units import counted


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
            "--mpi", help="The MPI installation to launch. [default: the one written for]", metavar="PREFIX"
        ),
    ] = "",
    trace: TraceOption = None,
    json: Json = "",
) -> None:
    """Prove, configuration by configuration, which algorithm runs with the tuning files, and that they break
    no legal call.

    DIR may also be the folder of a library in a knowledge base of 'offbeat site'.
    """
    from offbeat.cli.trace_options import summary_of_trace
    from offbeat.engines.progress import RunProgress
    from offbeat.predict.affected_calls import calls_affected_by_files
    from offbeat.results.merge import merged
    from offbeat.results.read import read_study
    from offbeat.site.merge import results_in_library_folder
    from offbeat.trace.read import open_trace
    from offbeat.tuning.files import read_manifest
    from offbeat.tuning.proofs import failed_rules, legend, table, write_proofs
    from offbeat.tuning.proofs import summary as summary_of
    from offbeat.tuning.prove_files import prove_files
    from offbeat.tuning.verify_legal_calls import summary_lines, write_tried

    folder = tuning or directories[0] / "tuning"
    summary = summary_of_trace(open_trace(trace)) if trace is not None else None
    with RunProgress(doing="verify") as progress:
        manifest = read_manifest(folder)
        results = merged(
            [results_in_library_folder(directory) or read_study(directory) for directory in directories]
        )
        proofs, tried = prove_files(results, manifest, mpi, folder, progress)
    write_proofs(proofs, folder)
    write_tried(tried, folder)
    if prints_text(json):
        console = stdout()
        console.print(table(proofs.proofs))
        lines = [*legend(proofs.proofs), summary_of(proofs)]
        if summary is not None:
            lines.append(f"The file {calls_affected_by_files(manifest.tuning, summary).sentence}.")
        for sentence in [*lines, *failed_rules(proofs), *manifest.tuning.insisted, *summary_lines(tried)]:
            console.print(sentence, markup=False)
    write_json(json, lambda: encoded(proofs))
    if proofs.changed_files:
        raise RunFailed(
            f"{', '.join(proofs.changed_files)} changed since 'offbeat export' wrote it; write the files"
            " again with 'offbeat export'"
        )
    if not proofs.all_obeyed:
        raise RunFailed(
            f"{proofs.library} was not proved to obey all rules of the tuning files in {folder};"
            " the table above shows which, and what ran instead"
        )
    if tried.broken:
        raise RunFailed(
            f"the tuning files in {folder} break {counted(len(tried.broken), 'legal call')} that"
            f" {tried.library} computes correctly without them: {tried.broken[0].call}:"
            f" {tried.broken[0].with_files}. 'offbeat export' omits algorithms that are known to be wrong"
        )
