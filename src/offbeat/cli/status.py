"""``offbeat status``: how far a study is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.cli.output import Json, prints_text, stdout, write_json
from offbeat.cli.selection_options import ResultDirectory

if TYPE_CHECKING:
    from offbeat.measurement.results.status import Status


def command(
    directory: ResultDirectory,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Read every sample as well: cases whose samples are missing do not count as done."
        ),
    ] = False,
    json: Json = "",
) -> None:
    """Show how far a study is: cases done, quarantined and why, and whether a run is active."""
    from offbeat.measurement.results.status import read_status

    status = read_status(directory, check=check)
    if prints_text(json):
        _print(status)
    write_json(json, lambda: status)


def _print(status: Status) -> None:
    from offbeat.base.terminal_table import FittedTable
    from offbeat.base.units import amount
    from offbeat.measurement.results.status import STATUSES

    console = stdout()
    for line in _lines(status):
        console.print(line, markup=False)
    if status.counts:
        rows = [
            [collective, *(str(counts[name]) for name in STATUSES)]
            for collective, counts in status.counts.items()
        ]
        console.print(FittedTable(["collective", *STATUSES], rows))
    for blocks, number in status.unfinished.items():
        console.print(f"unfinished: {amount(number, 'case')} with {blocks}", markup=False)
    for line in status.proofs:
        console.print(line, markup=False)
    for case, reason in status.quarantined:
        console.print(f"quarantined: {case}: {reason}", markup=False)
    for note in status.notes:
        console.print(f"warning: {note}", markup=False)


def _lines(status: Status) -> list[str]:
    from rich.filesize import decimal

    of_total = "" if status.total is None else f" of {status.total}"
    active = "no run is active"
    if status.active:
        active = f"{status.active} is running it"
    last = "never" if status.last_activity is None else f"{status.last_activity:%Y-%m-%d %H:%M:%S} UTC"
    return [
        f"{status.directory}: {status.done}{of_total} cases done; {active}",
        f"last activity {last}; {decimal(status.size_bytes)} on disk",
    ]
