"""Skew policies: how large the largest delay of a pattern is.

A skew is a factor times a reference in seconds (paper, section III.B). Most references are run times without
delay, so that the skew of a case may depend on its own algorithm, or on all algorithms of its configuration.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct

from offbeat.base.units import US_PER_MB, exact_time_label
from offbeat.model.study.algorithm import DEFAULT

FASTEST_ALGORITHMS = 3
"""The policy ``fastest`` takes the mean over this number of algorithms, those with the shortest runtimes."""


class UnknownSkew(Exception):
    """The runtime on which a skew depends was not measured; the text says which."""


Runtimes = Mapping[str, float]
"""Algorithm → its runtime without delay, in seconds."""

Reference = Callable[[str, float, Runtimes], float]
"""From a case's algorithm, the bytes of a partition of its message, and the runtimes without delay of its
configuration to the reference of its skew, in seconds. Raises :class:`UnknownSkew`."""


def _number_label(factor: float) -> str:
    return repr(float(factor)).removesuffix(".0")


class SkewPolicy(Struct, frozen=True, kw_only=True):
    """A rule for the largest delay of a pattern.

    ``key`` is the policy's name in study files and results. ``needs`` says whose runtimes without delay must
    be known: those of no algorithm, of the case's algorithm, or of all algorithms of its configuration.
    ``values_key`` is the key of ``[skew]`` that has the factors, ``meaning`` the rule in words; both are
    empty for the policies that no study file names. ``factor_label`` writes a factor exactly, so that
    patterns with different skews have different labels.
    """

    key: str
    reference_s: Reference
    needs: Literal["nothing", "algorithm", "all algorithms"] = "nothing"
    values_key: Literal["", "factors", "times", "rates"] = ""
    meaning: str = ""
    factor_label: Callable[[float], str] = _number_label

    @property
    def is_scaled(self) -> bool:
        """Whether the delays of a pattern are scaled to a skew; others are zero, or those of a file."""
        return bool(self.values_key)

    @property
    def needs_runtimes(self) -> bool:
        """Whether runtimes without delay must be known."""
        return self.needs != "nothing"

    @property
    def is_shared(self) -> bool:
        """Whether all algorithms of a configuration have the same skew."""
        return self.needs != "algorithm"

    @property
    def depends_on_others(self) -> bool:
        """Whether the skew of a case depends on the other algorithms of its configuration."""
        return self.needs == "all algorithms"


def _no_skew_s(algorithm: str, partition_bytes: float, runtimes: Runtimes) -> float:
    return 0.0


def _second(algorithm: str, partition_bytes: float, runtimes: Runtimes) -> float:
    return 1.0


def _rate_s(algorithm: str, partition_bytes: float, runtimes: Runtimes) -> float:
    return US_PER_MB * partition_bytes


def _own_s(algorithm: str, partition_bytes: float, runtimes: Runtimes) -> float:
    if algorithm not in runtimes:
        raise UnknownSkew(f"{algorithm} has no no-delay runtime, on which its skew depends")
    return runtimes[algorithm]


def _mean_s(algorithm: str, partition_bytes: float, runtimes: Runtimes) -> float:
    return _mean(_of_library(runtimes))


def _median_s(algorithm: str, partition_bytes: float, runtimes: Runtimes) -> float:
    return statistics.median(_of_library(runtimes))


def _fastest_s(algorithm: str, partition_bytes: float, runtimes: Runtimes) -> float:
    return _mean(sorted(_of_library(runtimes))[:FASTEST_ALGORITHMS])


def _of_library(runtimes: Runtimes) -> list[float]:
    """The runtimes of the library's algorithms, in seconds.

    The library's own choice is left out if there are others: it is one of the algorithms and would count
    twice.
    """
    runtimes_s = [runtime_s for algorithm, runtime_s in runtimes.items() if algorithm != DEFAULT]
    if not runtimes:
        raise UnknownSkew("no algorithm has a no-delay runtime, on which the skew depends")
    return runtimes_s or list(runtimes.values())


def _mean(runtimes_s: list[float]) -> float:
    """The mean of an exactly rounded sum (fsum): the last digits of sum() depend on Python's version and on
    the order of algorithms."""
    return math.fsum(runtimes_s) / len(runtimes_s)


ZERO_SKEW = SkewPolicy(key="none", reference_s=_no_skew_s)
"""Without delay: the reference of the policies that need runtimes."""

FILE = SkewPolicy(key="file", reference_s=_no_skew_s)
"""A pattern file whose delays are not scaled."""

REPLAY = SkewPolicy(key="replay", reference_s=_no_skew_s)
"""A replay, whose delays are those of its file, call by call."""

FIXED = SkewPolicy(
    key="fixed",
    reference_s=_second,
    values_key="times",
    meaning="the times given",
    factor_label=exact_time_label,
)

RATE = SkewPolicy(
    key="rate",
    reference_s=_rate_s,
    values_key="rates",
    meaning="for partitioned messages, the rates given × the size of a partition",
)

CHOICES = {
    policy.key: policy
    for policy in (
        SkewPolicy(
            key="mean",
            reference_s=_mean_s,
            needs="all algorithms",
            values_key="factors",
            meaning="factor × the mean no-delay runtime over all algorithms of that collective and size,"
            " which one very slow algorithm dominates",
        ),
        SkewPolicy(
            key="median",
            reference_s=_median_s,
            needs="all algorithms",
            values_key="factors",
            meaning="factor × the median of these runtimes",
        ),
        SkewPolicy(
            key="fastest",
            reference_s=_fastest_s,
            needs="all algorithms",
            values_key="factors",
            meaning="factor × the mean of the three shortest",
        ),
        SkewPolicy(
            key="own",
            reference_s=_own_s,
            needs="algorithm",
            values_key="factors",
            meaning="factor × this algorithm's own no-delay runtime",
        ),
        FIXED,
        RATE,
    )
}
"""The policies that a study file may choose, by their names."""

POLICIES = CHOICES | {policy.key: policy for policy in (FILE, REPLAY, ZERO_SKEW)}
"""Every policy that a case may have."""

EXAMPLE_VALUES = {"factors": "[1.5]", "times": '["100 us"]', "rates": "[100]"}
"""Keys of ``[skew]`` with the values of policies, each with an example."""
