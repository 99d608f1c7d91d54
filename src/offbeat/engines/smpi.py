"""The engine ``smpi``: SimGrid's own simulation of MPI, many calls within one process."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from offbeat.engines import smpi_platform
from offbeat.engines.base import Batch, Exits, Proved, measured_alone
from offbeat.engines.placements import Placements
from offbeat.engines.session import LOSSES_BEFORE_GIVING_UP, NOT_TRIED
from offbeat.engines.smpi_program import Call, Oracle, build_program
from offbeat.errors import BadInput, RunFailed
from offbeat.mpi.cores import available
from offbeat.mpi.driver import HUNG, DriverLost, Refused
from offbeat.platform.machine import Platform
from offbeat.platform.network import Nodes
from offbeat.results import layout
from offbeat.results.blocks import Samples
from offbeat.study.algorithm import DEFAULT, Algorithm, Verdict
from offbeat.study.case import REDUCING, Case
from offbeat.study.cases import Group, group_of
from offbeat.study.evidence import FUNCTIONS
from offbeat.study.load import LoadedStudy
from offbeat.study.schema import EXTENTS, RepetitionsSection

COLLECTIVES = (
    "allgather",
    "allreduce",
    "alltoall",
    "barrier",
    "bcast",
    "exscan",
    "gather",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scan",
    "scatter",
)
"""What ``offbeat-smpi`` can call."""

CHECKED_BLOCKS = 3
"""Elements of a block in the call that checks an algorithm; reductions are checked with p + 1 elements,
because some give way to others below p."""

CROWDED = 64
"""Above so many ranks SimGrid is slow where everybody sends to everybody at once."""

END_PATIENCE_S = 1.0

Answer = TypeVar("Answer")


class SmpiEngine:
    """See :class:`offbeat.engines.base.BatchEngine`.

    Each of ``workers`` threads has a program of its own, which is started anew after a crash. ``logs`` takes
    what SimGrid prints, and ``scratch`` its platform files while they are needed.
    """

    deterministic = True

    def __init__(
        self,
        platform: Platform,
        program: Path,
        *,
        hang_after_s: float,
        workers: int,
        logs: Path,
        scratch: Path,
    ) -> None:
        self.platform = platform
        self.batches_ahead = 2 * workers
        self._program = program
        self._hang_after_s = hang_after_s
        self._logs = logs
        self._scratch = scratch
        self._settings = smpi_platform.settings(platform)
        self._placements = Placements(platform)
        self._executor = ThreadPoolExecutor(workers, thread_name_prefix="smpi")
        self._own = threading.local()
        self._lock = threading.Lock()
        self._running: list[Oracle] = []
        self._alone: Oracle | None = None
        self._numbers = itertools.count(1)
        self._losses: dict[tuple[str, str], list[str]] = {}
        self._algorithms: dict[str, list[Algorithm]] = {}
        self._version = ""

    def describe(self) -> dict[str, object]:
        """Facts for the provenance; the identity is that of SimGrid's version and the platform."""
        if not self._version:
            self._version = self._ask_alone(lambda oracle: oracle.version)
        platform = msgspec.to_builtins(self.platform.file)
        digest = hashlib.sha256(msgspec.json.encode([self._version, platform], order="deterministic"))
        library = {
            "name": f"smpi on {self.platform.name}",
            "library": f"SimGrid {self._version}",
            "identity": digest.hexdigest()[:16],
            "family": "simgrid",
            "version": self._version,
            "simulated": True,
            "platform": platform,
            "settings": self._settings,
        }
        return {"library": library, "deterministic": True}

    def algorithms(self, collective: str) -> list[Algorithm]:
        """SMPI's algorithms; ``default`` is what it does unless told otherwise."""
        if collective not in COLLECTIVES:
            return []
        if collective not in self._algorithms:
            names = [DEFAULT, *self._ask_alone(lambda oracle: oracle.algorithms(collective))]
            self._algorithms[collective] = [Algorithm(collective=collective, name=name) for name in names]
        return self._algorithms[collective]

    def named(self, collective: str, name: str) -> Algorithm | None:
        """The algorithm of a name; SMPI's have no parameters."""
        return next((one for one in self.algorithms(collective) if one.name == name), None)

    def place(self, group: Group) -> Group:
        """The nodes and processes a node that the platform's mapping gives."""
        return self._placements.place(group)

    def adopt(self, algorithms: Iterable[Algorithm]) -> None:
        """Names never change here."""

    def prove(
        self, requests: Iterable[tuple[Algorithm, Case]], told: Callable[[str], None] = lambda _: None
    ) -> Iterator[Proved]:
        """Call each algorithm once with numbers: what SimGrid implements is not always right."""
        for (collective, p), chunk in groupby(requests, key=lambda entry: (entry[1].collective, entry[1].p)):
            told(f"checking {collective}, p = {p}")
            asked = list(chunk)
            keys = [_checked(algorithm, case) for algorithm, case in asked]
            checks = {
                key: self._executor.submit(self._check, key, case)
                for key, (_, case) in zip(keys, asked, strict=True)
            }
            algorithms = {algorithm.name: algorithm for algorithm, _ in asked}
            yield Proved(
                algorithms=list(algorithms.values()),
                verdicts=[
                    _verdict(algorithm, case, *checks[key].result())
                    for key, (algorithm, case) in zip(keys, asked, strict=True)
                ],
            )

    def measure(
        self, algorithm: Algorithm, case: Case, delays_s: NDArray[np.float64], rule: RepetitionsSection
    ) -> Samples:
        """One case alone: one repetition, or one of each call of a replay."""
        return measured_alone(self.submit, algorithm, case, delays_s)

    def begin_round(self, number: int) -> None:
        """Nothing differs between rounds here, and there is one."""

    def patterns_at_once(self, case: Case) -> int:
        """One, as they are simulated one by one: so a crash costs one case."""
        return 1

    def submit(self, batch: Batch) -> Future[Exits]:
        """Begin a batch on one of the workers."""
        return self._executor.submit(self._simulate, batch)

    def launch_line(self, algorithm: Algorithm, case: Case) -> str:
        """Nothing that could be copied into a shell."""
        return ""

    def warnings(self, case: Case) -> list[str]:
        """What SimGrid does differently, and where it is slow."""
        found = smpi_platform.warnings(self.platform)
        if case.p > CROWDED and case.collective in ("allreduce", "alltoall"):
            found.append(
                f"SimGrid may take minutes to hours for each case of {case.collective} with p = {case.p}"
                " where everybody sends to everybody at once (alltoall: basic_linear, mvapich2_scatter_dest;"
                " allreduce: rab1, rab2); what takes longer than repetitions.hang_after is given up"
            )
        return found

    def inspect(self, case: Case) -> dict[str, object]:
        """Where the ranks are."""
        return {"p": case.p, "nodes": case.nodes, "ppn": case.ppn}

    def group_key(self, algorithm: Algorithm, case: Case) -> tuple[object, ...]:
        """A program has one placement."""
        return (case.p, case.nodes, case.ppn)

    def close(self) -> None:
        """End the programs."""
        self._executor.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            running, self._running = self._running, []
        for oracle in running:
            oracle.close(END_PATIENCE_S)
        with contextlib.suppress(OSError):
            self._scratch.rmdir()

    def _simulate(self, batch: Batch) -> Exits:
        case = batch.cases[0]
        losses = self._losses.setdefault((batch.algorithm.name, repr(group_of(case))), [])
        if len(losses) >= LOSSES_BEFORE_GIVING_UP:
            return _failed(case, f"{NOT_TRIED}{losses[-1]}")
        call = Call(
            case.collective,
            batch.algorithm.name,
            bytes=case.bytes,
            datatype=case.datatype or "byte",
            root=case.root,
        )
        try:
            oracle = self._mine(case)
            exits = [oracle.run(call, delays)[0] for delays in batch.delays_s]
        except DriverLost as lost:
            self._forget_mine()
            losses.append(_reason(lost))
            return _failed(case, losses[-1])
        except Refused as refusal:
            return _failed(case, str(refusal))
        return Exits(exits_s=np.stack(exits))

    def _check(self, key: tuple[object, ...], case: Case) -> tuple[str, str]:
        """A status and its reason."""
        algorithm, elements = str(key[0]), int(str(key[-1]))
        call = Call(
            case.collective, algorithm, bytes=elements * EXTENTS["int"], datatype="int", root=case.root
        )
        try:
            wrong = self._mine(case).wrong(call)
        except DriverLost as lost:
            self._forget_mine()
            return "quarantined", _reason(lost)
        except Refused as refusal:
            return "refused", str(refusal)
        return ("wrong", f"{wrong} elements of the results are wrong") if wrong else ("proved", "")

    def _mine(self, case: Case) -> Oracle:
        """This thread's program, with the placement of a case."""
        placement = (case.p, case.nodes, case.ppn)
        if getattr(self._own, "placement", None) != placement:
            if getattr(self._own, "oracle", None) is not None:
                self._end(self._own.oracle)
            self._own.oracle = self._start(self._placements.node_of_rank(case))
            self._own.placement = placement
        oracle: Oracle = self._own.oracle
        return oracle

    def _forget_mine(self) -> None:
        """It died."""
        self._end(self._own.oracle)
        self._own.oracle = self._own.placement = None

    def _start(self, node_of_rank: Nodes) -> Oracle:
        oracle = Oracle(
            self._program,
            smpi_platform.xml(self.platform, node_of_rank),
            [smpi_platform.host(int(node)) for node in node_of_rank],
            self._settings,
            folder=self._scratch,
            log=self._logs / f"smpi-{os.getpid()}-{next(self._numbers):04d}.log",
            patience_s=self._hang_after_s,
        )
        with self._lock:
            self._running.append(oracle)
        return oracle

    def _ask_alone(self, question: Callable[[Oracle], Answer]) -> Answer:
        """Ask a program with one rank what no placement changes."""
        try:
            if self._alone is None:
                self._alone = self._start(np.zeros(1, dtype=np.int32))
            return question(self._alone)
        except DriverLost as lost:
            raise RunFailed(f"SimGrid cannot be used here: {lost}") from None

    def _end(self, oracle: Oracle) -> None:
        with self._lock:
            self._running = [one for one in self._running if one is not oracle]
        oracle.close(END_PATIENCE_S)


def smpi_engine_of(loaded: LoadedStudy, directory: Path) -> SmpiEngine:
    """SimGrid on the study's platform; its program is built where it is not there yet.

    Raises BadInput for a platform that SimGrid cannot express, and RunFailed where there is no SimGrid.
    """
    section = loaded.study.simulator
    if section.executor != "local":
        raise BadInput(
            f"{loaded.where(('simulator', 'executor'))} the engine smpi computes on this machine's cores"
            f" alone, not with {section.executor}: write executor = 'local'"
        )
    platform = loaded.platform()
    smpi_platform.refuse(platform)
    return SmpiEngine(
        platform,
        build_program(),
        hang_after_s=loaded.study.repetitions.hang_after,
        workers=available().logical,
        logs=directory.absolute() / layout.LOGS,
        scratch=directory.absolute() / "scratch",
    )


def _checked(algorithm: Algorithm, case: Case) -> tuple[object, ...]:
    """What a check depends on; the last is the number of elements."""
    whole = case.collective in REDUCING or case.collective == "bcast"
    in_blocks = not whole or case.collective.startswith("reduce_scatter")
    most = CHECKED_BLOCKS if in_blocks else case.p + 1
    elements = min(case.bytes // EXTENTS.get(case.datatype, 1), most)
    return algorithm.name, case.p, case.nodes, case.ppn, case.root, elements


def _verdict(algorithm: Algorithm, case: Case, status: str, reason: str) -> Verdict:
    function = f"{FUNCTIONS}simgrid::smpi::{case.collective}__{algorithm.name}"
    return Verdict(
        collective=case.collective,
        algorithm=algorithm.name,
        p=case.p,
        bytes=case.bytes,
        status=status,
        reason=reason,
        evidence=function if status in ("proved", "wrong") else "",
    )


def _reason(lost: DriverLost) -> str:
    hung = str(lost).startswith(HUNG)
    return f"{lost}; repetitions.hang_after says how long to wait" if hung else str(lost)


def _failed(case: Case, reason: str) -> Exits:
    return Exits(exits_s=np.zeros((0, case.p)), failure=reason)
