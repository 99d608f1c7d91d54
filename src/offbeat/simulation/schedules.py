"""What threads that simulate share: schedules that were built, and memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

MOST_BYTES = 128 * 2**20
"""What schedules that nobody uses at the moment may take."""


class Sized(Protocol):
    """What is kept."""

    @property
    def memory_bytes(self) -> int:
        """How much memory it takes."""
        ...


Thing = TypeVar("Thing", bound=Sized)


class Kept(Generic[Thing]):
    """Things by key, each made once however many threads ask for it at the same time.

    The least recently used are dropped while all together take more than ``most_bytes``, but never the last
    one; what a thread still uses lives on until it is done.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, Future[Thing]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], Thing]) -> Thing:
        """The thing of a key; made if it is not there. Raises what ``make`` raises and keeps nothing then."""
        with self._lock:
            promised = self._kept.get(key)
            is_new = promised is None
            if promised is None:
                promised = self._kept[key] = Future()
            self._kept.move_to_end(key)
        if is_new:
            self._make(key, make, promised)
        return promised.result()

    def _make(self, key: Hashable, make: Callable[[], Thing], promised: Future[Thing]) -> None:
        try:
            promised.set_result(make())
        except BaseException as error:
            with self._lock:
                self._kept.pop(key, None)
            promised.set_exception(error)
            return
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        """Drop from the least recently used on; one that is still being made is passed over."""
        sizes = {
            key: future.result().memory_bytes
            for key, future in self._kept.items()
            if future.done() and not future.exception()
        }
        total = sum(sizes.values())
        for key, size in list(sizes.items())[:-1]:
            if total <= self._most_bytes:
                return
            del self._kept[key]
            total -= size


class Room:
    """Memory that threads take for a while: who finds too little left waits, unless nobody has any."""

    def __init__(self, most_bytes: float) -> None:
        self._left = most_bytes
        self._takers = 0
        self._changed = threading.Condition()

    @contextmanager
    def taken(self, size_bytes: float) -> Iterator[None]:
        """Hold so much of it."""
        with self._changed:
            self._changed.wait_for(lambda: self._takers == 0 or size_bytes <= self._left)
            self._takers += 1
            self._left -= size_bytes
        try:
            yield
        finally:
            with self._changed:
                self._takers -= 1
                self._left += size_bytes
                self._changed.notify_all()
