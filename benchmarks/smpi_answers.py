"""SMPI's answers to collective calls, kept in a file if one is given."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.engines import smpi_platform
from offbeat.engines.smpi_program import Call, SimGridProcess, build_program
from offbeat.mpi.driver import DriverLost, Refused
from offbeat.platform.machine import Platform
from offbeat.platform.network import Nodes

LATENCY = "smpi/lat-factor:"


class Answer(Struct, frozen=True, kw_only=True):
    """Last delay and CPU time in seconds; ``lost`` says why there are none."""

    last_delay_s: float = float("nan")
    cpu_s: float = float("nan")
    lost: str = ""


class Answers:
    """SMPI on one platform. ``keep`` is a file of earlier answers, a JSON object a line, that grows.

    A call that takes longer than ``patience_s`` is given up.
    """

    def __init__(self, platform: Platform, scratch: Path, keep: Path | None, patience_s: float) -> None:
        self._platform = platform
        self._scratch = scratch
        self._keep = keep
        self._patience_s = patience_s
        self._program = build_program()
        self._oracles: dict[str, SimGridProcess] = {}
        self._placed: bytes = b""
        self._launches = 0
        self._kept: dict[str, Answer] = {}
        if keep is not None and keep.exists():
            for line in keep.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                call = entry.pop("call")
                self._kept[call] = Answer(**entry)

    def algorithms(self, collective: str) -> list[str]:
        """SMPI's algorithms of a collective."""
        return self._on(np.zeros(1, dtype=np.int32)).algorithms(collective)

    def ask(
        self, placed: Nodes, words: dict[str, object], delays_s: NDArray[np.float64], about: str
    ) -> Answer:
        """The answer to a call; ``about`` is what the delays are, for the file."""
        key = self._key(placed, words, about)
        return self._kept_or(key, partial(self._run, placed, words, delays_s))

    def spread(
        self, placed: Nodes, words: dict[str, object], delays_s: NDArray[np.float64], about: str
    ) -> float:
        """How far apart SMPI's own answers to a call are, as a share of the usual one.

        It is asked with its clock's precision at 0.1 ns and 1 ps instead of 1 ns, and with latencies that
        differ in their seventh digit. Where who comes first decides about the rest, last digits decide.
        """
        usual = self.ask(placed, words, delays_s, about).last_delay_s
        name = "surf/precision" if self._on(placed).version < "3.33" else "precision/timing"
        changes = [
            f"{name}:1e-10",
            f"{name}:1e-12",
            *(self._latency(1 + digit * 1e-7) for digit in (-2, -1, 1, 2)),
        ]
        answers = [usual]
        for setting in changes:
            key = self._key(placed, words, f"{about} with {setting}")
            answer = self._kept_or(key, partial(self._run, placed, words, delays_s, setting))
            if not answer.lost:
                answers.append(answer.last_delay_s)
        return (max(answers) - min(answers)) / usual

    def _latency(self, times: float) -> str:
        """The setting with all latencies so many times as long."""
        usual = next(one for one in smpi_platform.settings(self._platform) if one.startswith(LATENCY))
        steps = [step.split(":") for step in usual.removeprefix(LATENCY).split(";")]
        return LATENCY + ";".join(f"{size}:{float(factor) * times!r}" for size, factor in steps)

    def close(self) -> None:
        """End SMPI."""
        for oracle in self._oracles.values():
            oracle.close(1.0)
        self._oracles = {}

    def _key(self, placed: Nodes, words: dict[str, object], about: str) -> str:
        return f"{self._platform.name} {len(placed)} ranks, {about}: " + " ".join(map(str, words.values()))

    def _kept_or(self, key: str, ask: Callable[[], Answer]) -> Answer:
        if key not in self._kept:
            self._kept[key] = answer = ask()
            if self._keep is not None:
                with self._keep.open("a", encoding="utf-8") as file:
                    fields = {"last_delay_s": answer.last_delay_s, "cpu_s": answer.cpu_s, "lost": answer.lost}
                    print(json.dumps({"call": key} | fields), file=file)
        return self._kept[key]

    def _run(
        self, placed: Nodes, words: dict[str, object], delays_s: NDArray[np.float64], setting: str = ""
    ) -> Answer:
        try:
            exits, cpu_s = self._on(placed, setting).run(Call(**words), delays_s)  # type: ignore[arg-type]
        except Refused as refusal:
            return Answer(lost=str(refusal))
        except DriverLost as lost:
            self._oracles.pop(setting).close(1.0)
            return Answer(lost=str(lost))
        return Answer(last_delay_s=float(exits.max() - delays_s.max()), cpu_s=cpu_s)

    def _on(self, placed: Nodes, setting: str = "") -> SimGridProcess:
        """SMPI with these ranks, and with one setting more."""
        if self._placed != placed.tobytes():
            self.close()
            self._placed = placed.tobytes()
        if setting not in self._oracles:
            self._launches += 1
            self._oracles[setting] = SimGridProcess(
                self._program,
                smpi_platform.xml(self._platform, placed),
                [smpi_platform.host(int(node)) for node in placed],
                [*smpi_platform.settings(self._platform), *([setting] if setting else [])],
                folder=self._scratch,
                log=self._scratch / f"smpi-{self._launches}.log",
                patience_s=self._patience_s,
            )
        return self._oracles[setting]
