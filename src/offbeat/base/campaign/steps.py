"""Doing the remaining steps of a campaign, each on disk before the next one begins."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Protocol, TypeVar

from offbeat.base.campaign.directory import CampaignDirectory, HeadT, RecordT

StepT = TypeVar("StepT")
RecordSeen = TypeVar("RecordSeen", contravariant=True)


class CampaignListener(Protocol):
    """Receives the progress events that all campaigns have."""

    def say(self, activity: str) -> None:
        """An activity begins."""

    def warn(self, sentence: str) -> None:
        """Something limits the reliability of the results."""

    def begin(self, done_count: int, total: int, unit: str = ...) -> None:
        """The first of the ``total - done`` remaining steps begins; ``unit`` replaces the word for steps."""


class StepListener(CampaignListener, Protocol[RecordSeen]):
    """Receives the progress events of :func:`run_steps`."""

    def report_record(self, record: RecordSeen) -> None:
        """The record of a step is on disk."""


def run_steps(
    directory: CampaignDirectory[HeadT, RecordT],
    steps: Mapping[Hashable, StepT],
    do: Callable[[StepT], RecordT],
    listener: StepListener[RecordT],
) -> RecordT | None:
    """Do the steps that are not done yet, in their order; returns None when all are done.

    ``steps`` are all steps by what identifies them in records (:attr:`CampaignFormat.step_of`). The first
    failed attempt, whose record finishes no step, ends the run: its record is returned.
    """
    remaining_steps = {key: step for key, step in steps.items() if key not in directory.records_by_step}
    listener.begin(len(steps) - len(remaining_steps), len(steps))
    for key, step in remaining_steps.items():
        listener.say(str(key))
        record = do(step)
        directory.append(record)
        listener.report_record(record)
        if key not in directory.records_by_step:
            return record
    return None
