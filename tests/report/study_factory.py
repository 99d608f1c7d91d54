"""Creates studies for the report's tests: the frames, verdicts and facts of a measured study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from offbeat.measurement.results import schema
from offbeat.measurement.results.import_csv import import_csv
from offbeat.measurement.results.read import Results, read_study
from offbeat.model.study.algorithm import Algorithm
from offbeat.model.study.collectives import REDUCING
from offbeat.presentation.study_report.configurations import ConfigurationView, views
from offbeat.selection.choices.choose import select

REFERENCE = Path(__file__).parents[1] / "reference"
SHAPES = ["no_delay", "ascending", "descending", "first_delayed", "last_delayed", "mid_delayed", "random"]
TWELVE = [*SHAPES, "half_delayed", "bell", "ascending×0.5", "descending×0.5", "random×0.5"]
SKEW_S = 120e-6
STUDY_TOML = '# <the study, "verbatim">\nname = "made"\n'


def many_algorithms(number: int) -> list[str]:
    """Names as libraries give them, from short to long."""
    stems = ["binomial", "chain(fanout=4, segment=65536)", "recursive_doubling", "ring", "in_order_binary"]
    more = [f"{stems[i % 5].partition('(')[0]}(segment={1024 * i})" for i in range(5, number)]
    return [*stems, *more][:number]


def row(algorithm: str, pattern: str, last_delay_s: float | None, **more: Any) -> dict[str, Any]:
    """A row of the cases frame: by default a proved, measured reduce of 8 KiB at p = 8."""
    delayed = pattern != "no_delay"
    values: dict[str, Any] = {
        "engine": "mpi",
        "library": "openmpi-5.0.11",
        "p": 8,
        "nodes": 0,
        "ppn": 0,
        "collective": "reduce",
        "algorithm": algorithm,
        "bytes": 8192,
        "pattern": pattern,
        "pattern_kind": "shape",
        "shape": pattern.partition("×")[0],
        "skew_policy": "mean" if delayed else "none",
        "skew_factor": 1.5 if delayed else 0.0,
        "skew_s": SKEW_S if delayed else 0.0,
        "datatype": "double",
        "root": 0,
        "partitions": 1,
        "threads": 1,
        "communicators": 1,
        "stride": 1,
        "status": "measured",
        "reason": "",
        "proof": "proved",
        "evidence": "functions:ompi_coll_base",
        "repetitions": 30,
        "invalid": 0,
        "last_delay_s": last_delay_s,
        "last_delay_low_s": None if last_delay_s is None else last_delay_s * 0.97,
        "last_delay_high_s": None if last_delay_s is None else last_delay_s * 1.03,
        "total_delay_s": None if last_delay_s is None else last_delay_s + SKEW_S,
        "overshoot_s": 0.4e-6,
        "clock_bound_s": 0.1e-6,
    } | more
    values.setdefault("op", "sum" if values["collective"] in REDUCING else "")
    place = ("library", "collective", "bytes", "p", "op", "root", "algorithm", "pattern")
    values.setdefault("case", "-".join(str(values[name]) for name in place))
    return values


def frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """The cases frame of some rows."""
    return pl.DataFrame(rows, schema=schema.polars_schema(schema.CASES))


def table(delays_us: dict[str, dict[str, float | None]], **more: Any) -> pl.DataFrame:
    """The cases of one configuration from pattern → algorithm → last delay in microseconds."""
    return frame(
        [
            row(algorithm, pattern, None if delay is None else delay * 1e-6, **more)
            for pattern, delays in delays_us.items()
            for algorithm, delay in delays.items()
        ]
    )


def case_frame(
    algorithms: list[str],
    patterns: list[str],
    collectives: tuple[str, ...] = ("reduce",),
    sizes: tuple[int, ...] = (8192,),
    ps: tuple[int, ...] = (8,),
) -> pl.DataFrame:
    """Cases whose times differ by algorithm, pattern, size and p, the same in every run."""
    generator = np.random.default_rng(7)
    rows = []
    for collective, p, size in ((c, p, s) for c in collectives for p in ps for s in sizes):
        base = 5e-6 * p * (1 + size / 4096) ** 0.8 * generator.lognormal(0, 0.5, len(algorithms))
        for pattern in patterns:
            change = generator.lognormal(0, 0.4, len(algorithms)) if pattern != "no_delay" else 1
            rows += [
                row(name, pattern, float(delay), collective=collective, p=p, bytes=size)
                for name, delay in zip(algorithms, base * change, strict=True)
            ]
    return frame(rows)


def repetitions_of(cases: pl.DataFrame, number: int = 30) -> pl.DataFrame:
    """Repetitions that scatter around every measured case's median."""
    generator = np.random.default_rng(1)
    known = cases.filter(pl.col("last_delay_s").is_not_null()).select("case", "last_delay_s").rows()
    rows = [
        (case, repetition, repetition * 5 // number, None, True, middle * factor, middle * factor + SKEW_S)
        for case, middle in known
        for repetition, factor in enumerate(generator.lognormal(0, 0.08, number))
    ]
    return pl.DataFrame(rows, schema=schema.polars_schema(schema.REPETITIONS), orient="row")


def results(directory: Path, cases: pl.DataFrame, **more: Any) -> Results:
    """The results of a directory that holds the study's text."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "study.toml").write_text(STUDY_TOML, encoding="utf-8")
    names = cases.select("collective", "algorithm").unique(maintain_order=True).rows()
    facts: dict[str, Any] = {
        "directory": directory,
        "study": {"name": "made", "patterns": {"seed": 1}, "skew": {"policy": "mean"}},
        "provenance": {"schema_version": 1, "host": "node01"},
        "cases": cases,
        "repetitions": repetitions_of(cases),
        "algorithms": [
            Algorithm(collective=collective, name=name, settings={f"coll_tuned_{collective}": str(number)})
            for number, (collective, name) in enumerate(names)
        ],
        "verdicts": [],
    }
    return Results(**(facts | more))


def shown(study: Results) -> list[ConfigurationView]:
    """The configurations of a study by the average rule."""
    return views(study.cases, select(study, bootstrap=50))


def imported(name: str, directory: Path) -> Results:
    """A published table, imported."""
    import_csv(REFERENCE / f"{name}.csv", directory)
    return read_study(directory)
