"""``offbeat trace``: record the collectives of a program; show where time goes and which ranks are late."""

from __future__ import annotations

import typer

from offbeat.cli import trace_export, trace_pattern, trace_report, trace_run, trace_summary

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Record the collectives of a program; show where the time goes and how its processes arrive.",
)

app.command("run", context_settings=trace_run.CONTEXT)(trace_run.command)
app.command("summary")(trace_summary.command)
app.command("report")(trace_report.command)
app.command("pattern")(trace_pattern.command)
app.command("export")(trace_export.command)
