"""A trial: rounds in which each choice runs once, in random order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from rich.console import Console

from offbeat.errors import RunFailed
from offbeat.mpi.environment import process_count
from offbeat.progress_bar import ProgressBar
from offbeat.trial import launch
from offbeat.trial.choices import TriedChoice, file_name
from offbeat.trial.journal import Journal, Run
from offbeat.trial.launch import Command
from offbeat.units import format_time

OnRun = Callable[[Run], None]


def order(names: Sequence[str], number: int, seed: int) -> list[str]:
    """The order of the choices in a round, a function of the seed and the round."""
    drawn = np.random.default_rng([seed, number]).permutation(len(names))
    return [names[place] for place in drawn]


def run_all(
    journal: Journal,
    command: Command,
    choices: Sequence[TriedChoice],
    rounds: int,
    seed: int,
    pattern: re.Pattern[str] | None,
    on_run: OnRun = lambda _: None,
) -> None:
    """Run what is missing of ``rounds`` rounds; each run is in the journal before ``on_run`` is called.

    Raises :class:`RunFailed` at the first run that fails, or whose time is not found.
    """
    by_name = {one.name: one for one in choices}
    p = process_count(command.argv)
    variables = {name: one.variables(p) for name, one in by_name.items()}
    for number, name in missing(journal, list(by_name), rounds, seed):
        place, output = journal.next_output(file_name(name))
        began = datetime.now(UTC).isoformat(timespec="seconds")
        ended = launch.run(command, variables[name], output)
        time_s, why = _time(ended, output, pattern)
        run = Run(
            number=place,
            round=number,
            choice=name,
            status=ended.status,
            wall_s=ended.wall_s,
            time_s=time_s,
            began=began,
            output=str(output.relative_to(journal.directory)),
        )
        journal.append(run)
        on_run(run)
        if why:
            raise RunFailed(f"round {number + 1} with {name}: {why}")


def missing(journal: Journal, names: Sequence[str], rounds: int, seed: int) -> Iterator[tuple[int, str]]:
    """The (round, choice) that are still to be run, in order."""
    for number in range(rounds):
        for name in order(names, number, seed):
            if (number, name) not in journal.valid_runs:
                yield number, name


def times(journal: Journal, names: Sequence[str]) -> dict[str, list[float]]:
    """The run times of each choice in seconds, of the complete rounds."""
    good = journal.valid_runs
    rounds = sorted({number for number, _ in good})
    whole = [number for number in rounds if all((number, name) in good for name in names)]
    return {name: [good[number, name].time_s or 0.0 for number in whole] for name in names}


def _time(
    ended: launch.FinishedProcess, output: Path, pattern: re.Pattern[str] | None
) -> tuple[float | None, str]:
    """The time of a run, or the reason why there is none."""
    if ended.status != 0:
        lines = launch.last_output_lines(output)
        return None, (
            f"the program {launch.exit_text(ended.status)}"
            f"{f' after printing: {lines}' if lines else ''}; its whole output is in {output}"
        )
    if pattern is None:
        return ended.wall_s, ""
    try:
        return launch.time_in(output, pattern), ""
    except RunFailed as reason:
        return None, str(reason)


class TrialProgress(ProgressBar):
    """Prints the time of every run, and the progress; a context manager."""

    def __init__(self, done: int, total: int, console: Console | None = None) -> None:
        super().__init__("running", console)
        self._done = done
        self.restart(done, total)

    def finished(self, run: Run) -> None:
        """Print a finished run."""
        time = "failed" if run.time_s is None else format_time(run.time_s, 4)
        self.print(f"round {run.round + 1}: {run.choice} {time}")
        self._done += 1
        self.update(done=self._done)
