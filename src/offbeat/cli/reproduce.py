"""``offbeat reproduce``: simulate or measure figures of three papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from offbeat.base.errors import BadInput
from offbeat.cli.completion import libraries, one_of
from offbeat.cli.output import stdout

if TYPE_CHECKING:
    from offbeat.presentation.reproduction.claims import Reproduction

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Simulate or measure figures of three papers, draw them, and check the papers' claims.",
)


@app.command("figure4")
def figure_4(
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The result directory; the pictures go into its folder maps."),
    ] = Path("figure4"),
    collective: Annotated[
        list[str] | None,
        typer.Option(help="Only this collective: reduce, allreduce or alltoall. May be given several times."),
    ] = None,
    factor: Annotated[
        list[float] | None,
        typer.Option(
            help="Only this skew factor: 0.5, 1.0 and 1.5 unless given. May be given several times."
        ),
    ] = None,
    size: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this message size, such as '1 KiB': powers of two from 2 B to 1 MiB unless given. May"
            " be given several times."
        ),
    ] = None,
    algorithm: Annotated[
        list[str] | None,
        typer.Option(help="Only this algorithm, by SimGrid's name. May be given several times."),
    ] = None,
    platform: Annotated[
        str, typer.Option(help="Another simulated machine: a platform file, or the name of a built-in one.")
    ] = "paper",
    p: Annotated[int, typer.Option("--p", min=2, help="Number of processes.")] = 1024,
    executor: Annotated[
        str | None,
        typer.Option(help="The executor: local (this machine's cores), mpi4py or dask."),
    ] = None,
    stop_before_limit: Annotated[
        float,
        typer.Option(help="Minutes before the batch job's time limit after which no new work is started."),
    ] = 5.0,
) -> None:
    """The best algorithm for each arrival pattern and message size, on 32 × 32 simulated processes.

    The figure is an ordinary study: after an interruption, the same command resumes it.
    """
    from offbeat.measurement.runs.run import time_limit
    from offbeat.measurement.runs.run_progress import RunProgress
    from offbeat.presentation.reproduction import figure4
    from offbeat.presentation.reproduction.figure4 import reproduce

    part = figure4.selected_part(collective or [], factor or [], size or [], algorithm or [], platform, p)
    with RunProgress(verb="simulate") as progress:
        outcome = reproduce(part, output, progress, executor, time_limit(stop_before_limit))
    _print(outcome, output)


@app.command("partitioned-figure")
def partitioned_figure(
    figure: Annotated[
        int,
        typer.Argument(
            help="The figure's number: 4 (one thread), 5 (thread congestion), 6 (with an interface for each"
            " thread), 7 (aggregation) or 8 (early-bird effect).",
            metavar="FIGURE",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The result directory; the picture goes into its folder pictures."
            " [default: partitioned-figureFIGURE]",
        ),
    ] = None,
    mpi: Annotated[
        str,
        typer.Option(
            help="MPI prefix, or a name that 'offbeat doctor' prints.",
            show_default=False,
            autocompletion=libraries,
        ),
    ] = "",
    size: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this message size, such as '64 KiB': every second power of two up to 16 MiB unless"
            " given. May be given several times."
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=128,
            help="Threads of the sender: the paper's unless given, but not more than there are cores for.",
        ),
    ] = None,
    delay_rate: Annotated[
        float | None, typer.Option(help="Of figure 8: the delay rate in µs per MB of a partition; else 100.")
    ] = None,
    nodes: Annotated[
        int, typer.Option(min=1, max=2, help="2 places the processes on two nodes of a batch job.")
    ] = 1,
    stop_before_limit: Annotated[
        float,
        typer.Option(help="Minutes before the batch job's time limit after which no new work is started."),
    ] = 5.0,
) -> None:
    """Measure a figure of the paper on partitioned communication with this machine's MPI library.

    The paper is "Quantifying the Performance Benefits of Partitioned Communication in MPI". The figure is an
    ordinary study: after an interruption, the same command resumes it.
    """
    from offbeat.measurement.runs.run import time_limit
    from offbeat.measurement.runs.run_progress import RunProgress
    from offbeat.presentation.reproduction.partitioned_figure import setting
    from offbeat.presentation.reproduction.partitioned_runs import reproduce

    figure_setting = setting(figure, size or [], threads, delay_rate, nodes, mpi)
    directory = output or Path(f"partitioned-figure{figure}")
    with RunProgress() as progress:
        outcome = reproduce(figure_setting, directory, progress, time_limit(stop_before_limit))
    _print(outcome, directory)


@app.command("async-figure")
def async_figure(
    figure: Annotated[
        str,
        typer.Argument(
            help="The figure: 2 (delays make the triad faster), 3 (its phase space), 4b and 4c (fewer"
            " collectives make a lattice-Boltzmann solver faster, by domain shape) or 5 (its speed around"
            " collectives).",
            metavar="FIGURE",
            autocompletion=one_of("2", "3", "4b", "4c", "5"),
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The folder whose folder pictures gets the picture. [default: async-figureFIGURE]",
        ),
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option(
            "--iterations",
            "-n",
            help="Iterations of each run. [default: 10000 of figures 2 and 3, 4000 of 4b and 4c, 1000 of 5]",
        ),
    ] = None,
) -> None:
    """Simulate a figure of the paper on asynchronous execution, on the paper's machine.

    The paper is "Making Applications Faster by Asynchronous Execution".
    """
    from offbeat.base.progress_bar import ProgressBar
    from offbeat.presentation.reproduction import lbm_figures, triad_figures

    if figure not in triad_figures.FIGURES + lbm_figures.FIGURES:
        figures_text = ", ".join(triad_figures.FIGURES + lbm_figures.FIGURES)
        raise BadInput(f"there is no figure {figure}; the simulated ones are {figures_text}")
    reproduce = (triad_figures if figure in triad_figures.FIGURES else lbm_figures).reproduce
    directory = output or Path(f"async-figure{figure}")
    with ProgressBar("simulate the runs of the figure", counts=False) as bar:
        outcome = reproduce(
            figure, directory, iterations, lambda done, total: bar.update(done_count=done, total=total)
        )
    _print(outcome, directory)


def _print(outcome: Reproduction, output: Path) -> None:
    """Print what was done, the pictures and the claims. Raises Exit if work is left."""
    console = stdout()
    console.print(f"{outcome.done} of {outcome.total} cases done in {output}.", markup=False)
    if outcome.done < outcome.total:
        console.print("Stopped before the job's time limit; the same command resumes.")
        raise typer.Exit(1)
    for path in outcome.pictures:
        if path.suffix == ".png":
            console.print(f"  {path} (and .pdf, .svg)", markup=False)
    for remark in outcome.remarks:
        console.print(remark, markup=False)
    for claim in outcome.claims:
        console.print(f"- {claim}", markup=False)
