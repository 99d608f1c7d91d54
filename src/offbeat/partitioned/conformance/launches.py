"""Running cases in launches of two processes: many cases in a launch, and a new one after a crash or hang."""

from __future__ import annotations

import math
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec import Struct

from offbeat.base.errors import RunFailed
from offbeat.base.reading import decode_json
from offbeat.libraries.launch.driver import HUNG, Driver, DriverLost
from offbeat.libraries.launch.launch_command import LaunchCommand
from offbeat.partitioned.conformance.outcomes import Case, Outcome, Verdict

PATIENCE_S = 60.0
"""How long a launch may take until it answers for the first time."""

GRACE_S = 5.0
"""How much longer than a case may take, as the processes notice hangs themselves."""

QUALITY_TIMEOUT_S = 5.0
"""The longest timeout of cases that the standard does not require: wrong calls often hang."""

GOOD = ("right", "skipped")
"""Verdicts after which the launch can be used for another case."""


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
        self._cases: list[Case] = []
        self._cases_run = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def cases(self) -> list[Case]:
        """All cases; raises :class:`RunFailed` if the program cannot be launched."""
        self._launched()
        return self._cases

    def run(self, case: Case) -> Outcome:
        """Run a case; if it is not right and other cases ran before it, again in a launch of its own.

        Raises :class:`RunFailed` if the program cannot be launched any more.
        """
        began = time.monotonic()
        found = self._run_once(case)
        if found.verdict not in GOOD and self._cases_run > 1:
            self._end()
            if self._run_once(case).verdict in GOOD:
                found.found += " (after other cases in the same launch; alone it is right)"
        if case.misuse or found.verdict not in GOOD:
            self._end()
        return Outcome(
            case=case.name,
            section=case.section,
            promise=case.promise,
            required=case.required,
            verdict=found.verdict if case.required else _of_quality(found.verdict),
            found=found.found,
            duration_s=round(time.monotonic() - began, 3),
        )

    def _run_once(self, case: Case) -> _Found:
        timeout_s = self._timeout_s if case.required else min(self._timeout_s, QUALITY_TIMEOUT_S)
        driver = self._launched()
        self._cases_run += 1
        command = f"run {case.name} {math.ceil(timeout_s)}"
        try:
            answer = driver.exchange(command, timeout_s=timeout_s + GRACE_S)
        except DriverLost as lost:
            self._running = None
            hangs = str(lost).startswith(HUNG)
            return _Found(verdict="hangs" if hangs else "crashes", found=str(lost).removeprefix(HUNG))
        return decode_json(answer, _Found)

    def _launched(self) -> Driver:
        """The running launch, or a new one that has answered."""
        if self._running is not None:
            return self._running
        launch = self._launch
        try:
            driver = Driver(launch.argv, launch.environment, self._logs / "launches.log")
            answer = driver.exchange("cases", timeout_s=PATIENCE_S)
        except OSError as error:
            raise RunFailed(f"{launch.argv[0]} could not be started: {error.strerror or error}") from error
        except DriverLost as lost:
            raise RunFailed(
                f"two processes cannot be launched: {lost}; 'offbeat doctor' shows what works here"
            ) from None
        self._cases = decode_json(answer, _Listed).cases
        self._running, self._cases_run = driver, 0
        return driver

    def _end(self) -> None:
        """End the launch, by force: processes of a case that is not right wait for ever."""
        if self._running is not None:
            self._running.close(patience_s=0)
        self._running = None


def _of_quality(verdict: Verdict) -> Verdict:
    if verdict == "right":
        return "yes"
    return "no" if verdict == "wrong" else verdict
