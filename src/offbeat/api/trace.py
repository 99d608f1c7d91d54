"""A trace as an object: its summary, tables and report."""

from __future__ import annotations

from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import polars as pl

    from offbeat.trace.files import trace_folder
    from offbeat.trace.summary import Summary


class Trace:
    """A trace of a program, from :meth:`open`: where the time in its collectives goes.

    It is read, which takes a while for a large one, when its summary is first needed.
    """

    def __init__(self, trace: trace_folder.Trace, summary: Summary | None = None) -> None:
        self._trace = trace
        if summary is not None:
            self.__dict__["summary"] = summary

    @classmethod
    def open(cls, directory: str | PathLike[str]) -> Self:
        """The trace in a folder; raises :class:`offbeat.BadInput` if there is none."""
        from offbeat.trace.files.trace_folder import open_trace

        return cls(open_trace(Path(directory)))

    @property
    def directory(self) -> Path:
        """The folder of the trace."""
        return self._trace.directory

    @cached_property
    def summary(self) -> Summary:
        """The statistics of all calls; ``rows`` has those of each call site."""
        from offbeat.trace.summary import summary_of_trace

        return summary_of_trace(self._trace)

    @property
    def sentence(self) -> str:
        """What to tune first, and whether waiting for late ranks takes longer."""
        from offbeat.trace.recommendation import sentence

        return sentence(self.summary)

    def table(self) -> pl.DataFrame:
        """A row for each call site, size class and group of communicators, the longest time first.

        ``spent_s``, ``waited_s`` (before the last arrival) and ``operation_s`` (after it) are sums over
        ranks, in seconds; ``skew_s`` and ``last_delay_s`` are means over calls; null: unknown.
        """
        import polars as pl

        return pl.DataFrame(
            [
                {
                    "site": row.site,
                    "function": row.function,
                    "communicator": row.communicator,
                    "p": row.processes,
                    "least_bytes": row.least_bytes,
                    "most_bytes": row.most_bytes,
                    "calls": row.calls,
                    "spent_s": row.spent_s,
                    "waited_s": row.waited_s if row.is_compared else None,
                    "operation_s": row.operation_s if row.is_compared else None,
                    "share": row.share,
                    "skew_s": row.skew.mean_s,
                    "last_delay_s": row.last_delay.mean_s,
                }
                for row in self.summary.group_rows
            ],
            schema_overrides=dict.fromkeys(_TIMES, pl.Float64),
            strict=False,
        ).with_columns(pl.col(*_TIMES).fill_nan(None))

    def __repr__(self) -> str:
        """The folder, and the number of processes."""
        return f"<offbeat.Trace {self.directory}: {self._trace.size} processes>"

    def _repr_html_(self) -> str:
        from offbeat.presentation.pages.notebook import trace_html

        return trace_html(self.summary)


_TIMES = ("spent_s", "waited_s", "operation_s", "share", "skew_s", "last_delay_s")
