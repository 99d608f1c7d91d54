"""Compares two trials of a program: the run times of the choices that both have."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from offbeat.base.campaign.directory import read_campaign
from offbeat.base.errors import BadInput
from offbeat.tuning.comparison.differences import Difference, differences, measured_times
from offbeat.tuning.trial.trial import FORMAT, Settings


class ChoiceTimes(Struct, frozen=True, kw_only=True):
    """The difference of the run time with one choice, and the number of runs before and after."""

    choice: str
    runs: tuple[int, int]
    difference: Difference


class TrialComparison(Struct, frozen=True, kw_only=True):
    """The choices of both trials, in the order of the trial before."""

    choices: list[ChoiceTimes]
    notes: list[str]


def compare_trials(before: Path, after: Path) -> TrialComparison:
    """Compare the run times of two folders of ``offbeat try``.

    Raises :class:`BadInput` for other folders, and without a choice that ran in both.
    """
    (old_settings, old), (new_settings, new) = (_times(folder) for folder in (before, after))
    names = [name for name in old if name in new]
    if not names:
        raise BadInput(f"{before} and {after} have no choice in common that ran")
    found = differences([(measured_times(old[name]), measured_times(new[name])) for name in names])
    return TrialComparison(
        choices=[
            ChoiceTimes(choice=name, runs=(len(old[name]), len(new[name])), difference=one)
            for name, one in zip(names, found, strict=True)
        ],
        notes=_notes(old_settings, new_settings),
    )


def _times(folder: Path) -> tuple[Settings, dict[str, list[float]]]:
    """The settings of a trial, and the run times of each choice in seconds."""
    settings, runs = read_campaign(folder, FORMAT)
    last = {FORMAT.step_of(run): run for run in runs}
    times_s: dict[str, list[float]] = {}
    for run in last.values():
        if run.time_s is not None:
            times_s.setdefault(run.choice, []).append(run.time_s)
    return settings, times_s


def _notes(before: Settings, after: Settings) -> list[str]:
    notes = []
    if before.command != after.command:
        notes.append("the commands of the two trials differ")
    if before.time != after.time:
        notes.append("the two trials compare different times (--time)")
    rules = [{one.name: one.rules for one in settings.choices} for settings in (before, after)]
    changed = [name for name in rules[0] if name in rules[1] and rules[0][name] != rules[1][name]]
    if changed:
        notes.append(f"other rules in the two trials: {', '.join(changed)}")
    return notes
