"""What simulating threads share: a cache of schedules, and a budget of memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from offbeat._simulator import Schedule

CACHE_BYTES = 128 * 2**20
"""Memory that cached schedules may take."""


class LruCache:
    """Schedules by key, each created once even if several threads request it at the same time.

    The least recently used schedules are evicted while all together take more than ``limit_bytes``, but never
    the last one; a schedule that a thread still uses is freed when the thread releases it.
    """

    def __init__(self, limit_bytes: int = CACHE_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, Future[Schedule]] = OrderedDict()

    def get(self, key: Hashable, create: Callable[[], Schedule]) -> Schedule:
        """The schedule of a key, created if it is missing; if ``create`` raises, nothing is stored."""
        with self._lock:
            future = self._entries.get(key)
            is_new = future is None
            if future is None:
                future = self._entries[key] = Future()
            self._entries.move_to_end(key)
        if is_new:
            self._create(key, create, future)
        return future.result()

    def _create(self, key: Hashable, create: Callable[[], Schedule], future: Future[Schedule]) -> None:
        try:
            future.set_result(create())
        except BaseException as error:
            with self._lock:
                self._entries.pop(key, None)
            future.set_exception(error)
            return
        with self._lock:
            self._evict()

    def _evict(self) -> None:
        """Evict the least recently used schedules; those that are still being created are skipped."""
        sizes = {
            key: future.result().memory_bytes
            for key, future in self._entries.items()
            if future.done() and not future.exception()
        }
        total = sum(sizes.values())
        for key, size in list(sizes.items())[:-1]:
            if total <= self._limit_bytes:
                return
            del self._entries[key]
            total -= size


class MemoryBudget:
    """Memory that threads reserve: a thread waits until enough is left, unless no other has a reservation."""

    def __init__(self, limit_bytes: float) -> None:
        self._available = limit_bytes
        self._reservations = 0
        self._change = threading.Condition()

    @contextmanager
    def reserve(self, size_bytes: float) -> Iterator[None]:
        """Reserve this many bytes while the block runs."""
        with self._change:
            self._change.wait_for(lambda: self._reservations == 0 or size_bytes <= self._available)
            self._reservations += 1
            self._available -= size_bytes
        try:
            yield
        finally:
            with self._change:
                self._reservations -= 1
                self._available += size_bytes
                self._change.notify_all()
