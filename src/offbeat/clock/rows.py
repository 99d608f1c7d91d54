"""What a check of the clock keeps: everything that was measured, repetition by repetition.

Times are whole nanoseconds, as the driver answers them. A row whose ``failure`` is not empty says why there
is nothing in it.
"""

from __future__ import annotations

from msgspec import Struct

from offbeat.study.algorithm import MEASURED, Algorithm, Verdict

HARMONIZE = "harmonize"
"""The start by a harmonised deadline; all others are algorithms of MPI_Barrier."""

NOTHING = ""
"""In the place of a collective: nothing follows the start."""

ON_TIME = 0
"""A verdict on a harmonised start: every process left it in time (``offbeat_verdict`` in harmonize.h)."""


class Start(Struct, frozen=True, kw_only=True, tag="start"):
    """Some starts of one kind, each with the same collective behind it.

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
    collective: str = NOTHING
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
    """Some syncs of one clock on the first ``processes`` processes, in their order.

    ``taken_ns`` is from a harmonised start until the last process was done; ``exchanges`` the ping-pongs of
    all processes together; ``bound_ns`` the largest bound right afterwards. ``shared`` says that all of them
    were found to read one physical clock. ``bent`` says that clocks were bent on purpose.
    """

    step: str
    method: str
    processes: int
    bent: bool
    taken_ns: list[int] = []
    exchanges: list[int] = []
    bound_ns: list[int] = []
    shared: bool = False
    failure: str = ""


class Accuracy(Struct, frozen=True, kw_only=True, tag="accuracy"):
    """Comparisons of clocks with rank 0's; the lists have one entry a comparison.

    ``names`` are the methods, and ``methods`` indices into it. The error of ``ranks``' clock at ``ages_ns``
    after its last sync (``planned_ns`` as it was meant, 0 for at once) lies between ``low_ns`` and
    ``high_ns``; ``bound_ns`` is what the clock itself says. ``physical`` says that a physical clock which all
    processes read tells the errors, rather than messages.
    """

    step: str
    bent: bool
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
    """Where it was measured.

    ``shared`` says that all processes read one physical clock. ``crowded`` says that there are more processes
    than cores; ``cores`` is how many there are to compare with, 0 where it isn't known. ``warnings`` are the
    launcher's sentences.
    """

    host: str
    library: str
    p: int
    hosts: list[str]
    clock: str
    shared: bool
    crowded: bool
    cores: int
    command: str
    time: str
    offbeat: str
    warnings: list[str] = []


class Found(Struct, frozen=True, kw_only=True):
    """The algorithms of MPI_Barrier and of the collective, and what was found out about each before it was
    measured."""

    algorithms: list[Algorithm]
    verdicts: list[Verdict]

    def measured(self, collective: str) -> list[Algorithm]:
        """Those that are measured: what ran was proved, or nothing speaks against it; no code twice."""
        sound = {
            verdict.algorithm
            for verdict in self.verdicts
            if verdict.collective == collective and verdict.status in MEASURED
        }
        refused = {
            verdict.algorithm
            for verdict in self.verdicts
            if verdict.collective == collective and verdict.status not in MEASURED
        }
        return [
            one for one in self.algorithms if one.collective == collective and one.name in sound - refused
        ]
