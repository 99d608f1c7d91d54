"""A program that was tuned, as an object."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from rich.console import Console

from offbeat.api.results import Results
from offbeat.api.trace import Trace
from offbeat.tuning.pipeline.directory import RESULTS
from offbeat.tuning.pipeline.stages import Outcome
from offbeat.tuning.pipeline.tune_program import REPORT, Request, StagePrinter, request, tune_program

if TYPE_CHECKING:
    import polars as pl


class TunedProgram(Struct, frozen=True, kw_only=True, eq=False):
    """What :func:`offbeat.tune` found. ``directory`` holds everything that was measured and written."""

    directory: Path
    requested: Request
    outcome: Outcome

    @property
    def is_faster(self) -> bool:
        """Whether tuning files are recommended: the program is significantly faster with them."""
        return bool(self.outcome.conclusion.choice)

    @property
    def verdict(self) -> str:
        """How much faster the program is, or why nothing is faster, in a sentence."""
        return self.outcome.conclusion.sentence

    @property
    def gain(self) -> float:
        """The share of the run time that is saved; 0 if nothing is faster."""
        return self.outcome.conclusion.gain

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of ``gain``."""
        return self.outcome.conclusion.low, self.outcome.conclusion.high

    @property
    def usage(self) -> list[str]:
        """The command with the recommended files, and the line for a job script; empty without any."""
        return self.outcome.usage

    @property
    def files(self) -> list[Path]:
        """The recommended tuning files."""
        return self.outcome.files.files if self.outcome.files is not None else []

    @property
    def environment(self) -> dict[str, str]:
        """The variables that make the program use the recommended files."""
        files = self.outcome.files
        return {} if files is None else files.environment_for(self.outcome.summary.processes)

    @property
    def times_s(self) -> dict[str, list[float]]:
        """The run times of each choice in the trial in seconds, one per round; empty without a trial."""
        return self.outcome.times_s

    @property
    def report(self) -> Path:
        """The report, an HTML file."""
        return self.directory / REPORT

    @property
    def trace(self) -> Trace:
        """The trace of the program."""
        return Trace(self.outcome.trace, self.outcome.summary)

    def results(self) -> Results:
        """The results of the study of its calls; raises :class:`offbeat.BadInput` if nothing was measured."""
        return Results.open(self.directory / RESULTS)

    def table(self) -> pl.DataFrame:
        """A row for each kind of calls that was measured: the best algorithm, and the change of the run time
        that is expected of it, as a share (negative: faster) with its 95% interval; null: unknown."""
        import polars as pl

        changes = ("change", "low", "high")
        return pl.DataFrame(
            [
                {
                    "calls": one.name,
                    "algorithm": one.algorithm,
                    "change": one.change.time_s if one.change else None,
                    "low": one.change.low_s if one.change else None,
                    "high": one.change.high_s if one.change else None,
                    "tried": one.is_used,
                }
                for one in self.outcome.gains
            ],
            schema={"calls": pl.String, "algorithm": pl.String}
            | dict.fromkeys(changes, pl.Float64)
            | {"tried": pl.Boolean},
        )

    def __str__(self) -> str:
        """The verdict, and how the files are used."""
        return "\n".join([self.verdict, *(f"  {line}" for line in self.usage)])

    def __repr__(self) -> str:
        """The verdict."""
        return f"<offbeat.TunedProgram {self.directory}: {self.verdict}>"

    def _repr_html_(self) -> str:
        from offbeat.presentation.pages.notebook import tuned_html

        return tuned_html(self.outcome, self.requested.installation, self.directory, self.report)


def tune(
    command: str | Sequence[str],
    output: str | PathLike[str] = "offbeat-tune",
    *,
    trace: str | PathLike[str] | None = None,
    budget: str | float = "15min",
    share: float = 0.95,
    time: str = "",
    mpi: str = "auto",
    seed: int = 1,
    same_bits: bool = False,
) -> TunedProgram:
    """Find the algorithms of collectives with which a program is faster, and prove that it is.

    ``command`` starts the program, such as ``"mpirun -n 4 ./app"``; it is not given to a shell. ``budget`` is
    the time for everything, in seconds or as text. The other arguments are the options of ``offbeat tune``:
    ``trace`` is a trace of the program, ``share`` the share of the time that can change of which the calls
    are measured, ``time`` a regular expression that finds the compared time in the program's output, ``mpi``
    its MPI library, ``seed`` that of the order of runs; with ``same_bits``, algorithms that can change the
    bits of floating-point results are not chosen. What is done is shown on standard error, or in the
    notebook.

    Everything is in the folder ``output``; if interrupted, the same call resumes. Raises
    :class:`offbeat.BadInput` for a command that cannot be tuned, and :class:`offbeat.RunFailed` if the
    program fails.
    """
    requested = request(
        shlex.split(command) if isinstance(command, str) else command,
        trace=None if trace is None else Path(trace),
        budget=budget,
        share=share,
        time=time,
        mpi=mpi,
        seed=seed,
        same_bits=same_bits,
    )
    from offbeat.presentation.pages.tuned_program import write_report  # importing matplotlib is slow

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    outcome = tune_program(requested, Path(output), StagePrinter(console), write_report)
    return TunedProgram(directory=Path(output), requested=requested, outcome=outcome)
