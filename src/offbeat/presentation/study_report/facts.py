"""The report's facts: algorithms and verdicts, and how the study was measured."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import polars as pl
from msgspec import Struct

from offbeat.base.document.tables import Fact
from offbeat.base.units import amount, format_size, format_time
from offbeat.measurement.results.read import Results
from offbeat.model.study.algorithm import Verdict, in_words, kinds_of
from offbeat.selection.choices import wording
from offbeat.selection.choices.reliability import HAS_TIME, threads_of

VERDICTS = {
    "proved": ("✓", "ran when forced, and computed the right result"),
    "duplicate": ("=", "ran the same code as another one; not measured again"),
    "fell_back": ("↩", "the library silently ran something else; not measured"),
    "indistinguishable": (
        "≈",
        "ran, but cannot be distinguished from another one; measured, selected only on request",
    ),
    "unproved": ("?", "set, but what ran could not be observed; measured, never selected"),
    "wrong": ("✗", "computed a wrong result; not measured"),
    "refused": ("⊘", "the library answered with an error; not measured"),
    "quarantined": ("!", "crashed, hung or aborted the job; not measured"),
}
"""Verdict → its mark, so that verdicts do not differ only by colour, and its meaning."""


class VerdictLine(Struct, frozen=True, kw_only=True):
    """One verdict on one algorithm. ``where`` is empty if it holds everywhere."""

    algorithm: str
    settings: str
    status: str
    where: str
    reason: str
    evidence: list[str]


class CollectiveAlgorithms(Struct, frozen=True, kw_only=True):
    """The algorithms of one collective: the number with each verdict, and the lines."""

    collective: str
    counts: dict[str, int]
    lines: list[VerdictLine]


def algorithm_verdicts(results: Results) -> list[CollectiveAlgorithms]:
    """Every collective's algorithms with their verdicts, in the library's order."""
    collectives = dict.fromkeys(
        [algorithm.collective for algorithm in results.algorithms]
        + [verdict.collective for verdict in results.verdicts]
    )
    return [_collective(results, collective) for collective in collectives]


def _collective(results: Results, collective: str) -> CollectiveAlgorithms:
    settings = {
        algorithm.name: " ".join(f"{name}={value}" for name, value in algorithm.settings.items())
        for algorithm in results.algorithms
        if algorithm.collective == collective
    }
    verdicts = [verdict for verdict in results.verdicts if verdict.collective == collective]
    names = dict.fromkeys([*settings, *(verdict.algorithm for verdict in verdicts)])
    lines = [
        line
        for name in names
        for line in _lines(name, settings.get(name, ""), [v for v in verdicts if v.algorithm == name])
    ]
    counts = {
        status: len({line.algorithm for line in lines if line.status == status})
        for status in VERDICTS
        if any(line.status == status for line in lines)
    }
    return CollectiveAlgorithms(collective=collective, counts=counts, lines=lines)


def _lines(name: str, settings: str, verdicts: list[Verdict]) -> list[VerdictLine]:
    """An algorithm's verdicts, equal ones in one line; a line without verdict if it has none."""
    groups: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        groups.setdefault((verdict.status, _reason(verdict)), []).append(verdict)
    if not groups:
        return [VerdictLine(algorithm=name, settings=settings, status="", where="", reason="", evidence=[])]
    return [
        VerdictLine(
            algorithm=name,
            settings=settings,
            status=status,
            where="" if len(groups) == 1 else _where(group),
            reason=reason,
            evidence=list(dict.fromkeys(verdict.evidence for verdict in group if verdict.evidence)),
        )
        for (status, reason), group in groups.items()
    ]


def _reason(verdict: Verdict) -> str:
    parts = [f"same as {verdict.same_as}" if verdict.same_as else "", verdict.reason]
    kinds = kinds_of(verdict.wrong_calls) or (["noncommutative"] if verdict.commutative_only else [])
    if kinds:
        parts.append(f"wrong for {in_words(kinds)}")
    return "; ".join(part for part in parts if part)


def _where(verdicts: Iterable[Verdict]) -> str:
    """The sizes of each p: ``p = 4: 8 B, 1 KiB``."""
    sizes: dict[int, list[int]] = {}
    for verdict in verdicts:
        sizes.setdefault(verdict.p, []).append(verdict.bytes)
    return "; ".join(
        f"p = {p}: {', '.join(format_size(size) for size in sorted(set(measured)))}"
        for p, measured in sorted(sizes.items())
    )


def quality(results: Results) -> list[Fact]:
    """The quality of the measurement: numbers of cases and repetitions, largest errors."""
    cases = results.cases
    measured = cases.filter(pl.col("status").is_in(list(HAS_TIME)))
    valid, invalid = (int(measured[name].sum() or 0) for name in ("repetitions", "invalid"))
    statuses = cases.group_by("status", maintain_order=True).len().iter_rows()
    counts = ", ".join(f"{number} {status}" for status, number in statuses)
    facts = [Fact(name="cases", value=counts or "none")]
    if valid:
        facts.append(Fact(name="valid repetitions", value=_spread(measured["repetitions"], valid)))
        facts.append(
            Fact(
                name="invalid repetitions",
                value=f"{invalid} ({wording.percent(invalid / (valid + invalid))})",
            )
        )
    for column, name in (
        ("overshoot_s", "largest start error of a valid repetition"),
        ("clock_bound_s", "largest error bound of the shared clock"),
        ("skew_s", "largest skew"),
    ):
        largest = measured[column].max()
        if isinstance(largest, float):
            facts.append(Fact(name=name, value=format_time(largest)))
    return facts + _processes_and_threads(results)


def machine(provenance: Mapping[str, Any]) -> list[Fact]:
    """The recorded facts about the machine, the library and its settings, one line per value."""
    return [
        Fact(name=name.removesuffix(" bytes").removesuffix(" s"), value=value)
        for name, value in _flattened(provenance, "")
    ]


def libraries(results: Results) -> str:
    """The libraries (or the machines named by an import)."""
    names = [str(name) for name in dict.fromkeys(results.cases["library"])]
    recorded = results.provenance.get("library")
    return ", ".join(names) or (str(recorded) if isinstance(recorded, str) else "")


def processes(results: Results) -> str:
    """The numbers of processes measured."""
    return ", ".join(str(p) for p in sorted(set(results.cases["p"])))


def _spread(repetitions: pl.Series, total: int) -> str:
    least, most = (int(value) for value in (repetitions.min() or 0, repetitions.max() or 0))  # type: ignore[arg-type]
    each = f"{least} per case" if least == most else f"{least} to {most} per case"
    return f"{total} ({each})"


def _processes_and_threads(results: Results) -> list[Fact]:
    """The processes and hardware threads of a node; empty if unknown."""
    threads = threads_of(results.provenance)
    measured = results.cases.filter(pl.col("engine") == "mpi")
    if threads is None or not measured.height:
        return []
    most = max(p / max(nodes, 1) for p, nodes in measured.select("p", "nodes").iter_rows())
    state = "oversubscribed" if most > threads else "not oversubscribed"
    value = f"up to {most:.0f} on {amount(threads, 'hardware thread')}: {state}"
    return [Fact(name="processes on a node", value=value)]


def _flattened(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Nested facts with their path as name and their values as text; empty ones are omitted."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            part = _key_label(str(key))
            yield from _flattened(inner, f"{name} · {part}" if name else part)
    elif isinstance(value, list) and any(isinstance(entry, Mapping) for entry in value):
        for number, entry in enumerate(value, 1):
            yield from _flattened(entry, f"{name} {number}")
    elif isinstance(value, list):
        yield name, ", ".join(_value_label(name, entry) for entry in value) or "none"
    elif isinstance(value, bool):
        yield name, "yes" if value else "no"
    elif value is not None and value != "":
        yield name, _value_label(name, value)


def _value_label(name: str, value: Any) -> str:
    """A value as text; the suffix of the name determines the unit of a number."""
    if isinstance(value, int | float) and name.endswith(" s"):
        return format_time(float(value))
    if isinstance(value, int) and name.endswith(" bytes"):
        return f"{value / 2**30:.1f} GiB" if value >= 2**30 else format_size(value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _key_label(key: str) -> str:
    """A key as a label: ``usable_threads`` becomes ``usable threads``; other names are unchanged."""
    return key.replace("_", " ") if re.fullmatch(r"[a-z][a-z0-9_]*", key) else key
