"""A rough estimate of the duration of a study, for a dry run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from msgspec import Struct

from offbeat.model.pattern.replay_file import Replay
from offbeat.model.study.case import PARTITIONED_SEND, Case
from offbeat.model.study.case_expansion import Group, cases, groups
from offbeat.model.study.collectives import PROPERTIES
from offbeat.model.study.schema import SIMULATING, RepetitionsSection, Study
from offbeat.model.study.skew_policy import FILE

START_S = 500e-6
"""Assumed time from one repetition's end to the next one's harmonised start, in seconds."""

LATENCY_S = 10e-6
"""Assumed time of one round of messages, in seconds."""

BANDWIDTH_BYTES_PER_S = 1e9
"""Assumed rate at which one process sends or receives."""

LAUNCH_S = 2.0
"""Assumed time of one launch, with synchronising the clocks, in seconds."""

PROCESS_S = 0.05
"""Assumed CPU time of the start of a process, mostly MPI_Init, in seconds."""

SLICE_S = 4e-3
"""Assumed scheduler time slice of oversubscribed cores, in seconds."""


class Estimate(Struct, frozen=True, kw_only=True):
    """The number of cases, the range of their estimated duration in seconds, and the assumptions."""

    cases: int
    low_s: float
    high_s: float
    how: str


def estimate(
    study: Study,
    algorithm_count: Mapping[str, int],
    *,
    launches: int | None = None,
    replays: Mapping[str, Replay] | None = None,
    cores: Callable[[Group], int] | None = None,
) -> Estimate:
    """Estimate a study. ``algorithm_count``: collective → number of algorithms of ``all``; ``replays`` are
    those of the study, by name.

    The duration of a repetition is :data:`START_S`, plus the pattern's skew, plus an assumed runtime of ⌈log2
    p⌉ × :data:`LATENCY_S` + bytes that a process handles / :data:`BANDWIDTH_BYTES_PER_S`. The low end assumes
    the minimum of repetitions for every case; the high end the maximum, or the time cap if that is reached
    first. For a replay, the low end is one pass through its calls with their mean skew.
    Each launch (one for each placement, unless ``launches`` is given) adds :data:`LAUNCH_S`, and
    :data:`PROCESS_S` for each process of a core, in every round.

    ``cores`` returns the number of cores of a group's processes. If k processes share one, everything but the
    skew takes k times as long; at the high end each also waits for k − 1 time slices of :data:`SLICE_S`.
    """
    low_s = high_s = 0.0
    count = 0
    for group in groups(study):
        available = algorithm_count.get(group.collective, 1)
        algorithms = available if group.algorithms == ["all"] else len(group.algorithms)
        shared = _per_core(group, cores)
        cases_of_algorithm = cases(group, [""], study)
        count += algorithms * len(cases_of_algorithm)
        for case in cases_of_algorithm:
            replay = (replays or {}).get(case.pattern)
            shortest_s, longest_s = _case_s(study.repetitions, case, shared, replay)
            low_s += algorithms * shortest_s
            high_s += algorithms * longest_s
    processes_per_core = {group.launch_placement: _per_core(group, cores) for group in groups(study)}
    number = len(processes_per_core) if launches is None else launches
    starting_s = (
        sum(max(shared, 1.0) for shared in processes_per_core.values()) / len(processes_per_core) * PROCESS_S
    )
    rounds = 1 if study.engine in SIMULATING else study.repetitions.planned_blocks
    launch_s = number * rounds * (LAUNCH_S + (starting_s if cores else 0.0))
    highest_sharing = max(processes_per_core.values())
    return Estimate(
        cases=count,
        low_s=low_s + launch_s,
        high_s=high_s + launch_s,
        how=_assumptions(study, highest_sharing),
    )


def runtime_s(group: Group | Case) -> float:
    """Returns the assumed runtime of a group or a case without delay, in seconds."""
    if group.collective == PARTITIONED_SEND:
        return group.partitions * LATENCY_S + group.bytes / BANDWIDTH_BYTES_PER_S
    per_rank = PROPERTIES[group.collective].buffers("BLOCK_PER_RANK") > 0
    handled_bytes = group.bytes * (group.p if per_rank else 1)
    return math.ceil(math.log2(max(group.p, 2))) * LATENCY_S + handled_bytes / BANDWIDTH_BYTES_PER_S


def _per_core(group: Group, cores: Callable[[Group], int] | None) -> float:
    """The number of processes that share a core; at least 1."""
    return max(group.processes / max(cores(group), 1), 1.0) if cores else 1.0


def _case_s(
    rule: RepetitionsSection, case: Case, shared: float, replay: Replay | None
) -> tuple[float, float]:
    """Returns the shortest and the longest time of a case in seconds; ``shared`` processes share a core.

    The skew of an unscaled pattern file is assumed to be the run time.
    """
    fewest_repetitions, most_repetitions = rule.minimum, rule.maximum
    assumed_s = runtime_s(case)
    skew_s = case.skew_s({case.algorithm: shared * assumed_s})
    if case.policy == FILE:
        skew_s = shared * assumed_s
    if replay is not None:
        skew_s = float(replay.skews_s.mean())
        fewest_repetitions, most_repetitions = (
            max(fewest_repetitions, replay.calls),
            rule.maximum * replay.calls,
        )
    repetition_s = shared * (START_S + assumed_s) + skew_s
    slow_s = repetition_s + SLICE_S * (shared - 1)
    return fewest_repetitions * repetition_s, max(
        fewest_repetitions * slow_s, min(most_repetitions * slow_s, rule.time_cap)
    )


def _assumptions(study: Study, shared: float) -> str:
    rule = study.repetitions
    repetitions = f"{rule.minimum} to {rule.maximum} repetitions a case (capped at {rule.time_cap:g} s)"
    start = f"each {START_S * 1e6:g} µs for the start, plus the skew"
    rate = f"{BANDWIDTH_BYTES_PER_S / 1e9:g} GB/s"
    runtime = f"an assumed runtime of {LATENCY_S * 1e6:g} µs × log2 p + bytes / ({rate})"
    launch = f"{LAUNCH_S:g} s a launch"
    if shared > 1:
        launch += (
            f" and {PROCESS_S * 1e3:g} ms of a core for each process; up to {shared:.3g} processes share a"
            " core and wait for each other"
        )
    return f"{repetitions}, {start}, plus {runtime}; {launch}"
