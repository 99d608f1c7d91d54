"""Checking that algorithms compute their collective: many calls of many algorithms, on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from threading import BoundedSemaphore

from msgspec import Struct
from rich.console import Console

from offbeat.base.errors import RunFailed
from offbeat.base.progress_bar import ProgressBar
from offbeat.model.study.collectives import REDUCING
from offbeat.simulation.algorithms.check_matrix import CheckTask, exhaustive, quick
from offbeat.simulation.algorithms.inspected import (
    BatchResult,
    CatalogueAlgorithm,
    Finding,
    InspectedAlgorithm,
)
from offbeat.simulation.algorithms.lookup import COLLECTIVES, find_algorithm, list_algorithms


def select_algorithms(names: Sequence[str], family: str, collective: str) -> list[InspectedAlgorithm]:
    """The named algorithms, each once; a collective stands for all of its algorithms, no name for all."""
    selection: list[InspectedAlgorithm] = [] if names else list(list_algorithms("", family))
    for name in names:
        matches = (
            list_algorithms(name, family)
            if name in COLLECTIVES
            else [find_algorithm(name, family, collective)]
        )
        selection += [one for one in matches if one not in selection]
    return selection


def check_with_progress(
    names: Sequence[str],
    *,
    family: str,
    collective: str,
    is_exhaustive: bool,
    ps: Sequence[int],
    jobs: int,
    console: Console,
) -> list[Outcome]:
    """Check algorithms, with a progress bar on the console if it is a terminal."""
    plan = exhaustive if is_exhaustive else quick
    tasks = [task for one in select_algorithms(names, family, collective) for task in plan(one, ps)]
    done_calls, total = 0, sum(task.calls for task in tasks)
    with ProgressBar("checking", console, counts=False) as bar:
        bar.restart(done_calls, total)

        def advance(task: CheckTask) -> None:
            nonlocal done_calls
            done_calls += task.calls
            p = f"p = {task.batch.p}".ljust(8)
            bar.update(activity=p, done_count=done_calls, detail=f"{done_calls:,} of {total:,} calls")

        return sweep(tasks, jobs=jobs, report_task=advance)


LARGE_P = 500
"""From this p on a check can need a GiB, so that only two run at a time."""

MAX_FINDINGS = 20
"""Findings of one algorithm that are reported; counts of calls include all that were checked."""


class Outcome(Struct, kw_only=True):
    """The results of one algorithm over all of its parameters.

    ``reduces``: it takes an operation; ``ordered``: it promises rank order for every operation; ``p`` lists
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
    refusals: list[ReportedCall] = []
    findings: list[ReportedCall] = []


class ReportedCall(Struct, frozen=True, kw_only=True):
    """A refused or wrong call, with the parameters of the algorithm."""

    parameters: dict[str, int]
    call: Finding


def sweep(
    tasks: Iterable[CheckTask], *, jobs: int = 0, report_task: Callable[[CheckTask], None] = lambda task: None
) -> list[Outcome]:
    """Check all tasks, ``jobs`` at a time (0: one for each core); outcomes in the order of the tasks.

    ``report_task`` is called in this thread when a task is done. Raises :class:`RunFailed` for a call that is
    too large to check.
    """
    outcomes: dict[str, Outcome] = {}
    task_list = list(tasks)
    for task in task_list:
        key = _identity(task.algorithm)
        if key not in outcomes:
            outcomes[key] = Outcome(
                collective=task.algorithm.collective,
                title=key,
                reduces=task.algorithm.collective in REDUCING,
                ordered=isinstance(task.algorithm, CatalogueAlgorithm) and task.algorithm.ordered,
            )
    large = BoundedSemaphore(2)

    def check(task: CheckTask) -> BatchResult:
        with large if task.batch.p >= LARGE_P else nullcontext():
            try:
                return task.algorithm.check(task.batch)
            except RuntimeError as error:
                raise RunFailed(f"{task.algorithm.title} at p = {task.batch.p}: {error}") from None

    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        tasks_by_future = {pool.submit(check, task): task for task in task_list}
        try:
            for future in as_completed(tasks_by_future):
                task = tasks_by_future[future]
                _add(outcomes[_identity(task.algorithm)], task, future.result())
                report_task(task)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return list(outcomes.values())


def _identity(algorithm: InspectedAlgorithm) -> str:
    """A title that all parameter values of an algorithm share."""
    if isinstance(algorithm, CatalogueAlgorithm):
        return f"{algorithm.collective}/{algorithm.name} ({algorithm.family})"
    return algorithm.title


def _add(outcome: Outcome, task: CheckTask, result: BatchResult) -> None:
    outcome.proved += result.proved
    outcome.refused += result.refused
    outcome.commutative_only += result.commutative_only
    outcome.p = sorted({*outcome.p, task.batch.p})
    parameters = task.algorithm.parameters
    for reports, new in ((outcome.refusals, result.refusals), (outcome.findings, result.findings)):
        reports.extend(ReportedCall(parameters=parameters, call=call) for call in new)
        reports.sort(key=lambda entry: (entry.call.p, entry.call.count, entry.call.root))
        del reports[MAX_FINDINGS:]


def wrong(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes with at least one wrong call."""
    return [outcome for outcome in outcomes if outcome.findings]
