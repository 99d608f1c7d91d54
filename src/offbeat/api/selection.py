"""A selection as an object: the choices, their tables, and the tuning files that are written from them."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from offbeat.base.errors import RunFailed
from offbeat.measurement.results.read import Results
from offbeat.selection.choices import choose
from offbeat.selection.choices.delay_table import CONFIGURATION_COLUMNS, Configuration

if TYPE_CHECKING:
    import polars as pl

    from offbeat.api.tuning_files import TuningFiles


class Selection(choose.Selection, frozen=True, kw_only=True):
    """The choices of a rule for all configurations, from :meth:`offbeat.Results.select`.

    ``results`` are those that it was made from, ``choices`` the choices, ``left_out`` the configurations
    without one and why, and ``notes`` sentences on the results. ``print`` shows what ``offbeat select``
    prints.
    """

    results: Results
    includes_indistinguishable: bool = False

    def table(self) -> pl.DataFrame:
        """A row for each choice: its configuration, algorithm, score, and the confidence in it.

        ``score`` is 1 for the fastest under every pattern. The slowdowns are shares: 0.1 means that the
        algorithm scores 10% worse than the choice. ``same_choice`` and ``within`` are shares of simulated
        repetitions of the study, ``loss`` is the 95th percentile of the loss in them; null: unknown.
        """
        import polars as pl

        floats = ["score", "no_delay_slowdown", "default_slowdown", "same_choice", "within", "loss"]
        return pl.DataFrame(
            [
                {
                    **_identity(one.configuration),
                    "algorithm": one.algorithm,
                    "no_delay_winner": one.no_delay_winner,
                    "score": one.scores.get(one.algorithm),
                    "no_delay_slowdown": one.cost_of_no_delay_winner,
                    "default_slowdown": one.cost_of_default,
                    "same_choice": one.certainty.same_choice if one.certainty else None,
                    "within": one.certainty.within_tolerance if one.certainty else None,
                    "loss": one.certainty.plausible_loss if one.certainty else None,
                    **_further(one.configuration),
                }
                for one in self.choices
            ],
            schema_overrides=dict.fromkeys(floats, pl.Float64) | {"no_delay_winner": pl.String},
        )

    def delays(self) -> pl.DataFrame:
        """A row for each algorithm under each pattern: its last delay and how it compares.

        ``last_delay_s`` is the median (of a replay, the mean over its calls), between the ends of its 95%
        interval; ``normalised`` is relative to the pattern's fastest candidate, ``robustness`` to the delay
        without skew. The columns are those of the JSON document of ``offbeat select``.
        """
        import polars as pl
        from msgspec import structs

        from offbeat.selection.choices.document import selection_document

        rows = [
            {
                **_identity(one.choice.configuration),
                "pattern": row.pattern,
                "pattern_kind": row.kind,
                **structs.asdict(delay),
                **_further(one.choice.configuration),
            }
            for one in selection_document(self).configurations
            for row in one.patterns
            for delay in row.delays
        ]
        floats = ("last_delay_s", "low_s", "high_s", "normalised", "robustness")
        return pl.DataFrame(rows, schema_overrides=dict.fromkeys(floats, pl.Float64))

    def export(
        self,
        folder: str | PathLike[str] | None = None,
        *,
        format_version: int | None = None,
        mpi: str = "",
        allow_wrong_results: Sequence[str] = (),
        partial: bool = False,
        beyond: float | None = None,
        same_bits: bool = False,
    ) -> TuningFiles:
        """Write the tuning files that make the MPI library use the choices, as ``offbeat export`` does.

        ``folder`` is ``tuning`` in the result directory unless given. ``mpi`` is the installation to write
        for, ``format_version`` the version of Open MPI's format. Algorithms that are wrong for legal calls
        are replaced, except for the kinds in ``allow_wrong_results``; partial configurations are left to the
        library unless ``partial``. The smallest and the largest measured size cover sizes smaller and larger
        by up to the factor ``beyond``. With ``same_bits``, rules that can change the bits of floating-point
        results are left out. Raises :class:`offbeat.BadInput`, and :class:`offbeat.RunFailed` if
        there is nothing to export.
        """
        from offbeat.api.tuning_files import export
        from offbeat.selection.tuning_files.manifest import FOLDER

        return export(
            self,
            self.results,
            self.results.directory / FOLDER if folder is None else Path(folder),
            includes_indistinguishable=self.includes_indistinguishable,
            format_version=format_version,
            mpi=mpi,
            allow_wrong_results=allow_wrong_results,
            partial=partial,
            beyond=beyond,
            same_bits=same_bits,
        )

    def report(
        self, output: str | PathLike[str] | None = None, *, pictures: str | PathLike[str] | None = None
    ) -> Path:
        """Write the report of ``offbeat report``, and return its path: ``report.html`` in the result
        directory unless ``output`` is given. ``pictures`` is a folder for all pictures as files."""
        from offbeat.base.progress_bar import ProgressBar
        from offbeat.presentation.study_report.html import write_report

        with ProgressBar("drawing pictures") as bar:
            return write_report(
                self.results,
                self,
                self.results.directory,
                output=None if output is None else Path(output),
                pictures=None if pictures is None else Path(pictures),
                progress=lambda done, total: bar.update(done_count=done, total=total),
            )

    def raise_if_empty(self) -> None:
        """Raise :class:`offbeat.RunFailed` if nothing was selected, with the reason."""
        if not self.choices:
            reason = self.left_out[0].reason if self.left_out else "nothing was measured."
            raise RunFailed(f"nothing can be selected: {reason}")

    def __str__(self) -> str:
        """What ``offbeat select`` prints, for a terminal of 110 columns."""
        import io

        from rich.console import Console

        from offbeat.presentation.selection.text import rendered

        stream = io.StringIO()
        console = Console(file=stream, width=110, highlight=False)
        console.print(rendered(self, console))
        return stream.getvalue().rstrip("\n")

    def __repr__(self) -> str:
        """The rule, and the number of choices."""
        return f"<offbeat.Selection by {self.terms.rule}: {len(self.choices)} choices>"

    def _repr_html_(self) -> str:
        from offbeat.presentation.pages.notebook import selection_html

        return selection_html(self, self.results)


_FIRST = ("collective", "p", "bytes")
"""The first columns of frames; the others of a configuration are the last."""


def _identity(configuration: Configuration) -> dict[str, object]:
    return {name: getattr(configuration, name) for name in _FIRST}


def _further(configuration: Configuration) -> dict[str, object]:
    return {name: getattr(configuration, name) for name in CONFIGURATION_COLUMNS if name not in _FIRST}
