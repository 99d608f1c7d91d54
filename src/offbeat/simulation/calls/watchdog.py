"""Limits on time and memory of functions that users wrote, so that an endless loop ends in a message.

Ten times a second a thread inspects the running functions and raises :class:`LimitExceeded` in one that has
run too long or taken too much memory. This interrupts every loop in Python; a single call of compiled code
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

from offbeat.base.errors import BadInput
from offbeat.base.units import format_size, format_time, parse_size, parse_time

TIME_LIMIT = "OFFBEAT_ALGORITHM_TIME"
MEMORY_LIMIT = "OFFBEAT_ALGORITHM_MEMORY"
"""Environment variables that replace the limits on one call of a function (a time, a size)."""

MAX_SECONDS = 10.0
MAX_BYTES = 2**30

_INTERVAL_S = 0.1


class LimitExceeded(BaseException):  # a function's own "except Exception" must not catch it
    """Raised within a function that exceeds a limit; the message names the limits."""


class _Watchdog:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._starts: dict[int, tuple[float, int]] = {}
        self._thread: threading.Thread | None = None
        self._process = psutil.Process()
        self._max_seconds, self._max_bytes = _limits()

    def begin(self) -> None:
        with self._lock:
            self._starts[threading.get_ident()] = (time.monotonic(), 0)
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, daemon=True)
                self._thread.start()

    def end(self) -> None:
        with self._lock:
            self._starts.pop(threading.get_ident(), None)

    def _watch(self) -> None:
        while True:
            time.sleep(_INTERVAL_S)
            memory = self._process.memory_info().rss
            with self._lock:
                if not self._starts:
                    self._thread = None
                    return
                for thread, (began_s, initial) in self._starts.items():
                    self._starts[thread] = (began_s, initial or memory)
                    if self._exceeds(time.monotonic() - began_s, memory - (initial or memory)):
                        ctypes.pythonapi.PyThreadState_SetAsyncExc(
                            ctypes.c_ulong(thread), ctypes.py_object(LimitExceeded)
                        )

    def _exceeds(self, seconds: float, growth_bytes: int) -> bool:
        return seconds > self._max_seconds or growth_bytes > self._max_bytes

    @property
    def message(self) -> str:
        return (
            f"it was stopped, because one call ran longer than {format_time(self._max_seconds)} or took more"
            f" than {format_size(self._max_bytes)} of memory; is there an endless loop? The environment"
            f" variables {TIME_LIMIT} and {MEMORY_LIMIT} raise these limits"
        )


def _limits() -> tuple[float, int]:
    limits: list[float] = []
    for name, parse, default in (
        (TIME_LIMIT, parse_time, MAX_SECONDS),
        (MEMORY_LIMIT, parse_size, float(MAX_BYTES)),
    ):
        text = os.environ.get(name, "")
        try:
            limits.append(float(parse(text)) if text else default)
        except BadInput as error:
            raise BadInput(f"the environment variable {name}: {error}") from None
    return limits[0], int(limits[1])


_watchdogs: list[_Watchdog] = []


@contextmanager
def limit_resources() -> Iterator[None]:
    """Raise :class:`LimitExceeded` in the block once it exceeds a limit."""
    if not _watchdogs:
        _watchdogs.append(_Watchdog())
    watchdog = _watchdogs[0]
    watchdog.begin()
    try:
        yield
    except LimitExceeded as limit_error:
        raise LimitExceeded(watchdog.message).with_traceback(limit_error.__traceback__) from None
    finally:
        watchdog.end()
