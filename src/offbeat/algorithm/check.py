"""From names to outcomes: what ``offbeat algorithm check`` does, with its progress bar."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from offbeat.algorithm.breadth import Task, everything, quick
from offbeat.algorithm.choose import COLLECTIVES, listed, subject
from offbeat.algorithm.subject import Subject
from offbeat.algorithm.sweep import Outcome, sweep


def subjects(names: Sequence[str], family: str, collective: str) -> list[Subject]:
    """The algorithms that are named, each once; all of a collective by its name, and all without any name."""
    chosen: list[Subject] = [] if names else list(listed("", family))
    for name in names:
        more = listed(name, family) if name in COLLECTIVES else [subject(name, family, collective)]
        chosen += [one for one in more if one not in chosen]
    return chosen


def checked(
    names: Sequence[str],
    *,
    family: str,
    collective: str,
    every: bool,
    ps: Sequence[int],
    jobs: int,
    console: Console,
) -> list[Outcome]:
    """Check algorithms with a bar on the console while it lasts (nothing where it is no terminal)."""
    plan = everything if every else quick
    tasks = [task for one in subjects(names, family, collective) for task in plan(one, ps)]
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} calls"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        line = bar.add_task("checking", total=sum(task.calls for task in tasks))

        def hear(task: Task) -> None:
            bar.update(line, advance=task.calls, description=f"p = {task.portion.p}".ljust(8))

        return sweep(tasks, jobs=jobs, hear=hear)
