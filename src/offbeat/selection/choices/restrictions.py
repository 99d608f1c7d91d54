"""What restricts a choice: algorithms that are indistinguishable or wrong for legal calls, unfinished
studies.

Quarantined cases do not make a study unfinished: they were tried and given up, and are reported as such.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import polars as pl
from msgspec import Struct

from offbeat.base.units import amount, format_list
from offbeat.measurement.results.layout import UNFINISHED_CASE
from offbeat.measurement.results.read import Results
from offbeat.model.study.algorithm import Verdict, WrongCall, in_words, kinds_of
from offbeat.model.study.case import CONFIGURATION, ConfigurationKey
from offbeat.selection.choices.coverage import process_ranges


class StudyProgress(Struct, frozen=True, kw_only=True):
    """The progress of an unfinished study.

    ``not_measured`` lists the (algorithm, pattern) pairs of each configuration that remain to be measured,
    ``not_begun`` the configurations without any case yet; ``quarantined_cases`` is the number of quarantined
    cases.
    """

    done_cases: int
    total: int
    quarantined_cases: int
    not_measured: dict[ConfigurationKey, list[tuple[str, str]]]
    not_begun: list[ConfigurationKey]

    @property
    def sentence(self) -> str:
        """The progress in a sentence."""
        partial, not_begun = len(self.not_measured) - len(self.not_begun), len(self.not_begun)
        configurations = [
            f"{amount(number, 'configuration')} {'is' if number == 1 else 'are'} {state}"
            for number, state in ((partial, "partial"), (not_begun, "not started"))
            if number
        ]
        quarantine_text = f" ({self.quarantined_cases} of them quarantined)" if self.quarantined_cases else ""
        return (
            f"{self.done_cases} of {self.total} cases are done{quarantine_text}, the study is not finished:"
            f" {' and '.join(configurations)}. 'offbeat run' with the study measures the rest."
        )


def study_progress(results: Results) -> StudyProgress | None:
    """The progress of a study; None if nothing remains to be measured, or for imports."""
    if results.plan is None:
        return None
    missing_cases = results.plan.not_measured(results.cases.filter(pl.col("status") != UNFINISHED_CASE))
    if not missing_cases:
        return None
    begun_configurations = set(results.cases.select(CONFIGURATION).unique().iter_rows())
    return StudyProgress(
        done_cases=results.plan.total - sum(map(len, missing_cases.values())),
        total=results.plan.total,
        quarantined_cases=results.cases.filter(pl.col("status") == "quarantined").height,
        not_measured=missing_cases,
        not_begun=[
            configuration for configuration in missing_cases if configuration not in begun_configurations
        ],
    )


def partial_caveat(not_measured: list[tuple[str, str]]) -> list[str]:
    """A caveat on a choice in a partial configuration; none for a complete one."""
    if not not_measured:
        return []
    cases = format_list([f"{algorithm} under {pattern}" for algorithm, pattern in not_measured])
    are = "is" if len(not_measured) == 1 else "are"
    return [
        f"partial: {amount(len(not_measured), 'case')} {are} not completely measured yet ({cases}); the"
        " choice may change."
    ]


ALLOW_WRONG_RESULTS = "--allow-wrong-results"
"""The option of ``offbeat export`` that takes kinds of legal calls."""


def processes_covered(p: int, ps: Iterable[int]) -> tuple[int, int]:
    """The communicator sizes (inclusive) that get the choice of ``p``, one of the measured ``ps``."""
    sorted_ps = sorted(set(ps))
    return process_ranges(sorted_ps)[sorted_ps.index(p)]


def wrong_between(
    collective: str, algorithm: str, low: int, high: int, verdicts: Iterable[Verdict]
) -> list[WrongCall]:
    """Calls on ``low`` to ``high`` processes (inclusive) for which the algorithm is wrong, one of each kind.

    Results of an earlier version only record whether non-commutative operations fail.
    """
    by_kind: dict[str, WrongCall] = {}
    for verdict in verdicts:
        if (verdict.collective, verdict.algorithm) != (collective, algorithm):
            continue
        for call in [*verdict.wrong_calls, *_noncommutative(verdict)]:
            if low <= call.p <= high:
                by_kind.setdefault(call.kind, call)
    return list(by_kind.values())


def legal_caveats(algorithm: str, wrong: Sequence[WrongCall]) -> list[str]:
    """A caveat on a choice that ``offbeat export`` omits."""
    if not wrong:
        return []
    kinds = kinds_of(wrong)
    options = " ".join(f"{ALLOW_WRONG_RESULTS} {kind}" for kind in kinds)
    return [
        f"{algorithm} is wrong for {in_words(kinds)} ({wrong[0]}): 'offbeat export' replaces"
        f" it by another algorithm, unless {options} is given."
    ]


def _noncommutative(verdict: Verdict) -> list[WrongCall]:
    if not verdict.commutative_only:
        return []
    call = f"MPI_{verdict.collective.capitalize()} with a non-commutative operation"
    return [
        WrongCall(
            kind="noncommutative",
            p=verdict.p,
            call=f"{call} on {verdict.p} processes",
            result="the result is wrong",
        )
    ]


INDISTINGUISHABLE = "indistinguishable"
INCLUDE_INDISTINGUISHABLE = "--include-indistinguishable"


def include_indistinguishable(results: Results) -> Results:
    """The results with indistinguishable algorithms as candidates, as if they were proved."""
    return msgspec.structs.replace(
        results,
        cases=results.cases.with_columns(pl.col("proof").replace(INDISTINGUISHABLE, "proved")),
        verdicts=[
            msgspec.structs.replace(verdict, status="proved")
            if verdict.status == INDISTINGUISHABLE
            else verdict
            for verdict in results.verdicts
        ],
    )


def indistinguishable_notes(results: Results, *, are_included: bool) -> list[str]:
    """The indistinguishable algorithms of each collective, and whether they can be chosen."""
    names: dict[str, dict[str, None]] = {}
    for verdict in results.verdicts:
        if verdict.status == INDISTINGUISHABLE:
            names.setdefault(verdict.collective, {})[verdict.algorithm] = None
    consequence = (
        f"they may be chosen because of {INCLUDE_INDISTINGUISHABLE}"
        if are_included
        else f"they are not chosen unless {INCLUDE_INDISTINGUISHABLE} is given"
    )
    return [
        f"{collective}: {amount(len(algorithms), 'algorithm')} ({', '.join(algorithms)}) ran without an"
        f" error, but cannot be distinguished from another algorithm; {consequence}."
        for collective, algorithms in names.items()
    ]
