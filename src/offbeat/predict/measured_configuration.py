"""The measured configuration that represents calls of a trace: same collective, p and library, similar size.

A measured size represents the same calls as in a tuning file (:mod:`offbeat.select.coverage`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from offbeat.errors import BadInput
from offbeat.mpi.libraries import title_of
from offbeat.mpi.probe import UnknownLibrary, read_library_version
from offbeat.predict.recorded import TracedCalls
from offbeat.select.coverage import covering_size, size_ranges
from offbeat.select.table import Configuration, DelayTable, delay_tables
from offbeat.trace.tables import library_name
from offbeat.units import format_size, format_time

if TYPE_CHECKING:
    from offbeat.results.read import Results

FARTHEST = 2.0
"""Largest factor between the size of calls and the measured size that their time is predicted from."""

SIMILAR_SKEW = 2.0
"""Skews that differ by a larger factor are reported."""


class MeasuredConfiguration(Struct, frozen=True, kw_only=True, eq=False):
    """The delay table of the configuration that represents some calls, and notes on its suitability."""

    table: DelayTable
    notes: list[str]


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


def configuration_for(calls: TracedCalls, source: Measurements) -> MeasuredConfiguration:
    """The configuration that represents some calls. Raises :class:`BadInput` without one."""
    where = source.results.directory
    same = [table for table in source.tables if table.configuration.collective == calls.collective]
    if not same:
        available = ", ".join(dict.fromkeys(table.configuration.collective for table in source.tables))
        raise BadInput(
            f"{calls.description}: {where} has no measurements of {calls.collective}, but of {available};"
            " measure it, or choose other calls of the trace with --collective"
        )
    fitting = [table for table in same if table.configuration.p == calls.processes]
    if not fitting:
        available = ", ".join(str(p) for p in sorted({table.configuration.p for table in same}))
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
    matching = [table for table in fitting if table.configuration.bytes == measured_bytes]
    notes = [*_size_notes(calls, measured_bytes, sizes), *_ambiguity_note(matching, where)]
    return MeasuredConfiguration(table=matching[0], notes=[*notes, *_skew_note(calls, matching[0], source)])


def _size_notes(calls: TracedCalls, measured_bytes: int, sizes: list[int]) -> list[str]:
    """Notes if the measured size is not the size of all calls."""
    if calls.least_bytes == calls.most_bytes == measured_bytes:
        return []
    notes = [f"{calls.collective} of {format_size(measured_bytes)} represents calls of {calls.size}"]
    if any(covering_size(sizes, size) is None for size in (calls.least_bytes, calls.most_bytes)):
        notes.append(f"some of the sizes of {calls.description} are not covered by a measured size")
    return notes


def _ambiguity_note(matching: Sequence[DelayTable], where: object) -> list[str]:
    """A note on the differences if several configurations match. Raises :class:`BadInput` for several
    libraries.
    """
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
        if any(_differs(cell, name, first) for cell in others)
    ]
    used = ", ".join(f"{name} {getattr(first, name)}" for name in names)
    return [f"{first.collective} was measured in {len(matching)} ways; the first is used: {used}"]


def _differs(cell: Configuration, name: str, first: Configuration) -> bool:
    return bool(getattr(cell, name) != getattr(first, name))


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
    """Notes if the results are not of the library and version that the program ran with.

    Raises :class:`BadInput` for another library.
    """
    measured = results.provenance.get("library")
    known = measured if isinstance(measured, dict) else {}
    if "import" in results.cases["engine"].to_list():
        machines = ", ".join(results.cases["library"].unique(maintain_order=True))
        return [f"the results are imported ({machines}): check that they apply to this machine"]
    if known.get("simulated") is True:
        return [f"the results are simulated ({known.get('name', 'a simulator')}), not measured"]
    try:
        ran = read_library_version(library, "the trace's library")
    except UnknownLibrary:
        return [f"the program ran with {library_name(library)}"]
    family = str(known.get("family", ""))
    if family and family != ran.family:
        raise BadInput(
            f"the program ran with {ran.text}, and {results.directory} was measured with"
            f" {title_of(family)}: give results of"
            f" {title_of(ran.family)}"
        )
    version = known.get("version", ())
    numbers = tuple(version) if isinstance(version, list | tuple) else ()
    if numbers and any(mine != theirs for mine, theirs in zip(numbers, ran.numbers, strict=False)):
        text = ".".join(map(str, numbers))
        return [f"the program ran with {ran.text}, and the results are of version {text}"]
    return []
