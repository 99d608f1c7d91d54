"""The measured configuration that represents calls of a trace, and its conditions with the d̂ under each.

A configuration represents calls of the same collective, p and library, and of a similar size; a measured
size represents the same calls as in a tuning file (:mod:`offbeat.selection.choices.coverage`). Conditions are
sets of arrival patterns:

======================  ==========================================================================
condition               d̂ of an algorithm
======================  ==========================================================================
``no_delay``            all processes arrive together: the usual benchmark
``average``             the mean over no_delay and the shapes (the paper's figure 9)
``scenario``            the mean arrivals of a program, as one pattern
``replay``              the recorded arrivals, call by call: the mean over the calls
======================  ==========================================================================
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from offbeat.base.errors import BadInput
from offbeat.base.units import amount, format_size, format_time
from offbeat.libraries.families.libraries import title_of
from offbeat.libraries.installations.probe import UnknownLibrary, read_library_version
from offbeat.measurement.results.statistics import geometric_interval, geometric_mean
from offbeat.model.study.communicators import CommunicatorLayout
from offbeat.selection.choices.coverage import covering_size, size_ranges
from offbeat.selection.choices.delay_table import NO_DELAY, Configuration, DelayTable, delay_tables
from offbeat.trace.summary_tables import library_name
from offbeat.tuning.prediction.recorded_calls import TracedCalls

if TYPE_CHECKING:
    from offbeat.measurement.results.read import Results


FARTHEST = 2.0
"""Largest factor between the size of calls and the measured size that their time is predicted from."""

SIMILAR_SKEW = 2.0
"""Skews that differ by a larger factor are reported."""


class Measurements(Struct, frozen=True, kw_only=True, eq=False):
    """Results for a prediction: their delay tables, and notes on their origin."""

    results: Results
    tables: list[DelayTable]
    notes: list[str]


def measurements(results: Results, library: str) -> Measurements:
    """The delay tables of results, for a program that ran with ``library`` (its version text).

    Raises :class:`BadInput` for results of another library, and without measured cases.
    """
    tables = delay_tables(results.cases, results.algorithms, results.verdicts)
    if not tables:
        raise BadInput(
            f"{results.directory} has no measured case yet; see 'offbeat status {results.directory}'"
        )
    return Measurements(
        results=results, tables=tables, notes=[*results.notes, *_origin_notes(results, library)]
    )


def configuration_for(calls: TracedCalls, source: Measurements) -> tuple[DelayTable, list[str]]:
    """The delay table that represents some calls, and notes. Raises :class:`BadInput` without one."""
    where = source.results.directory
    of_collective = [table for table in source.tables if table.configuration.collective == calls.collective]
    if not of_collective:
        available = ", ".join(dict.fromkeys(table.configuration.collective for table in source.tables))
        raise BadInput(
            f"{calls.description}: {where} has no measurements of {calls.collective}, but of {available};"
            " measure it, or choose other calls of the trace with --collective"
        )
    fitting = [table for table in of_collective if table.configuration.p == calls.processes]
    if not fitting:
        available = ", ".join(str(p) for p in sorted({table.configuration.p for table in of_collective}))
        raise BadInput(
            f"{calls.description} ran on {calls.processes} processes, and {where} has {calls.collective} on"
            f" p = {available}: the time of an algorithm depends on p; measure it with p = {calls.processes}"
        )
    sizes = sorted({table.configuration.bytes for table in fitting})
    measured_bytes = covering_size(sizes, calls.size_bytes)
    if measured_bytes is None:
        available = ", ".join(format_size(size) for size in sizes)
        low, high = size_ranges(sizes)[0][0], size_ranges(sizes)[-1][1]
        raise BadInput(
            f"{calls.description}: no measured size covers this call. {where} has {calls.collective} on"
            f" p = {calls.processes} of {available}, which covers {low} to {high} B; measure it with"
            f" {format_size(calls.size_bytes)}"
        )
    if max(measured_bytes, calls.size_bytes) > FARTHEST * min(measured_bytes, calls.size_bytes):
        raise BadInput(
            f"{calls.description}: the nearest measured size, {format_size(measured_bytes)}, differs by more"
            f" than a factor of {FARTHEST:g}, which is too much to predict the time; measure it with"
            f" {format_size(calls.size_bytes)}"
        )
    matching = _in_layout([one for one in fitting if one.configuration.bytes == measured_bytes], calls)
    notes = [*_size_notes(calls, measured_bytes, sizes), *_ambiguity_note(matching, where)]
    return matching[0], [*notes, *_skew_note(calls, matching[0], source)]


def _in_layout(tables: list[DelayTable], calls: TracedCalls) -> list[DelayTable]:
    """The tables that were measured on as many communicators at the same time as make the calls, in the same
    layout; without any, those of the fewest communicators."""
    own = calls.layout or CommunicatorLayout(p=calls.processes)
    same = [table for table in tables if table.configuration.layout == own]
    fewest = min(table.configuration.communicators for table in tables)
    return same or [table for table in tables if table.configuration.communicators == fewest]


def _size_notes(calls: TracedCalls, measured_bytes: int, sizes: list[int]) -> list[str]:
    """Notes if the measured size is not the size of all calls."""
    if calls.least_bytes == calls.most_bytes == measured_bytes:
        return []
    notes = [f"{calls.collective} of {format_size(measured_bytes)} represents calls of {calls.size}"]
    if any(covering_size(sizes, size) is None for size in (calls.least_bytes, calls.most_bytes)):
        notes.append(f"some of the sizes of {calls.description} are not covered by a measured size")
    return notes


def _ambiguity_note(matching: Sequence[DelayTable], where: object) -> list[str]:
    """A note if several configurations match. Raises :class:`BadInput` for several libraries."""
    first, others = matching[0].configuration, [table.configuration for table in matching[1:]]
    if not others:
        return []
    libraries = dict.fromkeys(cell.library for cell in (first, *others))
    if len(libraries) > 1:
        raise BadInput(
            f"{where} has {first.collective} of {format_size(first.bytes)} on p = {first.p} for several"
            f" machines or libraries: {', '.join(libraries)}; give results of one of them"
        )
    names = [
        name
        for name in Configuration.__struct_fields__
        if any(getattr(cell, name) != getattr(first, name) for cell in others)
    ]
    used = ", ".join(f"{name} {getattr(first, name)}" for name in names)
    return [f"{first.collective} was measured in {len(matching)} ways; the first is used: {used}"]


def _skew_note(calls: TracedCalls, table: DelayTable, source: Measurements) -> list[str]:
    """A note if the skews of the measured shapes differ from the recorded skew."""
    cases_of_table = [name for row in table.cases for name in row if name]
    cases = source.results.cases
    skews = cases.filter(cases["case"].is_in(cases_of_table) & (cases["pattern_kind"] == "shape"))[
        "skew_s"
    ].drop_nulls()
    delayed = [float(skew) for skew in skews if skew > 0]
    if not delayed or not calls.skew_s > 0:
        return []
    low, high = min(delayed), max(delayed)
    if low / SIMILAR_SKEW <= calls.skew_s <= high * SIMILAR_SKEW:
        return []
    measured = format_time(low) if high < 1.05 * low else f"{format_time(low)} to {format_time(high)}"
    return [
        f"the mean skew of {calls.description} is {format_time(calls.skew_s)}, and the shapes were measured"
        f" with skews of {measured}: the average over them is not representative of this program. To measure"
        f" with the program's skew, set [skew] policy = 'fixed' and times = [{calls.skew_s:.3g}] in the study"
    ]


def _origin_notes(results: Results, library: str) -> list[str]:
    """Notes if the results are of another version. Raises :class:`BadInput` for another library."""
    recorded = results.provenance.get("library")
    measured = recorded if isinstance(recorded, dict) else {}
    if "import" in results.cases["engine"].to_list():
        machines = ", ".join(results.cases["library"].unique(maintain_order=True))
        return [f"the results are imported ({machines}): check that they apply to this machine"]
    if measured.get("simulated") is True:
        return [f"the results are simulated ({measured.get('name', 'a simulator')}), not measured"]
    try:
        ran = read_library_version(library, "the trace's library")
    except UnknownLibrary:
        return [f"the program ran with {library_name(library)}"]
    family = str(measured.get("family", ""))
    if family and family != ran.family:
        raise BadInput(
            f"the program ran with {ran.text}, and {results.directory} was measured with"
            f" {title_of(family)}: give results of {title_of(ran.family)}"
        )
    version = measured.get("version", ())
    numbers = tuple(version) if isinstance(version, list | tuple) else ()
    if numbers and any(number != other for number, other in zip(numbers, ran.numbers, strict=False)):
        text = ".".join(map(str, numbers))
        return [f"the program ran with {ran.text}, and the results are of version {text}"]
    return []


NAMES = ("no_delay", "average", "scenario", "replay")
"""The conditions in ascending order of their similarity to the arrivals of the program."""


_SAME_CALLS, _SAME_NAME, _UNKNOWN_SOURCE, _OTHER_CALLS = range(4)
"""Ranks of the match between a pattern's source and some calls; lower is better."""


class Estimate(Struct, frozen=True, kw_only=True):
    """A time in seconds, and the ends of its 95% confidence interval."""

    time_s: float
    low_s: float
    high_s: float

    @classmethod
    def exact(cls, time_s: float) -> Estimate:
        """A time without uncertainty."""
        return cls(time_s=time_s, low_s=time_s, high_s=time_s)

    @classmethod
    def of_runs(cls, times_s: Sequence[float]) -> Estimate:
        """The geometric mean of measured run times."""
        low_s, high_s = geometric_interval(times_s)
        return cls(time_s=geometric_mean(times_s), low_s=low_s, high_s=high_s)

    def times(self, factor: float) -> Estimate:
        """The estimate multiplied by a factor; a negative factor swaps the ends of the interval."""
        ends = sorted((factor * self.low_s, factor * self.high_s))
        return Estimate(time_s=factor * self.time_s, low_s=ends[0], high_s=ends[1])

    def plus(self, time_s: float) -> Estimate:
        """The estimate plus a time without uncertainty."""
        return Estimate(time_s=self.time_s + time_s, low_s=self.low_s + time_s, high_s=self.high_s + time_s)


def total(parts: Sequence[Estimate]) -> Estimate:
    """The sum of independent estimates: the half-widths of their intervals add in quadrature."""
    time_s = math.fsum(one.time_s for one in parts)
    below = math.hypot(*(one.time_s - one.low_s for one in parts))
    above = math.hypot(*(one.high_s - one.time_s for one in parts))
    return Estimate(time_s=time_s, low_s=time_s - below, high_s=time_s + above)


class Condition(Struct, frozen=True, kw_only=True):
    """One of :data:`NAMES` in one table: the ``rows`` whose mean it is, and their ``pattern``."""

    name: str
    pattern: str
    rows: list[int]


def conditions(
    table: DelayTable, calls: TracedCalls, requested: str = ""
) -> tuple[list[Condition], list[str]]:
    """The conditions of a table in the order of :data:`NAMES`, and notes on them.

    ``requested`` names one of several scenarios or replays; by default the one with the best
    :func:`_match_rank` is used. Raises :class:`BadInput` for one that was not measured.
    """
    shapes = [row for row, kind in enumerate(table.kinds) if kind == "shape"]
    conditions = [
        Condition(name=NO_DELAY, pattern=NO_DELAY, rows=[row])
        for row in shapes
        if table.patterns[row] == NO_DELAY
    ]
    if len(shapes) > len(conditions):
        conditions.append(Condition(name="average", pattern=amount(len(shapes), "pattern"), rows=shapes))
    notes: list[str] = []
    for kind in ("scenario", "replay"):
        rows = [row for row, row_kind in enumerate(table.kinds) if row_kind == kind]
        chosen = _chosen(table, rows, calls, requested)
        if chosen is not None:
            conditions.append(Condition(name=kind, pattern=table.patterns[chosen], rows=[chosen]))
            if _match_rank(table, chosen, calls) == _OTHER_CALLS:
                notes.append(
                    f"the {kind} {table.patterns[chosen]} was recorded from {table.sources[chosen]}: the"
                    f" arrivals of {calls.description} are assumed to be the same"
                )
        if len(rows) > 1 and chosen is not None and not requested:
            others = ", ".join(table.patterns[row] for row in rows if row != chosen)
            notes.append(
                f"the {kind} is {table.patterns[chosen]}; select another one with --scenario: {others}"
            )
    names = [table.patterns[row] for row, kind in enumerate(table.kinds) if kind != "shape"]
    if requested and requested not in [*names, *(table.shapes[table.patterns.index(name)] for name in names)]:
        there = f"there are {', '.join(names)}" if names else "the results have none"
        raise BadInput(f"--scenario {requested} was not measured with {table.configuration}; {there}")
    if not conditions:
        raise BadInput(f"{table.configuration} was measured under no pattern that a prediction can use")
    return conditions, notes


def delay(table: DelayTable, algorithm: str, condition: Condition) -> Estimate | None:
    """The d̂ of an algorithm under a condition; None if one of its patterns was not measured."""
    if algorithm not in table.algorithms:
        return None
    column = table.algorithms.index(algorithm)
    parts = []
    for row in condition.rows:
        middle = float(table.last_delay_s[row, column])
        if math.isnan(middle):
            return None
        low, high = float(table.low_s[row, column]), float(table.high_s[row, column])
        parts.append(
            Estimate(
                time_s=middle,
                low_s=middle if math.isnan(low) else min(low, middle),
                high_s=middle if math.isnan(high) else max(high, middle),
            )
        )
    return total(parts).times(1 / len(parts))


def _chosen(table: DelayTable, rows: Sequence[int], calls: TracedCalls, requested: str) -> int | None:
    """The row of a scenario or replay."""
    if requested:
        named = [row for row in rows if requested in (table.patterns[row], *table.shapes[row : row + 1])]
        return named[0] if named else None
    return min(rows, key=lambda row: (_match_rank(table, row, calls), row), default=None)


def _match_rank(table: DelayTable, row: int, calls: TracedCalls) -> int:
    """How well the source of a row's pattern matches these calls; lower is better."""
    source = table.sources[row] if table.sources else ""
    if source.startswith(f"{calls.description} in "):
        return _SAME_CALLS
    if table.patterns[row].startswith(f"{calls.short}-"):
        return _SAME_NAME
    return _OTHER_CALLS if source else _UNKNOWN_SOURCE
