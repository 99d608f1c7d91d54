"""``offbeat status``: how far a study is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich import box
    from rich.table import Table

    from offbeat.results.status import Status


def command(
    directory: Annotated[Path, typer.Argument(help="The result directory.", metavar="DIR")],
) -> None:
    """Show how far a study is: cases done, set aside and why, and whether a run is at it now."""
    from rich import box
    from rich.console import Console

    from offbeat.results.status import read_status

    status = read_status(directory)
    console = Console(highlight=False, soft_wrap=True)
    for line in _lines(status):
        console.print(line, markup=False)
    if status.counts:
        console.print(_table(status, box.SIMPLE if console.is_terminal else None))
    for case, reason in status.quarantined:
        console.print(f"quarantined: {case}: {reason}", markup=False)
    for note in status.notes:
        console.print(f"warning: {note}", markup=False)


def _lines(status: Status) -> list[str]:
    from rich.filesize import decimal

    of_total = "" if status.total is None else f" of {status.total}"
    active = "no run is active"
    if status.active:
        active = f"process {status.active.pid} on {status.active.host} is at it"
    last = "never" if status.last_activity is None else f"{status.last_activity:%Y-%m-%d %H:%M:%S} UTC"
    return [
        f"{status.directory}: {status.done}{of_total} cases done; {active}",
        f"last activity {last}; {decimal(status.size_bytes)} on disk",
    ]


def _table(status: Status, borders: box.Box | None) -> Table:
    from rich.table import Table

    from offbeat.results.status import STATUSES

    table = Table("collective", box=borders, pad_edge=False)
    for name in STATUSES:
        table.add_column(name, justify="right")
    for collective, counts in status.counts.items():
        table.add_row(collective, *(str(counts[name]) for name in STATUSES))
    return table
