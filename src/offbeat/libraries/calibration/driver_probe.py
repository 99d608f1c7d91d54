"""Measuring point-to-point times with the driver: the launch, the repetitions, and the messages in each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from offbeat.base.errors import RunFailed
from offbeat.libraries.calibration.measured_times import (
    FASTER_HALF,
    LateReceiverPoint,
    Point,
    StreamPoint,
    point,
)
from offbeat.libraries.calibration.measurement_plan import Machine, Ranks
from offbeat.libraries.installations.build import build_native
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch import batch_job, cores, launch_command
from offbeat.libraries.launch.driver import CommandRefused, Driver, DriverLost
from offbeat.libraries.launch.driver_protocol import (
    AnswerType,
    Command,
    Hello,
    LateReceiver,
    LocalWork,
    PingPong,
    Stream,
    TimeWork,
)

PATIENCE_S = 120.0
"""How long the driver may take for an answer."""

REPETITION_S = 20e-6
"""The approximate duration of a repetition, if a round trip is shorter: much longer than reading a clock."""

SIZE_S = 0.025
"""The approximate duration of the repetitions of one pass over a size."""

FEWEST_REPETITIONS, MOST_REPETITIONS = 8, 100
"""Repetitions of a pass."""

STREAM_REPETITIONS = 20
"""Repetitions of parallel streams and of local work."""

LATE_REPETITIONS = 15
"""Repetitions of messages whose receiver is late."""

LATENESS_S = 5e-4
"""The least delay of a late receiver; more for messages that take long."""


MOST_PER_NODE = 16
"""The default limit of processes per node: enough to saturate the node's link."""

BUSY_LOAD = 0.5
"""Load per core above which measurements are disturbed."""


COLD_REPETITIONS = 20
"""Round trips of a size with cold caches: to empty the caches takes milliseconds."""


class DriverProbe:
    """See :class:`offbeat.libraries.calibration.measurement_plan.Probe`. Raises :class:`RunFailed` if the
    launch ends
    early.
    """

    def __init__(self, driver: Driver, *, is_cold: bool = False) -> None:
        self._driver = driver
        self._is_cold = is_cold

    def pingpong(self, ranks: Ranks, size_bytes: int) -> NDArray[np.float64]:
        """Half round trips; the first three determine the number of repetitions."""
        first = PingPong(
            sender=ranks[0], receiver=ranks[1], bytes=size_bytes, repetitions=3, cold=int(self._is_cold)
        )
        shortest_s = float(_seconds(self._ask(first).taken_ns).min())
        trips, repetitions = (1, COLD_REPETITIONS) if self._is_cold else _repetitions(shortest_s)
        series = structs.replace(first, repetitions=repetitions, messages=trips)
        return _seconds(self._ask(series).taken_ns) / trips / 2

    def late(self, ranks: Ranks, size_bytes: int, shortest_s: float) -> LateReceiverPoint:
        """Several messages whose receiver is late."""
        delay_s = max(LATENESS_S, 20 * shortest_s)
        answer = self._ask(
            LateReceiver(
                sender=ranks[0],
                receiver=ranks[1],
                bytes=size_bytes,
                delay_ns=round(delay_s * 1e9),
                repetitions=LATE_REPETITIONS,
            )
        )
        return LateReceiverPoint(
            bytes=size_bytes,
            delay_s=delay_s,
            send_s=_typical(_seconds(answer.send_ns)),
            receive_s=_typical(_seconds(answer.receive_ns)),
        )

    def stream(self, flows: Sequence[Ranks], size_bytes: int) -> StreamPoint:
        """One message of each flow at a common start."""
        answer = self._ask(
            Stream(
                senders=[sender for sender, _ in flows],
                receivers=[receiver for _, receiver in flows],
                bytes=size_bytes,
                repetitions=STREAM_REPETITIONS,
                warmups=2,
            )
        )
        return StreamPoint(flows=len(flows), bytes=size_bytes, time_s=_typical(_seconds(answer.taken_ns)))

    def local(self, work: str, size_bytes: int) -> Point:
        """Several operations per repetition, so that caches are as warm as in a collective."""
        command = LocalWork(work=work, bytes=size_bytes, messages=8, repetitions=STREAM_REPETITIONS)
        return point(size_bytes, _seconds(self._ask(command).taken_ns) / 8)

    def traffic(self, ranks: Sequence[int], size_bytes: int) -> NDArray[np.float64]:
        """Traffic of all at a common start."""
        return self._time_repetitions(TimeWork(ranks=list(ranks), memory=size_bytes))

    def flops(self, rank: int, count: int) -> NDArray[np.float64]:
        """Operations without memory traffic."""
        return self._time_repetitions(TimeWork(ranks=[rank], flops=count))

    def exchange(self, ranks: Sequence[int], size_bytes: int, messages: int) -> NDArray[np.float64]:
        """Messages around a ring, posted at a common start."""
        receivers = [*ranks[1:], ranks[0]]
        return self._time_repetitions(
            Stream(senders=list(ranks), receivers=receivers, cold=1, bytes=size_bytes, messages=messages)
        )

    def _time_repetitions(self, command: TimeWork | Stream) -> NDArray[np.float64]:
        repeating_command = structs.replace(command, repetitions=STREAM_REPETITIONS, warmups=2)
        return _seconds(self._ask(repeating_command).taken_ns)

    def _ask(self, command: Command[AnswerType]) -> AnswerType:
        quoted_command = f"'{command.line()}'"
        try:
            return self._driver.ask(command, timeout_s=PATIENCE_S)
        except DriverLost as loss:
            raise RunFailed(f"the launch was lost at {quoted_command}: {loss}") from None
        except CommandRefused as refusal:
            raise RunFailed(f"{quoted_command} was refused: {refusal}") from None


def _repetitions(round_trip_s: float) -> tuple[int, int]:
    """The number of round trips per repetition, and of repetitions."""
    trips = int(np.clip(REPETITION_S / max(round_trip_s, 1e-9), 1, 100))
    return trips, int(
        np.clip(SIZE_S / (trips * max(round_trip_s, 1e-9)), FEWEST_REPETITIONS, MOST_REPETITIONS)
    )


def _typical(times_s: NDArray[np.float64]) -> float:
    return float(np.quantile(times_s, FASTER_HALF))


def _seconds(times_ns: list[int]) -> NDArray[np.float64]:
    return np.maximum(np.array(times_ns, dtype=np.float64), 1.0) * 1e-9


def placement(nodes: int, ppn: int, hostfile: Path | None) -> tuple[int, int]:
    """Nodes and processes per node; for 0 two nodes of a job of several, and a process per core."""
    job = batch_job.current()
    has_several_nodes = (job is not None and job.nodes > 1) or hostfile is not None
    per_node = job.cores_per_node if job else cores.available().physical
    return nodes or (2 if has_several_nodes else 1), ppn or max(2, min(per_node, MOST_PER_NODE))


@contextmanager
def launch_driver(
    installation: Installation,
    nodes: int,
    ppn: int,
    *,
    hostfile: Path | None = None,
    report: Callable[[str], None],
) -> Iterator[tuple[Driver, Machine]]:
    """Start the processes; yields the driver and the machine. Raises RunFailed and BadInput."""
    command = launch_command.command(
        installation,
        build_native(installation, echo=report),
        nodes * ppn,
        nodes=nodes if nodes > 1 else 0,
        ppn=ppn if nodes > 1 else 0,
        hostfile=hostfile,
        allocation=batch_job.current(),
        steerable=False,
    )
    with TemporaryDirectory() as scratch:
        try:
            driver = Driver(command.argv, command.environment, Path(scratch) / "log")
        except OSError as error:
            reason = error.strerror or str(error)
            raise RunFailed(
                f"{command.argv[0]} could not be started: {reason}; see 'offbeat doctor'"
            ) from None
        try:
            yield driver, _machine(driver, installation, command.warnings)
        finally:
            driver.close()


def _machine(driver: Driver, installation: Installation, warnings: list[str]) -> Machine:
    try:
        answer = driver.ask(Hello(), timeout_s=PATIENCE_S)
    except (DriverLost, CommandRefused) as reason:
        raise RunFailed(f"{installation.name} does not work here: {reason}; see 'offbeat doctor'") from None
    return Machine(
        host_of_rank=answer.host_of_rank,
        cores=cores.available().physical,
        library=installation.version_text,
        warnings=[*warnings, *_load()],
        domain_of_rank=answer.domains,
        domains=cores.memory_domains(),
    )


def _load() -> list[str]:
    """A warning if other programs use this node."""
    load, count = os.getloadavg()[0], cores.available().logical
    if load < BUSY_LOAD * count:
        return []
    return [
        f"The machine was busy (load {load:.1f} on {count} cores): some times are longer than on an idle one."
    ]
