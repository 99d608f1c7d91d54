"""``offbeat async``: programs whose processes run out of step."""

from __future__ import annotations

import typer

from offbeat.cli import async_advise, async_inject, async_report
from offbeat.cli.trace_run import CONTEXT

app = typer.Typer(
    help="See what processes gain or lose by running out of step.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def group() -> None:
    """See what processes gain or lose by running out of step."""


app.command("report")(async_report.command)
app.command("advise")(async_advise.command)
app.command("inject", context_settings=CONTEXT)(async_inject.command)
