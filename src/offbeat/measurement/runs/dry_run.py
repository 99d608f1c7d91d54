"""A dry run of a study: its cases, the exact launch commands, and an estimate of the time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console

from offbeat.base.errors import BadInput
from offbeat.base.terminal_table import FittedTable
from offbeat.base.units import format_size, format_time
from offbeat.libraries.launch.batch_job import current
from offbeat.libraries.launch.cores import available
from offbeat.measurement.engines.engine import BatchEngine, Engine
from offbeat.measurement.runs.resume import has_results
from offbeat.measurement.runs.run import check_algorithm_names, placed_groups, requested_algorithms
from offbeat.measurement.runs.study_growth import describe_remaining
from offbeat.model.pattern import replay_file
from offbeat.model.study.case import Case, operation_label
from offbeat.model.study.case_expansion import Group, cases, pattern_rows
from offbeat.model.study.duration_estimate import estimate
from offbeat.model.study.skew_policy import REPLAY
from offbeat.model.study.study_file import LoadedStudy

COMMANDS_SHOWN = 40


def describe(
    loaded_study: LoadedStudy, engine: Engine, console: Console, directory: Path | None = None
) -> None:
    """Print cases, what ``directory`` has of them, launch commands, warnings and the estimate.

    A launch of one process lists the library's algorithms; nothing is measured.
    """
    try:
        check_algorithm_names(loaded_study, engine)
        _print_study(loaded_study, engine, console, directory)
    finally:
        engine.close()


def _print_study(loaded_study: LoadedStudy, engine: Engine, console: Console, directory: Path | None) -> None:
    headings = ["collective", "p", "size", "algorithms", "patterns", "cases"]
    table = FittedTable(headings, texts=(0, 3), title=f"study {loaded_study.study.name}: cases")
    commands: dict[str, None] = {}
    warnings: dict[str, None] = {}
    all_cases: list[Case] = []
    for group in placed_groups(loaded_study, engine):
        algorithms = requested_algorithms(group, engine)
        group_cases = cases(group, [algorithm.name for algorithm in algorithms], loaded_study.study)
        all_cases += group_cases
        names = ", ".join(algorithm.name for algorithm in algorithms)
        table.add_row(
            operation_label(group),
            str(group.p),
            format_size(group.bytes),
            names,
            str(len(pattern_rows(loaded_study.study, group))),
            str(len(group_cases)),
        )
        for algorithm in algorithms:
            case = cases(group, [algorithm.name], loaded_study.study)[0]
            if not isinstance(engine, BatchEngine):
                commands.setdefault(engine.launch_line(algorithm, case))
            warnings |= dict.fromkeys(engine.warnings(case))
    console.print(table)
    if isinstance(engine, BatchEngine):
        console.print(
            f"{len(all_cases)} cases at most: algorithms that refuse a call are left out. Nothing is"
            " launched."
        )
        _print_remaining(loaded_study, directory, all_cases, console)
        _print_warnings(warnings, console)
        return
    console.print(
        f"{len(all_cases)} cases at most: duplicate algorithms, and algorithms with wrong results, are left"
        " out once they are detected."
    )
    _print_remaining(loaded_study, directory, all_cases, console)
    console.print(f"\n{len(commands)} launch command{'s' if len(commands) > 1 else ''}:")
    for line in list(commands)[:COMMANDS_SHOWN]:
        console.print("  " + line, markup=False, highlight=False, soft_wrap=True)
    if len(commands) > COMMANDS_SHOWN:
        console.print(f"  … and {len(commands) - COMMANDS_SHOWN} more with other settings")
    scope = " of the whole study" if directory is not None and has_results(directory) else ""
    _print_estimate(loaded_study, engine, len(commands), scope, console)
    _print_warnings(warnings, console)


def _print_remaining(
    loaded_study: LoadedStudy, directory: Path | None, all_cases: Sequence[Case], console: Console
) -> None:
    """Print how far the results in a directory are, or why the study cannot continue them."""
    if directory is None or not has_results(directory):
        return
    try:
        lines = describe_remaining(loaded_study, directory, all_cases)
    except BadInput as refusal:
        lines = [f"warning: 'offbeat run' will refuse this study: {refusal}"]
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _print_warnings(warnings: Iterable[str], console: Console) -> None:
    for sentence in warnings:
        console.print(f"warning: {sentence}", markup=False, highlight=False, soft_wrap=True)


def _cores(group: Group) -> int:
    """The cores for the processes of a group: those of the batch job, else this machine's times the nodes."""
    job = current()
    return job.cores if job else available().logical * max(group.nodes, 1)


def _print_estimate(
    loaded_study: LoadedStudy, engine: Engine, launches: int, scope: str, console: Console
) -> None:
    counts = {
        group.collective: len(requested_algorithms(group, engine))
        for group in placed_groups(loaded_study, engine)
    }
    paths = loaded_study.pattern_paths()
    shapes = {
        row.label: row.shape
        for group in placed_groups(loaded_study, engine)
        for row in pattern_rows(loaded_study.study, group)
        if row.policy == REPLAY
    }
    replays = {label: replay_file.read(paths[shape]) for label, shape in shapes.items()}
    guess = estimate(loaded_study.study, counts, launches=launches, replays=replays, cores=_cores)
    console.print(
        f"\nestimate{scope}: {format_time(guess.low_s)} to {format_time(guess.high_s)}: {guess.how}",
        soft_wrap=True,
    )
