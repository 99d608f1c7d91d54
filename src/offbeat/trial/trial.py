"""A trial: rounds in which each choice runs once, in random order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from rich.console import Console

from offbeat.campaign.progress import CampaignProgress
from offbeat.campaign.steps import StepListener, run_steps
from offbeat.errors import RunFailed
from offbeat.mpi.environment import process_count
from offbeat.trial import launch
from offbeat.trial.choices import TriedChoice, file_name
from offbeat.trial.journal import Journal, Run, Turn
from offbeat.trial.launch import Command
from offbeat.units import format_time


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
    listener: StepListener[Run],
) -> None:
    """Run what is missing of ``rounds`` rounds; each run is in the journal before the listener hears of it.

    Raises :class:`RunFailed` at the first run that fails, or whose time is not found.
    """
    by_name = {one.name: one for one in choices}
    p = process_count(command.argv)
    variables = {name: one.variables(p) for name, one in by_name.items()}

    def run_once(turn: Turn) -> Run:
        place, output = journal.next_output(file_name(turn.choice))
        began = datetime.now(UTC).isoformat(timespec="seconds")
        status, wall_s = launch.run(command, variables[turn.choice], output)
        return Run(
            number=place,
            round=turn.round,
            choice=turn.choice,
            status=status,
            wall_s=wall_s,
            time_s=_time(status, wall_s, output, pattern)[0],
            began=began,
            output=str(output.relative_to(journal.directory)),
        )

    turns = [Turn(number, name) for number in range(rounds) for name in order(list(by_name), number, seed)]
    failed = run_steps(journal, {turn: turn for turn in turns}, run_once, listener)
    if failed is not None:
        _, why = _time(failed.status, failed.wall_s, journal.directory / failed.output, pattern)
        raise RunFailed(f"round {failed.round + 1} with {failed.choice}: {why}")


def times(journal: Journal, names: Sequence[str]) -> dict[str, list[float]]:
    """The run times of each choice in seconds, of the complete rounds."""
    good = {(run.round, run.choice): run.time_s for run in journal.done.values() if run.time_s is not None}
    rounds = sorted({number for number, _ in good})
    whole = [number for number in rounds if all((number, name) in good for name in names)]
    return {name: [good[number, name] for number in whole] for name in names}


def _time(
    status: int, wall_s: float, output: Path, pattern: re.Pattern[str] | None
) -> tuple[float | None, str]:
    """The time of a run, or the reason why there is none."""
    if status != 0:
        lines = launch.last_output_lines(output)
        return None, (
            f"the program {launch.exit_text(status)}"
            f"{f' after printing: {lines}' if lines else ''}; its whole output is in {output}"
        )
    if pattern is None:
        return wall_s, ""
    try:
        return launch.time_in(output, pattern), ""
    except RunFailed as reason:
        return None, str(reason)


class TrialProgress(CampaignProgress):
    """Prints the time of every run, and the progress; a context manager."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(console, "do", unit="runs", activity="running")

    def recorded(self, record: Run) -> None:
        """Print a finished run."""
        time = "failed" if record.time_s is None else format_time(record.time_s, 4)
        self.print(f"round {record.round + 1}: {record.choice} {time}")
        self.advance()
