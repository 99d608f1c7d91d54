"""``offbeat async``: programs whose processes run out of step."""

from __future__ import annotations

import typer

app = typer.Typer(
    help="See whether a program gains or loses by processes that run out of step.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def group() -> None:
    """See whether a program gains or loses by processes that run out of step."""
