"""Creates result directories and entries with given delays for the tests of knowledge bases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from case_verdicts import case_verdicts

from offbeat.measurement.results.store import Store
from offbeat.model.study.algorithm import Algorithm, Verdict
from offbeat.model.study.case import Case
from offbeat.model.study.template import TEMPLATE
from offbeat.tuning.site.collect import collect
from offbeat.tuning.site.entry import Entry

Delays = dict[str, float]
"""Algorithm → last delay in microseconds."""


def algorithms(count: int = 4) -> list[Algorithm]:
    """The default and algorithms 1 to ``count`` of reduce in Open MPI, called way1, way2 and so on."""
    forced = [
        Algorithm(collective="reduce", name=f"way{n}", settings={"coll_tuned_reduce_algorithm": str(n)})
        for n in range(1, count + 1)
    ]
    return [Algorithm(collective="reduce", name="default"), *forced]


def row(algorithm: str, delay_us: float, width: float = 0.01, **other: Any) -> dict[str, Any]:
    """A measured case of reduce of 64 B on p=4; ``width`` is the half width of its interval as a share."""
    fields: dict[str, Any] = {
        "collective": "reduce",
        "algorithm": algorithm,
        "bytes": 64,
        "pattern": "no_delay",
        "shape": "no_delay",
        "skew_policy": "none",
        "skew_factor": 0.0,
        "p": 4,
        "nodes": 0,
        "ppn": 0,
        "op": "sum",
        "datatype": "double",
    }
    fields |= {name: value for name, value in other.items() if name in Case.__struct_fields__}
    case = Case(**fields)
    seconds = delay_us * 1e-6
    measured = {name: getattr(case, name) for name in Case.__struct_fields__} | {
        "case": case.id,
        "engine": "mpi",
        "library": "openmpi-5.0.11",
        "pattern_kind": "shape",
        "source": "",
        "skew_s": 0.0,
        "status": "measured",
        "reason": "",
        "proof": "proved",
        "evidence": "",
        "blocks": 5,
        "repetitions": 20,
        "invalid": 0,
        "last_delay_s": seconds,
        "last_delay_low_s": seconds * (1 - width),
        "last_delay_high_s": seconds * (1 + width),
        "total_delay_s": seconds,
        "overshoot_s": 0.0,
        "clock_bound_s": 0.0,
    }
    return measured | other


def rows(delays: Delays, **other: Any) -> list[dict[str, Any]]:
    """A case for each algorithm, all of one configuration and pattern."""
    return [row(name, delay_us, **other) for name, delay_us in delays.items()]


def library(version: tuple[int, ...] = (5, 0, 11)) -> dict[str, Any]:
    """The entry of an Open MPI in provenance."""
    text = ".".join(map(str, version))
    return {"name": f"openmpi-{text}", "family": "openmpi", "version": list(version), "identity": text}


def study(
    directory: Path,
    cases: list[dict[str, Any]],
    *,
    text: str = TEMPLATE,
    verdicts: list[Verdict] | None = None,
    **provenance: Any,
) -> Path:
    """A result directory of these cases."""
    facts = {"library": library(), "host": "login1", "time": "2026-11-01T10:00:00+00:00"} | provenance
    with Store.create(directory, study_toml=text, provenance=facts) as store:
        store.add_algorithms(algorithms())
        store.add_verdicts([*case_verdicts(cases), *(verdicts or [])])  # the last one of an algorithm counts
        store.append_rows(cases, (b"", b""))
    return directory


def entry(folder: Path, name: str, delays: Delays, weight: float = 1.0, **other: Any) -> Entry:
    """The entry of a study with one configuration, whose result directory is made in ``folder``."""
    return collect(study(folder / name, rows(delays, **other)), name, weight).entry
