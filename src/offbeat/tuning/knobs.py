"""Parameters that a tuning file cannot vary: one value serves a whole launch.

Some parameters of algorithms (Open MPI's radix of the k-nomial broadcast, Intel MPI's segment sizes) are
plain variables of the library. A launch can be given one value of each, so algorithms that were chosen with
different values of one cannot all be had.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from offbeat.tuning.plan import Rule
from offbeat.units import format_size


def settle(
    rules: Sequence[Rule], knobs_of: Callable[[Rule], Mapping[str, str]]
) -> tuple[list[Rule], dict[str, str], list[str]]:
    """Keep the rules that can be had together.

    ``knobs_of`` names a rule's variables beside the choice of the algorithm itself. Returns the rules kept in
    their order, the variables for the launch, and sentences on the rules left out: of contradicting values
    the one chosen at most measured configurations wins, of equals the first.
    """
    votes: dict[str, Counter[tuple[tuple[str, str], ...]]] = {}
    for rule in rules:
        votes.setdefault(_base(rule), Counter())[_sorted(knobs_of(rule))] += 1
    winners = {base: counted.most_common(1)[0][0] for base, counted in votes.items()}
    variables: dict[str, str] = {}
    kept, notes = [], []
    for rule in rules:
        own, winner = _sorted(knobs_of(rule)), winners[_base(rule)]
        if own != winner or any(variables.get(name, value) != value for name, value in own):
            notes.append(
                f"{rule.collective} of {format_size(rule.bytes)} on p={rule.p} is left to the library's"
                f" default: {rule.algorithm.name} needs"
                f" {_words(own) or f'the default where others have {_words(winner)}'}, and a launch can be"
                " given one value only."
            )
        else:
            variables |= dict(own)
            kept.append(rule)
    return kept, variables, notes


def _sorted(knobs: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(knobs.items()))


def _base(rule: Rule) -> str:
    """The algorithm without its parameters: rules of the same base compete for the same variables."""
    return f"{rule.collective}:{rule.algorithm.name.partition('(')[0]}"


def _words(knobs: Sequence[tuple[str, str]]) -> str:
    return " and ".join(f"{name}={value}" for name, value in knobs)
