"""The rows of a clock check on disk: every repetition that was measured.

Times are integer nanoseconds, as in the driver's answers. A row whose ``failure`` is not empty has no
measurements.
"""

from __future__ import annotations

from msgspec import Struct, field

from offbeat.model.study.algorithm import MEASURED, Algorithm, Verdict

HARMONIZE = "harmonize"
"""The start by a harmonised deadline; all others are algorithms of MPI_Barrier."""

NO_COLLECTIVE = ""
"""Instead of a collective: no collective follows the start."""

ON_TIME = 0
"""A verdict on a harmonised start: every process left it on time (``offbeat_verdict`` in harmonize.h)."""


class Start(Struct, frozen=True, kw_only=True, tag="start"):
    """Several starts of one kind, each followed by the same collective.

    ``start`` is HARMONIZE or an algorithm of MPI_Barrier; ``collective`` may be NOTHING, and is called with
    ``algorithm`` and ``bytes``. The lists have one entry a repetition: ``skew_ns`` is last exit minus first
    exit of the start (section 2.2 of the paper), and lies between ``least_skew_ns`` and ``most_skew_ns``
    whatever the clock's error; ``taken_ns`` is the collective's time summed over all processes,
    ``longest_ns`` the longest of them, ``last_delay_ns`` the last exit of the collective minus the last exit
    of the start; ``verdicts`` are the worst of all processes. ``lags_ns`` has one entry a rank: how long
    after the first process it typically leaves the start.
    """

    step: str
    round: int
    start: str
    collective: str = NO_COLLECTIVE
    algorithm: str = ""
    bytes: int = 0
    skew_ns: list[int] = []
    least_skew_ns: list[int] = []
    most_skew_ns: list[int] = []
    taken_ns: list[int] = []
    longest_ns: list[int] = []
    last_delay_ns: list[int] = []
    verdicts: list[int] = []
    lags_ns: list[int] = []
    failure: str = ""


class Sync(Struct, frozen=True, kw_only=True, tag="sync"):
    """Several synchronisations of one clock on the first ``processes`` processes, in their order.

    ``taken_ns``: from a harmonised start until the last process has finished; ``exchanges``: the ping-pongs
    of all processes; ``bound_ns``: the largest bound immediately afterwards. ``shared``: all processes read
    one physical clock. ``is_distorted``: clocks had artificial drift.
    """

    step: str
    method: str
    processes: int
    is_distorted: bool = field(name="bent")
    taken_ns: list[int] = []
    exchanges: list[int] = []
    bound_ns: list[int] = []
    shared: bool = False
    failure: str = ""


class Accuracy(Struct, frozen=True, kw_only=True, tag="accuracy"):
    """Comparisons of clocks with rank 0's; the lists have one entry a comparison.

    ``names`` are the methods, and ``methods`` indices into it. The error of ``ranks``' clock at ``ages_ns``
    after its last synchronisation (``planned_ns`` is the planned age, 0 for immediately) lies between
    ``low_ns`` and ``high_ns``; ``bound_ns`` is the clock's own bound. ``physical`` says that errors were
    determined by a physical clock that all processes read, instead of by messages.
    """

    step: str
    is_distorted: bool = field(name="bent")
    names: list[str]
    methods: list[int] = []
    rounds: list[int] = []
    ranks: list[int] = []
    planned_ns: list[int] = []
    ages_ns: list[int] = []
    low_ns: list[int] = []
    high_ns: list[int] = []
    bound_ns: list[int] = []
    physical: bool = False
    failure: str = ""


Row = Start | Sync | Accuracy


class Machine(Struct, frozen=True, kw_only=True):
    """The machine that was measured; ``shared`` if all processes read one physical clock, ``oversubscribed``
    with more processes than ``cores`` (0: unknown). ``warnings`` come from the launch command.
    """

    host: str
    library: str
    p: int
    hosts: list[str]
    clock: str
    shared: bool
    oversubscribed: bool = field(name="crowded")
    cores: int
    command: str
    time: str
    offbeat: str
    warnings: list[str] = []


class CheckedAlgorithms(Struct, frozen=True, kw_only=True):
    """The algorithms of MPI_Barrier and of the collective, and the verdicts on each."""

    algorithms: list[Algorithm]
    verdicts: list[Verdict]

    def algorithms_to_measure(self, collective: str) -> list[Algorithm]:
        """The algorithms that are measured: those whose verdicts allow it, without duplicates."""
        statuses: dict[str, set[bool]] = {}
        for verdict in self.verdicts:
            if verdict.collective == collective:
                statuses.setdefault(verdict.algorithm, set()).add(verdict.status in MEASURED)
        return [
            one
            for one in self.algorithms
            if one.collective == collective and statuses.get(one.name) == {True}
        ]
