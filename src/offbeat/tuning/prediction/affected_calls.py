"""The calls of a traced program that a choice of algorithms affects: those that its tuning files cover.

A choice that affects no call cannot change the run time of the program.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from offbeat.base.units import amount
from offbeat.model.study.algorithm import DEFAULT
from offbeat.selection.tuning_files.manifest import TuningFiles
from offbeat.selection.tuning_files.tuning_plan import Rule
from offbeat.trace.calls.call_bytes import collective_name
from offbeat.trace.calls.call_site_stats import CallSiteStats, description_of
from offbeat.trace.summary import Summary
from offbeat.tuning.prediction.prediction import Prediction
from offbeat.tuning.prediction.recorded_calls import BLOCKING, all_calls, size_bytes

MOST_NAMED = 4
"""Limit of rows of calls that are named in a sentence."""


class AffectedGroup(Struct, frozen=True, kw_only=True):
    """Affected calls of one row, and their time over all ranks. ``is_partly``: not all sizes are covered."""

    description: str
    algorithm: str
    number: int
    spent_s: float
    is_partly: bool = False


class AffectedCalls(Struct, frozen=True, kw_only=True):
    """The calls that a choice affects, of all collective calls and their time summed over ranks."""

    acted: list[AffectedGroup]
    all_calls: int
    all_spent_s: float

    @property
    def number(self) -> int:
        """The number of affected calls."""
        return sum(one.number for one in self.acted)

    @property
    def share(self) -> float:
        """The share of the affected calls in the time in collectives."""
        return sum(one.spent_s for one in self.acted) / self.all_spent_s if self.all_spent_s > 0 else 0.0

    @property
    def sentence(self) -> str:
        """``affects 50 of 70 calls, 87.0% of the time in collectives: ...``, or that it affects none."""
        if not self.acted:
            return (
                f"affects none of the {amount(self.all_calls, 'collective call')} of the trace: it cannot"
                " change the run time of this program"
            )
        ranked = sorted(self.acted, key=lambda one: -one.spent_s)
        named = "; ".join(
            f"{one.description}: {one.algorithm}{' (some of the sizes)' if one.is_partly else ''}"
            for one in ranked[:MOST_NAMED]
        )
        more = f"; and {len(ranked) - MOST_NAMED} more" if len(ranked) > MOST_NAMED else ""
        return (
            f"affects {self.number} of {amount(self.all_calls, 'collective call')},"
            f" {self.share:.1%} of the time in collectives: {named}{more}"
        )


def calls_affected_by_files(tuning: TuningFiles, summary: Summary) -> AffectedCalls:
    """The calls of a trace that tuning files affect.

    Rules apply to blocking calls on intra-communicators. A row in which some calls use MPI_IN_PLACE counts as
    in place. Hierarchical algorithms affect no call of a program that ran on one node.
    """
    one_node = len(summary.hosts) == 1 and summary.traced == summary.processes

    def rule(row: CallSiteStats, size: int) -> Rule | None:
        collective = collective_name(row.collective)
        rule_of_row = tuning.rule_for(
            collective, row.processes, size, summary.processes, in_place=row.in_place
        )
        return (
            None
            if rule_of_row is not None and rule_of_row.algorithm.hierarchical and one_node
            else rule_of_row
        )

    acted = []
    for row in summary.group_rows:
        rule_of_row = rule(row, size_bytes(row)) if row.kind == BLOCKING and not row.is_inter else None
        if rule_of_row is not None:
            ends = (row.least_bytes, row.most_bytes)
            acted.append(
                AffectedGroup(
                    description=description_of(row),
                    algorithm=rule_of_row.algorithm.name,
                    number=row.run_calls,
                    spent_s=row.spent_s,
                    is_partly=any(rule(row, size) is None for size in ends),
                )
            )
    return AffectedCalls(acted=acted, all_calls=all_calls(summary), all_spent_s=summary.spent_s)


def calls_affected_by_choice(prediction: Prediction, algorithms: Sequence[str]) -> AffectedCalls:
    """The calls of a prediction's parts for which a choice sets an algorithm."""
    return AffectedCalls(
        acted=[
            AffectedGroup(
                description=part.calls.description,
                algorithm=name,
                number=part.calls.number,
                spent_s=part.calls.spent_s,
            )
            for part, name in zip(prediction.parts, algorithms, strict=True)
            if name != DEFAULT
        ],
        all_calls=prediction.recorded.all_calls,
        all_spent_s=prediction.recorded.spent_s,
    )
