"""The runs of the program with each choice in turn, as many as the budget allows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from offbeat.base.units import amount
from offbeat.tuning.pipeline import directory
from offbeat.tuning.pipeline.context import Tuning
from offbeat.tuning.trial import trial
from offbeat.tuning.trial.choices import TrialChoice

FEWEST_ROUNDS, MOST_ROUNDS = 5, 10
"""Rounds of the trial: as many as the budget allows."""


def tried(tuning: Tuning, choices: Sequence[TrialChoice]) -> dict[str, list[float]]:
    """The run times of each choice in seconds, one per round."""
    rounds = rounds_within(tuning.left_s(), len(choices) * tuning.run_s)
    why = "" if rounds == MOST_ROUNDS else f": as many as the budget allows, at least {FEWEST_ROUNDS}"
    tuning.listener.begin("try", f"{amount(len(choices), 'choice')} in turn, {rounds} rounds{why}")
    return run_in_turn(tuning, choices, rounds, directory.TRIAL, "try")


def run_in_turn(
    tuning: Tuning, choices: Sequence[TrialChoice], rounds: int, folder: str, stage: str
) -> dict[str, list[float]]:
    """The run times of each choice in seconds, one per round, by its name."""
    head = tuning.opened.head
    settings = trial.Settings(
        command=head.command,
        library=head.library,
        folder=head.folder,
        time=head.time,
        seed=head.seed,
        standard_input=head.standard_input,
        choices=[trial.Setting(name=one.name, same_as="", rules=one.rule_texts) for one in choices],
    )
    pattern = trial.parse_pattern(head.time)
    digest = digest_of([rule for one in choices for rule in (one.name, *one.rule_texts)])
    with trial.Journal(tuning.path(folder) / digest, settings) as journal:
        if tuning.opened.stage(stage, digest) is None:
            with tuning.recorded(stage, digest), trial.TrialProgress() as progress:
                trial.run_all(journal, tuning.program, choices, rounds, head.seed, pattern, progress)
        return trial.times(journal, [one.name for one in choices])


def digest_of(lines: Sequence[str]) -> str:
    """A short name for some lines of text."""
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]


def rounds_within(left_s: float, round_s: float) -> int:
    """How many rounds fit into the time that is left, within FEWEST_ROUNDS and MOST_ROUNDS."""
    fitting = int(left_s / round_s) if round_s > 0 else MOST_ROUNDS
    return min(max(fitting, FEWEST_ROUNDS), MOST_ROUNDS)
