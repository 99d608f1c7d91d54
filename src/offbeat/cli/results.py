"""``offbeat results``: exchange results with other tools."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from offbeat.base.errors import BadInput
from offbeat.base.units import amount
from offbeat.cli.completion import one_of
from offbeat.cli.selection_options import ResultDirectory

app = typer.Typer(help="Exchange results with other tools.", no_args_is_help=True, rich_markup_mode=None)


@app.command("export")
def export_results(
    directory: ResultDirectory,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            help="csv, or json, which holds the study and the provenance too.",
            metavar="csv|json",
            autocompletion=one_of("csv", "json"),
        ),
    ] = "csv",
    table: Annotated[
        str, typer.Option("--table", help="The table to write: cases, repetitions or ranks.", metavar="TABLE")
    ] = "cases",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write; standard output if not given.")
    ] = None,
) -> None:
    """Write the results of a study as CSV or JSON; times are in seconds, sizes in bytes."""
    from offbeat.measurement.results.export import export_csv, export_file, export_json
    from offbeat.measurement.results.read import read_study
    from offbeat.selection.choices.restrictions import study_progress

    if form not in ("csv", "json"):
        raise BadInput(f"--format {form}: known are csv and json")
    results = read_study(directory)
    if output is not None:
        export_file(results, output, json=form == "json", name=table)
    elif form == "json":
        export_json(results, sys.stdout.buffer, table)
    else:
        export_csv(results, sys.stdout.buffer, table)
    sys.stdout.flush()  # raises BrokenPipeError here if the reader has left
    unfinished_study = study_progress(results)
    for note in [*([unfinished_study.sentence] if unfinished_study else []), *results.notes]:
        print(f"warning: {note}", file=sys.stderr)  # last, as reading the ranks may detect damage


@app.command("import")
def import_results(
    csv: Annotated[Path, typer.Argument(help="The CSV of measurements.", metavar="FILE.csv")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The result directory to create.")],
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            help="OURS=THEIRS: the file's name for one of offbeat's columns, such as last_delay_us=runtime;"
            " repeatable.",
            metavar="OURS=THEIRS",
        ),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--setting",
            help="NAME=VALUE: the library setting that forces an algorithm, with columns of the file in"
            " braces (SOME_{collective}_ALGORITHM={algorithm_id}); repeatable. Needed for tuning files only.",
            metavar="NAME=VALUE",
        ),
    ] = None,
) -> None:
    """Create a result directory from a CSV of measurements made elsewhere."""
    from offbeat.measurement.results.import_csv import import_csv

    columns, settings = _pairs("--column", column or []), _pairs("--setting", setting or [])
    outcome = import_csv(csv, output, columns=columns, settings=settings)
    print(f"{output}: {amount(outcome.cases, 'case')} from {amount(outcome.measurements, 'measurement')}")
    for remark in outcome.remarks:
        print(f"note: {remark}")
    print(f"Next: offbeat select {shlex.quote(str(output))}")


def _pairs(option: str, texts: list[str]) -> dict[str, str]:
    """NAME=VALUE options as a dictionary; raises BadInput for one of another form, or given twice."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise BadInput(f"{option} {text}: write NAME=VALUE")
        if name in pairs:
            raise BadInput(f"{option} {name} is given twice")
        pairs[name] = value
    return pairs
