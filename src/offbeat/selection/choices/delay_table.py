"""Delay tables: the measured last delays d̂ of one configuration, arrival patterns × algorithms.

A configuration is what an MPI library knows when it chooses an algorithm. Its table holds the median last
delays d̂ = max exit − max arrival (paper on arrival patterns, equation 2): the numbers of the paper's figures
5, 6 and 8. The row of a replay holds the mean over its calls, which is the cost per call for an application.

Ratios of delays never divide by less than :data:`RESOLUTION_S`: a coarse clock, a rounded import or the
clocks' error bound can make a median zero or negative, and a ratio to such a number is meaningless.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from msgspec import structs
from numpy.typing import NDArray

from offbeat.base.errors import BadInput
from offbeat.base.units import amount, enumeration, format_size
from offbeat.measurement.results.blocks import RESOLUTION_S
from offbeat.measurement.results.layout import UNFINISHED_CASE
from offbeat.model.pattern.shapes import SHAPES
from offbeat.model.study.algorithm import DEFAULT, Algorithm, Verdict
from offbeat.model.study.case import OPTIONAL, PARTITIONED_SEND, OnCommunicators
from offbeat.model.study.case_expansion import NO_DELAY
from offbeat.model.study.collectives import COLLECTIVES
from offbeat.model.study.skew_policy import POLICIES, REPLAY, ZERO_SKEW, SkewPolicy

RECORDED_KINDS = ("scenario", "replay")
"""Kinds of rows that were recorded from an application; every other row is a shape."""

TOLERANCE = 1e-9
"""Relative difference below which two ratios count as equal, because of rounding."""

EXCLUSION_REASONS = {
    "indistinguishable": "not proved: what ran cannot be distinguished from another algorithm",
    "unproved": "not proved to have run",
    "fell_back": "the library ran something else",
    "wrong": "computes a wrong result",
    "refused": "refused by the library",
    "quarantined": "crashed, hung or aborted the job",
}
"""Verdicts that exclude an algorithm from selection → the reason as printed."""


class Configuration(OnCommunicators, frozen=True):
    """Collective × message size × processes × placement; ``nodes`` and ``ppn`` are 0 if unknown."""

    library: str
    p: int
    nodes: int
    ppn: int
    collective: str
    bytes: int
    op: str = ""
    datatype: str = ""
    root: int = 0

    partitions: int = 1
    threads: int = 1
    communicators: int = 1
    stride: int = 1

    @property
    def division(self) -> str:
        """The parts of a partitioned message: ``32 partitions, 4 threads``; empty for a collective."""
        if self.collective != PARTITIONED_SEND:
            return ""
        return f"{amount(self.partitions, 'partition')}, {amount(self.threads, 'thread')}"

    @property
    def placement(self) -> str:
        """The processes: ``1024 (32×32)``, with nodes × processes per node where those are known; with
        several communicators ``32 of 1024 (32×32), stride 32``.
        """
        nodes = f" ({self.nodes}×{self.ppn})" if self.nodes and self.ppn else ""
        if self.communicators == 1:
            return f"{self.p}{nodes}"
        return f"{self.p} of {self.processes}{nodes}, stride {self.stride}"

    def __str__(self) -> str:
        """The configuration in a sentence: ``reduce of 8 B on p=1024 (32×32)``."""
        return self.of_sizes([self.bytes])

    def of_sizes(self, sizes: Sequence[int]) -> str:
        """Configurations that differ in their sizes only: ``reduce of 8 B, 1 KiB and 1 MiB on p=4``."""
        size = "" if self.collective == "barrier" else f" of {enumeration(list(map(format_size, sizes)))}"
        parts = f" in {self.division}" if self.division else ""
        return f"{self.collective}{size}{parts} on p={self.placement}"


CONFIGURATION_COLUMNS = list(Configuration.__struct_fields__)
"""The columns of ``cases`` that identify a configuration."""


def configurations_in_words(configurations: Iterable[Configuration]) -> str:
    """Configurations as a part of a sentence; those that differ in their sizes only are named once."""
    sizes: dict[Configuration, list[int]] = {}
    for configuration in configurations:
        sizes.setdefault(structs.replace(configuration, bytes=0), []).append(configuration.bytes)
    return enumeration(
        [
            configuration.of_sizes(sorted(sizes_of_configuration))
            for configuration, sizes_of_configuration in sizes.items()
        ]
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class DelayTable:
    """Median last delays of one configuration in seconds, ``patterns × algorithms``; NaN where not measured.

    Rows are ordered: no_delay, the shapes, the scenarios, the replays. ``kinds`` holds ``shape``,
    ``scenario`` or ``replay`` for each row, ``shapes`` its name without a skew factor, and ``sources`` the
    calls and trace that it was recorded from, if known. ``low_s`` and ``high_s`` are the ends of the 95%
    confidence intervals. ``exclusions`` maps algorithms that are shown but must not be selected to the
    reason; the library's ``default`` is always a reference only. ``gap_reasons`` maps (pattern, algorithm) to
    the recorded reason why that case has no delay. ``incomplete`` marks medians of too few repetitions and
    means over only some of a replay's calls, and ``cases`` names the case of each delay (empty where there is
    none).
    """

    configuration: Configuration
    patterns: list[str]
    kinds: list[str]
    algorithms: list[str]
    last_delay_s: NDArray[np.float64]
    low_s: NDArray[np.float64]
    high_s: NDArray[np.float64]
    shapes: list[str]
    sources: list[str]
    skew_policy: SkewPolicy | None
    exclusions: dict[str, str]
    gap_reasons: dict[tuple[str, str], str]
    incomplete: NDArray[np.bool_]
    cases: list[list[str]]

    @property
    def recorded_rows(self) -> list[int]:
        """The rows of scenarios and replays."""
        return [i for i, kind in enumerate(self.kinds) if kind in RECORDED_KINDS]

    @property
    def replays(self) -> list[int]:
        """The rows of replays."""
        return [i for i, kind in enumerate(self.kinds) if kind == "replay"]

    @property
    def candidates(self) -> NDArray[np.bool_]:
        """Which algorithms may be selected: neither excluded nor the library's default."""
        return np.array(
            [name != DEFAULT and name not in self.exclusions for name in self.algorithms], dtype=bool
        )

    @property
    def skews(self) -> str:
        """``own`` if each algorithm's skew is relative to its own run time (as in the paper's figure 6),
        ``same`` if all algorithms have the same skews; else empty."""
        if self.skew_policy is None:
            return ""
        return "same" if self.skew_policy.is_shared else "own"

    def delays_s(self) -> NDArray[np.float64]:
        """The last delays as ratios use them: never below the clock's resolution; NaN stays NaN."""
        return np.maximum(self.last_delay_s, RESOLUTION_S)

    def normalised_delays(self) -> NDArray[np.float64]:
        """Each row divided by its smallest delay among the candidates (the paper's figure 8).

        The best candidate of a row has 1. References can have less than 1: a default that is faster than
        every candidate. A row without any measured candidate is NaN.
        """
        is_measured = self.candidates & ~np.isnan(self.last_delay_s)
        best_s = np.where(is_measured, self.delays_s(), np.inf).min(axis=1, initial=np.inf, keepdims=True)
        return self.delays_s() / np.where(np.isinf(best_s), np.nan, best_s)

    def good(self, within: float = 0.05) -> NDArray[np.bool_]:
        """Which candidates are, in each row, at most ``within`` (a share) slower than the row's fastest.

        The paper calls these good (its figure 5, with 5%). References are never good.
        """
        with np.errstate(invalid="ignore"):
            close = self.normalised_delays() <= (1 + within) * (1 + TOLERANCE)
        return np.asarray(close & self.candidates)

    def robustness(self) -> NDArray[np.float64]:
        """d̂ / d̂ under no_delay − 1 (the paper's figure 6): negative where an algorithm absorbs the delay.

        NaN everywhere when no_delay was not measured, and in columns where it is missing.
        """
        if NO_DELAY not in self.patterns:
            return np.full_like(self.last_delay_s, np.nan)
        delays = self.delays_s()
        return delays / delays[self.patterns.index(NO_DELAY)] - 1

    def robustness_class(self, limit: float = 0.25) -> NDArray[np.str_]:
        """``faster`` or ``slower`` than under no_delay by more than ``limit``, else ``same``; or empty."""
        change = self.robustness()
        edge = limit + TOLERANCE
        conditions = [np.isnan(change), change < -edge, change > edge]
        return np.select(conditions, ["", "faster", "slower"], default="same")


def delay_tables(
    cases: pl.DataFrame, algorithms: Sequence[Algorithm] = (), verdicts: Sequence[Verdict] = ()
) -> list[DelayTable]:
    """Arrange ``cases`` (columns of ``offbeat.measurement.results.schema.CASES``) into one table a
    configuration.

    Cases with status ``measured``, ``unfinished`` or ``incomplete`` and a finite d̂ are used. Columns come in
    the order of ``algorithms`` where that names them, then in order of appearance in ``cases``, with
    ``default`` last. Tables are ordered by library, collective, processes and message size. Algorithms are
    excluded from selection if one of their cases is unproved, or if one of ``verdicts`` on their
    configuration excludes them (:data:`EXCLUSION_REASONS`). Raises :class:`BadInput` for cases of partitioned
    sends, and when two cases measure the same algorithm under the same pattern in the same configuration.
    """
    is_finite = pl.col("last_delay_s").is_finite().fill_null(False)
    has_delay = pl.col("status").is_in(["measured", UNFINISHED_CASE, "incomplete"]) & is_finite
    columns = _column_order(cases, algorithms)
    cases_with_marks = cases.with_columns(has_delay.alias("has_delay"))
    groups = cases_with_marks.partition_by(CONFIGURATION_COLUMNS, as_dict=True, maintain_order=True)
    tables = [
        _table(Configuration(*key), rows, columns[str(rows["collective"][0])], verdicts)
        for key, rows in groups.items()
        if rows["has_delay"].any()
    ]
    return sorted(tables, key=lambda table: _configuration_order(table.configuration))


def _column_order(cases: pl.DataFrame, algorithms: Sequence[Algorithm]) -> dict[str, list[str]]:
    """Each collective's algorithms in the order of the columns, the same in all of its tables."""
    order: dict[str, dict[str, None]] = {}
    library_order = [(algorithm.collective, algorithm.name) for algorithm in algorithms]
    measured_algorithms = cases.select("collective", "algorithm").unique(maintain_order=True).rows()
    for collective, name in [*library_order, *measured_algorithms]:
        order.setdefault(collective, {})[name] = None
    return {
        collective: sorted(names, key=lambda name: name == DEFAULT) for collective, names in order.items()
    }


def _configuration_order(configuration: Configuration) -> tuple[object, ...]:
    name = configuration.collective
    position = COLLECTIVES.index(name) if name in COLLECTIVES else len(COLLECTIVES)
    processes = (configuration.p, configuration.nodes, configuration.ppn)
    reduction = (configuration.op, configuration.datatype, configuration.root)
    parts = tuple(getattr(configuration, name) for name in OPTIONAL)
    return (configuration.library, position, name, *processes, configuration.bytes, *reduction, *parts)


def _row_order(row: Mapping[str, Any]) -> tuple[int, int, float]:
    """no_delay, the shapes in their usual order, shapes of other tools, scenarios, replays."""
    kind = _kind(row)
    group = 2 + RECORDED_KINDS.index(kind) if kind in RECORDED_KINDS else int(row["shape"] != NO_DELAY)
    shapes = list(SHAPES)
    position = shapes.index(row["shape"]) if row["shape"] in shapes else len(shapes)
    return group, position, row["skew_factor"] or 0.0


def _kind(row: Mapping[str, Any]) -> str:
    return str(row["pattern_kind"]) if row["pattern_kind"] in RECORDED_KINDS else "shape"


def _table(
    configuration: Configuration, rows: pl.DataFrame, order: list[str], verdicts: Sequence[Verdict]
) -> DelayTable:
    """The table of one configuration from its cases; ``order`` lists the collective's algorithms."""
    delays = rows.filter("has_delay")
    _refuse_duplicates(configuration, delays)
    labels = delays.select("pattern", "pattern_kind", "shape", "source", "skew_factor")
    patterns = sorted(labels.unique("pattern", maintain_order=True).to_dicts(), key=_row_order)
    row_of = {str(row["pattern"]): i for i, row in enumerate(patterns)}
    measured_algorithms = set(delays["algorithm"])
    column_of = {name: j for j, name in enumerate(name for name in order if name in measured_algorithms)}
    indices = (
        np.array([row_of[label] for label in delays["pattern"]]),
        np.array([column_of[name] for name in delays["algorithm"]]),
    )
    shape = (len(row_of), len(column_of))
    cases = np.full(shape, "", dtype=object)
    cases[indices] = delays["case"].to_numpy()
    incomplete = np.zeros(shape, dtype=bool)
    incomplete[indices] = delays["status"].is_in(["incomplete", UNFINISHED_CASE]).to_numpy()
    of_configuration = (configuration.collective, configuration.p, configuration.bytes)
    return DelayTable(
        configuration=configuration,
        patterns=list(row_of),
        kinds=[_kind(row) for row in patterns],
        algorithms=list(column_of),
        last_delay_s=_matrix(shape, indices, delays["last_delay_s"]),
        low_s=_matrix(shape, indices, delays["last_delay_low_s"]),
        high_s=_matrix(shape, indices, delays["last_delay_high_s"]),
        shapes=[str(row["shape"]) for row in patterns],
        sources=[str(row["source"] or "") for row in patterns],
        skew_policy=_only_policy(delays),
        exclusions=_exclusions(
            delays, [one for one in verdicts if (one.collective, one.p, one.bytes) == of_configuration]
        ),
        gap_reasons=_missing_reasons(rows),
        incomplete=incomplete,
        cases=cases.tolist(),
    )


def _only_policy(delays: pl.DataFrame) -> SkewPolicy | None:
    """Returns the skew policy of all shapes and scenarios; None if there is none or several, or if their
    delays are not scaled."""
    keys = set(delays["skew_policy"].drop_nulls()) - {ZERO_SKEW.key, REPLAY.key}
    policy = POLICIES.get(keys.pop()) if len(keys) == 1 else None
    return policy if policy is not None and policy.is_scaled else None


def _matrix(
    shape: tuple[int, int], indices: tuple[NDArray[np.int_], NDArray[np.int_]], values: pl.Series
) -> NDArray[np.float64]:
    """A matrix with ``values`` at the indices ``indices`` and NaN elsewhere."""
    matrix = np.full(shape, np.nan)
    matrix[indices] = values.cast(pl.Float64).to_numpy()
    return matrix


def _exclusions(delays: pl.DataFrame, verdicts: Iterable[Verdict]) -> dict[str, str]:
    """Measured algorithms that must not be selected, the library's default aside: name → reason."""
    unproved_algorithms = delays.filter(pl.col("proof") != "proved").select("algorithm", "proof").rows()
    reasons = {
        str(name): EXCLUSION_REASONS.get(proof, EXCLUSION_REASONS["unproved"])
        for name, proof in unproved_algorithms
    }
    measured_algorithms = set(delays["algorithm"])
    for verdict in verdicts:
        if verdict.status in EXCLUSION_REASONS and verdict.algorithm in measured_algorithms:
            reasons[verdict.algorithm] = EXCLUSION_REASONS[verdict.status]
    reasons.pop(DEFAULT, None)
    return reasons


def _missing_reasons(rows: pl.DataFrame) -> dict[tuple[str, str], str]:
    """Why cases have no delay: (pattern, algorithm) → the recorded reason."""
    without_delay = rows.filter(~pl.col("has_delay"))
    return {
        (str(row["pattern"]), str(row["algorithm"])): str(row["reason"] or row["status"])
        for row in without_delay.iter_rows(named=True)
    }


def _refuse_duplicates(configuration: Configuration, delays: pl.DataFrame) -> None:
    duplicates = delays.filter(delays.select("pattern", "algorithm").is_duplicated())
    if duplicates.height:
        pattern, algorithm = duplicates.select("pattern", "algorithm").row(0)
        raise BadInput(
            f"{configuration}: the results hold algorithm '{algorithm}' under '{pattern}' more than once;"
            " keep one measurement of each, or import the others as another machine."
        )
