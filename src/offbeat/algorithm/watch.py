"""Limits on functions that users wrote: an endless loop, or one that fills the memory, ends in a sentence.

A thread looks ten times a second at what is running and raises :class:`StoppedByLimit` in a function that has
run too long or taken too much. That reaches every loop in Python; a single call of compiled code
(``10 ** 10 ** 10``) must return first.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from offbeat.errors import BadInput
from offbeat.units import format_size, format_time, parse_size, parse_time

TIME_LIMIT = "OFFBEAT_ALGORITHM_TIME"
MEMORY_LIMIT = "OFFBEAT_ALGORITHM_MEMORY"
"""Environment variables that take the place of the limits on one call of a function (a time, a size)."""

LONGEST_S = 10.0
MOST_BYTES = 2**30

_INTERVAL_S = 0.1


class StoppedByLimit(BaseException):  # a function's own "except Exception" must not catch it
    """Raised within a function that is over a limit; the message says which."""


class _Watch:
    """The functions that are running now, by thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[int, tuple[float, int]] = {}
        self._thread: threading.Thread | None = None
        self._process = psutil.Process()
        self._longest_s, self._most_bytes = _limits()

    def begin(self) -> None:
        """The function of this thread begins; start to look."""
        with self._lock:
            self._running[threading.get_ident()] = (time.monotonic(), 0)
            if self._thread is None:
                self._thread = threading.Thread(target=self._look, daemon=True)
                self._thread.start()

    def end(self) -> None:
        """The function of this thread has ended."""
        with self._lock:
            self._running.pop(threading.get_ident(), None)

    def _look(self) -> None:
        while True:
            time.sleep(_INTERVAL_S)
            memory = self._process.memory_info().rss
            with self._lock:
                if not self._running:
                    self._thread = None
                    return
                for thread, (began_s, at_first) in self._running.items():
                    self._running[thread] = (began_s, at_first or memory)
                    if self._is_over(time.monotonic() - began_s, memory - (at_first or memory)):
                        ctypes.pythonapi.PyThreadState_SetAsyncExc(
                            ctypes.c_ulong(thread), ctypes.py_object(StoppedByLimit)
                        )

    def _is_over(self, seconds: float, grown: int) -> bool:
        return seconds > self._longest_s or grown > self._most_bytes

    @property
    def words(self) -> str:
        """The limits in a sentence."""
        return (
            f"it was stopped, because one call ran longer than {format_time(self._longest_s)} or took more"
            f" than {format_size(self._most_bytes)} of memory; is there an endless loop? The environment"
            f" variables {TIME_LIMIT} and {MEMORY_LIMIT} raise these limits"
        )


def _limits() -> tuple[float, int]:
    found: list[float] = []
    for name, parse, default in (
        (TIME_LIMIT, parse_time, LONGEST_S),
        (MEMORY_LIMIT, parse_size, float(MOST_BYTES)),
    ):
        text = os.environ.get(name, "")
        try:
            found.append(float(parse(text)) if text else default)
        except BadInput as error:
            raise BadInput(f"the environment variable {name}: {error}") from None
    return found[0], int(found[1])


_watch: list[_Watch] = []


@contextmanager
def limited() -> Iterator[None]:
    """Stop what runs inside by :class:`StoppedByLimit` once it is over a limit."""
    if not _watch:
        _watch.append(_Watch())
    watch = _watch[0]
    watch.begin()
    try:
        yield
    except StoppedByLimit as stopped:
        raise StoppedByLimit(watch.words).with_traceback(stopped.__traceback__) from None
    finally:
        watch.end()
