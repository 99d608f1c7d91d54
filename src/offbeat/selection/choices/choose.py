"""The choice of an algorithm for every measured configuration, and the confidence in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field

from offbeat.base.errors import BadInput
from offbeat.measurement.results.read import Results
from offbeat.model.study.algorithm import DEFAULT, Verdict, WrongCall
from offbeat.model.study.case import ConfigurationKey, configuration_key
from offbeat.selection.choices import selection_rules
from offbeat.selection.choices.caveats import (
    comparison_caveats,
    no_delay_caveats,
    number_caveats,
    replay_caveats,
    tie_caveats,
)
from offbeat.selection.choices.certainty import (
    EXACT,
    CaseRepetitions,
    Certainty,
    Control,
    certainty_of,
    control,
    samples_of,
)
from offbeat.selection.choices.delay_table import NO_DELAY, Configuration, DelayTable, delay_tables
from offbeat.selection.choices.reliability import Notice, reliability, requested_width
from offbeat.selection.choices.restrictions import (
    StudyProgress,
    legal_caveats,
    partial_caveat,
    processes_covered,
    study_progress,
    wrong_between,
)
from offbeat.selection.choices.selection_rules import Rule


class Choice(Struct, frozen=True, kw_only=True):
    """The choice of a rule for one configuration.

    ``scores`` holds the compared algorithms' scores (smaller is better, 1 means best in every row), and
    ``reference_scores`` those of the library's default and of excluded algorithms. ``winners`` and ``good``
    map each pattern to its fastest candidate and to all candidates within the requested share of it. The
    costs are shares: 0.10 means that the no-delay winner (the library's default) scores 10% worse than the
    choice. ``tied`` and ``no_delay_tied`` name algorithms as good as the choice and as the no-delay winner;
    ``alternatives`` those within the requested share of the choice. ``not_measured`` is the number of cases
    still to be measured; if there are any, or only one algorithm is compared, the ``certainty`` is None:
    unknown.
    """

    configuration: Configuration
    rule: str = ""
    algorithm: str
    no_delay_winner: str | None = None
    winners: dict[str, str] = {}
    good: dict[str, list[str]] = {}
    scores: dict[str, float] = {}
    certainty: Certainty | None = field(default=None, name="confidence")
    cost_of_no_delay_winner: float | None = None
    cost_of_default: float | None = None
    warnings: list[str] = []
    include_scenarios: bool = False
    reference_scores: dict[str, float] = {}
    alternatives: list[str] = []
    tied: list[str] = []
    no_delay_tied: list[str] = []
    not_measured: int = 0


class LeftOut(Struct, frozen=True):
    """A configuration for which nothing can be selected, and why."""

    configuration: Configuration
    reason: str


class Terms(Struct, frozen=True, kw_only=True):
    """The parameters of a selection.

    ``within`` is the share up to which algorithms count as equally good and a loss as acceptable;
    ``bootstrap`` is the number of simulated repetitions of the study and ``seed`` their seed.
    """

    rule: Rule
    within: float
    bootstrap: int
    seed: int


class Selection(Struct, frozen=True, kw_only=True):
    """The choices for all configurations of some results, and the delay tables that they are based on.

    ``notes`` are those of the results: the progress of an unfinished study, and records omitted when reading.
    ``control`` is the difference between cases that must be equal; None if there are too few, or without
    bootstrap. ``reliability`` are warnings about the numbers behind the choices.
    """

    terms: Terms
    choices: list[Choice]
    left_out: list[LeftOut]
    tables: dict[Configuration, DelayTable]
    notes: list[str] = []
    control: Control | None = None
    reliability: list[Notice] = []
    progress: StudyProgress | None = None


def choose(results: Results, rule: str = "average", **terms: Any) -> list[Choice]:
    """Only the choices of :func:`select`, which has the same arguments."""
    return select(results, rule, **terms).choices


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
    """Apply ``rule`` (see :mod:`offbeat.selection.choices.selection_rules`) to every configuration, or to
    those of some ``collectives``.

    ``within`` is the share up to which algorithms count as equally good, ``bootstrap`` the number of
    simulated repetitions of the study for the confidence. Raises
    :class:`BadInput` for an unknown rule, scenario or collective.
    """
    terms = Terms(
        rule=selection_rules.parse(rule, include_scenarios), within=within, bootstrap=bootstrap, seed=seed
    )
    if not 0 <= within < np.inf:
        raise BadInput(
            f"the share within which algorithms count as equally good must be 0 or more, not {within}."
        )
    all_tables = delay_tables(results.cases, results.algorithms, results.verdicts)
    tables = _of_collectives(all_tables, collectives)
    _refuse_unknown_scenario(terms.rule, tables)
    samples = None if results.is_deterministic else samples_of(results.repetitions)
    study = study_progress(results)
    evidence = _Evidence(
        samples=samples,
        verdicts=results.verdicts,
        requested_width=requested_width(results.study),
        control=control(results, samples) if samples and bootstrap else None,
        not_measured=study.not_measured if study else {},
        configurations=[table.configuration for table in all_tables],
    )
    outcomes = [_decide(table, terms, evidence) for table in tables]
    return Selection(
        terms=terms,
        choices=[outcome for outcome in outcomes if isinstance(outcome, Choice)],
        left_out=[outcome for outcome in outcomes if isinstance(outcome, LeftOut)],
        tables={table.configuration: table for table in tables},
        notes=[*([study.sentence] if study else []), *results.notes],
        control=evidence.control,
        reliability=reliability(results),
        progress=study,
    )


class _Evidence(Struct, frozen=True, kw_only=True):
    """The input of choices besides the tables; without ``samples``, numbers are exact and choices are
    certain.

    ``requested_width`` is the interval width that the study requested, ``not_measured`` the cases of each
    configuration that remain to be measured, ``configurations`` all that were measured.
    """

    samples: dict[str, CaseRepetitions] | None
    verdicts: Sequence[Verdict]
    requested_width: float | None
    not_measured: dict[ConfigurationKey, list[tuple[str, str]]]
    configurations: Sequence[Configuration]
    control: Control | None = None

    def certainty(
        self, table: DelayTable, terms: Terms, algorithm: str, compared_count: int
    ) -> Certainty | None:
        """The confidence in a choice; None with cases still to be measured, or with nothing to compare."""
        if compared_count < 2 or configuration_key(table.configuration) in self.not_measured:
            return None
        if self.samples is None:
            return EXACT
        return certainty_of(
            table,
            terms.rule,
            self.samples,
            algorithm,
            tolerance=terms.within,
            resamples=terms.bootstrap,
            seed=terms.seed,
            scatter_factor=self.control.scatter_factor if self.control else 1.0,
        )

    def wrong_calls(self, configuration: Configuration, algorithm: str) -> list[WrongCall]:
        """Legal calls of which an algorithm would be wrong as the choice of a configuration."""
        ps = [one.p for one in self.configurations if one.collective == configuration.collective]
        low, high = processes_covered(configuration.p, ps)
        return wrong_between(configuration.collective, algorithm, low, high, self.verdicts)


def _decide(table: DelayTable, terms: Terms, evidence: _Evidence) -> Choice | LeftOut:
    rule = terms.rule
    scores = rule.scores(table)
    if not scores:
        return LeftOut(table.configuration, _why_nothing(table, rule))
    algorithm, *ties = selection_rules.within_share(scores, 0)
    references = rule.reference_scores(table)
    good, fastest = _good(table, terms.within), _good(table, 0)
    no_delay = fastest.get(NO_DELAY, [])
    not_measured = evidence.not_measured.get(configuration_key(table.configuration), [])
    is_expected = not not_measured and len(scores) > 1 and terms.bootstrap > 0
    certainty = evidence.certainty(table, terms, algorithm, len(scores))
    return Choice(
        configuration=table.configuration,
        rule=str(rule),
        include_scenarios=rule.include_scenarios,
        algorithm=algorithm,
        tied=ties,
        alternatives=[
            name for name in selection_rules.within_share(scores, terms.within) if name != algorithm
        ],
        no_delay_winner=no_delay[0] if no_delay else None,
        no_delay_tied=no_delay[1:],
        winners={pattern: names[0] for pattern, names in fastest.items() if names},
        good=good,
        scores=scores,
        reference_scores=references,
        certainty=certainty,
        cost_of_no_delay_winner=_cost(scores, no_delay[0], scores[algorithm]) if no_delay else None,
        cost_of_default=_cost(references, DEFAULT, scores[algorithm]),
        not_measured=len(not_measured),
        warnings=[
            *partial_caveat(not_measured),
            *comparison_caveats(table, rule, [algorithm, *ties], len(scores)),
            *no_delay_caveats(table, rule, no_delay, [algorithm, *ties]),
            *number_caveats(table, rule, algorithm, certainty is None and is_expected),
            *tie_caveats(algorithm, certainty),
            *replay_caveats(table, rule, evidence.samples, evidence.requested_width),
            *legal_caveats(algorithm, evidence.wrong_calls(table.configuration, algorithm)),
        ],
    )


def _cost(scores: dict[str, float], name: str, best: float) -> float | None:
    """The share by which ``name`` scores worse than the best; None if it has no score."""
    return scores[name] / best - 1 if name in scores else None


def _good(table: DelayTable, within: float) -> dict[str, list[str]]:
    """The good algorithms of every pattern, the fastest first, equally fast ones in dictionary order."""
    values = np.round(table.normalised_delays(), 9)
    return {
        pattern: sorted(
            (table.algorithms[j] for j in np.flatnonzero(mask)),
            key=lambda name: (
                values[i, table.algorithms.index(name)],
                selection_rules.dictionary_order(name),
            ),
        )
        for i, (pattern, mask) in enumerate(zip(table.patterns, table.good(within), strict=True))
    }


def _why_nothing(table: DelayTable, rule: Rule) -> str:
    if not table.candidates.any():
        algorithms_text = ", ".join(table.algorithms)
        return f"no algorithm is proved to have run (measured: {algorithms_text})."
    rows = rule.rows(table)
    if rows:
        names = ", ".join(table.patterns[i] for i in rows)
        return f"no proved algorithm was measured under all of the patterns {names}."
    if rule.kind == "scenario":
        return f"scenario '{rule.scenario}' was not measured in this configuration."
    if rule.kind == "no_delay":
        return "the pattern no_delay was not measured in this configuration."
    return "only scenarios or replays were measured; use --include-scenarios or --rule scenario:NAME."


def _of_collectives(tables: list[DelayTable], collectives: Sequence[str]) -> list[DelayTable]:
    """The tables of the requested collectives; all if none is named."""
    names = list(dict.fromkeys(table.configuration.collective for table in tables))
    for name in collectives:
        if name not in names:
            raise BadInput(
                f"collective '{name}' was not measured; these results hold {', '.join(names) or 'none'}."
            )
    return [table for table in tables if not collectives or table.configuration.collective in collectives]


def _refuse_unknown_scenario(rule: Rule, tables: list[DelayTable]) -> None:
    """Raise BadInput if the rule names a scenario that no configuration was measured with."""
    if rule.kind != "scenario" or not tables or any(rule.rows(table) for table in tables):
        return
    scenarios = list(dict.fromkeys(name for table in tables for name in selection_rules.scenarios(table)))
    choices = f"the scenarios are {', '.join(scenarios)}." if scenarios else "these results hold no scenario."
    raise BadInput(f"scenario '{rule.scenario}' was not measured; {choices}")
