"""``offbeat async``: programs whose processes run out of step."""

from __future__ import annotations

import typer

from offbeat.cli import asynchronous_report

app = typer.Typer(
    help="See what processes gain or lose by running out of step.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def group() -> None:
    """See what processes gain or lose by running out of step."""


app.command("report")(asynchronous_report.command)
