"""The folder of a trial: its settings, and a record of every finished run, from which a trial resumes.

- ``trial.json``: the command, the library, and the rules of each choice;
- ``runs.jsonl``: one line per finished run;
- ``output/``: the output of each run;
- ``tuning/``: the tuning files of each choice;
- ``offbeat.lock``: locked while a trial runs in the folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from offbeat.campaign.directory import CampaignDirectory, CampaignFormat

TRIAL, RUNS, OUTPUT, TUNING = "trial.json", "runs.jsonl", "output", "tuning"
SCHEMA_VERSION = 1


class Setting(Struct, frozen=True, kw_only=True):
    """A choice with its rules as text; ``same_as`` names the choice that is run in its place."""

    name: str
    same_as: str
    rules: list[str]


class Settings(Struct, frozen=True, kw_only=True):
    """The settings that all runs of a trial share; runs with other settings are not comparable."""

    command: list[str]
    library: str
    folder: str
    time: str
    seed: int
    choices: list[Setting]
    schema_version: int = SCHEMA_VERSION


class Run(Struct, frozen=True, kw_only=True):
    """A finished run. ``time_s`` is the compared time: the wall time, or the number found in its output."""

    number: int
    round: int
    choice: str
    status: int
    wall_s: float
    time_s: float | None
    began: str
    output: str


class Turn(NamedTuple):
    """One of the runs that a trial consists of: a choice in a round, which counts from 0."""

    round: int
    choice: str

    def __str__(self) -> str:
        return f"round {self.round + 1}: {self.choice}"


FORMAT = CampaignFormat[Settings, Run](
    holds="a trial",
    created_by="'offbeat try'",
    head=TRIAL,
    version_key="schema_version",
    version=SCHEMA_VERSION,
    head_type=Settings,
    settings_of=lambda settings: settings,
    labels={"choices": "the choices by the results", "folder": "working directory"},
    records=RUNS,
    record_type=Run,
    step_of=lambda run: None if run.time_s is None else Turn(run.round, run.choice),
    folders=(OUTPUT,),
)


class Journal(CampaignDirectory[Settings, Run]):
    """The runs of one folder. ``done`` has the successful runs with a time, by their turn."""

    def __init__(self, directory: Path, settings: Settings) -> None:
        """Create the folder, or resume in it; raises as :class:`CampaignDirectory` does."""
        super().__init__(FORMAT, directory, settings)

    def next_output(self, choice: str) -> tuple[int, Path]:
        """The number of the next run, and a new file for its output."""
        number = max((run.number for run in self.records), default=0) + 1
        return number, self.directory / OUTPUT / f"{number:03}-{choice}.txt"
