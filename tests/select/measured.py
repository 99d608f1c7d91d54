"""Measurements for the tests of selection: synthetic, or from the published tables of a paper."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from offbeat.measurement.results.read import Results
from offbeat.measurement.results.schema import CASES, REPETITIONS, polars_schema
from offbeat.model.study.algorithm import Algorithm

DATA = Path(__file__).parents[1] / "reference"
FT_SCENARIO = DATA / "hydra-ft-scenario.csv"
MICRO_BENCHMARK = DATA / "hydra-32x32-micro-benchmark.csv"


def case(algorithm: str, pattern: str, last_delay_s: float | None, **other: Any) -> dict[str, Any]:
    """A row of ``cases``; the defaults are a proved, measured reduce of 8 B on p=4."""
    row: dict[str, Any] = {
        "engine": "mpi",
        "library": "Open MPI 5.0",
        "p": 4,
        "nodes": 0,
        "ppn": 0,
        "collective": "reduce",
        "algorithm": algorithm,
        "bytes": 8,
        "pattern": pattern,
        "pattern_kind": "shape",
        "shape": pattern,
        "skew_policy": "none" if pattern == "no_delay" else "mean",
        "skew_factor": 1.0,
        "op": "sum",
        "datatype": "double",
        "root": 0,
        "partitions": 1,
        "threads": 1,
        "communicators": 1,
        "stride": 1,
        "status": "measured",
        "reason": "",
        "proof": "proved",
        "repetitions": 10,
        "last_delay_s": last_delay_s,
    } | other
    row["case"] = "/".join(
        str(row[key]) for key in ("library", "collective", "p", "bytes", "algorithm", "pattern")
    )
    return row


def frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """The ``cases`` frame of some rows."""
    return pl.DataFrame(rows, schema=polars_schema(CASES), orient="row")


def matrix(delays: dict[str, dict[str, float]], **other: Any) -> list[dict[str, Any]]:
    """Rows of one configuration from pattern → algorithm → last delay in seconds."""
    return [case(a, pattern, d, **other) for pattern, row in delays.items() for a, d in row.items()]


def results(
    rows: list[dict[str, Any]],
    samples: dict[str, list[float]] | None = None,
    verdicts: Any = (),
    blocks: int = 5,
) -> Any:
    """Results with these cases; ``samples`` maps a case to the last delays of its repetitions, which make
    that many ``blocks``, one after another."""
    repetitions = [
        {
            "case": name,
            "repetition": i,
            "block": i * blocks // len(values),
            "valid": True,
            "last_delay_s": value,
            "total_delay_s": value,
        }
        for name, values in (samples or {}).items()
        for i, value in enumerate(values)
    ]
    algorithms = {(row["collective"], row["algorithm"]): None for row in rows}
    return Results(
        directory=Path(),
        study={},
        provenance={},
        cases=frame(rows),
        repetitions=pl.DataFrame(repetitions, schema=polars_schema(REPETITIONS), orient="row"),
        algorithms=[Algorithm(collective=collective, name=name) for collective, name in algorithms],
        verdicts=list(verdicts),
    )


def scattered(
    rows: list[dict[str, Any]], share: float, count: int = 20, seed: int = 7
) -> dict[str, list[float]]:
    """Repetitions of every case, scattered about its delay by a share of it, with exactly that median."""
    generator = np.random.default_rng(seed)
    samples = {}
    for row in rows:
        spread = generator.normal(size=count)
        values = row["last_delay_s"] * (1 + share * (spread - np.median(spread)))
        samples[row["case"]] = values.tolist()
    return samples


def published(path: Path) -> list[dict[str, Any]]:
    """The measurements of a published table as rows of ``cases``; the paper's own averages are left out."""
    rows = []
    with path.open(newline="") as file:
        for line in csv.DictReader(file):
            if line["pattern"].startswith("avg"):
                continue
            delay_s = (
                float(line["last_delay_s"]) if "last_delay_s" in line else float(line["last_delay_ms"]) / 1e3
            )
            scenario = line["pattern"].endswith("scenario")
            nodes, ppn = int(line["nodes"]), int(line["processes_per_node"])
            rows.append(
                case(
                    line["algorithm"],
                    line["pattern"],
                    delay_s,
                    library=line["machine"],
                    p=nodes * ppn,
                    nodes=nodes,
                    ppn=ppn,
                    collective=line["collective"],
                    bytes=int(line["message_bytes"]),
                    pattern_kind="scenario" if scenario else "shape",
                )
            )
    return rows
