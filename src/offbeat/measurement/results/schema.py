"""The columns of results, the same for every engine.

Three frames describe a study. ``cases`` has a row for each case, ``repetitions`` a row for each repetition,
``ranks`` a row for each repetition, rank and partition. They join on ``case``. The reference page is
generated from :data:`CASES`, :data:`REPETITIONS` and :data:`RANKS`: column → (polars type, meaning).
"""

from __future__ import annotations

import polars as pl

from offbeat.measurement.results.layout import SCHEMA_VERSION as SCHEMA_VERSION
from offbeat.model.study.skew_policy import POLICIES

PARTITIONS = "partitions"
THREADS = "threads"
"""The column of CASES that ``cases.jsonl`` does not have where it is 1."""

COMMUNICATORS = "communicators"
STRIDE = "stride"
"""The columns of collectives that several communicators call; ``cases.jsonl`` has them if they are not 1."""

PARTITION = "partition"
"""The column of RANKS that the files of collectives, whose only partition is 0, do not have."""

CASES: dict[str, tuple[type[pl.DataType], str]] = {
    "case": (pl.String, "identity of the case: joins the three frames"),
    "engine": (pl.String, "what measured: mpi, sim, smpi, or import"),
    "library": (
        pl.String,
        "MPI library and version, the simulator with its algorithms and platform, or an import's machine",
    ),
    "p": (pl.Int64, "number of processes of a communicator"),
    "nodes": (pl.Int64, "nodes of all processes; 0 where the launcher placed them"),
    "ppn": (pl.Int64, "processes per node; 0 where the launcher placed the processes"),
    "collective": (
        pl.String,
        "the operation: a collective, by its MPI name in lower case, or partitioned_send",
    ),
    "algorithm": (pl.String, "the algorithm's name, with its parameters"),
    "bytes": (pl.Int64, "message size: bytes per process as the MPI call states it"),
    "pattern": (pl.String, "row label: shape or scenario, with ×factor where a shape has several skews"),
    "pattern_kind": (pl.String, "shape, scenario or replay"),
    "shape": (pl.String, "the shape's, the scenario's or the replay's name"),
    "source": (
        pl.String,
        "the calls and the trace that a scenario or a replay was extracted from, if its file names them",
    ),
    "skew_policy": (pl.String, ", ".join(POLICIES)),
    "skew_factor": (pl.Float64, "factor of the policy; seconds for fixed"),
    "skew_s": (
        pl.Float64,
        "the largest delay of the pattern, or of any call of a replay, as it was applied, in seconds",
    ),
    "op": (pl.String, "reduction operation"),
    "datatype": (pl.String, "element type"),
    "root": (pl.Int64, "root of a rooted collective"),
    PARTITIONS: (pl.Int64, "partitions of a partitioned send; 1 for a collective"),
    THREADS: (pl.Int64, "threads of the sender of a partitioned send; 1 for a collective"),
    COMMUNICATORS: (pl.Int64, "communicators that called the collective at the same time"),
    STRIDE: (pl.Int64, "distance between the ranks of consecutive members of a communicator"),
    "status": (
        pl.String,
        "measured; unfinished (some of its blocks remain); incomplete (too few valid"
        " repetitions); quarantined",
    ),
    "reason": (pl.String, "why a case is not measured"),
    "proof": (
        pl.String,
        "proved, indistinguishable or unproved: whether the algorithm was shown to run (import: proved)",
    ),
    "evidence": (pl.String, "the observation of what ran"),
    "blocks": (
        pl.Int64,
        "blocks in which the case was measured, each at another time of the study and in another launch;"
        " 0 if an import does not state it",
    ),
    "repetitions": (pl.Int64, "valid repetitions"),
    "invalid": (
        pl.Int64,
        "repetitions in which a process missed its start, or may have by its clock's error; repeated",
    ),
    "last_delay_s": (
        pl.Float64,
        "last delay d̂ = max exit − max arrival, in seconds: the median of a block's repetitions (of a replay"
        " the mean over its calls' medians), and over several blocks the Hodges–Lehmann estimate of these",
    ),
    "last_delay_low_s": (
        pl.Float64,
        "lower end of its 95% confidence interval: Student's t over blocks; with one block only, of the"
        " median of its repetitions",
    ),
    "last_delay_high_s": (pl.Float64, "upper end of its 95% confidence interval"),
    "total_delay_s": (
        pl.Float64,
        "total delay d* = max exit − min arrival, in seconds, estimated as the last delay is",
    ),
    "overshoot_s": (
        pl.Float64,
        "largest start error of a valid repetition: arrival − planned arrival, in seconds",
    ),
    "clock_bound_s": (pl.Float64, "largest error bound of the shared clock while the case ran, in seconds"),
}

REPETITIONS: dict[str, tuple[type[pl.DataType], str]] = {
    "case": (pl.String, "identity of the case"),
    "repetition": (pl.Int64, "number of the repetition within the case, from 0, in the order of measurement"),
    "block": (pl.Int64, "number of the block in which it was measured, from 0; none where unknown"),
    "call": (pl.Int64, "of a replay: number of the call whose delays were applied, from 0"),
    "valid": (pl.Boolean, "false when a process missed its start, or may have by its clock's error bound"),
    "last_delay_s": (pl.Float64, "d̂ = max exit − max arrival, in seconds"),
    "total_delay_s": (pl.Float64, "d* = max exit − min arrival, in seconds"),
}

RANKS: dict[str, tuple[type[pl.DataType], str]] = {
    "case": (pl.String, "identity of the case"),
    "repetition": (pl.Int64, "number of the repetition within the case"),
    "rank": (pl.Int64, "process number"),
    PARTITION: (pl.Int64, "of a partitioned send: number of the partition, from 0; 0 for a collective"),
    "arrival_s": (
        pl.Float64,
        "when the rank entered (or its partition became ready), in seconds on the shared clock since the"
        " repetition's deadline",
    ),
    "exit_s": (pl.Float64, "when the rank left (or its partition was complete), on the same clock"),
}


def polars_schema(columns: dict[str, tuple[type[pl.DataType], str]]) -> dict[str, type[pl.DataType]]:
    """The polars schema of one of the tables above."""
    return {name: dtype for name, (dtype, _) in columns.items()}
