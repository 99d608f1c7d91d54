"""Which measured cell stands for calls of a trace: same collective, p and library, and the size that answers.

A measured size answers for the same calls that a tuning file makes of it covers
(:mod:`offbeat.select.coverage`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from offbeat.errors import BadInput
from offbeat.mpi.probe import FAMILIES, Stranger, read_library_version
from offbeat.predict.recorded import Calls
from offbeat.select.coverage import covering_size, size_ranges
from offbeat.select.table import Configuration, DelayTable, delay_tables
from offbeat.trace.tables import library_words
from offbeat.units import format_size, format_time

if TYPE_CHECKING:
    from offbeat.results.read import Results

FARTHEST = 2.0
"""Times are predicted from a measured size that is at most so many times larger or smaller."""

SIMILAR_SKEW = 2.0
"""Skews that differ by a larger factor are said."""


class Found(Struct, frozen=True, kw_only=True, eq=False):
    """The table of the cell that stands for some calls, and what must be said of that."""

    table: DelayTable
    notes: list[str]


class Source(Struct, frozen=True, kw_only=True, eq=False):
    """Results as a prediction uses them: their tables, and what is said of where they come from."""

    results: Results
    tables: list[DelayTable]
    notes: list[str]


def source(results: Results, library: str) -> Source:
    """The tables of results, for a program that ran with the ``library`` of that text.

    Raises :class:`BadInput` for results of another family of libraries, and for none at all.
    """
    tables = delay_tables(results.cases, results.algorithms, results.verdicts)
    if not tables:
        raise BadInput(
            f"{results.directory} holds no measured case yet; 'offbeat status {results.directory}' tells how"
            " far the study is"
        )
    return Source(results=results, tables=tables, notes=[*results.notes, *_origin(results, library)])


def cell_for(calls: Calls, source: Source) -> Found:
    """The cell that stands for some calls. Raises :class:`BadInput` where none does, with what there is."""
    where = source.results.directory
    same = [table for table in source.tables if table.configuration.collective == calls.collective]
    if not same:
        there = ", ".join(dict.fromkeys(table.configuration.collective for table in source.tables))
        raise BadInput(
            f"{calls.words}: {where} holds no {calls.collective}, but {there}; measure it, or choose other"
            " calls of the trace with --collective"
        )
    fitting = [table for table in same if table.configuration.p == calls.processes]
    if not fitting:
        there = ", ".join(str(p) for p in sorted({table.configuration.p for table in same}))
        raise BadInput(
            f"{calls.words} ran on {calls.processes} processes, and {where} holds {calls.collective} on"
            f" p = {there}: what an algorithm takes depends on p; measure it with p = {calls.processes}"
        )
    sizes = sorted({table.configuration.bytes for table in fitting})
    answers = covering_size(sizes, calls.size_bytes)
    if answers is None:
        there = ", ".join(format_size(size) for size in sizes)
        low, high = size_ranges(sizes)[0][0], size_ranges(sizes)[-1][1]
        raise BadInput(
            f"{calls.words}: no measurement answers for this call. {where} holds {calls.collective} on"
            f" p = {calls.processes} of {there}, which speaks for {low} to {high} B; measure it with"
            f" {format_size(calls.size_bytes)}"
        )
    if max(answers, calls.size_bytes) > FARTHEST * min(answers, calls.size_bytes):
        raise BadInput(
            f"{calls.words}: a tuning file covers this call with what is chosen at {format_size(answers)},"
            f" which is too far away to predict its time (more than a factor of {FARTHEST:g}); measure it"
            f" with {format_size(calls.size_bytes)}"
        )
    alike = [table for table in fitting if table.configuration.bytes == answers]
    notes = [*_stands_for(calls, answers, sizes), *_several(alike, where)]
    return Found(table=alike[0], notes=[*notes, *_skews(calls, alike[0], source)])


def _stands_for(calls: Calls, answers: int, sizes: list[int]) -> list[str]:
    """What must be said where the measured size is not that of all calls."""
    if calls.least_bytes == calls.most_bytes == answers:
        return []
    notes = [f"{calls.collective} of {format_size(answers)} stands for calls of {calls.size}"]
    if any(covering_size(sizes, size) is None for size in (calls.least_bytes, calls.most_bytes)):
        notes.append(f"no measurement answers for some of the sizes of {calls.words}")
    return notes


def _several(alike: Sequence[DelayTable], where: object) -> list[str]:
    """What the cells that fit differ in, where there are several."""
    first, others = alike[0].configuration, [table.configuration for table in alike[1:]]
    if not others:
        return []
    libraries = dict.fromkeys(cell.library for cell in (first, *others))
    if len(libraries) > 1:
        raise BadInput(
            f"{where} holds {first.collective} of {format_size(first.bytes)} on p = {first.p} for several"
            f" machines or libraries: {', '.join(libraries)}; give results of one of them"
        )
    names = [
        name for name in Configuration.__struct_fields__ if any(_of(cell, name, first) for cell in others)
    ]
    taken = ", ".join(f"{name} {getattr(first, name)}" for name in names)
    return [f"{first.collective} was measured in {len(alike)} ways; the first is taken: {taken}"]


def _of(cell: Configuration, name: str, first: Configuration) -> bool:
    return bool(getattr(cell, name) != getattr(first, name))


def _skews(calls: Calls, table: DelayTable, source: Source) -> list[str]:
    """Whether the shapes were measured with skews like the recorded one."""
    mine = [name for row in table.cases or [] for name in row if name]
    cases = source.results.cases
    skews = cases.filter(cases["case"].is_in(mine) & (cases["pattern_kind"] == "shape"))[
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
        f"ranks arrive {format_time(calls.skew_s)} apart on average at {calls.words}, and the shapes were"
        f" measured with skews of {measured}: the average over them says little of this program. A skew of"
        f" the program's own is [skew] policy = 'fixed' in the study"
    ]


def _origin(results: Results, library: str) -> list[str]:
    """Whether the results are of the library that the program ran with. Raises :class:`BadInput`."""
    measured = results.provenance.get("library")
    known = measured if isinstance(measured, dict) else {}
    if "import" in results.cases["engine"].to_list():
        machines = ", ".join(results.cases["library"].unique(maintain_order=True))
        return [f"the results are imported ({machines}): that they fit this machine is yours to know"]
    if known.get("simulated") is True:
        return [f"the results are simulated ({known.get('name', 'a simulator')}), not measured"]
    try:
        ran = read_library_version(library, "the trace's library")
    except Stranger:
        return [f"the program ran with {library_words(library)}"]
    family = str(known.get("family", ""))
    if family and family != ran.family:
        raise BadInput(
            f"the program ran with {ran.text}, and {results.directory} was measured with"
            f" {FAMILIES.get(family, family)}: algorithms of one library say nothing about another's. Give"
            f" results of {FAMILIES[ran.family]}"
        )
    version = known.get("version", ())
    numbers = tuple(version) if isinstance(version, list | tuple) else ()
    if numbers and any(mine != theirs for mine, theirs in zip(numbers, ran.numbers, strict=False)):
        text = ".".join(map(str, numbers))
        return [f"the program ran with {ran.text}, and the results are of version {text}"]
    return []
