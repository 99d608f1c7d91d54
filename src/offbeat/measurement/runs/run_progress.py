"""How a run is reported to the user: progress events, their display, and the closing message."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from rich.console import Console

from offbeat.base.campaign.progress import CampaignProgress
from offbeat.base.campaign.steps import CampaignListener
from offbeat.base.units import amount
from offbeat.measurement.results.layout import UNFINISHED_CASE
from offbeat.model.study.case import Case


class ProgressListener(CampaignListener, Protocol):
    """Receives progress events of a run; the steps are cases, or blocks of cases."""

    def report_messages(self, messages: int) -> None:
        """Count ``messages`` further simulated messages."""

    def report_case(self, case: Case, status: str, left: int | None = None) -> None:
        """A case, or a block of it, is on disk; ``left`` is the number of remaining blocks, if known."""


class RunProgress(CampaignProgress):
    """Displays the progress of a run (a :class:`ProgressListener`); a context manager.

    ``verb`` is the verb for what is done to the cases. ``counts`` has the number of cases of this run by
    status.
    """

    def __init__(
        self, console: Console | None = None, verb: str = "measure", *, all_notes: bool = False
    ) -> None:
        super().__init__(console, verb, unit="cases", all_notes=all_notes)
        self.counts: dict[str, int] = {}
        self._messages = 0

    def report_messages(self, messages: int) -> None:
        """Count ``messages`` further simulated messages."""
        self._messages += messages
        self.update(detail=self.rate())

    def report_case(self, case: Case, status: str, left: int | None = None) -> None:
        """A case, or a block of it, is on disk."""
        if status != UNFINISHED_CASE:
            self.counts[status] = self.counts.get(status, 0) + 1
        self.advance(left)

    def rate(self) -> str:
        """The rate of simulated messages: ``1,130 messages/s`` or ``12.3 million messages/s``; empty if none
        were simulated."""
        if not self._messages:
            return ""
        rate = self._messages / max(self.elapsed_s(), 1e-9)
        return f"{rate:,.0f} messages/s" if rate < 1e6 else f"{rate / 1e6:.3g} million messages/s"


class Outcome(Struct, kw_only=True):
    """How a run ended: cases on disk, cases of the whole study, those of this run, and whether time ran out.

    ``statuses`` are the numbers of cases of the whole study by status. ``has_times`` says whether any case
    has a valid repetition, ``has_new_blocks`` whether this run wrote any block. ``unproved_collectives``
    names collectives without any requested algorithm that could be proved to run; ``proofs`` has one line per
    collective with the verdicts on its algorithms.
    """

    finished_cases: int
    total: int
    measured_now: int
    is_stopped: bool
    statuses: dict[str, int] = {}
    has_times: bool = True
    has_new_blocks: bool = True
    unproved_collectives: list[str] = []
    proofs: list[str] = []


class RunDocument(Struct, frozen=True, kw_only=True):
    """How ``offbeat run`` ended.

    ``done`` cases of the ``total`` of the study are finished; ``measured_now`` counts those of this run, and
    ``cases_now`` all cases of this run by status. ``stopped_by_time_limit`` says that the same command
    resumes.
    """

    directory: Path
    done: int
    total: int
    measured_now: int
    quarantined: int
    stopped_by_time_limit: bool
    cases_now: dict[str, int]
    warnings: list[str]


def run_document(
    outcome: Outcome, counts: dict[str, int], directory: Path, warnings: list[str]
) -> RunDocument:
    """The document of an outcome; ``counts`` has the number of cases of this run by status."""
    return RunDocument(
        directory=directory,
        done=outcome.finished_cases,
        total=outcome.total,
        measured_now=outcome.measured_now,
        quarantined=outcome.statuses.get("quarantined", 0),
        stopped_by_time_limit=outcome.is_stopped,
        cases_now=counts,
        warnings=warnings,
    )


def closing_message(outcome: Outcome, counts: dict[str, int], directory: Path) -> str:
    """The message at the end of a run, with the next command."""
    new = ", ".join(f"{number} {status}" for status, number in sorted(counts.items()))
    left = outcome.total - outcome.finished_cases
    quarantined_count = outcome.statuses.get("quarantined", 0)
    lines = [
        f"{outcome.finished_cases - quarantined_count} of {outcome.total} cases done"
        + (f"; new: {new}" if new else "; nothing to measure")
        + (f"; {quarantined_count} quarantined" if quarantined_count and "quarantined" not in counts else "")
        + (f"; {left} remaining" if left else "")
        + f"; results in {directory}",
        *outcome.proofs,
    ]
    if outcome.is_stopped and outcome.has_new_blocks:
        lines.append("Stopped before the job's time limit; the same command resumes the study.")
    elif not outcome.is_stopped and outcome.has_times:
        lines.append(f"Next: offbeat select {shlex.quote(str(directory))}")
    return "\n".join(lines)


def failure_message(outcome: Outcome, study: Path, directory: Path) -> str:
    """What was asked for and is not done, with what helps; empty if all is done or the same command
    resumes."""
    quoted_directory = shlex.quote(str(directory))
    if outcome.unproved_collectives:
        return unproved_message(outcome, directory)
    if outcome.is_stopped and not outcome.has_new_blocks:
        return (
            "the batch job ends too soon to measure anything: submit it with a longer time limit, or give a"
            " smaller --stop-before-limit"
        )
    if not outcome.is_stopped and not outcome.has_times:
        return (
            f"no case could be measured ({_in_words(outcome.statuses)}); 'offbeat status {quoted_directory}'"
            " shows why. Starts that are not on time need idle cores: start fewer processes than there are"
            " cores, use a node of its own, or raise tolerance in [start]; then measure into another"
            " directory (--output)"
        )
    if quarantined_count := outcome.statuses.get("quarantined", 0):
        return (
            f"{amount(quarantined_count, 'case')} of {outcome.total} could not be measured, because launches"
            f" were lost or hung; 'offbeat status {quoted_directory}' names them, and 'offbeat run"
            f" {shlex.quote(str(study))} --output {quoted_directory} --retry' tries them again"
        )
    return ""


def _in_words(statuses: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {status}" for status, number in sorted(statuses.items()))


def unproved_message(outcome: Outcome, directory: Path) -> str:
    """The message for collectives without any proved algorithm."""
    return (
        f"no algorithm of {', '.join(outcome.unproved_collectives)} could be proved to run, so nothing can be"
        f" selected there; 'offbeat status {shlex.quote(str(directory))}' shows the verdicts on the"
        " algorithms, and 'offbeat doctor' what can be proved with this library"
    )
