"""The settings of a clock check, and the steps that it consists of.

Starts are measured in rounds, each in another shuffled order, so that a disturbance of the machine does not
affect only one barrier.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from itertools import product

from msgspec import Struct, field

from offbeat.base.errors import BadInput
from offbeat.base.units import format_size
from offbeat.measurement.clock_check.rows import HARMONIZE, NO_COLLECTIVE
from offbeat.model.study.algorithm import DEFAULT, Algorithm
from offbeat.model.study.collectives import COLLECTIVES

METHODS = ("constraints", "hierarchical", "offset", "hca3", "jk", "skampi")
"""The methods of liboffbeat-harmonize, the default first (``offbeat_clock_method_name`` in clock.h)."""

ROUNDS = 4
"""The number of rounds in which every kind of start is measured."""

SYNCS = 20
"""Clock synchronisations with one method on one number of processes."""

AGES_S = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Ages at which clocks are compared, beside immediately after the synchronisation."""

AGE_ROUNDS = 3
"""How often clocks are synchronised and compared at every age."""

BARRIER = "barrier"


class CheckSettings(Struct, frozen=True, kw_only=True):
    """Everything that determines what a check measures; a check resumes only with the same settings.

    ``p`` processes on ``nodes`` nodes, 0 if the launcher places them. ``repetitions`` is the number of starts
    of each kind in all rounds together. ``library`` is the installation's name and version. ``algorithms``
    are the requested algorithms of the collective; empty for all.
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

    @property
    def ppn(self) -> int:
        """Processes on each node, 0 if the launcher places them."""
        return self.p // self.nodes if self.nodes else 0


class Step(Struct, frozen=True, kw_only=True):
    """The unit in which a check is measured and written to disk.

    ``kind`` is ``start``, ``sync`` or ``accuracy``; the other fields are those of the rows of that kind.
    """

    id: str
    kind: str
    round: int = 0
    start: str = ""
    collective: str = NO_COLLECTIVE
    algorithm: str = ""
    bytes: int = 0
    method: str = ""
    processes: int = 0
    is_distorted: bool = False


def check(settings: CheckSettings) -> None:
    """Raise :class:`BadInput` for settings that cannot be measured."""
    if settings.p < 2:
        raise BadInput(f"-n {settings.p}: a start needs at least 2 processes")
    if settings.repetitions < ROUNDS:
        raise BadInput(f"--repetitions {settings.repetitions}: give at least {ROUNDS}, one for each round")
    if settings.collective == BARRIER or settings.collective not in COLLECTIVES:
        names = ", ".join(name for name in COLLECTIVES if name != BARRIER)
        raise BadInput(f"--collective {settings.collective}: known are {names}")
    if settings.nodes and settings.p % settings.nodes:
        raise BadInput(
            f"-n {settings.p} --nodes {settings.nodes}: the processes cannot be spread evenly; give a"
            " multiple"
        )
    for size in settings.sizes:
        if size <= 0 or size % 8:
            raise BadInput(
                f"--size {format_size(size)}: elements are doubles; give a multiple of 8 B, at least 8 B"
            )


def steps(
    settings: CheckSettings,
    barriers: Sequence[Algorithm],
    algorithms: Sequence[Algorithm],
    *,
    is_distorted: bool,
) -> list[Step]:
    """The steps of a check in order; the same for the same arguments.

    ``is_distorted``: the processes share one physical clock. Methods are then measured with artificial drift,
    because on one clock they would show no error.
    """
    return [
        *_starts(settings, [one.name for one in barriers], [one.name for one in algorithms]),
        *_syncs(settings, has_drift=is_distorted),
        Step(id=f"accuracy {_clock_kind(is_distorted)}", kind="accuracy", is_distorted=is_distorted),
    ]


def processes_of(p: int) -> list[int]:
    """2, 4, 8, ... and p."""
    powers = [2**power for power in range(1, p.bit_length()) if 2**power < p]
    return [*powers, p]


def _starts(settings: CheckSettings, barriers: Sequence[str], algorithms: Sequence[str]) -> Iterable[Step]:
    calls = [(NO_COLLECTIVE, "", 0), *product([settings.collective], algorithms, settings.sizes)]
    kinds = list(product([HARMONIZE, *barriers], calls))
    for number in range(ROUNDS):
        order = list(kinds)
        random.Random(f"{settings.seed} {number}").shuffle(order)
        for start, (collective, algorithm, size) in order:
            parts = [str(number), start, *([collective, algorithm, str(size)] if collective else [])]
            yield Step(
                id=f"start {' '.join(parts)}",
                kind="start",
                round=number,
                start=start,
                collective=collective,
                algorithm=algorithm,
                bytes=size,
            )


def _syncs(settings: CheckSettings, *, has_drift: bool) -> Iterable[Step]:
    """The steps for every method, with artificial drift if ``has_drift``, then the first one without, too."""
    kinds = [(name, has_drift) for name in settings.methods]
    if has_drift:
        kinds.insert(0, (settings.methods[0], False))
    for method, is_distorted in kinds:
        for processes in processes_of(settings.p):
            yield Step(
                id=f"sync {_clock_kind(is_distorted)} {method} {processes}",
                kind="sync",
                method=method,
                processes=processes,
                is_distorted=is_distorted,
            )


def _clock_kind(is_distorted: bool) -> str:
    return "bent" if is_distorted else "real"


def choose(algorithms: Sequence[Algorithm], names: Sequence[str]) -> list[Algorithm]:
    """The named algorithms, or all without names. Raises :class:`BadInput` for unknown names."""
    names_of_all = [one.name for one in algorithms]
    for name in names:
        if name not in names_of_all:
            raise BadInput(f"--algorithm {name}: the library has {', '.join(names_of_all) or 'none'}")
    return [one for one in algorithms if not names or one.name in names]


def repetitions_of(settings: CheckSettings, number: int) -> int:
    """The number of starts of each kind in a round; the first rounds have one more if there is a rest."""
    return settings.repetitions // ROUNDS + (number < settings.repetitions % ROUNDS)


def is_default(name: str) -> bool:
    """Whether a name leaves the choice to the library."""
    return name in ("", DEFAULT)
