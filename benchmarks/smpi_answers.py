"""SMPI's results of collective calls, stored in a file on request."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.libraries.launch.driver import CommandRefused, DriverLost
from offbeat.measurement.engines import smpi_platform
from offbeat.measurement.engines.smpi_commands import SmpiCall
from offbeat.measurement.engines.smpi_program import SimGridProcess, build_program
from offbeat.model.platform.machine import Platform
from offbeat.model.platform.network import Nodes

LATENCY = "smpi/lat-factor:"


class Answer(Struct, frozen=True, kw_only=True):
    """Last delay and CPU time in seconds; ``lost`` is the reason if there are none."""

    last_delay_s: float = float("nan")
    cpu_s: float = float("nan")
    lost: str = ""


class Answers:
    """SMPI on one platform. ``keep`` is a file of earlier results, one JSON object per line; new results are
    appended.

    A call that takes longer than ``patience_s`` is abandoned.
    """

    def __init__(self, platform: Platform, scratch: Path, keep: Path | None, patience_s: float) -> None:
        self._platform = platform
        self._scratch = scratch
        self._keep = keep
        self._patience_s = patience_s
        self._program = build_program()
        self._oracles: dict[str, SimGridProcess] = {}
        self._node_of_rank: bytes = b""
        self._launches = 0
        self._answers: dict[str, Answer] = {}
        if keep is not None and keep.exists():
            for line in keep.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                key = entry.pop("call")
                self._answers[key] = Answer(**entry)

    def algorithms(self, collective: str) -> list[str]:
        """SMPI's algorithms of a collective."""
        return self._oracle(np.zeros(1, dtype=np.int32)).algorithms(collective)

    def ask(
        self, node_of_rank: Nodes, call: dict[str, object], delays_s: NDArray[np.float64], about: str
    ) -> Answer:
        """The result of a call; ``about`` describes the delays, for the file."""
        key = self._key(node_of_rank, call, about)
        return self._answer(key, partial(self._run, node_of_rank, call, delays_s))

    def spread(
        self, node_of_rank: Nodes, call: dict[str, object], delays_s: NDArray[np.float64], about: str
    ) -> float:
        """The spread of SMPI's own results of a call, relative to the default one.

        The call runs with a clock precision of 0.1 ns and of 1 ps instead of 1 ns, and with latencies changed
        in their seventh digit. If results depend on which rank arrives first, last digits decide.
        """
        default = self.ask(node_of_rank, call, delays_s, about).last_delay_s
        name = "surf/precision" if self._oracle(node_of_rank).version < "3.33" else "precision/timing"
        changes = [
            f"{name}:1e-10",
            f"{name}:1e-12",
            *(self._latency(1 + digit * 1e-7) for digit in (-2, -1, 1, 2)),
        ]
        answers = [default]
        for setting in changes:
            key = self._key(node_of_rank, call, f"{about} with {setting}")
            answer = self._answer(key, partial(self._run, node_of_rank, call, delays_s, setting))
            if not answer.lost:
                answers.append(answer.last_delay_s)
        return (max(answers) - min(answers)) / default

    def _latency(self, times: float) -> str:
        """The setting with all latencies multiplied by a factor."""
        default = next(
            setting for setting in smpi_platform.settings(self._platform) if setting.startswith(LATENCY)
        )
        steps = [step.split(":") for step in default.removeprefix(LATENCY).split(";")]
        return LATENCY + ";".join(f"{size}:{float(factor) * times!r}" for size, factor in steps)

    def close(self) -> None:
        """End SMPI."""
        for oracle in self._oracles.values():
            oracle.close(1.0)
        self._oracles = {}

    def _key(self, node_of_rank: Nodes, call: dict[str, object], about: str) -> str:
        return f"{self._platform.name} {len(node_of_rank)} ranks, {about}: " + " ".join(
            map(str, call.values())
        )

    def _answer(self, key: str, ask: Callable[[], Answer]) -> Answer:
        if key not in self._answers:
            self._answers[key] = answer = ask()
            if self._keep is not None:
                with self._keep.open("a", encoding="utf-8") as file:
                    fields = {"last_delay_s": answer.last_delay_s, "cpu_s": answer.cpu_s, "lost": answer.lost}
                    print(json.dumps({"call": key} | fields), file=file)
        return self._answers[key]

    def _run(
        self, node_of_rank: Nodes, call: dict[str, object], delays_s: NDArray[np.float64], setting: str = ""
    ) -> Answer:
        try:
            exits, cpu_s = self._oracle(node_of_rank, setting).run(SmpiCall(**call), delays_s)  # type: ignore[arg-type]
        except CommandRefused as refusal:
            return Answer(lost=str(refusal))
        except DriverLost as lost:
            self._oracles.pop(setting).close(1.0)
            return Answer(lost=str(lost))
        return Answer(last_delay_s=float(exits.max() - delays_s.max()), cpu_s=cpu_s)

    def _oracle(self, node_of_rank: Nodes, setting: str = "") -> SimGridProcess:
        """SMPI with these ranks and one additional setting."""
        if self._node_of_rank != node_of_rank.tobytes():
            self.close()
            self._node_of_rank = node_of_rank.tobytes()
        if setting not in self._oracles:
            self._launches += 1
            self._oracles[setting] = SimGridProcess(
                self._program,
                smpi_platform.xml(self._platform, node_of_rank),
                [smpi_platform.host(int(node)) for node in node_of_rank],
                [*smpi_platform.settings(self._platform), *([setting] if setting else [])],
                folder=self._scratch,
                log=self._scratch / f"smpi-{self._launches}.log",
                patience_s=self._patience_s,
            )
        return self._oracles[setting]
