"""All entries of one library as one: their results, for tuning files and proofs, and the decisions."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
from msgspec import Struct

from offbeat.base.errors import BadInput, RunFailed
from offbeat.measurement.results.layout import SCHEMA_VERSION
from offbeat.measurement.results.read import Results, key, latest
from offbeat.measurement.results.schema import CASES, REPETITIONS, polars_schema
from offbeat.model.study.algorithm import DEFAULT, Algorithm, Verdict
from offbeat.selection.choices import selection_rules
from offbeat.selection.choices.against_default import against_default
from offbeat.selection.choices.choose import Choice
from offbeat.selection.choices.coverage import EXTENSION
from offbeat.selection.choices.delay_table import EXCLUSION_REASONS, delay_tables
from offbeat.selection.choices.selection_rules import Rule
from offbeat.selection.tuning_files.export import plan_of
from offbeat.selection.tuning_files.tuning_plan import TuningPlan
from offbeat.selection.verification.rule_probes import STATUSES_WITH_EVIDENCE
from offbeat.tuning.site.decide import Calls, Decision, Vote, decisions, divided
from offbeat.tuning.site.directory import Site, is_library_folder, read_site
from offbeat.tuning.site.entry import Entry

RULE = "recorded"
"""The selection rule without ``--rule``: the arrivals of programs, where an entry has them."""


class Merged(Struct, frozen=True, kw_only=True, eq=False):
    """The entries of one library that are merged, their results together, and the decisions.

    ``left_out`` are sentences on entries and configurations that are not merged.
    """

    library: str
    entries: list[Entry]
    results: Results
    decisions: list[Decision]
    left_out: list[str]

    @property
    def conflicts(self) -> list[Decision]:
        """The decisions on calls for which entries alone would get different algorithms."""
        return [decision for decision in self.decisions if decision.is_conflict]

    @property
    def weight(self) -> float:
        """The weight of all merged entries."""
        return math.fsum(entry.weight for entry in self.entries)


def merge(site: Site, library: str, rule: str = RULE) -> Merged:
    """Merge the entries of a library with the selection rule ``rule``.

    Raises :class:`BadInput` for an unknown library or rule, and for entries that force an algorithm of the
    same name in different ways.
    """
    if library not in site.libraries:
        known = ", ".join(site.libraries) or "none: it has no entries"
        raise BadInput(f"{site.directory} has no entry of {library}; it has entries of {known}")
    parsed = selection_rules.parse(rule)
    entries, left_out = _with_equal_variables(site.of_library(library))
    votes = []
    for entry in entries:
        own, notes = _votes(entry, parsed)
        votes += own
        left_out += notes
    return Merged(
        library=library,
        entries=entries,
        results=results_of(entries, site.directory / library),
        decisions=decisions(votes),
        left_out=left_out,
    )


def _with_equal_variables(entries: Sequence[Entry]) -> tuple[list[Entry], list[str]]:
    """Of the entries in use those with the heaviest set of variables, and a sentence on each other one.

    Variables change what a library does, its default too, so that times with other variables are of another
    library.
    """
    used = [entry for entry in entries if entry.weight > 0]
    weights: dict[str, float] = {}
    for entry in used:
        weights[_variables(entry)] = weights.get(_variables(entry), 0.0) + entry.weight
    heaviest = max(weights, key=lambda text: (weights[text], text), default="")
    notes = [
        f"{entry.name} is not merged: its weight is 0."
        if entry.weight <= 0
        else f"{entry.name} is not merged: it was measured with {_variables(entry) or 'no variables'}, the"
        f" others with {heaviest or 'none'}."
        for entry in entries
        if entry.weight <= 0 or _variables(entry) != heaviest
    ]
    return [entry for entry in used if _variables(entry) == heaviest], notes


def _variables(entry: Entry) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(entry.environment.items()))


def _votes(entry: Entry, rule: Rule) -> tuple[list[Vote], list[str]]:
    """The votes of an entry, and sentences on configurations without a time of the default."""
    results = _results(entry, Path())
    votes, notes = [], []
    for table in delay_tables(results.cases, results.algorithms, results.verdicts):
        times = against_default(table, rule)
        if not times:
            notes.append(
                f"{entry.name}: {table.configuration} is left out: under the patterns of the rule, the"
                " library's default and another proved algorithm were not both measured."
            )
            continue
        cell = table.configuration
        excluded = {
            one.algorithm: EXCLUSION_REASONS[one.status]
            for one in results.verdicts
            if (one.collective, one.p, one.bytes) == (cell.collective, cell.p, cell.bytes)
            and one.status in EXCLUSION_REASONS
            and one.algorithm != DEFAULT
        }
        votes.append(
            Vote(
                entry=entry.name,
                configuration=cell,
                weight=entry.weight,
                times=times,
                excluded=excluded | table.exclusions,
            )
        )
    shares: dict[Calls, float] = {(one.collective, one.p, one.bytes): one.share for one in entry.shares}
    return divided(votes, shares if entry.origin.program else None), notes


def results_of(entries: Sequence[Entry], directory: Path) -> Results:
    """The results of all entries together; the heaviest one says how programs are launched."""
    by_weight = sorted(entries, key=lambda entry: (entry.weight, entry.name))
    parts = [_results(entry, directory) for entry in by_weight]
    if not parts:
        raise RunFailed(f"{directory} has no entry with a weight above 0: nothing can be merged")
    return msgspec.structs.replace(
        parts[-1],
        cases=pl.concat([one.cases for one in parts]),
        algorithms=_equal_algorithms(by_weight),
        verdicts=_merged_verdicts(verdict for one in parts for verdict in one.verdicts),
    )


def _results(entry: Entry, directory: Path) -> Results:
    rows = [_row(entry, number) for number in range(len(entry.times))]
    return Results(
        directory=directory,
        study={"mpi": entry.launch.mpi, "repetitions": {"hang_after": entry.launch.hang_after_s}},
        provenance={"schema_version": SCHEMA_VERSION, "library": entry.library},
        cases=pl.DataFrame(rows, schema=polars_schema(CASES), orient="row"),
        repetitions=pl.DataFrame(schema=polars_schema(REPETITIONS)),
        algorithms=list(entry.algorithms),
        verdicts=list(entry.verdicts),
    )


def _row(entry: Entry, number: int) -> dict[str, Any]:
    """A stored time as a row of cases; columns that are not stored are empty."""
    fact = entry.times[number]
    stored = {name: getattr(fact, name) if name in fact.__struct_fields__ else None for name in CASES}
    return stored | {"case": f"{entry.name}/{number}", "engine": "mpi", "library": entry.library_name}


def _equal_algorithms(entries: Iterable[Entry]) -> list[Algorithm]:
    """The algorithms of all entries. Raises :class:`BadInput` if two force one in different ways."""
    owner: dict[tuple[object, ...], tuple[Entry, Algorithm]] = {}
    for entry in entries:
        for algorithm in entry.algorithms:
            other, known = owner.setdefault(key(algorithm), (entry, algorithm))
            if known.settings != algorithm.settings:
                raise BadInput(
                    f"{other.name} and {entry.name} force {algorithm.collective} by {algorithm.name} in"
                    f" different ways ({known.settings} and {algorithm.settings}), so they are of different"
                    f" builds of {entry.library_name}; remove one with 'offbeat site remove'"
                )
    return [algorithm for _, algorithm in owner.values()]


def _merged_verdicts(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """One verdict for each algorithm, p and size: the last one with evidence, with all wrong calls of all."""
    groups: dict[tuple[object, ...], list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault(key(verdict), []).append(verdict)
    return [
        msgspec.structs.replace(
            latest(sorted(group, key=lambda one: one.status in STATUSES_WITH_EVIDENCE))[0],
            commutative_only=any(one.commutative_only for one in group),
            wrong_calls=list({str(call): call for one in group for call in one.wrong_calls}.values()),
            legal_calls=max(one.legal_calls for one in group),
        )
        for group in groups.values()
    ]


def plan(merged: Merged, allowed: Collection[str] = (), beyond: float = EXTENSION) -> TuningPlan:
    """The tuning plan of the decisions, as ``offbeat export`` makes that of a study.

    Raises :class:`RunFailed` if all calls are left to the library.
    """
    if all(decision.algorithm == DEFAULT for decision in merged.decisions):
        raise RunFailed(
            f"there is nothing to export for {merged.library}: no algorithm is shown to be faster than the"
            " library's own decisions without being slower for an entry; 'offbeat site show' has the reasons"
        )
    choices = [_choice(decision) for decision in merged.decisions]
    tuning_plan = plan_of(merged.results, choices, allowed, beyond)
    return msgspec.structs.replace(tuning_plan, sources=[entry.name for entry in merged.entries])


def _choice(decision: Decision) -> Choice:
    """A decision as the plan takes it; the scores are the weighted times relative to the default."""
    scores = {name: time.ratio for name, time in decision.times.items()}
    heaviest = max(decision.votes, key=lambda vote: (vote.configuration.nodes > 1, vote.weight, vote.entry))
    return Choice(
        configuration=heaviest.configuration,
        algorithm=decision.algorithm,
        scores=scores,
        reference_scores={DEFAULT: 1.0},
        cost_of_default=1 / scores[decision.algorithm] - 1 if decision.algorithm in scores else None,
    )


def results_in_library_folder(directory: Path) -> Results | None:
    """The results of all entries of a library; None if the folder is not that of one in a knowledge base."""
    if not is_library_folder(directory):
        return None
    site = read_site(directory.absolute().parent)
    entries = [entry for entry in site.of_library(directory.absolute().name) if entry.weight > 0]
    return results_of(entries, directory) if entries else None
