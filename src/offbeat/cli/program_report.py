"""What commands print and write of a program's iterations, whether simulated or measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from offbeat.base.units import amount, format_time
from offbeat.cli.output import echo, print_sentences, prints_text, stdout, write_json

if TYPE_CHECKING:
    from offbeat.programs.simulation.iterations import Iterations
    from offbeat.programs.simulation.lockstep import Lockstep
    from offbeat.programs.simulation.summary import Summary


def report(
    run: Iterations,
    composite: Lockstep,
    limit_s: float | None,
    *,
    json: str,
    output: Path | None,
    picture: Path | None,
) -> None:
    """Print the speed of the iterations, or write it as JSON; write the table and the picture, if asked."""
    from offbeat.programs.simulation.summary import summarise

    summary = summarise(run, composite, limit_s)
    if prints_text(json):
        _print(summary)
    write_json(json, lambda: summary)
    if output is not None:
        from offbeat.programs.simulation.iteration_file import write_iterations

        write_iterations(run, output)
        echo(f"wrote {output}")
    if picture is not None:
        from offbeat.presentation.pictures.program import picture as draw  # matplotlib loads slowly

        draw(run, composite.iteration_s, limit_s, picture)
        echo(f"wrote {picture}")


def _print(summary: Summary) -> None:
    from offbeat.base.terminal_table import FittedTable
    from offbeat.programs.simulation.summary import sentences

    console = stdout()
    size = f"{amount(summary.ranks, 'rank')}, {amount(summary.iterations, 'iteration')}"
    console.print(f"{summary.program} on {summary.where}: {size}", markup=False)
    rows = [
        [one.what, format_time(one.iteration_s), f"{one.per_second:.4g}", f"{one.per_second_and_rank:.4g}"]
        for one in (summary.run, summary.lockstep, summary.limit)
        if one is not None
    ]
    console.print(FittedTable(["", "iteration", "iterations/s", "per rank"], rows))
    console.print()
    print_sentences(console, *sentences(summary))
