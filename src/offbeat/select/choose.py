"""The choice of an algorithm for every measured cell, how certain it is, and what the alternatives cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from offbeat.errors import BadInput
from offbeat.results.plan import ConfigurationKey
from offbeat.select import rules
from offbeat.select.cautions import (
    comparison_cautions,
    no_delay_cautions,
    number_cautions,
    tie_cautions,
)
from offbeat.select.certainty import EXACT, Certainty, Repeated, certainty, samples_of
from offbeat.select.control import Control, control
from offbeat.select.legal import legal_cautions, processes_covered, wrong_between
from offbeat.select.partial import Unfinished, key_of, partial_caution, unfinished
from offbeat.select.precision import asked_width
from offbeat.select.reliability import Notice, reliability
from offbeat.select.replay_cautions import replay_cautions
from offbeat.select.rules import Rule
from offbeat.select.table import NO_DELAY, Cell, DelayTable, delay_tables
from offbeat.study.algorithm import DEFAULT, Verdict, WrongCall

if TYPE_CHECKING:
    from offbeat.results.read import Results


class Choice(Struct, frozen=True, kw_only=True):
    """What a rule chooses for one cell.

    ``scores`` holds the compared algorithms' scores (smaller is better, 1 means best in every row), and
    ``reference_scores`` what the library's default and unproved algorithms would have. ``winners`` and
    ``good`` map each pattern to its fastest candidate and to all within the share asked for. ``certainty`` is
    what repeated studies would say of the choice, None when unknown. The costs are shares: 0.10 means
    that the no-delay winner (the library's default) scores 10% worse than the choice; negative, that it
    scores better. ``tied`` and ``no_delay_tied`` name algorithms equal to the choice and to the no-delay
    winner; ``alternatives`` those whose score is within the share asked for of the choice's. ``not_measured``
    is how many cases of the cell are still to be measured; with any, or without a rival, there is no
    certainty.
    """

    cell: Cell
    rule: str
    algorithm: str
    no_delay_winner: str | None
    winners: dict[str, str]
    good: dict[str, list[str]]
    scores: dict[str, float]
    certainty: Certainty | None
    cost_of_no_delay_winner: float | None
    cost_of_default: float | None
    warnings: list[str]
    include_scenarios: bool = False
    reference_scores: dict[str, float] = {}
    alternatives: list[str] = []
    tied: list[str] = []
    no_delay_tied: list[str] = []
    not_measured: int = 0


class LeftOut(Struct, frozen=True):
    """A cell for which nothing can be selected, and why."""

    cell: Cell
    reason: str


class Terms(Struct, frozen=True, kw_only=True):
    """How choices are made.

    ``within`` is the share up to which algorithms count as equally good, and a loss as none; ``bootstrap``
    the number of repeated studies that are simulated and ``seed`` their seed.
    """

    rule: Rule
    within: float
    bootstrap: int
    seed: int


class Selection(Struct, frozen=True, kw_only=True):
    """The choices for all cells of some results, and the delays of every cell looked at.

    ``notes`` are the results' own: how far an unfinished study is, and what was left out when they were read.
    ``control`` says how far apart
    cases were that must be equal; None where there are too few. ``reliability`` are warnings about the
    numbers behind the choices.
    """

    terms: Terms
    choices: list[Choice]
    left_out: list[LeftOut]
    tables: dict[Cell, DelayTable]
    notes: list[str] = []
    control: Control | None = None
    reliability: list[Notice] = []
    unfinished: Unfinished | None = None


def choose(
    results: Results,
    rule: str = "average",
    *,
    within: float = 0.05,
    bootstrap: int = 1000,
    seed: int = 1,
    include_scenarios: bool = False,
) -> list[Choice]:
    """The choices of :func:`select` alone; cells for which nothing can be selected are absent."""
    return select(
        results, rule, within=within, bootstrap=bootstrap, seed=seed, include_scenarios=include_scenarios
    ).choices


def select(
    results: Results,
    rule: str = "average",
    *,
    within: float = 0.05,
    bootstrap: int = 1000,
    seed: int = 1,
    include_scenarios: bool = False,
    collectives: Sequence[str] = (),
) -> Selection:
    """Apply ``rule`` (see :mod:`offbeat.select.rules`) to every cell, or to those of some ``collectives``.

    ``within`` is the share up to which algorithms count as equally good, ``bootstrap`` the number of
    simulated repetitions of the study behind the certainty. Raises
    :class:`BadInput` for an unknown rule, scenario or collective.
    """
    terms = Terms(rule=rules.parse(rule, include_scenarios), within=within, bootstrap=bootstrap, seed=seed)
    if not 0 <= within < np.inf:
        raise BadInput(
            f"the share within which algorithms count as equally good must be 0 or more, not {within}."
        )
    every = delay_tables(results.cases, results.algorithms, results.verdicts)
    tables = _of_collectives(every, collectives)
    _refuse_unknown_scenario(terms.rule, tables)
    samples = None if results.is_deterministic else samples_of(results.repetitions)
    study = unfinished(results)
    known = _Known(
        samples=samples,
        verdicts=results.verdicts,
        asked=asked_width(results.study),
        control=control(results, samples) if samples else None,
        not_measured=study.not_measured if study else {},
        cells=[table.cell for table in every],
    )
    outcomes = [_decide(table, terms, known) for table in tables]
    return Selection(
        terms=terms,
        choices=[outcome for outcome in outcomes if isinstance(outcome, Choice)],
        left_out=[outcome for outcome in outcomes if isinstance(outcome, LeftOut)],
        tables={table.cell: table for table in tables},
        notes=[*([study.sentence] if study else []), *results.notes],
        control=known.control,
        reliability=reliability(results),
        unfinished=study,
    )


class _Known(Struct, frozen=True, kw_only=True):
    """What is known beside the tables; without ``samples``, numbers are exact and choices are certain.
    ``asked`` is how well the study wanted its numbers known, ``not_measured`` which cases of each cell are
    still to be measured, ``cells`` all that were measured.
    """

    samples: dict[str, Repeated] | None
    verdicts: Sequence[Verdict]
    asked: float | None
    not_measured: dict[ConfigurationKey, list[tuple[str, str]]]
    cells: Sequence[Cell]
    control: Control | None = None

    def certainty(self, table: DelayTable, terms: Terms, algorithm: str, compared: int) -> Certainty | None:
        """How certain the choice of an algorithm is; unknown in a cell of which some cases are not measured,
        and where it is the only one of those compared."""
        if compared < 2 or key_of(table.cell) in self.not_measured:
            return None
        if self.samples is None:
            return EXACT
        return certainty(
            table,
            terms.rule,
            self.samples,
            algorithm,
            tolerance=terms.within,
            resamples=terms.bootstrap,
            seed=terms.seed,
            widening=self.control.widening if self.control else 1.0,
        )

    def wrong_calls(self, cell: Cell, algorithm: str) -> list[WrongCall]:
        """Legal calls of which an algorithm would be wrong as the choice of a cell."""
        ps = [one.p for one in self.cells if one.collective == cell.collective]
        low, high = processes_covered(cell.p, ps)
        return wrong_between(cell.collective, algorithm, low, high, self.verdicts)


def _decide(table: DelayTable, terms: Terms, known: _Known) -> Choice | LeftOut:
    """Apply the rule to one cell."""
    rule = terms.rule
    scores = rule.scores(table)
    if not scores:
        return LeftOut(table.cell, _why_nothing(table, rule))
    algorithm, *tied = rules.within_share(scores, 0)
    references = rule.reference_scores(table)
    good, fastest = _good(table, terms.within), _good(table, 0)
    no_delay = fastest.get(NO_DELAY, [])
    lacking = known.not_measured.get(key_of(table.cell), [])
    could_be_known = not lacking and len(scores) > 1 and terms.bootstrap > 0
    sure = known.certainty(table, terms, algorithm, len(scores))
    return Choice(
        cell=table.cell,
        rule=str(rule),
        include_scenarios=rule.include_scenarios,
        algorithm=algorithm,
        tied=tied,
        alternatives=[name for name in rules.within_share(scores, terms.within) if name != algorithm],
        no_delay_winner=no_delay[0] if no_delay else None,
        no_delay_tied=no_delay[1:],
        winners={pattern: names[0] for pattern, names in fastest.items() if names},
        good=good,
        scores=scores,
        reference_scores=references,
        certainty=sure,
        cost_of_no_delay_winner=_cost(scores, no_delay[0], scores[algorithm]) if no_delay else None,
        cost_of_default=_cost(references, DEFAULT, scores[algorithm]),
        not_measured=len(lacking),
        warnings=[
            *partial_caution(lacking),
            *comparison_cautions(table, rule, [algorithm, *tied], len(scores)),
            *no_delay_cautions(table, rule, no_delay, [algorithm, *tied]),
            *number_cautions(table, rule, algorithm, sure is None and could_be_known),
            *tie_cautions(algorithm, sure),
            *replay_cautions(table, rule, known.samples, known.asked),
            *legal_cautions(algorithm, known.wrong_calls(table.cell, algorithm)),
        ],
    )


def _cost(scores: dict[str, float], name: str, best: float) -> float | None:
    """By how large a share ``name`` scores worse than the best; None when it has no score."""
    return scores[name] / best - 1 if name in scores else None


def _good(table: DelayTable, within: float) -> dict[str, list[str]]:
    """The good algorithms of every pattern, the fastest first, ties in dictionary order."""
    values = np.round(table.normalised(), 9)
    return {
        pattern: sorted(
            (table.algorithms[j] for j in np.flatnonzero(mask)),
            key=lambda name: (values[i, table.algorithms.index(name)], rules.dictionary_order(name)),
        )
        for i, (pattern, mask) in enumerate(zip(table.patterns, table.good(within), strict=True))
    }


def _why_nothing(table: DelayTable, rule: Rule) -> str:
    """One sentence on why the rule cannot choose in this cell."""
    if not table.candidates.any():
        shown = ", ".join(table.algorithms)
        return f"no algorithm is proved to have run (measured: {shown})."
    rows = rule.rows(table)
    if rows:
        names = ", ".join(table.patterns[i] for i in rows)
        return f"no proved algorithm was measured under all of the patterns {names}."
    if rule.kind == "scenario":
        return f"scenario '{rule.scenario}' was not measured here."
    if rule.kind == "no_delay":
        return "the pattern no_delay was not measured here."
    return "only scenarios or replays were measured; use --include-scenarios or --rule scenario:NAME."


def _of_collectives(tables: list[DelayTable], collectives: Sequence[str]) -> list[DelayTable]:
    """The tables of the collectives asked for; all when none is named."""
    measured = list(dict.fromkeys(table.cell.collective for table in tables))
    for name in collectives:
        if name not in measured:
            raise BadInput(
                f"collective '{name}' was not measured; these results hold {', '.join(measured) or 'none'}."
            )
    return [table for table in tables if not collectives or table.cell.collective in collectives]


def _refuse_unknown_scenario(rule: Rule, tables: list[DelayTable]) -> None:
    """A scenario that no cell knows is a mistake in the rule."""
    if rule.kind != "scenario" or not tables or any(rule.rows(table) for table in tables):
        return
    known = list(dict.fromkeys(name for table in tables for name in rules.scenarios(table)))
    what = f"the known ones are {', '.join(known)}." if known else "these results hold no scenario at all."
    raise BadInput(f"scenario '{rule.scenario}' was not measured; {what}")
