"""Cases and samples to fill a result directory with."""

from __future__ import annotations

import numpy as np

from offbeat.measurement.results.blocks import Samples
from offbeat.model.study.case import Case

STUDY = 'name = "a study"\n'

FACTS: dict[str, object] = {
    "engine": "mpi",
    "library": "Open MPI 5.0.6",
    "pattern_kind": "shape",
    "skew_s": 1e-4,
    "status": "measured",
    "proof": "proved",
}


def make_case(number: int = 0, p: int = 3, **changes: object) -> Case:
    """Case number ``number`` of a study; ``changes`` replaces any of its fields."""
    fields: dict[str, object] = {
        "collective": "reduce",
        "algorithm": f"chain(fanout={number})",
        "bytes": 1024,
        "pattern": "ascending×1.5",
        "shape": "ascending",
        "skew_policy": "mean",
        "skew_factor": 1.5,
        "p": p,
        "nodes": 0,
        "ppn": 0,
        "op": "sum",
        "datatype": "double",
    }
    return Case(**(fields | changes))  # type: ignore[arg-type]


def make_samples(seed: int = 0, repetitions: int = 4, p: int = 3, invalid: int = 1) -> Samples:
    """Samples with random times; the first ``invalid`` repetitions are not valid."""
    generator = np.random.default_rng(seed)
    arrivals_s = generator.random((repetitions, p)) * 1e-4
    return Samples(
        arrivals_s=arrivals_s,
        exits_s=arrivals_s.max(axis=1, keepdims=True) + generator.random((repetitions, p)) * 1e-4,
        valid=np.arange(repetitions) >= invalid,
        overshoot_s=2e-7,
        clock_bound_s=3e-7,
    )
