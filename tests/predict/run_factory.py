"""Traces of runs of a second, and predictions from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import trace_factory as factory

from offbeat.measurement.results.read import read_study
from offbeat.trace.files.trace_folder import open_trace
from offbeat.trace.summary import summarise
from offbeat.tuning.prediction.measured_configuration import measurements
from offbeat.tuning.prediction.prediction import Prediction
from offbeat.tuning.prediction.program_prediction import Request, predict

RUN_S = 1 - 1e-9
"""The duration of a synthetic run: from 1 ns to a second."""

US = 1e-6


def alltoalls(
    folder: Path, delays_us: Sequence[Sequence[int]], *, operation_us: int = 70, size: int = 32768
) -> Path:
    """Alltoalls, one per row of delays: all ranks leave ``operation`` after the last has arrived."""
    files = factory.files(len(delays_us[0]))
    for sequence, row in enumerate(delays_us):
        begin = (1 + sequence) * 1_000_000
        end = begin + (max(row) + operation_us) * factory.US
        for one, delay in zip(files, row, strict=True):
            one.call(begin + delay * factory.US, end, sequence=sequence, function="MPI_Alltoall", bytes=size)
    return factory.write(folder, files)


def predicted(trace: Path, results: Path, **request: object) -> Prediction:
    """The prediction of ``offbeat predict``."""
    opened = open_trace(trace)
    measured = measurements(read_study(results), opened.headers[0].library)
    return predict(opened, summarise(opened), measured, Request(**request))  # type: ignore[arg-type]


def times(prediction: Prediction, name: str) -> dict[str, float]:
    """The expected run time of one algorithm or choice by condition."""
    (one,) = (one for one in prediction.expected if one.name == name)
    return {condition: time.time_s for condition, time in one.run_s.items()}
