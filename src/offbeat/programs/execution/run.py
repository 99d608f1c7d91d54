"""Running a program with an MPI library: the launch of the executor, and watching it until it ends."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.base.errors import BadInput, RunFailed
from offbeat.libraries.installations.build import build_native
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch import batch_job, launch_command
from offbeat.libraries.launch.driver import CommandRefused, Driver, DriverLost
from offbeat.libraries.launch.launch_command import LaunchCommand
from offbeat.programs.description.program_file import Program
from offbeat.programs.execution.forced_algorithms import forced
from offbeat.programs.execution.plan import delay_bytes, plan_text
from offbeat.programs.execution.times import (
    Measured,
    RunFacts,
    completed,
    domains_of,
    has_run,
    read,
    write_facts,
)
from offbeat.programs.simulation.simulate import Progress, check_size
from offbeat.trace import recording

EXECUTOR = "offbeat-program"

ALONE = 5
"""How often each phase is executed alone."""

POLL_S = 0.2
"""Between two looks at the progress of a run."""


class RunSettings(Struct, frozen=True, kw_only=True):
    """How a program is run.

    ``nodes``, ``ppn`` and ``hostfile`` place the ranks (0: the launcher does). ``buffer_bytes`` is the size
    of the arrays of work (0: by the caches). ``hang_after_s`` is how long no iteration may end.
    ``trace`` is the folder for a trace, if one is recorded.
    """

    nodes: int = 0
    ppn: int = 0
    hostfile: Path | None = None
    buffer_bytes: int = 0
    hang_after_s: float = 60.0
    trace: Path | None = None


class ProgramLaunch:
    """The launches for a run of a program; ``folder`` must be visible to all nodes."""

    def __init__(
        self, program: Program, installation: Installation, settings: RunSettings, folder: Path
    ) -> None:
        self._program = program
        self._installation = installation
        self._settings = settings
        self._folder = folder
        self._plan = plan_text(
            program,
            iterations=program.file.iterations,
            alone=ALONE,
            buffer_bytes=settings.buffer_bytes,
        )
        self.warnings = self._command(Path(EXECUTOR), program.file.ranks, {}).warnings

    def run(self, on_progress: Progress | None = None) -> str:
        """Run the program; returns why the run ended early, empty if it did not.

        Raises :class:`RunFailed` if no rank began. What the ranks recorded is in the folder in any case.
        """
        executor = build_native(self._installation).with_name(EXECUTOR)
        p = self._program.file.ranks
        how = forced(self._program, self._installation, self._command)
        facts = RunFacts(
            program=self._program.toml,
            path=self._program.path,
            ranks=p,
            iterations=self._program.file.iterations,
            seed=self._program.file.seed,
            library=self._installation.version_text,
            notes=[*how.sentences, *self.warnings],
        )
        write_facts(facts, self._folder)
        if self._program.file.noise:
            delays = delay_bytes(self._program, self._domains(executor))
            (self._folder / "delays").write_bytes(delays)
        (self._folder / "plan").write_text(self._plan, encoding="ascii")
        return self._execute(self._traced(self._command(executor, p, how.environment)), on_progress)

    def _command(self, program: Path, p: int, variables: Mapping[str, str]) -> LaunchCommand:
        is_all = p == self._program.file.ranks
        argv = [str(program), *([str(self._folder.absolute())] if program.name == EXECUTOR else [])]
        return launch_command.command(
            self._installation,
            argv,
            p,
            nodes=self._settings.nodes if is_all else 0,
            ppn=self._settings.ppn if is_all else 0,
            hostfile=self._settings.hostfile,
            allocation=batch_job.current(),
            environment=variables,
            steerable=bool(variables),
        )

    def _traced(self, command: LaunchCommand) -> tuple[list[str], dict[str, str]]:
        """The command and its environment, with the tracer if a trace is recorded."""
        if self._settings.trace is None:
            return command.argv, command.environment
        prepared = recording.prepare(
            command.argv,
            self._settings.trace,
            {"MESSAGES": "1"},
            self._installation,
            recording.tracer_library(self._installation),
            command.environment,
        )
        return list(prepared.argv), dict(prepared.environment)

    def _domains(self, executor: Path) -> NDArray[np.int32]:
        """The memory domain of each rank, (p,); those of one domain unless delays depend on it.

        Which cores ranks get is only known when they run: the executor is launched without iterations.
        """
        p = self._program.file.ranks
        if all(section.pick != "each_domain" for section in self._program.file.noise):
            return np.zeros(p, np.int32)
        nothing = self._program.with_phases([])
        (self._folder / "plan").write_text(plan_text(nothing, iterations=0), encoding="ascii")
        command = self._command(executor, p, {})
        if reason := self._execute((command.argv, command.environment), None):
            raise RunFailed(reason)
        return domains_of(self._folder, p)

    def _execute(self, command: tuple[list[str], dict[str, str]], on_progress: Progress | None) -> str:
        argv, environment = command
        try:
            driver = Driver(argv, environment, self._folder / "log")
        except OSError as error:
            raise RunFailed(
                f"{argv[0]} could not be started: {error.strerror or error}; see 'offbeat doctor'"
            ) from None
        patience_s = 0.0
        try:
            hung = self._watch(driver, on_progress)
            patience_s = 0.0 if hung else Driver.PATIENCE_S
            return hung
        except CommandRefused as refused:
            raise RunFailed(f"the program cannot be run: {refused}") from None
        except DriverLost as lost:
            return f"the run failed: {lost}"
        finally:
            driver.close(patience_s)

    def _watch(self, driver: Driver, on_progress: Progress | None) -> str:
        """Wait until the executor answers; returns why it should be ended, empty if it has answered."""
        total = self._program.file.iterations
        times = self._folder / "rank-0.times"
        done, since_s = 0, time.monotonic()
        while driver.wait(POLL_S) is None:
            now = completed(times)
            if now != done:
                done, since_s = now, time.monotonic()
            if on_progress is not None:
                on_progress(done, total)
            if time.monotonic() - since_s > self._settings.hang_after_s:
                return (
                    f"the run hung: rank 0 ended no iteration for {self._settings.hang_after_s:g} s after"
                    f" {done} of {total}; if its iterations take longer, give more time with --hang-after"
                )
        return ""


def prepare(
    program: Program, installation: Installation, settings: RunSettings, folder: Path
) -> ProgramLaunch:
    """Check what can be checked without a launch. Raises :class:`BadInput`."""
    check_size(program)
    if has_run(folder):
        raise BadInput(f"{folder} holds a run already; give another folder with --folder, or remove it")
    if settings.trace is not None:
        recording.check_options(settings.trace, {"MESSAGES": "1"}, folder_option="--trace")
    return ProgramLaunch(program, installation, settings, folder)


def run(launches: ProgramLaunch, folder: Path, on_progress: Progress | None = None) -> tuple[Measured, str]:
    """Run a program, and read what was recorded; the text says why it ended early, empty if it did not.

    Raises :class:`RunFailed` if no iteration was completed.
    """
    reason = launches.run(on_progress)
    try:
        return read(folder), reason
    except BadInput as error:
        raise RunFailed(reason or str(error)) from None
