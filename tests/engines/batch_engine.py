"""A batch engine without a simulator: it runs the debug engine's script in batches, on two threads."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
from debug_engine import DebugEngine, Script

from offbeat.measurement.engines.engine import Batch, Exits
from offbeat.model.study.case import Case


class DebugBatchEngine(DebugEngine):
    """See :class:`offbeat.measurement.engines.engine.BatchEngine`.

    Batches end in another order than they begin. ``most_running`` is the largest number in progress at once,
    and ``simulated`` holds the ids of all simulated cases.
    """

    def __init__(
        self,
        script: Script | None = None,
        before: Callable[[tuple], None] = lambda event: None,
        *,
        threads: int = 2,
        batches_ahead: int = 4,
        at_once: int = 2,
    ) -> None:
        super().__init__(script, before)
        self.batches_ahead = batches_ahead
        self.simulated: list[str] = []
        self.most_running = 0
        self._at_once = at_once
        self._running = 0
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(threads)

    def describe(self) -> dict[str, object]:
        return super().describe() | {"deterministic": True}

    def patterns_at_once(self, case: Case) -> int:
        return self._at_once

    def submit(self, batch: Batch) -> Future[Exits]:
        self._note(("submit", batch.algorithm.name, len(batch.cases)))
        with self._lock:
            self._running += 1
            self.most_running = max(self.most_running, self._running)
        return self._pool.submit(self._simulate, batch)

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)

    def _simulate(self, batch: Batch) -> Exits:
        first = batch.cases[0]
        digest = hashlib.sha256(first.id.encode()).digest()
        time.sleep(digest[0] / 255 * 0.002)
        with self._lock:
            self._running -= 1
            self.simulated += [case.id for case in batch.cases]
        key = (self._own(batch.algorithm), first.pattern)
        if key in self.script.failures:
            return Exits(exits_s=np.zeros((0, first.p)), failure=self.script.failures[key])
        runtime_s = self.runtime_s(self._own(batch.algorithm), first)
        exits = np.repeat(batch.delays_s.max(axis=1, keepdims=True) + runtime_s, first.p, axis=1)
        return Exits(exits_s=exits, messages=7 * len(batch.cases))
