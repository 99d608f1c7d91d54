"""The iterations of a program that was simulated or run: when every rank ended each of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.programs.description.program_file import Program


class Iterations(Struct, kw_only=True, eq=False):
    """The iterations of a program, simulated or measured.

    ``iteration_end_s`` is (iterations, p): when each rank ended each iteration; all begin at 0.
    ``communication_s`` (iterations, p) is the time that it spent in messages and collectives. ``domain`` is
    the memory domain of each rank (p,). ``origin`` says whether times are simulated or measured.
    """

    program: Program
    domain: NDArray[np.int32]
    iteration_end_s: NDArray[np.float64]
    communication_s: NDArray[np.float32]

    origin: ClassVar[str]

    @property
    def p(self) -> int:
        """Number of ranks."""
        return self.iteration_end_s.shape[1]

    @property
    def iterations(self) -> int:
        """Number of iterations."""
        return len(self.iteration_end_s)

    @property
    def where(self) -> str:
        """The machine, for titles."""
        raise NotImplementedError

    def basis(self) -> list[str]:
        """Sentences on what the times rest on."""
        raise NotImplementedError

    def iteration_s(self) -> NDArray[np.float64]:
        """How long each rank took for each iteration, (iterations, p)."""
        return np.diff(self.iteration_end_s, axis=0, prepend=0.0)


def last_ends_s(run: Iterations) -> NDArray[np.float64]:
    """When the last rank ends each iteration, (iterations,)."""
    return np.asarray(run.iteration_end_s.max(axis=1))


def mean_iteration_s(ends_s: NDArray[np.float64], span: tuple[int, int] | None = None) -> float:
    """The mean time of iterations that end at these times: of all, or of those of a span.

    A span is the first iteration, counted from 0, and the one after the last.
    """
    first, end = span or (0, len(ends_s))
    begin_s = float(ends_s[first - 1]) if first else 0.0
    return (float(ends_s[end - 1]) - begin_s) / (end - first)


def settled_span(iterations: int) -> tuple[int, int]:
    """The iterations that count: the second half without its last quarter.

    In the first half, ranks that begin together drift apart. At the end, ranks that are behind have more
    bandwidth, because those ahead of them are done: the last iterations would seem too fast.
    """
    return iterations // 2, iterations - iterations // 8


def numbered(domains: Sequence[Hashable]) -> NDArray[np.int32]:
    """The number of each rank's memory domain, (p,), in the order of their first ranks.

    ``domains`` has a key for each rank, such as its node and the number of the domain on it.
    """
    numbers = {domain: number for number, domain in enumerate(dict.fromkeys(domains))}
    return np.array([numbers[domain] for domain in domains], np.int32)
