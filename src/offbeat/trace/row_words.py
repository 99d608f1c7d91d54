"""A row of a summary in words: in sentences, and in the names of files."""

from __future__ import annotations

import numpy as np

from offbeat.trace.rows import Row
from offbeat.units import counted, format_size, format_time

LEAST_EXPLAINED = 0.5
"""Below this stability, a mean pattern stands for few of the calls."""

_FEWEST_CALLS = 4
"""Of fewer calls it cannot be told how much a pattern explains."""


def bare(collective: str) -> str:
    """``alltoall`` for ``MPI_Alltoall``: as studies call it."""
    return collective.lower().removeprefix("mpi_")


def sizes(least: int, most: int) -> str:
    """``32 KiB``, or ``20 KiB to 32 KiB``."""
    return format_size(least) if least == most else f"{format_size(least)} to {format_size(most)}"


def is_mixed(row: Row) -> bool:
    """Whether the mean pattern of a row explains little of how ranks arrive in its calls."""
    return row.whole >= _FEWEST_CALLS and row.stability < LEAST_EXPLAINED and row.skew.mean_s > row.bound_s


def mixed_words(row: Row) -> str:
    """What is to be said of the mean pattern of a row that :func:`is_mixed`."""
    skew_s = float(np.nanmax(row.delays_s) - np.nanmin(row.delays_s))
    return (
        f"the mean pattern explains {row.stability:.0%} of how ranks arrive in {counted(row.whole, 'call')}:"
        f" its skew is {format_time(skew_s)}, that of a call {format_time(row.skew.mean_s)} in the mean;"
        " --what clusters finds the typical patterns, --what calls keeps every call"
    )


def described(row: Row) -> str:
    """``MPI_Alltoall of 32 KiB at transpose (ft.c:118) on MPI_COMM_WORLD``."""
    size = f" of {sizes(row.least_bytes, row.most_bytes)}" if row.most_bytes else ""
    return f"{row.function}{size} at {row.site} on {row.communicator}"


def short_name(row: Row) -> str:
    """A name for files: ``alltoall-32KiB``."""
    size = format_size(row.most_bytes).replace(" ", "")
    return f"{bare(row.collective)}-{size}" if row.most_bytes else bare(row.collective)
