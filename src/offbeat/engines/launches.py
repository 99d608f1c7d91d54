"""The launch that is running: started when first needed, kept while the next command fits it, replaced when
it doesn't."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.atomic_write import write_atomically
from offbeat.engines.repeat import sample_bytes
from offbeat.errors import RunFailed
from offbeat.mpi import launch
from offbeat.mpi.allocation import Allocation
from offbeat.mpi.driver import Driver, DriverLost, Refused
from offbeat.mpi.installation import Installation
from offbeat.study.schema import MpiSection

SAMPLES = "samples.bin"

SAMPLES_UNWRITTEN = "the sample file could not be written"
"""The driver's reason where rank 0 cannot write to ``scratch`` (``native/benchmark/measure.c``)."""


SEQUENCE_UNREAD = "the sequence file could not be read"
"""The driver's reason where rank 0 cannot read the calls of a replay (``native/benchmark/sequence.h``)."""

SHARED = (
    "the result directory must be on a file system with free space that this machine and rank 0's node share;"
    " choose one with --output"
)


class Where(Struct, frozen=True, kw_only=True):
    """What one launch is: processes, their placement, and the variables that force algorithms in it.

    ``steerable`` adds what the library needs to obey forced algorithms; without it the library is launched as
    its users would.
    """

    p: int
    nodes: int
    ppn: int
    environment: tuple[tuple[str, str], ...] = ()
    steerable: bool = True


class Launches:
    """Starts and ends launches of the driver; at most one runs at a time.

    ``scratch`` is a folder that rank 0's node sees under the same path; it gets the sample file and replays.
    ``logs`` gets a log for each launch. ``count`` is how many launches there were.
    """

    def __init__(
        self,
        installation: Installation,
        driver: Path,
        section: MpiSection,
        base: Path,
        *,
        logs: Path,
        scratch: Path,
        allocation: Allocation | None = None,
    ) -> None:
        self.samples = scratch / SAMPLES
        self.count = 0
        self._installation = installation
        self._driver = driver
        self._section = section
        self._hostfile = base / section.hostfile if section.hostfile else None
        self._logs = logs
        self._allocation = allocation
        self._where: Where | None = None
        self._running: Driver | None = None
        self._forced: tuple[str, ...] | None = None
        self._sequences: set[str] = set()
        self._commands: dict[Where, launch.LaunchCommand] = {}

    def command(self, where: Where) -> launch.LaunchCommand:
        """The exact command of a launch."""
        if where not in self._commands:  # each case asks, and looking at the node's cores takes a millisecond
            self._commands[where] = self._make_command(where)
        return self._commands[where]

    def _make_command(self, where: Where) -> launch.LaunchCommand:
        return launch.command(
            self._installation,
            [str(self._driver), "--samples", str(self.samples)],
            where.p,
            nodes=where.nodes,
            ppn=where.ppn,
            hostfile=self._hostfile,
            launcher=self._section.launcher,
            options=self._section.options,
            environment=dict(where.environment) | self._section.environment,
            allocation=self._allocation,
            steerable=where.steerable,
        )

    def get(self, where: Where) -> Driver:
        """The running launch if it is this one, else a new one."""
        if self._running is None or self._where != where:
            self.close()
            command = self.command(where)
            self.count += 1
            self._logs.mkdir(parents=True, exist_ok=True)
            self.samples.parent.mkdir(parents=True, exist_ok=True)
            log = self._logs / f"launch-{os.getpid()}-{self.count:04d}.log"
            try:
                self._running = Driver(command.argv, command.environment, log)
            except OSError as error:
                raise RunFailed(
                    f"{command.argv[0]} could not be started: {error.strerror or error}. 'offbeat doctor'"
                    " shows which launchers work here"
                ) from error
            self._where = where
        return self._running

    def force(self, driver: Driver, words: Sequence[str], timeout_s: float) -> None:
        """Make the launch use an algorithm, unless it does already.

        Raises what :meth:`Driver.ask` raises.
        """
        if self._forced == tuple(words):
            return
        self._forced = None
        driver.ask("force", *words, timeout_s=timeout_s)
        self._forced = tuple(words)

    def failure(self, where: Where, timeout_s: float) -> str:
        """Why not even a launch that is asked for nothing works; empty if it does."""
        try:
            self.get(where).ask("hello", timeout_s=timeout_s)
        except DriverLost as lost:
            self.drop()
            return str(lost)
        except Refused as refusal:
            return str(refusal)
        return ""

    def check_samples(self, repetitions: int, p: int) -> None:
        """Raise RunFailed unless the sample file holds what the launch says that it wrote."""
        wanted = sample_bytes(repetitions, p)
        try:
            with self.samples.open("rb") as file:
                there = os.fstat(file.fileno()).st_size
        except OSError:
            there = 0
        if there != wanted:
            raise RunFailed(
                f"rank 0 wrote {wanted} bytes of samples, but {self.samples} has {there} here: {SHARED}"
            )

    def check_reason(self, refusal: str) -> None:
        """Raise RunFailed where a refusal is no algorithm's fault."""
        if refusal == SAMPLES_UNWRITTEN:
            raise RunFailed(f"rank 0 could not write its samples to {self.samples}: {SHARED}")
        if refusal == SEQUENCE_UNREAD:
            raise RunFailed(f"rank 0 could not read a replay's calls in {self.samples.parent}: {SHARED}")

    def sequence(self, delays_s: NDArray[np.float64]) -> str:
        """The name of a file beside the samples with the delays of a replay's calls, (calls, p) in seconds.

        It is written at its first use. Raises RunFailed where that is not possible.
        """
        delays_ns = np.rint(delays_s * 1e9).astype(np.int64)
        name = f"calls-{hashlib.sha256(delays_ns.tobytes()).hexdigest()[:16]}.ns"
        path = self.samples.with_name(name)
        if name not in self._sequences:
            text = "".join(" ".join(map(str, call)) + "\n" for call in delays_ns.tolist())
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(path, text.encode())
            except OSError as error:
                raise RunFailed(f"cannot write {path}: {error.strerror or error}; {SHARED}") from error
            self._sequences.add(name)
        return name

    def check_sequence(self, calls: object, delays_s: NDArray[np.float64]) -> None:
        """Raise RunFailed unless rank 0 read as many calls as were written."""
        if calls != len(delays_s):
            raise RunFailed(
                f"rank 0 read {calls} calls of a replay that has {len(delays_s)} in {self.samples.parent}:"
                f" {SHARED}"
            )

    def drop(self) -> None:
        """Forget a launch that died."""
        self._running = None
        self._forced = None

    def close(self) -> None:
        """End the running launch."""
        if self._running is not None:
            self._running.close()
        self.drop()

    def variables(self, regex: str, environment: Mapping[str, str], timeout_s: float) -> object:
        """The library's control variables, asked in a launch of one process."""
        driver = self.get(Where(p=1, nodes=0, ppn=0, environment=tuple(sorted(environment.items()))))
        try:
            return driver.ask("variables", timeout_s=timeout_s, regex=regex)["variables"]
        except DriverLost:
            self.drop()
            raise
