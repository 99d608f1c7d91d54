"""Checksums of the rows of samples, by case, and which rows on disk count."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from offbeat.measurement.results.schema import PARTITION

_MASK = 2**64 - 1
_NAN = np.array([np.nan]).view(np.uint64)[0]


def row_checksums(frame: pl.DataFrame) -> dict[str, int]:
    """The checksum of each case's rows in a table with a column ``case``; a case without rows has none.

    The sum over rows of their mixed bits: independent of the order of rows and of how the table is split into
    pieces (the sums of the pieces add up modulo 2^64); any changed value changes it.
    """
    if frame.is_empty():
        return {}
    bits = np.full(frame.height, 0x9E3779B97F4A7C15, dtype=np.uint64)
    for name in frame.columns:
        if name == PARTITION:  # the sums of rows without this column, which is 0 then, stay what they were
            partition = _bits(frame[name])
            bits = np.where(partition == 0, bits, _mix(bits ^ partition))
        elif name != "case":
            bits = _mix(bits ^ _bits(frame[name]))
    cases, _, starts = _runs(frame)
    sums: dict[str, int] = {}
    for case, value in zip(cases, np.add.reduceat(bits, starts).tolist(), strict=True):
        sums[case] = (sums.get(case, 0) + value) & _MASK
    return sums


def add_checksums(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    """The checksums of two pieces of one table, added."""
    return dict(first) | {case: (first.get(case, 0) + value) & _MASK for case, value in second.items()}


def _bits(column: pl.Series) -> NDArray[np.uint64]:
    """The bits of each value; all missing values and NaNs have the same."""
    if column.dtype == pl.Float64:
        values = column.to_numpy()  # missing values become NaN
        bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
        return np.where(np.isnan(values), _NAN, bits)
    if column.null_count():
        column = column.cast(pl.Int64).fill_null(-(2**63))
    return np.ascontiguousarray(column.to_numpy(), dtype=np.int64).view(np.uint64)


def _mix(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix every bit into all bits (the finaliser of SplitMix64, Steele et al. 2014)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)))


def committed_rows(frame: pl.DataFrame, committed: Mapping[str, int]) -> pl.DataFrame:
    """The rows that are committed, by :func:`offbeat.measurement.results.recorded.committed`."""
    if frame.is_empty():
        return frame
    cases, lengths, _ = _runs(frame)
    limits = np.repeat([committed.get(case, 0) for case in cases], lengths)
    is_committed = frame["repetition"].to_numpy() < limits
    return frame if is_committed.all() else frame.filter(pl.Series(is_committed))


def _runs(frame: pl.DataFrame) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    """The successive rows of the same case: the case, the number of rows, and the first row of each run."""
    runs = frame["case"].rle().struct.unnest()
    lengths = runs["len"].to_numpy().astype(np.int64)
    return runs["value"].to_list(), lengths, np.cumsum(lengths) - lengths
