"""Running cases in launches of two processes: many cases in a launch, and a new one after a crash or hang."""

from __future__ import annotations

import math
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
from msgspec import Struct

from offbeat.conformance.outcomes import Case, Outcome, Verdict
from offbeat.errors import RunFailed
from offbeat.mpi.driver import HUNG, Driver, DriverLost
from offbeat.mpi.launch import LaunchCommand

PATIENCE_S = 60.0
"""How long a launch may take until it answers for the first time."""

GRACE_S = 5.0
"""How much longer than a case may take, as the processes notice hangs themselves."""

QUALITY_TIMEOUT_S = 5.0
"""The longest timeout of cases that the standard does not require: wrong calls often hang."""


class _Found(Struct):
    verdict: Verdict
    found: str


class _Listed(Struct):
    cases: list[Case]


class CaseRunner:
    """Runs cases of the native program that ``launch`` starts; a context manager that ends the launch."""

    def __init__(self, launch: LaunchCommand, timeout_s: float, logs: Path) -> None:
        self._launch = launch
        self._timeout_s = timeout_s
        self._logs = logs
        self._running: Driver | None = None
        self._cases_run = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def cases(self) -> list[Case]:
        """All cases; raises :class:`RunFailed` if the program cannot be launched."""
        try:
            answer = self._driver().exchange("cases", timeout_s=PATIENCE_S)
        except DriverLost as lost:
            self._running = None
            raise RunFailed(
                f"two processes cannot be launched: {lost}; 'offbeat doctor' shows what works here"
            ) from None
        return msgspec.json.decode(answer, type=_Listed).cases

    def run(self, case: Case) -> Outcome:
        """Run a case; if it is not right and other cases ran before it, again in a launch of its own."""
        began = time.monotonic()
        found = self._run_once(case)
        if found.verdict in ("right", "skipped") or self._cases_run == 1:
            pass
        elif self._again_alone(case).verdict == "right":
            found.found += " (after other cases in the same launch; alone it is right)"
        if case.misuse or found.verdict not in ("right", "skipped"):
            self._end()
        return Outcome(
            case=case.name,
            section=case.section,
            promise=case.promise,
            required=case.required,
            verdict=_of_quality(found.verdict) if not case.required else found.verdict,
            found=found.found,
            duration_s=round(time.monotonic() - began, 3),
        )

    def _again_alone(self, case: Case) -> _Found:
        self._end()
        return self._run_once(case)

    def _run_once(self, case: Case) -> _Found:
        timeout_s = self._timeout_s if case.required else min(self._timeout_s, QUALITY_TIMEOUT_S)
        driver = self._driver()
        self._cases_run += 1
        first_s = PATIENCE_S if self._cases_run == 1 else 0.0
        command = f"run {case.name} {max(1, math.ceil(timeout_s))}"
        try:
            answer = driver.exchange(command, timeout_s=timeout_s + GRACE_S + first_s)
        except DriverLost as lost:
            self._running = None
            hangs = str(lost).startswith(HUNG)
            return _Found(verdict="hangs" if hangs else "crashes", found=str(lost).removeprefix(HUNG))
        return msgspec.json.decode(answer, type=_Found)

    def _driver(self) -> Driver:
        if self._running is None:
            self._cases_run = 0
            launch = self._launch
            try:
                self._running = Driver(launch.argv, launch.environment, self._logs / "launches.log")
            except OSError as error:
                raise RunFailed(
                    f"{launch.argv[0]} could not be started: {error.strerror or error}"
                ) from error
        return self._running

    def _end(self) -> None:
        """End the launch, by force: processes of a case that is not right wait for ever."""
        if self._running is not None:
            self._running.close(patience_s=0)
        self._running = None


def _of_quality(verdict: Verdict) -> Verdict:
    if verdict == "right":
        return "yes"
    return "no" if verdict == "wrong" else verdict
