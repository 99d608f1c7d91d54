"""Checking many calls of many algorithms, on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from threading import BoundedSemaphore

from msgspec import Struct

from offbeat.algorithm.breadth import Task
from offbeat.algorithm.subject import Finding, Listed, Subject, Tally
from offbeat.errors import RunFailed
from offbeat.study.case import REDUCING

LARGE_P = 500
"""From here on a check can need a GiB, and only two run at a time."""

FINDINGS_KEPT = 20
"""Findings of one algorithm that are kept; the numbers of calls are of all that were checked."""


class Outcome(Struct, kw_only=True):
    """What was found out about one algorithm, over all of its parameters.

    ``reduces``: it takes an operation; ``ordered``: it promises rank order whatever the operation; ``p`` is
    every p that was checked.
    """

    collective: str
    title: str
    reduces: bool
    ordered: bool
    proved: int = 0
    refused: int = 0
    commutative_only: int = 0
    p: list[int] = []
    refusals: list[Told] = []
    findings: list[Told] = []


class Told(Struct, frozen=True, kw_only=True):
    """A finding, with the parameters of the algorithm."""

    parameters: dict[str, int]
    call: Finding


def sweep(
    tasks: Iterable[Task], *, jobs: int = 0, hear: Callable[[Task], None] = lambda task: None
) -> list[Outcome]:
    """Check all tasks, ``jobs`` at a time (0: as many as there are cores); outcomes in the tasks' order.

    ``hear`` is called in this thread when a task is done. Raises :class:`RunFailed` for what is too large to
    be checked.
    """
    outcomes: dict[str, Outcome] = {}
    everything = list(tasks)
    for task in everything:
        key = _identity(task.subject)
        if key not in outcomes:
            outcomes[key] = Outcome(
                collective=task.subject.collective,
                title=key,
                reduces=task.subject.collective in REDUCING,
                ordered=isinstance(task.subject, Listed) and task.subject.ordered,
            )
    large = BoundedSemaphore(2)

    def check(task: Task) -> Tally:
        with large if task.portion.p >= LARGE_P else nullcontext():
            try:
                return task.subject.check(task.portion)
            except RuntimeError as error:
                raise RunFailed(f"{task.subject.title} at p = {task.portion.p}: {error}") from None

    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        running = {pool.submit(check, task): task for task in everything}
        try:
            for future in as_completed(running):
                task = running[future]
                _add(outcomes[_identity(task.subject)], task, future.result())
                hear(task)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return list(outcomes.values())


def _identity(subject: Subject) -> str:
    """One line for an algorithm with all of its parameters."""
    if isinstance(subject, Listed):
        return f"{subject.collective}/{subject.name} ({subject.family})"
    return subject.title


def _add(outcome: Outcome, task: Task, tally: Tally) -> None:
    outcome.proved += tally.proved
    outcome.refused += tally.refused
    outcome.commutative_only += tally.commutative_only
    outcome.p = sorted({*outcome.p, task.portion.p})
    parameters = dict(task.subject.parameters)
    for kept, found in ((outcome.refusals, tally.refusals), (outcome.findings, tally.findings)):
        kept.extend(Told(parameters=parameters, call=call) for call in found)
        kept.sort(key=lambda told: (told.call.p, told.call.count, told.call.root))
        del kept[FINDINGS_KEPT:]


def wrong(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Those of which some call is wrong."""
    return [outcome for outcome in outcomes if outcome.findings]
