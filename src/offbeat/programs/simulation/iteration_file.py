"""The iterations of a program as a Parquet file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from offbeat.base.atomic_write import atomic_writer, write_error
from offbeat.base.parquet_file import write_parquet
from offbeat.programs.simulation.iterations import Iterations

ITERATIONS_AT_ONCE = 4096

SCHEMA: dict[str, type[pl.DataType]] = {
    "iteration": pl.Int32,
    "rank": pl.Int32,
    "end_s": pl.Float64,
    "communication_s": pl.Float32,
}
"""One row for each iteration (from 1) of each rank: when it ended, and its time in communication."""


def write_iterations(run: Iterations, path: Path) -> None:
    """Write the file. Raises :class:`OffbeatError` if it cannot be written."""
    frames = (
        _frame(run, first, min(first + ITERATIONS_AT_ONCE, run.iterations))
        for first in range(0, run.iterations, ITERATIONS_AT_ONCE)
    )
    try:
        with atomic_writer(path) as stream:
            write_parquet(stream, SCHEMA, frames)
    except OSError as error:
        raise write_error(path, error) from error


def _frame(run: Iterations, first: int, end: int) -> pl.DataFrame:
    columns = {
        "iteration": np.repeat(np.arange(first + 1, end + 1, dtype=np.int32), run.p),
        "rank": np.tile(np.arange(run.p, dtype=np.int32), end - first),
        "end_s": run.iteration_end_s[first:end].ravel(),
        "communication_s": run.communication_s[first:end].ravel(),
    }
    return pl.DataFrame(columns, schema=SCHEMA)
