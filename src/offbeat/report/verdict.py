"""The outcome of a selection in a sentence, and what choosing without arrival patterns would cost."""

from __future__ import annotations

from collections.abc import Sequence

from offbeat.report import labels
from offbeat.report.configurations import ConfigurationView
from offbeat.report.figures import Penalty
from offbeat.select import wording

NEGLIGIBLE = 1e-9
"""Slowdowns below this share count as zero."""


def verdict(selected: Sequence[ConfigurationView], shown: Sequence[ConfigurationView]) -> str:
    """The outcome in one to three sentences; ``selected`` are the configurations in ``shown`` that have a choice."""
    if not any(view.table for view in shown):
        return "Nothing can be selected: no case has been measured."
    if not selected:
        return (
            "Nothing can be selected: in no configuration was an algorithm both proved to run and measured"
            " under every"
            " pattern that the rule looks at."
        )
    sentences = [_outcome(selected)]
    if missing := len(shown) - len(selected):
        sentences.append(f"In {labels.count(missing, 'further configuration')} nothing can be selected.")
    return " ".join(sentences)


def _outcome(selected: Sequence[ConfigurationView]) -> str:
    known = [view for view in selected if slowdown(view) is not None]
    differing = [view for view in known if (slowdown(view) or 0.0) > NEGLIGIBLE]
    configurations = labels.count(len(known), "configuration")
    if not known:
        return "No configuration has a no_delay measurement to compare the choices with."
    if not differing:
        where = "the only configuration" if len(known) == 1 else f"all {configurations}"
        return (
            f"In {where} the algorithm that is fastest without delays is also good under arrival patterns."
        )
    worst = max(differing, key=lambda view: slowdown(view) or 0.0)
    there = "There" if len(known) == 1 else f"It matters most in {worst.title}: there"
    rival, winner = (worst.choice.no_delay_winner, worst.choice.algorithm) if worst.choice else ("", "")
    share = wording.percent(slowdown(worst) or 0.0)
    where = "the only configuration" if len(known) == 1 else f"{len(differing)} of {configurations}"
    return (
        f"In {where} the algorithm that is fastest without delays is not the one that stays good when"
        f" processes arrive apart. {there} {rival} scores {share} worse than {winner}."
    )


def slowdown(view: ConfigurationView) -> float | None:
    """The share by which the no-delay winner scores worse than the choice; None if unknown."""
    return view.choice.cost_of_no_delay_winner if view.choice else None


def penalties(selected: Sequence[ConfigurationView]) -> dict[str, list[Penalty]]:
    """The penalties in each collective's configurations; collectives without any difference are omitted."""
    by_collective: dict[str, list[Penalty]] = {}
    for view in selected:
        choice, share = view.choice, slowdown(view)
        if choice is not None and share is not None and choice.no_delay_winner is not None:
            line = Penalty(
                configuration=view.label,
                selected=choice.algorithm,
                no_delay_winner=choice.no_delay_winner,
                share=share,
            )
            by_collective.setdefault(view.configuration.collective, []).append(line)
    return {name: lines for name, lines in by_collective.items() if any(line.share > NEGLIGIBLE for line in lines)}
