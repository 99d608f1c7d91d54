"""``offbeat async``: programs whose processes run out of step."""

from __future__ import annotations

import typer

from offbeat.cli import async_inject
from offbeat.cli.trace_run import CONTEXT

app = typer.Typer(
    help="See whether a program gains or loses by processes that run out of step.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


app.command("inject", context_settings=CONTEXT)(async_inject.command)


@app.callback()
def group() -> None:
    """See whether a program gains or loses by processes that run out of step."""
