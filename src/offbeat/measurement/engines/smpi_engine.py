"""The engine ``smpi``: SimGrid's simulation of MPI, with many calls in one process."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import numpy as np

from offbeat.base.errors import BadInput, RunFailed
from offbeat.libraries.launch.cores import available
from offbeat.libraries.launch.driver import HUNG, CommandRefused, DriverLost
from offbeat.measurement.engines import smpi_platform
from offbeat.measurement.engines.engine import Batch, Exits
from offbeat.measurement.engines.simulated_machine import Simulator, failed_exits
from offbeat.measurement.engines.smpi_commands import SmpiCall
from offbeat.measurement.engines.smpi_program import SimGridProcess, build_program
from offbeat.measurement.results import layout
from offbeat.measurement.runs.session import MOST_FAILURES, NOT_TRIED
from offbeat.model.platform.machine import Platform
from offbeat.model.platform.network import Nodes
from offbeat.model.study.algorithm import DEFAULT, Algorithm, Verdict
from offbeat.model.study.case import Case
from offbeat.model.study.case_expansion import group_of
from offbeat.model.study.collectives import PROPERTIES
from offbeat.model.study.evidence import FUNCTIONS
from offbeat.model.study.schema import EXTENTS
from offbeat.model.study.study_file import LoadedStudy

CHECKED_BLOCKS = 3
"""Elements of a block in the call that checks an algorithm; reductions are checked with p + 1 elements,
because some algorithms fall back to others below p elements."""

SLOW_FROM_RANKS = 64
"""Above this number of ranks SimGrid is slow for algorithms in which all ranks send to all others at once."""

END_PATIENCE_S = 1.0
"""How long a SimGrid program may take to end before it is killed."""

Answer = TypeVar("Answer")


class SmpiEngine(Simulator):
    """See :class:`offbeat.measurement.engines.engine.BatchEngine`.

    Each of ``workers`` threads has a program of its own, which is restarted after a crash. ``logs`` is the
    folder for SimGrid's output, and ``scratch`` for its temporary platform files.
    """

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
        super().__init__(platform)
        self.batches_ahead = 2 * workers
        self._program = program
        self._hang_after_s = hang_after_s
        self._logs = logs
        self._scratch = scratch
        self._settings = smpi_platform.settings(platform)
        self._executor = ThreadPoolExecutor(workers, thread_name_prefix="smpi")
        self._of_thread = threading.local()
        self._lock = threading.Lock()
        self._programs: list[SimGridProcess] = []
        self._one_rank: SimGridProcess | None = None
        self._numbers = itertools.count(1)
        self._failures: dict[tuple[str, str], list[str]] = {}
        self._algorithms: dict[str, list[Algorithm]] = {}
        self._version = ""

    def describe(self) -> dict[str, object]:
        """Facts for the provenance."""
        if not self._version:
            self._version = self._query(lambda program: program.version)
        return self._facts(
            f"smpi on {self.platform.name}",
            f"SimGrid {self._version}",
            "simgrid",
            self._version,
            self._version,
            settings=self._settings,
        )

    def algorithms(self, collective: str) -> list[Algorithm]:
        """SMPI's algorithms; ``default`` is SMPI's own choice."""
        if PROPERTIES[collective].use != "simulated":
            return []
        if collective not in self._algorithms:
            names = [DEFAULT, *self._query(lambda program: program.algorithms(collective))]
            self._algorithms[collective] = [Algorithm(collective=collective, name=name) for name in names]
        return self._algorithms[collective]

    def find_algorithm(self, collective: str, name: str) -> Algorithm | None:
        """The algorithm with a name; SMPI's algorithms have no parameters."""
        return next((one for one in self.algorithms(collective) if one.name == name), None)

    def patterns_at_once(self, case: Case) -> int:
        """One, because patterns are simulated one by one: so a crash loses one case."""
        return 1

    def submit(self, batch: Batch) -> Future[Exits]:
        """Begin a batch on one of the workers."""
        return self._executor.submit(self._simulate, batch)

    def warnings(self, case: Case) -> list[str]:
        """Sentences on how SimGrid's model differs, and where it is slow."""
        sentences = smpi_platform.warnings(self.platform)
        if case.p > SLOW_FROM_RANKS and case.collective in ("allreduce", "alltoall"):
            sentences.append(
                f"SimGrid may take minutes to hours for each case of {case.collective} with p = {case.p} if"
                " all ranks send to all others at once (alltoall: basic_linear, mvapich2_scatter_dest;"
                " allreduce: rab1, rab2); cases that take longer than repetitions.hang_after are quarantined"
            )
        return sentences

    def close(self) -> None:
        """End the programs."""
        self._executor.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            programs, self._programs = self._programs, []
        for program in programs:
            program.close(END_PATIENCE_S)
        with contextlib.suppress(OSError):
            self._scratch.rmdir()

    def _proof_step(self, case: Case) -> str:
        return f"checking {case.collective}, p = {case.p}"

    def _verdicts(self, requests: Sequence[tuple[Algorithm, Case]]) -> list[Verdict]:
        """Execute each algorithm once with data: SimGrid's implementations are not always correct."""
        checks: dict[object, Future[tuple[str, str]]] = {}
        outcomes = []
        for algorithm, case in requests:
            call = _checked_call(algorithm, case)
            key = (call, case.p, case.nodes, case.ppn)
            if key not in checks:
                checks[key] = self._executor.submit(self._check, call, case)
            outcomes.append((algorithm, case, checks[key]))
        return [_verdict(algorithm, case, *check.result()) for algorithm, case, check in outcomes]

    def _simulate(self, batch: Batch) -> Exits:
        case = batch.cases[0]
        failures = self._failures.setdefault((batch.algorithm.name, repr(group_of(case))), [])
        if len(failures) >= MOST_FAILURES:
            return failed_exits(case.p, f"{NOT_TRIED}{failures[-1]}")
        call = SmpiCall(
            collective=case.collective,
            algorithm=batch.algorithm.name,
            bytes=case.bytes,
            datatype=case.datatype or "byte",
            root=case.root,
        )
        try:
            program = self._thread_program(case)
            exits = [program.run(call, delays)[0] for delays in batch.delays_s]
        except DriverLost as loss:
            self._drop_thread_program()
            failures.append(_reason(loss))
            return failed_exits(case.p, failures[-1])
        except CommandRefused as refusal:
            return failed_exits(case.p, str(refusal))
        return Exits(exits_s=np.stack(exits))

    def _check(self, call: SmpiCall, case: Case) -> tuple[str, str]:
        try:
            wrong = self._thread_program(case).wrong(call)
        except DriverLost as loss:
            self._drop_thread_program()
            return "quarantined", _reason(loss)
        except CommandRefused as refusal:
            return "refused", str(refusal)
        return ("wrong", f"{wrong} elements of the results are wrong") if wrong else ("proved", "")

    def _thread_program(self, case: Case) -> SimGridProcess:
        """The SimGrid program of the calling thread, with the placement of a case."""
        placement = (case.p, case.nodes, case.ppn)
        if getattr(self._of_thread, "placement", None) != placement:
            if getattr(self._of_thread, "program", None) is not None:
                self._end(self._of_thread.program)
            self._of_thread.program = self._start(self._nodes(case))
            self._of_thread.placement = placement
        program: SimGridProcess = self._of_thread.program
        return program

    def _drop_thread_program(self) -> None:
        self._end(self._of_thread.program)
        self._of_thread.program = self._of_thread.placement = None

    def _start(self, node_of_rank: Nodes) -> SimGridProcess:
        program = SimGridProcess(
            self._program,
            smpi_platform.xml(self.platform, node_of_rank),
            [smpi_platform.host(int(node)) for node in node_of_rank],
            self._settings,
            folder=self._scratch,
            log=self._logs / f"smpi-{os.getpid()}-{next(self._numbers):04d}.log",
            patience_s=self._hang_after_s,
        )
        with self._lock:
            self._programs.append(program)
        return program

    def _query(self, question: Callable[[SimGridProcess], Answer]) -> Answer:
        """The answer of a program with one rank to a question that does not depend on the placement."""
        try:
            if self._one_rank is None:
                self._one_rank = self._start(np.zeros(1, dtype=np.int32))
            return question(self._one_rank)
        except DriverLost as loss:
            raise RunFailed(f"SimGrid cannot be used here: {loss}") from None

    def _end(self, program: SimGridProcess) -> None:
        with self._lock:
            self._programs = [one for one in self._programs if one is not program]
        program.close(END_PATIENCE_S)


def smpi_engine_of(loaded_study: LoadedStudy, directory: Path) -> SmpiEngine:
    """SimGrid on the study's platform; builds its program if necessary.

    Raises BadInput for a platform that SimGrid cannot express, and RunFailed if there is no SimGrid.
    """
    section = loaded_study.study.simulator
    if section.executor != "local":
        raise BadInput(
            f"{loaded_study.where(('simulator', 'executor'))} the engine smpi runs only on this machine's"
            f" cores, not with {section.executor}: write executor = 'local'"
        )
    platform = loaded_study.platform()
    smpi_platform.refuse(platform)
    return SmpiEngine(
        platform,
        build_program(),
        hang_after_s=loaded_study.study.repetitions.hang_after,
        workers=available().logical,
        logs=directory.absolute() / layout.LOGS,
        scratch=directory.absolute() / "scratch",
    )


def _checked_call(algorithm: Algorithm, case: Case) -> SmpiCall:
    """The call that checks an algorithm, with fewer elements than the case if it has many."""
    has_blocks = PROPERTIES[case.collective].buffers("BLOCK_PER_RANK") > 0
    largest = CHECKED_BLOCKS if has_blocks else case.p + 1
    elements = min(case.bytes // EXTENTS.get(case.datatype, 1), largest)
    return SmpiCall(
        collective=case.collective,
        algorithm=algorithm.name,
        bytes=elements * EXTENTS["int"],
        datatype="int",
        root=case.root,
    )


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


def _reason(loss: DriverLost) -> str:
    hung = str(loss).startswith(HUNG)
    return f"{loss}; repetitions.hang_after sets the limit" if hung else str(loss)
