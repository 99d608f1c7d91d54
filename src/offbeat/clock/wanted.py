"""What a check of the clock is asked for, and the steps in which it is done.

Starts are measured in rounds, each in another shuffled order, so that a disturbance of the machine doesn't
hit one barrier alone.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from offbeat.clock.rows import HARMONIZE, NOTHING
from offbeat.errors import BadInput
from offbeat.study.algorithm import DEFAULT, Algorithm
from offbeat.study.case import COLLECTIVES
from offbeat.units import format_size

METHODS = ("constraints", "hierarchical", "offset", "hca3", "jk", "skampi")
"""The methods of liboffbeat-harmonize, the default first (``offbeat_clock_method_name`` in clock.h)."""

ROUNDS = 4
"""Every kind of start is measured in so many rounds."""

SYNCS = 20
"""Syncs of one method on one number of processes."""

AGES_S = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Ages at which clocks are compared, beside right after the sync."""

AGE_ROUNDS = 3
"""So many times clocks are synchronised and compared at every age."""

BARRIER = "barrier"


class Wanted(Struct, frozen=True, kw_only=True):
    """Everything that decides what a check measures; a directory goes on only with the same.

    ``p`` processes on ``nodes`` nodes, 0 where the launcher places them. ``repetitions`` is how many starts
    of each kind there are, in all rounds together. ``library`` is the installation's name and version.
    ``algorithms`` are the collective's that were asked for; all of them where it is empty.
    """

    library: str
    p: int
    nodes: int = 0
    hostfile: str = ""
    collective: str = "reduce"
    sizes: list[int] = field(default_factory=lambda: [8])
    algorithms: list[str] = []
    repetitions: int = 100
    ages_s: list[float] = field(default_factory=lambda: list(AGES_S))
    methods: list[str] = field(default_factory=lambda: list(METHODS))
    seed: int = 1


class Step(Struct, frozen=True, kw_only=True):
    """A piece of the check that is done and kept as one.

    ``kind`` is ``start``, ``sync`` or ``accuracy``; the other fields are what the rows of that kind have.
    """

    id: str
    kind: str
    round: int = 0
    start: str = ""
    collective: str = NOTHING
    algorithm: str = ""
    bytes: int = 0
    method: str = ""
    processes: int = 0
    bent: bool = False


def check(wanted: Wanted) -> None:
    """Raise :class:`BadInput` for what cannot be measured."""
    if wanted.p < 2:
        raise BadInput(f"-n {wanted.p}: one process is always in time with itself; give at least 2")
    if wanted.repetitions < ROUNDS:
        raise BadInput(f"--repetitions {wanted.repetitions}: give at least {ROUNDS}, one for each round")
    if wanted.collective == BARRIER or wanted.collective not in COLLECTIVES:
        known = ", ".join(name for name in COLLECTIVES if name != BARRIER)
        raise BadInput(f"--collective {wanted.collective}: known are {known}")
    if wanted.nodes and wanted.p % wanted.nodes:
        raise BadInput(
            f"-n {wanted.p} --nodes {wanted.nodes}: the processes cannot be spread evenly; give a multiple"
        )
    for size in wanted.sizes:
        if size <= 0 or size % 8:
            raise BadInput(
                f"--size {format_size(size)}: elements are doubles; give a multiple of 8 B, at least 8 B"
            )


def steps(
    wanted: Wanted, barriers: Sequence[Algorithm], algorithms: Sequence[Algorithm], *, bent: bool
) -> list[Step]:
    """Everything to do, in order; the same for the same arguments.

    ``bent`` says that the processes share one physical clock: methods are then tried on bent ones too, as
    nothing could be learned from clocks that are one.
    """
    return [
        *_starts(wanted, [one.name for one in barriers], [one.name for one in algorithms]),
        *_syncs(wanted, bent=bent),
        Step(id=f"accuracy {_sort(bent)}", kind="accuracy", bent=bent),
    ]


def processes_of(p: int) -> list[int]:
    """2, 4, 8, ... and p."""
    powers = [2**power for power in range(1, p.bit_length()) if 2**power < p]
    return [*powers, p]


def _starts(wanted: Wanted, barriers: Sequence[str], algorithms: Sequence[str]) -> Iterable[Step]:
    kinds = [
        (start, collective, algorithm, size)
        for start in [HARMONIZE, *barriers]
        for collective, algorithm, size in [
            (NOTHING, "", 0),
            *((wanted.collective, name, size) for name in algorithms for size in wanted.sizes),
        ]
    ]
    for number in range(ROUNDS):
        order = list(kinds)
        random.Random(f"{wanted.seed} {number}").shuffle(order)
        for start, collective, algorithm, size in order:
            words = [str(number), start, *([collective, algorithm, str(size)] if collective else [])]
            yield Step(
                id=f"start {' '.join(words)}",
                kind="start",
                round=number,
                start=start,
                collective=collective,
                algorithm=algorithm,
                bytes=size,
            )


def _syncs(wanted: Wanted, *, bent: bool) -> Iterable[Step]:
    """Every method on the clocks as they are, or bent where they are one; the first one as they are, too."""
    kinds = [(name, bent) for name in wanted.methods]
    if bent:
        kinds.insert(0, (wanted.methods[0], False))
    for method, is_bent in kinds:
        for processes in processes_of(wanted.p):
            yield Step(
                id=f"sync {_sort(is_bent)} {method} {processes}",
                kind="sync",
                method=method,
                processes=processes,
                bent=is_bent,
            )


def _sort(bent: bool) -> str:
    return "bent" if bent else "real"


def choose(found: Sequence[Algorithm], names: Sequence[str]) -> list[Algorithm]:
    """The algorithms of some names, all where there are none; raises :class:`BadInput` for unknown ones."""
    known = [one.name for one in found]
    for name in names:
        if name not in known:
            raise BadInput(f"--algorithm {name}: the library has {', '.join(known) or 'none'}")
    return [one for one in found if not names or one.name in names]


def repetitions_of(wanted: Wanted, number: int) -> int:
    """How many starts of each kind a round has; the first rounds have one more where it doesn't divide."""
    return wanted.repetitions // ROUNDS + (number < wanted.repetitions % ROUNDS)


def is_default(name: str) -> bool:
    """Whether a name leaves the choice to the library."""
    return name in ("", DEFAULT)
