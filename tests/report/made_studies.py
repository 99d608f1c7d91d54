"""Studies made up for the report's tests: the frames, verdicts and facts that a measured one would hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from offbeat.results import schema
from offbeat.results.read import Results
from offbeat.study.algorithm import Algorithm
from offbeat.study.case import REDUCING

SHAPES = ["no_delay", "ascending", "descending", "first_delayed", "last_delayed", "mid_delayed", "random"]
MORE_SHAPES = [*SHAPES, "half_delayed", "bell", "ascending×0.5", "descending×0.5", "random×0.5"]
STUDY = {
    "name": "made",
    "engine": "mpi",
    "seed": 1,
    "patterns": {"seed": 1, "files": []},
    "skew": {"policy": "mean"},
}


def many_algorithms(number: int) -> list[str]:
    """Names as libraries give them, from short to long."""
    stems = ["binomial", "chain(fanout=4, segment=65536)", "recursive_doubling", "ring", "in_order_binary"]
    return [
        stems[i % 5] if i < 5 else f"{stems[i % 5].split('(')[0]}(segment={1024 * i})" for i in range(number)
    ]


def case_row(
    collective: str, size: int, p: int, algorithm: str, pattern: str, last_delay_s: float | None, **more
) -> dict:
    """One row of the cases frame; ``more`` replaces columns."""
    row = {
        "case": f"{collective}-{size}-{p}-{algorithm}-{pattern}",
        "engine": "mpi",
        "library": "Open MPI 5.0.11",
        "p": p,
        "nodes": 0,
        "ppn": 0,
        "collective": collective,
        "algorithm": algorithm,
        "bytes": size,
        "pattern": pattern,
        "pattern_kind": "shape",
        "shape": pattern.split("×")[0],
        "skew_policy": "none" if pattern == "no_delay" else "mean",
        "skew_factor": 0.0 if pattern == "no_delay" else 1.5,
        "skew_s": 0.0 if pattern == "no_delay" else 120e-6,
        "op": "sum" if collective in REDUCING else "",
        "datatype": "double",
        "root": 0,
        "status": "measured",
        "reason": "",
        "proof": "proved",
        "evidence": "functions:ompi_coll_base",
        "repetitions": 30,
        "invalid": 0,
        "last_delay_s": last_delay_s,
        "last_delay_low_s": None if last_delay_s is None else last_delay_s * 0.97,
        "last_delay_high_s": None if last_delay_s is None else last_delay_s * 1.03,
        "total_delay_s": None if last_delay_s is None else last_delay_s + 120e-6,
        "overshoot_s": 0.4e-6,
        "clock_bound_s": 0.1e-6,
    }
    return row | more


def frame(rows: list[dict]) -> pl.DataFrame:
    """The cases frame of some rows."""
    return pl.DataFrame(rows, schema=schema.polars_schema(schema.CASES))


def repetitions_of(cases: pl.DataFrame, number: int = 30, seed: int = 1) -> pl.DataFrame:
    """Repetitions that scatter around every measured case's median."""
    generator = np.random.default_rng(seed)
    parts = []
    for case, middle in cases.select("case", "last_delay_s").iter_rows():
        if middle is None:
            continue
        values = middle * generator.lognormal(0, 0.08, number)
        parts.append({"case": [case] * number, "repetition": list(range(number)), "valid": [True] * number})
        parts[-1] |= {"last_delay_s": values.tolist(), "total_delay_s": (values + 1e-4).tolist()}
    columns = schema.polars_schema(schema.REPETITIONS)
    return (
        pl.concat([pl.DataFrame(part, schema=columns) for part in parts])
        if parts
        else pl.DataFrame(schema=columns)
    )


def made_cases(
    collectives: list[str], sizes: list[int], ps: list[int], algorithms: list[str], patterns: list[str]
) -> pl.DataFrame:
    """Cases whose times differ by algorithm, pattern, size and p, the same in every run."""
    generator = np.random.default_rng(7)
    rows = []
    for collective in collectives:
        for p in ps:
            for size in sizes:
                base = 5e-6 * p * (1 + size / 4096) ** 0.8
                speed = generator.lognormal(0, 0.5, len(algorithms))
                for pattern in patterns:
                    times = (
                        base
                        * speed
                        * (1 if pattern == "no_delay" else generator.lognormal(0, 0.4, len(algorithms)))
                    )
                    rows += [
                        case_row(collective, size, p, name, pattern, float(time))
                        for name, time in zip(algorithms, times, strict=True)
                    ]
    return frame(rows)


def results(directory: Path, cases: pl.DataFrame, **more) -> Results:
    """What reading a study directory gives."""
    names = cases.select("collective", "algorithm").unique(maintain_order=True).rows()
    facts = {
        "directory": directory,
        "study": STUDY,
        "provenance": {"schema_version": 1},
        "cases": cases,
        "repetitions": repetitions_of(cases),
        "algorithms": [
            Algorithm(
                collective=collective, name=name, settings={f"coll_tuned_{collective}_algorithm": str(number)}
            )
            for number, (collective, name) in enumerate(names)
        ],
        "verdicts": [],
    }
    return Results(**(facts | more))
