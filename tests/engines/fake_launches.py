"""Launches of a library that is a Python function: the engine's requests to the driver, without processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from raw_commands import made_answer

from offbeat.libraries.families.library import Variable
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.driver import CommandRefused, DriverLost
from offbeat.libraries.launch.driver_protocol import AnswerType, Command, Force, Measure
from offbeat.measurement.engines.driver_launches import Launches, LaunchSpec
from offbeat.model.study.schema import MpiSection

Answer = Callable[[LaunchSpec, tuple[str, ...], str, dict[str, Any]], dict[str, object]]
"""(launch, forced settings, verb, values) → the driver's answer; may raise DriverLost or CommandRefused."""

SOUND = {"ok": True, "error": "", "wrong": 0, "guards": 0, "misplaced": 0}


class FakeDriver:
    """One launch."""

    def __init__(self, library: FakeLaunches, where: LaunchSpec) -> None:
        self.library, self.where = library, where
        self.forced: tuple[str, ...] = ()

    def ask(self, command: Command[AnswerType], *, timeout_s: float) -> AnswerType:
        assert timeout_s > 0
        verb, values = command.verb, command.values()
        self.library.asked.append((self.where, self.forced, verb, values))
        if isinstance(command, Force):
            self.forced = command.settings
        answer = self.library.answer(self.where, self.forced, verb, dict(values))
        if isinstance(command, Measure) and "tried" not in answer:
            answer = answer | self._measure(values)
        return made_answer(command, answer)

    def ask_each(self, commands: Sequence[Command[AnswerType]], *, timeout_s: float) -> Iterator[AnswerType]:
        for command in commands:
            yield self.ask(command, timeout_s=timeout_s)

    def kill(self) -> None:
        self.library.killed += 1

    def close(self) -> None:
        self.library.closed += 1

    def _measure(self, values: dict[str, Any]) -> dict[str, object]:
        count, p = int(values["repetitions"]), self.where.p
        times = np.zeros((p, count, 4), dtype=np.int64)
        calls = np.array([values.get("delays", [0])])
        if "sequence" in values:
            calls = np.loadtxt(self.library.samples.with_name(values["sequence"]), dtype=np.int64, ndmin=2)
        first = int(values.get("call", 0))
        delays = calls[(first + np.arange(count)) % len(calls)]
        times[:, :, 0] = delays.T
        times[:, :, 1] = delays.max(axis=1) + 1000
        data = times.tobytes() + np.ones(count, dtype=np.int64).tobytes()
        self.library.samples.parent.mkdir(parents=True, exist_ok=True)
        self.library.samples.write_bytes(data)
        answer: dict[str, object] = {"tried": count, "valid": count}
        if "sequence" in values:
            answer |= {"calls": len(calls), "next": (first + count) % len(calls)}
        return answer


class FakeLaunches(Launches):
    """Launches whose processes are a function; ``asked`` records every command."""

    def __init__(
        self,
        installation: Installation,
        variables: list[dict[str, Any]],
        answer: Answer,
        folder: Path,
        section: MpiSection | None = None,
    ) -> None:
        super().__init__(
            installation,
            folder / "driver",
            section or MpiSection(),
            folder,
            logs=folder / "logs",
            scratch=folder / "scratch",
        )
        self.answer = answer
        self.asked: list[tuple[LaunchSpec, tuple[str, ...], str, dict[str, Any]]] = []
        self.started: list[LaunchSpec] = []
        self.closed = self.killed = 0
        self._variables = variables

    def get(self, where: LaunchSpec) -> Any:
        if self._driver_of_launch is None or self._where != where:
            self.close()
            self.started.append(where)
            self._driver_of_launch, self._where = FakeDriver(self, where), where  # type: ignore[assignment]
        return self._driver_of_launch

    def variables(self, regex: str, environment: Any, timeout_s: float) -> list[Variable]:
        return msgspec.convert(self._variables, list[Variable])


def driver_lost(*_: object) -> dict[str, object]:
    raise DriverLost("the launch was killed by signal 11")


def refused(*_: object) -> dict[str, object]:
    raise CommandRefused("the library refused the value")
