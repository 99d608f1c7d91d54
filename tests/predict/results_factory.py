"""Result directories whose delays are known, as a study with Open MPI 5.0.8 would leave them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
from case_verdicts import case_verdicts

from offbeat.measurement.results.schema import CASES
from offbeat.measurement.results.store import Store
from offbeat.model.study.algorithm import DEFAULT, Algorithm
from offbeat.model.study.case import Case
from offbeat.model.study.template import TEMPLATE

US = 1e-6
LIBRARY = {
    "name": "openmpi-5.0.8",
    "family": "openmpi",
    "version": [5, 0, 8],
    "mpirun": "/nowhere/mpirun",
}

Delays = dict[str, dict[str, float | tuple[float, float, float]]]
"""Pattern → algorithm → d̂ in µs, alone or with the ends of its interval."""


def row(
    algorithm: str, pattern: str, delay_us: float | tuple[float, float, float], **more: Any
) -> dict[str, Any]:
    """A measured case: an alltoall of 32 KiB on p = 4 unless ``more`` says otherwise."""
    middle, low, high = delay_us if isinstance(delay_us, tuple) else (delay_us, delay_us, delay_us)
    of = more.pop("pattern_kind", "shape")
    policy = "none" if pattern == "no_delay" else "file" if of != "shape" else "mean"
    own = {
        name: more.pop(name)
        for name in ("p", "collective", "bytes", "op", "root", "nodes", "ppn")
        if name in more
    }
    fields: dict[str, Any] = {
        "collective": "alltoall",
        "algorithm": algorithm,
        "bytes": 32768,
        "pattern": pattern,
        "shape": pattern.partition("×")[0],
        "skew_policy": policy,
        "skew_factor": 0.0 if policy in ("none", "file") else 1.0,
        "p": 4,
        "nodes": 0,
        "ppn": 0,
        "op": "",
        "datatype": "byte",
    } | own
    case = Case(**fields)
    facts: dict[str, Any] = {name: "" if kind is pl.String else None for name, (kind, _) in CASES.items()}
    facts |= {name: getattr(case, name) for name in Case.__struct_fields__}
    return (
        facts
        | {
            "case": case.id,
            "engine": "mpi",
            "library": "openmpi-5.0.8",
            "pattern_kind": of,
            "skew_s": 0.0 if policy == "none" else 30 * US,
            "status": "measured",
            "reason": "",
            "proof": "proved",
            "evidence": "",
            "blocks": 0,
            "repetitions": 0,
            "invalid": 0,
            "last_delay_s": middle * US,
            "last_delay_low_s": low * US,
            "last_delay_high_s": high * US,
            "total_delay_s": middle * US,
            "overshoot_s": 0.0,
            "clock_bound_s": 0.0,
        }
        | more
    )


def rows(delays: Delays, kinds: dict[str, str] | None = None, **more: Any) -> list[dict[str, Any]]:
    """The cases of one configuration; ``kinds`` names the patterns that are no shapes."""
    return [
        row(algorithm, pattern, delay, pattern_kind=(kinds or {}).get(pattern, "shape"), **more)
        for pattern, line in delays.items()
        for algorithm, delay in line.items()
    ]


def results(
    directory: Path, cases: list[dict[str, Any]], library: dict[str, Any] | None = None, **facts: Any
) -> Path:
    """A result directory with these cases; algorithms are numbered in their order."""
    names: dict[tuple[str, str], None] = {(one["collective"], one["algorithm"]): None for one in cases}
    known = [
        Algorithm(
            collective=collective,
            name=name,
            settings={} if name == DEFAULT else {f"coll_tuned_{collective}_algorithm": str(number)},
        )
        for number, (collective, name) in enumerate(names, 1)
    ]
    provenance = {"library": LIBRARY if library is None else library} | facts
    with Store.create(directory, study_toml=TEMPLATE, provenance=provenance) as store:
        store.add_algorithms(known)
        store.add_verdicts(case_verdicts(cases))
        store.append_rows(cases, (b"", b""))
    return directory
