"""Compares two studies: the cases that both measured, and the choices that follow from them."""

from __future__ import annotations

import math
from typing import Any

from msgspec import Struct, structs

from offbeat.base.errors import BadInput
from offbeat.base.units import amount
from offbeat.measurement.results.read import Results
from offbeat.selection.choices.certainty import control, samples_of
from offbeat.selection.choices.choose import choose
from offbeat.selection.choices.delay_table import CONFIGURATION_COLUMNS, Configuration
from offbeat.tuning.comparison.differences import Difference, Measured, differences

LARGEST_SKEW_CHANGE = 0.5
"""Cases whose skews differ by more than this share of the delay are not compared: their delays may differ for
that reason. A smaller difference widens the interval."""


class CaseChange(Struct, frozen=True, kw_only=True):
    """The difference of a case's last delay; ``configuration`` is that of the study before."""

    configuration: Configuration
    algorithm: str
    pattern: str
    difference: Difference


class ChoiceChange(Struct, frozen=True, kw_only=True):
    """A configuration for which the same rule chooses another algorithm now."""

    configuration: Configuration
    before: str
    after: str


class StudyComparison(Struct, frozen=True, kw_only=True):
    """All compared cases, in the order of the study before, and the choices that differ.

    ``planned`` is the number of cases of the study before, measured or not.
    """

    cases: list[CaseChange]
    planned: int
    choices: list[ChoiceChange]
    configurations: int
    notes: list[str]


def compare_studies(before: Results, after: Results, rule: str) -> StudyComparison:
    """Compare the cases that both studies measured. Raises :class:`BadInput` if there are none."""
    old, new = _measured_rows(before), _measured_rows(after)
    common = [case for case in old if case in new]
    same_skew = [case for case in common if _has_same_skew(old[case], new[case])]
    if not same_skew:
        raise BadInput(
            f"{before.directory} and {after.directory} have no measured case in common: the same collective,"
            " size, processes, algorithm, pattern and skew"
        )
    widening = max(_widening(before), _widening(after))
    pairs = [
        (
            _measured(old[case], before, widening),
            _with_other_skew(_measured(new[case], after, widening), _skew_change_s(old[case], new[case])),
        )
        for case in same_skew
    ]
    cases = [
        CaseChange(
            configuration=Configuration(**{name: old[case][name] for name in CONFIGURATION_COLUMNS}),
            algorithm=old[case]["algorithm"],
            pattern=old[case]["pattern"],
            difference=one,
        )
        for case, one in zip(same_skew, differences(pairs), strict=True)
    ]
    choices, configurations = _choices(before, after, rule)
    return StudyComparison(
        cases=cases,
        planned=before.plan.total if before.plan is not None else before.cases.height,
        choices=choices,
        configurations=configurations,
        notes=[
            *_notes(len(old), len(new), len(common), len(common) - len(same_skew), widening),
            *_own_notes(before),
            *_own_notes(after),
        ],
    )


def _measured_rows(results: Results) -> dict[str, dict[str, Any]]:
    """Case → its row, of the measured cases."""
    return {
        row["case"]: row
        for row in results.cases.iter_rows(named=True)
        if row["status"] == "measured" and (row["last_delay_s"] or 0) > 0
    }


def _skew_change_s(before: dict[str, Any], after: dict[str, Any]) -> float:
    return abs((after["skew_s"] or 0.0) - (before["skew_s"] or 0.0))


def _has_same_skew(before: dict[str, Any], after: dict[str, Any]) -> bool:
    shortest_s = min(before["last_delay_s"], after["last_delay_s"])
    return _skew_change_s(before, after) <= LARGEST_SKEW_CHANGE * float(shortest_s)


def _with_other_skew(measured: Measured, change_s: float) -> Measured:
    """The time with the error that another skew adds: if the last process arrives later by some time, the
    last one leaves later by at most this time, so that the delay changes by at most as much. It is taken as
    the half-width of a 95% interval."""
    added = change_s / measured.time_s / 1.96
    return structs.replace(measured, error=math.hypot(measured.error, added)) if added else measured


def _own_notes(results: Results) -> list[str]:
    """The notes on damaged and missing records of a study, and how many of its cases were not measured."""
    failed = results.cases.filter(results.cases["status"] != "measured").height
    planned = results.plan.total if results.plan is not None else results.cases.height
    missing = planned - results.cases.height
    notes = [f"{results.directory}: {note}" for note in results.notes]
    if failed or missing > 0:
        notes.append(
            f"{results.directory}: of {amount(planned, 'case')}, {max(missing, 0)} are missing and {failed}"
            " were not measured as required"
        )
    return notes


def _widening(results: Results) -> float:
    """The factor by which a study's errors exceed those that its blocks show."""
    if results.is_deterministic:
        return 1.0
    found = control(results, samples_of(results.repetitions))
    return found.scatter_factor if found is not None else 1.0


def _measured(row: dict[str, Any], results: Results, widening: float) -> Measured:
    """The last delay of a case, with the error that its interval states."""
    from scipy import stats  # loads slowly

    time_s, low_s, high_s = row["last_delay_s"], row["last_delay_low_s"], row["last_delay_high_s"]
    if results.is_deterministic:
        return Measured(time_s=time_s, error=0.0, freedom=1)
    if not (low_s and high_s and 0 < low_s < high_s):
        return Measured(time_s=time_s, error=math.nan, freedom=1)
    freedom = row["blocks"] - 1 if row["blocks"] > 1 else max(row["repetitions"] - 1, 1)
    wide = math.log(high_s / low_s) / 2
    return Measured(
        time_s=time_s, error=widening * wide / float(stats.t.ppf(0.975, freedom)), freedom=freedom
    )


def _choices(before: Results, after: Results, rule: str) -> tuple[list[ChoiceChange], int]:
    """The configurations with another choice, and the number of configurations that have one in both."""
    new = {_without_library(one.configuration): one for one in choose(after, rule, bootstrap=0)}
    changed, count = [], 0
    for one in choose(before, rule, bootstrap=0):
        other = new.get(_without_library(one.configuration))
        if other is None:
            continue
        count += 1
        if other.algorithm != one.algorithm:
            changed.append(
                ChoiceChange(configuration=one.configuration, before=one.algorithm, after=other.algorithm)
            )
    return changed, count


def _without_library(configuration: Configuration) -> Configuration:
    return structs.replace(configuration, library="")


def _notes(old: int, new: int, common: int, other_skew: int, widening: float) -> list[str]:
    notes = []
    if old > common or new > common:
        notes.append(
            f"{amount(old - common, 'case')} of the study before and {amount(new - common, 'case')} of the"
            " one after have no counterpart"
        )
    if other_skew:
        notes.append(
            f"{amount(other_skew, 'case')} measured with other skews, which follow from the run times of the"
            " study, not compared: the skews differ by more than half of the delay; the policy 'fixed' of"
            " [skew] avoids that"
        )
    if widening > 1:
        notes.append(
            f"errors are widened by a factor of {widening:.2g}, by which equal cases of the same study differ"
            " more than their blocks show"
        )
    return notes
