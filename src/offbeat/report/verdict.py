"""The outcome of a selection in a sentence, and what choosing without arrival patterns would cost."""

from __future__ import annotations

from collections.abc import Sequence

from offbeat.report import labels
from offbeat.report.cells import CellView
from offbeat.report.figures import Cost
from offbeat.select import wording

NOTHING = 1e-9
"""Costs below this share are none: both choices score the same."""


def sentence(selected: Sequence[CellView], shown: Sequence[CellView]) -> str:
    """The outcome in one to three sentences; ``selected`` are those of the cells ``shown`` that have a
    choice.
    """
    if not any(view.table for view in shown):
        return "Nothing can be selected: nothing has been measured."
    if not selected:
        return (
            "Nothing can be selected: in no cell was an algorithm both proved to run and measured under every"
            " pattern that the rule looks at."
        )
    sentences = [_outcome(selected)]
    if missing := len(shown) - len(selected):
        sentences.append(f"In {labels.count(missing, 'further cell')} nothing can be selected.")
    return " ".join(sentences)


def _outcome(selected: Sequence[CellView]) -> str:
    known = [view for view in selected if cost(view) is not None]
    differing = [view for view in known if (cost(view) or 0.0) > NOTHING]
    cells = labels.count(len(known), "cell")
    if not known:
        return "No cell has a no_delay measurement to compare the choices with."
    if not differing:
        where = "the only cell" if len(known) == 1 else f"all {cells}"
        return (
            f"In {where} the algorithm that is fastest without delays also stays good when processes arrive"
            " apart."
        )
    worst = max(differing, key=lambda view: cost(view) or 0.0)
    there = "There" if len(known) == 1 else f"It matters most in {worst.title}: there"
    rival, winner = (worst.choice.no_delay_winner, worst.choice.algorithm) if worst.choice else ("", "")
    share = wording.percent(cost(worst) or 0.0)
    where = "the only cell" if len(known) == 1 else f"{len(differing)} of {cells}"
    return (
        f"In {where} the algorithm that is fastest without delays is not the one that stays good when"
        f" processes arrive apart. {there} {rival} scores {share} worse than {winner}."
    )


def cost(view: CellView) -> float | None:
    """By how large a share the no-delay winner scores worse than the choice; None when unknown."""
    return view.choice.cost_of_no_delay_winner if view.choice else None


def costs(selected: Sequence[CellView]) -> dict[str, list[Cost]]:
    """The costs in each collective's cells; collectives in which there is no difference are left out."""
    found: dict[str, list[Cost]] = {}
    for view in selected:
        choice, share = view.choice, cost(view)
        if choice is not None and share is not None and choice.no_delay_winner is not None:
            line = Cost(
                cell=view.place,
                selected=choice.algorithm,
                no_delay_winner=choice.no_delay_winner,
                share=share,
            )
            found.setdefault(view.cell.collective, []).append(line)
    return {name: lines for name, lines in found.items() if any(line.share > NOTHING for line in lines)}
