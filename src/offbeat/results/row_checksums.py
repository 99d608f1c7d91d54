"""Checksums that find damage in a table: one for the rows of each case."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

_MASK = 2**64 - 1
_NAN = np.array([np.nan]).view(np.uint64)[0]


def of_rows(frame: pl.DataFrame) -> dict[str, int]:
    """The checksum of each case's rows in a table with a column ``case``; a case without rows has none.

    A sum over rows of mixed bits: it does not depend on the order of rows or on how the table is cut into
    pieces (add the pieces' sums modulo 2^64), and any changed value changes it.
    """
    if frame.is_empty():
        return {}
    mixed = np.full(frame.height, 0x9E3779B97F4A7C15, dtype=np.uint64)
    for name in frame.columns:
        if name != "case":
            mixed = _mixed(mixed ^ _bits(frame[name]))
    runs = frame["case"].rle().struct.unnest()
    lengths = runs["len"].to_numpy().astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    sums: dict[str, int] = {}
    for name, value in zip(runs["value"], np.add.reduceat(mixed, starts).tolist(), strict=True):
        sums[name] = (sums.get(name, 0) + value) & _MASK
    return sums


def added(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """The checksums of two pieces of one table together."""
    return dict(one) | {case: (one.get(case, 0) + value) & _MASK for case, value in other.items()}


def _bits(column: pl.Series) -> NDArray[np.uint64]:
    """The bits of each value, of every missing value and NaN the same."""
    if column.dtype == pl.Float64:
        values = column.to_numpy()  # of a missing value NaN
        bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
        return np.where(np.isnan(values), _NAN, bits)
    if column.null_count():
        column = column.cast(pl.Int64).fill_null(-(2**63))
    return np.ascontiguousarray(column.to_numpy(), dtype=np.int64).view(np.uint64)


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Every bit spread over all bits (the finaliser of SplitMix64, Steele et al. 2014)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)))
