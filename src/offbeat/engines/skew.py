"""How large the largest delay of a case's pattern is."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping

from offbeat.study.algorithm import DEFAULT
from offbeat.study.case import Case
from offbeat.study.cases import REPLAY, Group, group_of

FASTEST = 3
"""The policy ``fastest`` takes the mean over so many algorithms, those with the shortest runtimes."""


class UnknownSkew(Exception):
    """The runtime that a skew multiplies was not measured; the text says which."""


class NoDelayRuntimes:
    """Median no-delay d̂ of every algorithm of every group measured so far, in seconds."""

    def __init__(self, rows: Iterable[tuple[Case, float]] = ()) -> None:
        self._runtimes: dict[str, dict[str, float]] = {}
        for case, median_s in rows:
            self.note(case, median_s)

    def note(self, case: Case, median_s: float) -> None:
        """Remember a no-delay runtime; cases with delays are passed over."""
        if case.skew_policy == "none":
            self._runtimes.setdefault(_key(group_of(case)), {})[case.algorithm] = median_s

    def skew_s(self, case: Case) -> float:
        """The skew of a case, in seconds (paper, section III.B). Raises :class:`UnknownSkew`.

        0 for a pattern file that is used as it is, and for a replay: they bring their own.
        """
        if case.skew_policy in ("none", "file", REPLAY):
            return 0.0
        if case.skew_policy == "fixed":
            return case.skew_factor
        runtimes = self._runtimes.get(_key(group_of(case)), {})
        if case.skew_policy == "own":
            return case.skew_factor * _own(case, runtimes)
        return case.skew_factor * _over_algorithms(case, runtimes)


def _own(case: Case, runtimes: Mapping[str, float]) -> float:
    if case.algorithm not in runtimes:
        raise UnknownSkew(f"{case.algorithm} has no no-delay runtime, which its skew multiplies")
    return runtimes[case.algorithm]


def _over_algorithms(case: Case, runtimes: Mapping[str, float]) -> float:
    """The mean, the median, or the mean of the FASTEST over the library's algorithms, as the policy says.

    The library's own choice is one of them, and would count twice. Sums are exactly rounded (fsum): sum()
    gives other last digits in Python 3.12 than before, and the order of the algorithms would matter.
    """
    own = [runtime for algorithm, runtime in runtimes.items() if algorithm != DEFAULT] or list(
        runtimes.values()
    )
    if not own:
        raise UnknownSkew(f"no algorithm of {case.collective} at {case.bytes} B has a no-delay runtime")
    if case.skew_policy == "median":
        return statistics.median(own)
    if case.skew_policy == "fastest":
        own = sorted(own)[:FASTEST]
    return math.fsum(own) / len(own)


def _key(group: Group) -> str:
    return repr(group)
