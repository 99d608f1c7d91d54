"""``offbeat select``: choose the algorithm that stays good across arrival patterns."""

from __future__ import annotations

from typing import Annotated

import typer

from offbeat.cli.completion import collectives
from offbeat.cli.output import AllNotes, Json, prints_text, write_json
from offbeat.cli.selection_options import IncludeIndistinguishable, IncludeScenarios, ResultDirectory, Rule


def command(
    directory: ResultDirectory,
    rule: Rule = "average",
    include_scenarios: IncludeScenarios = False,
    include_indistinguishable: IncludeIndistinguishable = False,
    within: Annotated[
        str,
        typer.Option(
            help="The largest slowdown against the fastest that counts as good: a percentage.",
            metavar="SHARE",
        ),
    ] = "5%",
    collective: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this collective; may be given several times.",
            metavar="NAME",
            autocompletion=collectives,
        ),
    ] = None,
    with_details: Annotated[
        bool,
        typer.Option(
            "--details",
            help="Show the measured delays of every configuration before the selection, one screen for each;"
            " with --notes also the winners by pattern, robustness and relative delays.",
        ),
    ] = False,
    json: Json = "",
    all_notes: AllNotes = False,
    bootstrap: Annotated[
        int,
        typer.Option(
            min=0,
            max=100_000,
            help="Simulated repetitions of the study for the confidence in each choice; 0 omits it.",
        ),
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulated repetitions.")] = 1,
) -> None:
    """Choose for every collective, p and size the algorithm that stays good across arrival patterns."""
    from rich.console import Console

    from offbeat.api.results import Results
    from offbeat.presentation.selection.text import rendered
    from offbeat.selection.choices.document import selection_document
    from offbeat.selection.choices.restrictions import indistinguishable_notes

    results = Results.open(directory)
    selection = results.select(
        rule,
        within=within,
        bootstrap=bootstrap,
        seed=seed,
        include_scenarios=include_scenarios,
        include_indistinguishable=include_indistinguishable,
        collectives=collective or [],
    )
    console = Console(highlight=False)
    if prints_text(json):
        more = list(indistinguishable_notes(results, are_included=include_indistinguishable))
        console.print(rendered(selection, console, with_details, all_notes=all_notes, more_notes=more))
    write_json(json, lambda: selection_document(selection))
    selection.raise_if_empty()
