"""A row of a summary in words: in sentences, and in the names of files."""

from __future__ import annotations

from offbeat.trace.rows import Row
from offbeat.units import format_size


def bare(collective: str) -> str:
    """``alltoall`` for ``MPI_Alltoall``: as studies call it."""
    return collective.lower().removeprefix("mpi_")


def sizes(least: int, most: int) -> str:
    """``32 KiB``, or ``20 KiB to 32 KiB``."""
    return format_size(least) if least == most else f"{format_size(least)} to {format_size(most)}"


def described(row: Row) -> str:
    """``MPI_Alltoall of 32 KiB at transpose (ft.c:118) on MPI_COMM_WORLD``."""
    size = f" of {sizes(row.least_bytes, row.most_bytes)}" if row.most_bytes else ""
    return f"{row.function}{size} at {row.site} on {row.communicator}"


def short_name(row: Row) -> str:
    """A name for files: ``alltoall-32KiB``."""
    size = format_size(row.most_bytes).replace(" ", "")
    return f"{bare(row.collective)}-{size}" if row.most_bytes else bare(row.collective)
