"""Tune MPI collectives for processes that do not arrive together.

The Python API: :func:`read_study` reads a result directory whole, :func:`read_cases` its cases as one
polars frame.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from offbeat.results.read import Results, read_cases, read_study

try:
    __version__ = version("offbeat")
except PackageNotFoundError:  # run from a source tree that was never installed
    __version__ = "0+unknown"

__all__ = ["Results", "__version__", "read_cases", "read_study"]


def __getattr__(name: str) -> object:
    """Load the reading of results on first use, so that commands that need none of it start fast."""
    if name in ("Results", "read_cases", "read_study"):
        from offbeat.results import read

        return getattr(read, name)
    raise AttributeError(f"module 'offbeat' has no attribute {name!r}")
