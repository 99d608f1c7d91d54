"""Rules that can change the bits of floating-point results.

Floating-point addition is not associative: an algorithm that combines the contributions of the processes in
another order than the library's default can round differently (MPI 4.1, section 6.9.1, advice to
implementors). Proofs therefore keep a digest of a sum whose bits depend on the order of its additions.
Collectives without an operation only move data.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

import msgspec
import polars as pl
from msgspec import Struct

from offbeat.base.errors import RunFailed
from offbeat.base.units import enumeration
from offbeat.model.study.algorithm import DEFAULT, Verdict
from offbeat.model.study.collectives import REDUCING
from offbeat.selection.choices.choose import Choice

SAME_BITS = "--same-bits"


class SumDigests(Struct, frozen=True):
    """The digests of a study's sums: by collective, number of processes, message size and algorithm."""

    by_call: dict[str, dict[int, dict[int, dict[str, str]]]]

    def can_differ(self, collective: str, algorithm: str, p: int, size: int) -> bool:
        """Whether a rule of an algorithm, measured at p and a size, can change the bits of results.

        A rule covers sizes and processes up to those that were measured next. It changes no bits only if the
        digests of algorithm and default are equal there as well.
        """
        if collective not in REDUCING or algorithm == DEFAULT:
            return False
        by_p = self.by_call.get(collective, {})
        calls = [
            by_p[near_p][near_size]
            for near_p in _neighbours(by_p, p)
            for near_size in _neighbours(by_p[near_p], size)
        ]
        is_known = size in by_p.get(p, {})
        return not is_known or not all(_are_equal(digests, algorithm) for digests in calls)


def _are_equal(digests: dict[str, str], algorithm: str) -> bool:
    digest = digests.get(algorithm, "")
    return bool(digest) and digest == digests.get(DEFAULT)


def _neighbours(measured_values: Iterable[int], value: int) -> list[int]:
    """The value, if it was measured, and those that were measured next to it."""
    sorted_values = sorted(measured_values)
    position = bisect_left(sorted_values, value)
    end = position + (2 if value in sorted_values[position : position + 1] else 1)
    return sorted_values[max(position - 1, 0) : end]


def sum_digests(verdicts: Iterable[Verdict]) -> SumDigests:
    """The digests that proofs have kept."""
    by_call: dict[str, dict[int, dict[int, dict[str, str]]]] = {}
    for verdict in verdicts:
        sizes = by_call.setdefault(verdict.collective, {}).setdefault(verdict.p, {})
        sizes.setdefault(verdict.bytes, {})[verdict.algorithm] = verdict.bits
    return SumDigests(by_call)


def bits_notes(collectives: Iterable[str]) -> list[str]:
    """A sentence on the collectives with rules that can change bits; none if no rule can."""
    tuned_collectives = set(collectives)
    reductions = [name for name in REDUCING if name in tuned_collectives]
    if not reductions:
        return []
    return [
        f"Rules of {enumeration(reductions)} can change the last bits of floating-point results: they combine"
        " contributions in another order than the library's default, or it is unknown whether they do."
        f" {SAME_BITS} leaves such rules out."
    ]


def with_same_bits(choices: Sequence[Choice], verdicts: Iterable[Verdict]) -> list[Choice]:
    """The choices, with those that can change the bits of results left to the library.

    Raises :class:`RunFailed` if no other choice is left.
    """
    digests = sum_digests(verdicts)
    same_choices = [
        msgspec.structs.replace(choice, algorithm=DEFAULT) if _can_differ(choice, digests) else choice
        for choice in choices
    ]
    if any(choice.algorithm != DEFAULT for choice in choices) and all(
        choice.algorithm == DEFAULT for choice in same_choices
    ):
        raise RunFailed(
            f"{SAME_BITS}: there is nothing to export, because all algorithms that were chosen can change the"
            " bits of floating-point results"
        )
    return same_choices


def cases_with_same_bits(cases: pl.DataFrame, verdicts: Iterable[Verdict]) -> pl.DataFrame:
    """The cases (:data:`offbeat.measurement.results.schema.CASES`) whose algorithms cannot change the bits of
    results.
    """
    digests = sum_digests(verdicts)
    rows = cases.select("collective", "algorithm", "p", "bytes").iter_rows()
    return cases.filter(pl.Series([not digests.can_differ(*row) for row in rows], dtype=pl.Boolean))


def _can_differ(choice: Choice, digests: SumDigests) -> bool:
    configuration = choice.configuration
    return digests.can_differ(
        configuration.collective, choice.algorithm, configuration.p, configuration.bytes
    )
