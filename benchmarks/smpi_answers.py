"""SMPI's answers to collective calls, kept in a file if one is given."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.engines import smpi_platform
from offbeat.engines.smpi_program import Call, Oracle, build_program
from offbeat.mpi.driver import DriverLost, Refused
from offbeat.platform.machine import Platform
from offbeat.platform.mapping import Nodes


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
        self._oracle: Oracle | None = None
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
        key = f"{self._platform.name} {len(placed)} ranks, {about}: " + " ".join(map(str, words.values()))
        if key not in self._kept:
            self._kept[key] = answer = self._simulate(placed, words, delays_s)
            if self._keep is not None:
                with self._keep.open("a", encoding="utf-8") as file:
                    fields = {"last_delay_s": answer.last_delay_s, "cpu_s": answer.cpu_s, "lost": answer.lost}
                    print(json.dumps({"call": key} | fields), file=file)
        return self._kept[key]

    def close(self) -> None:
        """End SMPI."""
        if self._oracle is not None:
            self._oracle.close(1.0)
            self._oracle = None

    def _simulate(self, placed: Nodes, words: dict[str, object], delays_s: NDArray[np.float64]) -> Answer:
        try:
            exits, cpu_s = self._on(placed).run(Call(**words), delays_s)  # type: ignore[arg-type]
        except Refused as refusal:
            return Answer(lost=str(refusal))
        except DriverLost as lost:
            self.close()
            return Answer(lost=str(lost))
        return Answer(last_delay_s=float(exits.max() - delays_s.max()), cpu_s=cpu_s)

    def _on(self, placed: Nodes) -> Oracle:
        if self._oracle is None or self._placed != placed.tobytes():
            self.close()
            self._launches += 1
            self._oracle = Oracle(
                self._program,
                smpi_platform.xml(self._platform, placed),
                [smpi_platform.host(int(node)) for node in placed],
                smpi_platform.settings(self._platform),
                folder=self._scratch,
                log=self._scratch / f"smpi-{self._launches}.log",
                patience_s=self._patience_s,
            )
            self._placed = placed.tobytes()
        return self._oracle
