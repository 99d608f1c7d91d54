"""Launches of the driver: at most one runs, and is replaced when a command needs another one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.base.atomic_write import write_atomically
from offbeat.base.errors import RunFailed
from offbeat.base.reading import open_regular
from offbeat.libraries.families.library import Variable
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch import launch_command
from offbeat.libraries.launch.batch_job import Allocation
from offbeat.libraries.launch.driver import CommandRefused, Driver, DriverLost, is_lost
from offbeat.libraries.launch.driver_protocol import Force, Hello, ListVariables
from offbeat.measurement.runs.repetition import sample_bytes
from offbeat.model.study.schema import MpiSection

SAMPLES = "samples.bin"

SAMPLES_UNWRITTEN = "the sample file could not be written"
"""The driver's reason where rank 0 cannot write to ``scratch`` (``native/benchmark/samples.c``)."""


SEQUENCE_UNREAD = "the sequence file could not be read"
"""The driver's reason where rank 0 cannot read the calls of a replay (``native/benchmark/measure.c``)."""

SHARED_FOLDER_REMEDY = (
    "the result directory must be on a file system with free space that this machine and rank 0's node share;"
    " choose one with --output"
)


T = TypeVar("T")


class LaunchSpec(Struct, frozen=True, kw_only=True):
    """What distinguishes a launch: processes, their placement, and the variables that force algorithms.

    ``steerable`` adds what the library needs to obey forced algorithms; without it the library is launched as
    its users would. With several ``threads`` in a process, MPI_THREAD_MULTIPLE is requested.
    """

    p: int
    nodes: int
    ppn: int
    environment: tuple[tuple[str, str], ...] = ()
    steerable: bool = True
    threads: int = 1


def repeat_if_lost(action: Callable[[], T]) -> T:
    """The result of an action, which is repeated once if its launch is lost: a node or a user may have killed
    it. Raises :class:`DriverLost` if the launch hangs, or is lost again."""
    try:
        return action()
    except DriverLost as loss:
        if not is_lost(str(loss)):
            raise
        return action()


class Launches:
    """Starts and ends launches of the driver; at most one runs at a time.

    ``scratch`` is a folder that rank 0's node sees under the same path; the sample file and replays are
    written there. ``logs`` is the folder for a log per launch. ``count`` is the number of launches so far.
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
        self._spec: LaunchSpec | None = None
        self._driver_of_launch: Driver | None = None
        self._force_arguments: tuple[str, ...] | None = None
        self._sequences: set[str] = set()
        self._commands: dict[LaunchSpec, launch_command.LaunchCommand] = {}

    def command(self, spec: LaunchSpec) -> launch_command.LaunchCommand:
        """The exact command of a launch."""
        if spec not in self._commands:  # needed for each case, and reading the node's cores takes 1 ms
            self._commands[spec] = self._create_command(spec)
        return self._commands[spec]

    def _create_command(self, spec: LaunchSpec) -> launch_command.LaunchCommand:
        return launch_command.command(
            self._installation,
            [str(self._driver), *(["--threads"] if spec.threads > 1 else []), "--samples", str(self.samples)],
            spec.p,
            nodes=spec.nodes,
            ppn=spec.ppn,
            hostfile=self._hostfile,
            launcher=self._section.launcher,
            options=self._section.options,
            environment=self._section.environment | dict(spec.environment),
            allocation=self._allocation,
            steerable=spec.steerable,
            threads=spec.threads,
        )

    def get(self, spec: LaunchSpec) -> Driver:
        """The running launch if it fits ``spec``, else a new one."""
        if self._driver_of_launch is None or self._spec != spec:
            self.close()
            command = self.command(spec)
            self.count += 1
            self._logs.mkdir(parents=True, exist_ok=True)
            self.samples.parent.mkdir(parents=True, exist_ok=True)
            log = self._logs / f"launch-{os.getpid()}-{self.count:04d}.log"
            try:
                self._driver_of_launch = Driver(command.argv, command.environment, log)
            except OSError as error:
                raise RunFailed(
                    f"{command.argv[0]} could not be started: {error.strerror or error}. 'offbeat doctor'"
                    " shows which installations work here"
                ) from error
            self._spec = spec
        return self._driver_of_launch

    @contextmanager
    def run_launch(self, spec: LaunchSpec) -> Iterator[Driver]:
        """The launch that fits ``spec``; it is forgotten if it is lost in the block."""
        try:
            yield self.get(spec)
        except DriverLost:
            self.drop()
            raise

    def force(self, driver: Driver, arguments: Sequence[str], timeout_s: float) -> None:
        """Force an algorithm in the launch, unless it is already forced.

        Raises what :meth:`Driver.ask` raises.
        """
        if self._force_arguments == tuple(arguments):
            return
        self._force_arguments = None
        driver.ask(Force(settings=tuple(arguments)), timeout_s=timeout_s)
        self._force_arguments = tuple(arguments)

    def failure(self, spec: LaunchSpec, timeout_s: float) -> str:
        """Why a launch fails even without a collective call; empty if it works."""

        def greet() -> None:
            with self.run_launch(spec) as driver:
                driver.ask(Hello(), timeout_s=timeout_s)

        try:
            repeat_if_lost(greet)
        except (DriverLost, CommandRefused) as error:
            return str(error)
        return ""

    def check_samples(self, repetitions: int, p: int, partitions: int = 1) -> None:
        """Raise RunFailed unless the sample file has the size that the launch reports."""
        expected_bytes = sample_bytes(repetitions, p, partitions)
        try:
            with open_regular(self.samples) as file:
                actual = os.fstat(file.fileno()).st_size
        except OSError:
            actual = 0
        if actual != expected_bytes:
            raise RunFailed(
                f"rank 0 wrote {expected_bytes} bytes of samples, but {self.samples} has {actual} here:"
                f" {SHARED_FOLDER_REMEDY}"
            )

    def check_reason(self, refusal: str) -> None:
        """Raise RunFailed if a refusal is not the algorithm's fault."""
        if refusal == SAMPLES_UNWRITTEN:
            raise RunFailed(f"rank 0 could not write its samples to {self.samples}: {SHARED_FOLDER_REMEDY}")
        if refusal == SEQUENCE_UNREAD:
            raise RunFailed(
                f"rank 0 could not read a replay's calls in {self.samples.parent}: {SHARED_FOLDER_REMEDY}"
            )

    def sequence(self, delays_s: NDArray[np.float64]) -> str:
        """The name of a file beside the samples with the delays of a replay's calls, (calls, p) in seconds.

        The file is written at first use. Raises RunFailed if it cannot be written.
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
                raise RunFailed(
                    f"cannot write {path}: {error.strerror or error}; {SHARED_FOLDER_REMEDY}"
                ) from error
            self._sequences.add(name)
        return name

    def check_sequence(self, calls: int, delays_s: NDArray[np.float64]) -> None:
        """Raise RunFailed unless rank 0 read as many calls as were written."""
        if calls != len(delays_s):
            raise RunFailed(
                f"rank 0 read {calls} calls of a replay that has {len(delays_s)} in {self.samples.parent}:"
                f" {SHARED_FOLDER_REMEDY}"
            )

    def drop(self) -> None:
        """Forget a launch that died."""
        self._driver_of_launch = None
        self._force_arguments = None

    def kill(self) -> None:
        """End the running launch at once, for instance after a call that may have left messages behind."""
        if self._driver_of_launch is not None:
            self._driver_of_launch.kill()
        self.drop()

    def close(self) -> None:
        """End the running launch."""
        if self._driver_of_launch is not None:
            self._driver_of_launch.close()
        self.drop()

    def variables(self, regex: str, environment: Mapping[str, str], timeout_s: float) -> list[Variable]:
        """The library's control variables, listed by a launch of one process."""
        spec = LaunchSpec(p=1, nodes=0, ppn=0, environment=tuple(sorted(environment.items())))

        def list_variables() -> list[Variable]:
            with self.run_launch(spec) as driver:
                return driver.ask(ListVariables(regex=regex), timeout_s=timeout_s).variables

        return repeat_if_lost(list_variables)
