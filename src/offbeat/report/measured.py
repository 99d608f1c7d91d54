"""How a study was measured: the facts about the machine and the cases, as lines for a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl
from msgspec import Struct

from offbeat.report import labels
from offbeat.select import wording
from offbeat.select.reliability import HAS_TIME, threads_of
from offbeat.units import format_size, format_time

if TYPE_CHECKING:
    from offbeat.results.read import Results


class Fact(Struct, frozen=True, kw_only=True):
    """A line of a table: a name, and the value with its unit."""

    name: str
    value: str


def quality(results: Results) -> list[Fact]:
    """The quality of the measurement: numbers of cases and repetitions, largest errors."""
    cases = results.cases
    measured = cases.filter(pl.col("status").is_in(list(HAS_TIME)))
    valid, invalid = (int(measured[name].sum() or 0) for name in ("repetitions", "invalid"))
    facts = [Fact(name="cases", value=_statuses(cases))]
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


def _statuses(cases: pl.DataFrame) -> str:
    counts = dict(cases.group_by("status", maintain_order=True).len().iter_rows())
    return ", ".join(f"{number} {status}" for status, number in counts.items()) or "none"


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
    value = f"up to {most:.0f} on {labels.count(threads, 'hardware thread')}: {state}"
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
