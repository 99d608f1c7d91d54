"""The directory of a tuned program:

- ``tune.json``: the command, the library and what else must be the same to resume;
- ``stages.jsonl``: one line for each finished stage;
- ``trace/``: the traced run, and ``trace-output.txt`` what the program printed;
- ``study/``: the study of its calls, with its pattern files; ``results/``: what was measured;
- ``report.html``: the report; ``log.txt``: everything that was done and found;
- ``tuning/``: the tuning files of each choice; ``trial/``: the runs, in a folder for each set of choices;
  ``compare/``: those with each algorithm of the heaviest calls, in a folder for each set of choices.
"""

from __future__ import annotations

from msgspec import Struct

from offbeat.base.campaign.directory import CampaignDirectory, CampaignFormat

SETTINGS, RECORDS = "tune.json", "stages.jsonl"
LOG = "log.txt"
TRACE, TRACE_OUTPUT, STUDY, RESULTS, TUNING, TRIAL, COMPARE = (
    "trace",
    "trace-output.txt",
    "study",
    "results",
    "tuning",
    "trial",
    "compare",
)
SCHEMA_VERSION = 1


class TuneSettings(Struct, frozen=True, kw_only=True):
    """What must be the same to resume. ``trace`` is the folder of a given trace, empty without one;
    ``standard_input`` identifies what the program reads, empty for nothing."""

    command: list[str]
    library: str
    folder: str
    trace: str
    share: float
    time: str
    seed: int
    standard_input: str = ""
    same_bits: bool = False
    schema_version: int = SCHEMA_VERSION


class Stage(Struct, frozen=True, kw_only=True):
    """A finished stage: ``wall_s`` is its duration, ``why_not`` is why its choice is not used.

    ``rules`` are those that a stage ``verify`` has verified, and the algorithms that a stage ``compare``
    compares in the program; the latter is recorded when it begins.
    """

    name: str
    wall_s: float
    choice: str = ""
    rules: list[str] = []
    why_not: str = ""


FORMAT = CampaignFormat[TuneSettings, Stage](
    holds="a tuned program",
    creation_commands="'offbeat tune'",
    head=SETTINGS,
    version_key="schema_version",
    version=SCHEMA_VERSION,
    head_type=TuneSettings,
    settings_of=lambda settings: settings,
    labels={
        "folder": "working directory",
        "share": "--share",
        "same_bits": "--same-bits",
        "trace": "--trace",
        "time": "--time",
        "standard_input": "standard input",
    },
    records=RECORDS,
    record_type=Stage,
    step_of=lambda stage: (stage.name, stage.choice, *stage.rules),
)
"""The directory of ``offbeat tune``."""


class TuneDirectory(CampaignDirectory[TuneSettings, Stage]):
    """The directory, open for writing."""

    def stage(self, name: str, choice: str = "", rules: tuple[str, ...] = ()) -> Stage | None:
        """The record of a finished stage; None if it is not finished."""
        return self.records_by_step.get((name, choice, *rules))
