"""How a study was measured: the facts about the machine and the cases, as lines for a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl
from msgspec import Struct

from offbeat.report import labels
from offbeat.study.units import format_size, format_time

if TYPE_CHECKING:
    from offbeat.results.read import Results


class Fact(Struct, frozen=True, kw_only=True):
    """One line: what, and the value with its unit."""

    name: str
    value: str


def quality(results: Results) -> list[Fact]:
    """What the cases tell about the measurement: how many, how often repeated, how exact."""
    cases = results.cases
    measured = cases.filter(pl.col("status").is_in(["measured", "incomplete"]))
    valid, invalid = (int(measured[name].sum() or 0) for name in ("repetitions", "invalid"))
    facts = [Fact(name="cases", value=_statuses(cases))]
    if valid:
        facts.append(Fact(name="valid repetitions", value=_spread(measured["repetitions"], valid)))
        facts.append(
            Fact(
                name="invalid repetitions", value=f"{invalid} ({labels.percent(invalid / (valid + invalid))})"
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
    return facts


def machine(provenance: Mapping[str, Any]) -> list[Fact]:
    """Everything on record about the machine, the library and its settings, one line a value."""
    return [Fact(name=_spoken(name), value=value) for name, value in _flat(provenance, "")]


def libraries(results: Results) -> str:
    """The libraries (or the machines that an import names)."""
    found = [str(name) for name in dict.fromkeys(results.cases["library"])]
    known = results.provenance.get("library")
    return ", ".join(found) or (str(known) if isinstance(known, str) else "")


def processes(results: Results) -> str:
    """The numbers of processes measured."""
    return ", ".join(str(p) for p in sorted(set(results.cases["p"])))


def _statuses(cases: pl.DataFrame) -> str:
    counts = dict(cases.group_by("status", maintain_order=True).len().iter_rows())
    return ", ".join(f"{number} {status}" for status, number in counts.items()) or "none"


def _spread(repetitions: pl.Series, total: int) -> str:
    least, most = (int(value) for value in (repetitions.min() or 0, repetitions.max() or 0))  # type: ignore[arg-type]
    each = f"{least} a case" if least == most else f"{least} to {most} a case"
    return f"{total} ({each})"


def _flat(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Nested facts as dotted names with their values as text; empty ones are left out."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and any(isinstance(entry, Mapping) for entry in value):
        for number, entry in enumerate(value):
            yield from _flat(entry, f"{name}[{number}]")
    elif isinstance(value, list):
        yield name, " ".join(map(str, value)) or "none"
    elif isinstance(value, bool):
        yield name, "yes" if value else "no"
    elif value is not None and value != "":
        yield name, _plain(name, value)


def _plain(name: str, value: Any) -> str:
    """A value as text; names that end in ``_s`` and ``_bytes`` tell the unit of numbers."""
    if isinstance(value, int | float) and name.endswith("_s"):
        return format_time(float(value))
    if isinstance(value, int) and name.endswith("_bytes"):
        return f"{value / 2**30:.1f} GiB" if value >= 2**30 else format_size(value)
    return str(value)


def _spoken(name: str) -> str:
    """A key of the provenance in words: ``topology.usable_threads`` is ``topology · usable threads``."""
    words = name.removesuffix("_s").removesuffix("_bytes")
    return words.replace(".", " · ").replace("_", " ")
