"""The outcome of a selection in a sentence: how much worse the fastest algorithm without delays is."""

from __future__ import annotations

from collections.abc import Sequence

from offbeat.base.units import amount
from offbeat.selection.choices import wording
from offbeat.selection.choices.choose import Choice

NEGLIGIBLE_SHARE = 1e-9
"""Slowdowns below this share are rounding errors."""


def outcome(choices: Sequence[Choice]) -> str:
    """In how many configurations the no-delay winner is not the choice, and the largest slowdown of it."""
    compared_choices = [
        (choice.cost_of_no_delay_winner, choice)
        for choice in choices
        if choice.cost_of_no_delay_winner is not None
    ]
    different_choices = [(share, choice) for share, choice in compared_choices if share > NEGLIGIBLE_SHARE]
    configurations = amount(len(compared_choices), "configuration")
    if not compared_choices:
        return "No configuration has a no_delay measurement to compare the choices with."
    if not different_choices:
        all_text = "both configurations" if len(compared_choices) == 2 else f"all {configurations}"
        where = "the only configuration" if len(compared_choices) == 1 else all_text
        return f"In {where} the algorithm that is fastest without delays is also good under arrival patterns."
    share, worst = max(different_choices, key=lambda entry: entry[0])
    there = (
        "There"
        if len(compared_choices) == 1
        else f"The difference is largest in {worst.configuration}: there"
    )
    where = (
        "the only configuration"
        if len(compared_choices) == 1
        else f"{len(different_choices)} of {configurations}"
    )
    return (
        f"In {where} the algorithm that is fastest without delays is not the one that stays good when"
        f" processes arrive apart. {there} {worst.no_delay_winner} scores {wording.percent(share)} worse than"
        f" {worst.algorithm}."
    )
