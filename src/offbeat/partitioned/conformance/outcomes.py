"""What a check runs and finds: its cases, the outcome of each, and the directory that holds them.

- ``check.json``: the settings;
- ``outcomes.jsonl``: one line per finished case, on disk before the next case begins;
- ``logs/``: the output of the launches.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from offbeat.base.campaign.directory import CampaignFormat

Implementation = Literal["library", "offbeat", "preload"]

Verdict = Literal["right", "wrong", "crashes", "hangs", "yes", "no", "skipped"]
"""Of a case that the standard requires: right to hangs; of a quality: yes, no, crashes or hangs."""

FAILURES = ("wrong", "crashes", "hangs")

LOGS = "logs"


class Case(Struct, frozen=True, kw_only=True):
    """A case, as the native program lists it. After one of ``misuse`` the launch cannot be used any more.

    ``section`` is that of MPI 4.0; ``promise`` says what is right; ``required`` whether the standard demands
    it.
    """

    name: str
    section: str
    promise: str
    required: bool
    misuse: bool


class Outcome(Struct, frozen=True, kw_only=True):
    """What a case showed. ``found`` says what was found instead of the promise."""

    case: str
    section: str
    promise: str
    required: bool
    verdict: Verdict
    found: str
    duration_s: float

    @property
    def failed(self) -> bool:
        """Whether the implementation does not do what the standard requires."""
        return self.required and self.verdict in FAILURES


class CheckSettings(Struct, frozen=True, kw_only=True):
    """What is checked.

    ``of`` is the implementation whose functions are called; no ``cases`` means all. ``nodes`` is 2 if the
    processes are on two nodes; 1 leaves their places to the launcher.
    """

    library: str
    of: Implementation
    timeout_s: float
    cases: list[str] = []
    nodes: int = 1


class Head(Struct, frozen=True, kw_only=True):
    """``check.json``; ``time`` is when the check began."""

    conformance_version: int
    offbeat: str
    time: str
    settings: CheckSettings


class Check(Struct, frozen=True, kw_only=True):
    """A finished check: its head, and the outcomes in the order of the cases."""

    head: Head
    outcomes: list[Outcome]

    @property
    def failed(self) -> bool:
        """Whether anything is not as the standard requires."""
        return any(one.failed for one in self.outcomes)


VERSION = 1

FORMAT = CampaignFormat[Head, Outcome](
    holds="a check of partitioned communication",
    creation_commands="'offbeat partitioned check --output'",
    head="check.json",
    version_key="conformance_version",
    version=VERSION,
    head_type=Head,
    settings_of=lambda head: head.settings,
    records="outcomes.jsonl",
    record_type=Outcome,
    step_of=lambda outcome: outcome.case,
    folders=(LOGS,),
)
