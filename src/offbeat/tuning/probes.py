"""What to look at to prove that a library obeys its tuning files: every configuration that they change, and
its neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import polars as pl
from msgspec import Struct

from offbeat.study.algorithm import DEFAULT, Verdict
from offbeat.study.case import Case
from offbeat.study.schema import EXTENTS
from offbeat.tuning.files import TuningFiles
from offbeat.tuning.plan import Rule

KNOWN = ("proved", "indistinguishable")
"""Verdicts whose evidence says what an algorithm looks like when it runs."""

MEASURED_CELL, LOWER_EDGE, UPPER_EDGE, OUTSIDE = "measured", "lower edge", "upper edge", "outside"
"""Places to look at: a rule's measured configuration, the ends of its range of sizes, and where no rule
holds."""


class Probe(Struct, frozen=True, kw_only=True):
    """One call to look at: ``expected`` is the algorithm that should run, by name.

    ``case`` has p, placement, size, operation, datatype and root; its pattern means nothing. ``evidence`` is
    what was seen when that algorithm was forced; empty for the library's default outside the tuned ranges,
    which is looked at in an untuned launch first. ``measured_bytes`` is the size of the configuration that
    the rule comes from; ``at`` the place that is looked at.
    """

    case: Case
    expected: str
    evidence: str = ""
    measured_bytes: int = 0
    at: str = MEASURED_CELL


def probes(tuning: TuningFiles, cases: pl.DataFrame, verdicts: Sequence[Verdict]) -> list[Probe]:
    """A probe for each rule at its measured configuration and at the ends of its range of sizes, and for
    sizes of each tuned p that are left to the library.

    Those are the sizes just outside the tuned ranges, and measured ones between them that no rule covers.
    A rule that acts at every size is looked at wherever its algorithm was seen to run. ``cases`` are the
    study's (:data:`offbeat.results.schema.CASES`): they tell how a configuration was measured.
    """
    evidence = {(v.collective, v.algorithm, v.p, v.bytes): v.evidence for v in verdicts if v.status in KNOWN}
    found: list[Probe] = []
    for rule in tuning.rules:
        every_size = rule.collective in tuning.every_size
        own = _cases_of(rule, cases, every_size)
        for case in own:
            seen = evidence.get((rule.collective, rule.algorithm.name, rule.p, case.bytes), "")
            if seen or case.bytes == rule.bytes:
                found.append(
                    Probe(case=case, expected=rule.algorithm.name, evidence=seen, measured_bytes=case.bytes)
                )
        if own and not every_size:
            seen = evidence.get((rule.collective, rule.algorithm.name, rule.p, rule.bytes), "")
            found += _edges(rule, own[0], seen)
    bounded = [rule for rule in tuning.rules if rule.collective not in tuning.every_size]
    return found + _left_to_the_library(bounded, cases)


def _edges(rule: Rule, measured: Case, evidence: str) -> list[Probe]:
    """The smallest and the largest size of a rule's range that a call can have, but for the measured one.

    A call of no bytes may end before any algorithm is chosen.
    """
    extent = EXTENTS[measured.datatype] if measured.datatype else 1
    lowest = max(-(-rule.bytes_low // extent), 1) * extent
    highest = rule.bytes_high // extent * extent
    places = {LOWER_EDGE: lowest, UPPER_EDGE: highest}
    return [
        Probe(
            case=msgspec.structs.replace(measured, bytes=size),
            expected=rule.algorithm.name,
            evidence=evidence,
            measured_bytes=rule.bytes,
            at=place,
        )
        for place, size in places.items()
        if lowest <= size <= highest and size != rule.bytes
    ]


def _cases_of(rule: Rule, cases: pl.DataFrame, every_size: bool) -> list[Case]:
    """The ways in which a rule's configurations were measured: sizes, placements, operations, datatypes,
    roots."""
    rows = cases.filter(
        (pl.col("collective") == rule.collective)
        & (pl.col("p") == rule.p)
        & ((pl.col("bytes") == rule.bytes) | every_size)
    ).unique(["bytes", "nodes", "ppn", "op", "datatype", "root"], maintain_order=True)
    return [_case(row, row["bytes"]) for row in rows.iter_rows(named=True)]


def _left_to_the_library(rules: Sequence[Rule], cases: pl.DataFrame) -> list[Probe]:
    """At each tuned p, sizes beyond and between the rules: there the library's own decision must stand."""
    found: list[Probe] = []
    for collective, p in dict.fromkeys((rule.collective, rule.p) for rule in rules):
        own = [rule for rule in rules if (rule.collective, rule.p) == (collective, p)]
        measured = cases.filter((pl.col("collective") == collective) & (pl.col("p") == p))
        row = measured.row(0, named=True)
        extent = EXTENTS[row["datatype"]]
        below = (min(rule.bytes_low for rule in own) - 1) // extent * extent
        above = (max(rule.bytes_high for rule in own) // extent + 1) * extent
        between = [size for size in measured["bytes"].unique().sort() if below < size < above]
        uncovered = [
            size for size in between if not any(rule.bytes_low <= size <= rule.bytes_high for rule in own)
        ]
        sizes = [size for size in (below, *uncovered, above) if size > 0]
        found += [
            Probe(case=_case(row, size), expected=DEFAULT, measured_bytes=size, at=OUTSIDE) for size in sizes
        ]
    return found


def _case(row: dict[str, object], size: int) -> Case:
    fields = {name: row[name] for name in Case.__struct_fields__}
    return Case(**(fields | {"bytes": size, "algorithm": "", "pattern": "", "shape": ""}))  # type: ignore[arg-type]
