"""The phases of a traced program's iterations: exchanges and collectives in the order of all ranks.

Bursts that share a message or a collective are one phase. The phases of all ranks are put in one order;
phases that would have to come before each other are one, and phases without a common rank that can be
executed at the same time are one, too.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from graphlib import TopologicalSorter

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from offbeat.programs.iterations.iteration_calls import IterationCalls

_MOST_SEQUENCES = 20
"""The most sequences of bursts that are tried as the usual one."""


class TracedPhase(Struct, frozen=True, kw_only=True, eq=False):
    """A phase of the usual iteration.

    ``messages`` are indices of :class:`~offbeat.programs.iterations.iteration_calls.SentMessages`, in the
    order in which they were sent, ``collectives`` the numbers of collectives. It is executed in every
    ``every``-th iteration.
    """

    messages: NDArray[np.int64]
    collectives: list[int]
    every: int


class TracedPhases(Struct, frozen=True, kw_only=True, eq=False):
    """The phases of the usual iteration of p ranks.

    ``work_s`` (phases + 1, rows, p) is the time outside MPI before each phase, and after the last one, in
    each row; only before phases of every iteration. NaN where ``is_regular`` (rows, p) is false: where a rank
    executed other phases, or in another order.
    """

    phases: list[TracedPhase]
    work_s: NDArray[np.float64]
    is_regular: NDArray[np.bool_]


def traced_phases(calls: IterationCalls) -> TracedPhases:
    """Find the phases of the usual iteration, and the work between them in all rows."""
    p = len(calls.rest_ns)
    by_row = _bursts_by_row(calls, p)
    reference = _usual_row([row[0] for row in by_row], calls.bursts.site)
    phase_of, phases = _phases(calls, by_row[reference])
    in_phases = [[at for at in bursts if phase_of[at] >= 0] for bursts in by_row[reference]]
    sequences = [[int(calls.bursts.site[at]) for at in bursts] for bursts in in_phases]
    numbers = [[phase_of[at] for at in bursts] for bursts in in_phases]
    mapped, is_regular = _mapped(calls, by_row, sequences, numbers)
    every = _every(mapped, by_row, len(phases))
    return TracedPhases(
        phases=[
            TracedPhase(messages=messages, collectives=collectives, every=each)
            for (messages, collectives), each in zip(phases, every, strict=True)
        ],
        work_s=_work_s(calls, by_row, mapped, is_regular, every),
        is_regular=is_regular,
    )


def _bursts_by_row(calls: IterationCalls, p: int) -> list[list[list[int]]]:
    """The bursts of each row and rank."""
    by_row: list[list[list[int]]] = [[[] for _ in range(p)] for _ in range(calls.rows)]
    both = zip(calls.bursts.row.tolist(), calls.bursts.place.tolist(), strict=True)
    for index, (row, place) in enumerate(both):
        by_row[row][place].append(index)
    return by_row


def _usual_row(bursts_of_row: Sequence[Sequence[int]], site: NDArray[np.int64]) -> int:
    """A row whose sequence of bursts includes those of the most rows; of several the shortest sequence."""
    sequences = [tuple(site[list(bursts)].tolist()) for bursts in bursts_of_row]
    counts = Counter(sequences)
    frequent = [one for one, _ in counts.most_common(_MOST_SEQUENCES)]
    tried = {*frequent, *sorted(counts, key=len)[-_MOST_SEQUENCES:]}

    def included(sequence: tuple[int, ...]) -> int:
        return sum(count for one, count in counts.items() if _positions(one, sequence) is not None)

    usual = max(tried, key=lambda one: (included(one), -len(one), counts[one]))
    rows = [row for row, one in enumerate(sequences) if one == usual]
    return rows[len(rows) // 2]


def _positions(part: Sequence[int], whole: Sequence[int]) -> list[int] | None:
    """Where the entries of ``part`` are in ``whole``, in the same order; None if some are not."""
    found: list[int] = []
    at = 0
    for entry in part:
        while at < len(whole) and whole[at] != entry:
            at += 1
        if at == len(whole):
            return None
        found.append(at)
        at += 1
    return found


Content = tuple[NDArray[np.int64], list[int]]
"""The messages and the collectives of a phase."""


def _phases(calls: IterationCalls, row: list[list[int]]) -> tuple[dict[int, int], list[Content]]:
    """The phase of each burst of a row, -1 without messages and collectives, and the content of each."""
    bursts = np.array([at for of_rank in row for at in of_rank], np.int64)
    number = np.full(len(calls.bursts), -1)
    number[bursts] = np.arange(len(bursts))
    is_inside = (number[calls.messages.sent] >= 0) & (number[calls.messages.received] >= 0)
    messages = np.flatnonzero(is_inside)
    sent, received = number[calls.messages.sent[messages]], number[calls.messages.received[messages]]
    of_call = calls.bursts.collective[bursts]
    with_call = np.flatnonzero(of_call >= 0)
    with_call = with_call[np.argsort(of_call[with_call], kind="stable")]
    is_same = np.diff(of_call[with_call]) == 0
    component = _connected(
        np.concatenate([sent, with_call[:-1][is_same]]),
        np.concatenate([received, with_call[1:][is_same]]),
        len(bursts),
    )
    has_content = np.zeros(len(bursts), np.bool_)
    has_content[sent] = has_content[received] = has_content[with_call] = True
    kept = [[int(number[at]) for at in of_rank if has_content[number[at]]] for of_rank in row]
    level = _levels(kept, component)
    of_burst = np.where(has_content, level, -1)
    contents: list[Content] = []
    for one in range(int(of_burst.max(initial=-1)) + 1):
        inside = messages[of_burst[sent] == one]
        called = np.unique(of_call[(of_burst == one) & (of_call >= 0)])
        contents.append((inside, called.tolist()))
    return dict(zip(bursts.tolist(), of_burst.tolist(), strict=True)), contents


def _connected(
    one: NDArray[np.int64], other: NDArray[np.int64], count: int, *, is_directed: bool = False
) -> NDArray[np.int64]:
    """The component of each of ``count`` nodes; of a directed graph the strong one."""
    graph = coo_array((np.ones(len(one), np.int8), (one, other)), shape=(count, count))
    _, labels = connected_components(graph, directed=is_directed, connection="strong")
    return np.asarray(labels, np.int64)


def _levels(kept: list[list[int]], component: NDArray[np.int64]) -> NDArray[np.int64]:
    """The position of each burst in the common order: after the bursts of its rank that come before it."""
    pairs = [pair for bursts in kept for pair in itertools.pairwise(bursts)]
    ordered = component[np.array(pairs, np.int64).reshape(-1, 2)]
    edges = np.unique(ordered[ordered[:, 0] != ordered[:, 1]], axis=0)
    count = int(component.max(initial=-1)) + 1
    strong = _connected(edges[:, 0], edges[:, 1], count, is_directed=True)
    before: dict[int, set[int]] = {int(strong[component[at]]): set() for bursts in kept for at in bursts}
    for first, second in strong[edges].tolist():
        if first != second:
            before[second].add(first)
    level: dict[int, int] = {}
    for one in TopologicalSorter(before).static_order():
        level[one] = 1 + max((level[other] for other in before[one]), default=-1)
    return np.array([level.get(int(strong[one]), -1) for one in component.tolist()], np.int64)


def _mapped(
    calls: IterationCalls,
    by_row: list[list[list[int]]],
    sequences: list[list[int]],
    numbers: list[list[int]],
) -> tuple[dict[int, int], NDArray[np.bool_]]:
    """The phase of each burst of all rows, and which rows of which ranks are regular, (rows, p).

    A rank executes the phases ``numbers`` at the call sites ``sequences`` in the usual iteration.
    """
    site = calls.bursts.site.tolist()
    mapped: dict[int, int] = {}
    is_regular = np.zeros((len(by_row), len(sequences)), np.bool_)
    known = [set(sequence) for sequence in sequences]
    for row, of_ranks in enumerate(by_row):
        for place, bursts in enumerate(of_ranks):
            inside = [at for at in bursts if site[at] in known[place]]
            positions = _positions([site[at] for at in inside], sequences[place])
            if positions is not None:
                is_regular[row, place] = True
                mapped.update(
                    (at, numbers[place][position]) for at, position in zip(inside, positions, strict=True)
                )
    return mapped, is_regular


def _every(mapped: dict[int, int], by_row: list[list[list[int]]], count: int) -> list[int]:
    """The interval of each phase, in iterations: the median distance of the rows that execute it."""
    rows_of: list[list[int]] = [[] for _ in range(count)]
    for row, of_ranks in enumerate(by_row):
        for phase in {mapped[at] for bursts in of_ranks for at in bursts if at in mapped}:
            rows_of[phase].append(row)
    return [int(np.median(np.diff(rows))) if len(rows) > 1 else len(by_row) for rows in rows_of]


def _work_s(
    calls: IterationCalls,
    by_row: list[list[list[int]]],
    mapped: dict[int, int],
    is_regular: NDArray[np.bool_],
    every: list[int],
) -> NDArray[np.float64]:
    """The time outside MPI before each phase of every iteration, and after the last one."""
    rows, p = is_regular.shape
    work_ns = np.zeros((len(every) + 1, rows, p))
    computed = calls.bursts.computed_ns.tolist()
    for row, of_ranks in enumerate(by_row):
        for place, bursts in enumerate(of_ranks):
            pending = 0
            for at in bursts:
                pending += computed[at]
                phase = mapped.get(at, -1)
                if phase >= 0 and every[phase] == 1:
                    work_ns[phase, row, place] += pending
                    pending = 0
            work_ns[-1, row, place] = pending + calls.rest_ns[place, row]
    return np.where(is_regular, work_ns / 1e9, np.nan)
