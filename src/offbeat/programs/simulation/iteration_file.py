"""The iterations of a program as a Parquet file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from offbeat.base.atomic_write import atomic_writer, write_error
from offbeat.programs.simulation.iterations import Iterations

ITERATIONS_AT_ONCE = 4096

SCHEMA = pa.schema(
    [
        ("iteration", pa.int32()),
        ("rank", pa.int32()),
        ("end_s", pa.float64()),
        ("communication_s", pa.float32()),
    ]
)
"""One row for each iteration (from 1) of each rank: when it ended, and its time in communication."""


def write_iterations(run: Iterations, path: Path) -> None:
    """Write the file. Raises :class:`OffbeatError` if it cannot be written."""
    try:
        with atomic_writer(path) as stream, pq.ParquetWriter(stream, SCHEMA) as writer:
            for first in range(0, run.iterations, ITERATIONS_AT_ONCE):
                writer.write_batch(_batch(run, first, min(first + ITERATIONS_AT_ONCE, run.iterations)))
    except OSError as error:
        raise write_error(path, error) from error


def _batch(run: Iterations, first: int, end: int) -> pa.RecordBatch:
    count = end - first
    return pa.record_batch(
        [
            np.repeat(np.arange(first + 1, end + 1, dtype=np.int32), run.p),
            np.tile(np.arange(run.p, dtype=np.int32), count),
            run.iteration_end_s[first:end].ravel(),
            run.communication_s[first:end].ravel(),
        ],
        schema=SCHEMA,
    )
