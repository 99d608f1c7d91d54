"""How a run ended, and what to tell the user."""

from __future__ import annotations

import shlex
from pathlib import Path

from msgspec import Struct


class Outcome(Struct, kw_only=True):
    """How a run ended: cases on disk, cases of the whole study, those of this run, and whether time ran out.

    ``unproved`` names collectives of which no algorithm that was asked for could be proved to run; ``proofs``
    has a line a collective on what was found out about its algorithms.
    """

    done: int
    total: int
    measured_now: int
    stopped: bool
    unproved: list[str] = []
    proofs: list[str] = []


def summary(
    outcome: Outcome, counts: dict[str, int], directory: Path, warnings: list[str]
) -> dict[str, object]:
    """The same for programs; ``counts`` has the cases of this run by status."""
    return {
        "directory": str(directory),
        "done": outcome.done,
        "total": outcome.total,
        "measured_now": outcome.measured_now,
        "stopped_by_time_limit": outcome.stopped,
        "cases_now": counts,
        "warnings": warnings,
    }


def closing_words(outcome: Outcome, counts: dict[str, int], directory: Path) -> str:
    """What to tell the user at the end of a run, and what to do next."""
    parts = [f"{number} {status}" for status, number in sorted(counts.items())]
    said = f"{outcome.done} of {outcome.total} cases are in {directory}"
    said += f" ({', '.join(parts)} now)." if parts else " (they already were)."
    said = "\n".join([said, *(f"algorithms of {line}" for line in outcome.proofs)])
    if outcome.stopped:
        return f"{said}\nStopped before the job's time limit; the same command goes on from here."
    return f"{said}\nNext: offbeat select {shlex.quote(str(directory))}"


def unproved_words(outcome: Outcome, directory: Path) -> str:
    """What to tell the user where no algorithm of a collective could be proved."""
    return (
        f"no algorithm of {', '.join(outcome.unproved)} could be proved to run, so nothing can be selected"
        f" there; 'offbeat status {shlex.quote(str(directory))}' says what was found out about the"
        " algorithms, and 'offbeat doctor' what can be proved with this library"
    )
