"""``offbeat async advise``: whether running out of step helps a program, and what to change first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.cli.output import Json, encoded, print_sentences, prints_text, stdout, write_json
from offbeat.cli.program_options import File, Platform, Ranks
from offbeat.units import counted

if TYPE_CHECKING:
    from offbeat.assessment.assess import Assessment


def command(
    program: File,
    platform: Platform,
    ranks: Ranks = 0,
    iterations: Annotated[
        int,
        typer.Option(
            "--iterations",
            "-n",
            min=0,
            help="Iterations of each simulation; 0: up to 1000, fewer with many ranks.",
            show_default=False,
        ),
    ] = 0,
    seeds: Annotated[int, typer.Option(min=2, max=1000, help="Simulations of each change.")] = 5,
    json: Json = "",
) -> None:
    """Say whether running out of step helps a program, and what to change first.

    The program is simulated as it is, with rarer collectives, with other algorithms for them, and with
    delays of some ranks that bring the others out of step.
    """
    from offbeat.assessment.assess import assess
    from offbeat.platform import machine
    from offbeat.program.load import load
    from offbeat.progress_bar import ProgressBar

    loaded, on = load(program).resized(ranks=ranks), machine.load(platform)
    with ProgressBar(f"simulate {loaded.name} on {on.name}") as bar:

        def on_progress(what: str, done: int, total: int) -> None:
            bar.update(done=done, total=total)
            bar.print_periodically(f"{what}: {done} of {total} simulations")

        assessment = assess(loaded, on, iterations=iterations, seeds=seeds, on_progress=on_progress)
    if prints_text(json):
        _print(assessment)
    write_json(json, lambda: encoded(assessment))


def _print(assessment: Assessment) -> None:
    from offbeat.assessment import wording
    from offbeat.table import FittedTable

    console = stdout()
    print_sentences(
        console,
        f"{assessment.program} on {assessment.platform}: {counted(assessment.ranks, 'rank')}",
        wording.verdict(assessment),
        wording.first(assessment),
    )
    console.print()
    console.print(
        FittedTable(
            ["precondition", "holds", "because"], wording.precondition_rows(assessment), texts=(0, 1, 2)
        )
    )
    console.print()
    console.print(FittedTable(wording.HEADINGS, wording.gain_rows(assessment), texts=(0,)))
    console.print()
    print_sentences(console, wording.basis(assessment))
