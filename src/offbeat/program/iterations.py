"""The iterations of a program that was simulated or run: when every rank ended each of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from offbeat.program.load import Program
from offbeat.program.schema import PhaseSection


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

    def mean_iteration_s(self) -> float:
        """The mean time of an iteration, over all of them and over ranks."""
        return float(self.iteration_end_s[-1].mean()) / self.iterations

    def settled_iteration_s(self) -> float:
        """The same of the second half: in the first one, ranks that begin together drift apart."""
        first = self.iterations // 2
        begin_s = float(self.iteration_end_s[first - 1].mean()) if first else 0.0
        return (float(self.iteration_end_s[-1].mean()) - begin_s) / (self.iterations - first)


class Lockstep(Struct, frozen=True, kw_only=True):
    """The time of an iteration if all ranks began each phase together: the composite time.

    ``phase_s`` holds the time of each phase alone, whose part of an iteration is divided by its ``every``.
    With ``span``, the mean is that of some iterations: the first one, counted from 0, and the one after the
    last.
    """

    phases: list[PhaseSection]
    phase_s: list[float]
    span: tuple[int, int] | None = None

    def within(self, first: int, end: int) -> Lockstep:
        """The mean of the iterations from ``first``, counted from 0, up to ``end``, at least one.

        Each phase counts as often as these iterations execute it: a phase of every 20th iteration is executed
        once in ten iterations, or not at all.
        """
        return structs.replace(self, span=(first, end))

    def _share(self, phase: PhaseSection) -> float:
        """How often a phase is executed in an iteration, on average."""
        if self.span is None:
            return 1 / phase.every
        first, end = self.span
        return (end // phase.every - first // phase.every) / (end - first)

    def _sum_s(self, *kinds: str) -> float:
        both = zip(self.phases, self.phase_s, strict=True)
        return sum(seconds * self._share(phase) for phase, seconds in both if phase.kind in kinds)

    @property
    def iteration_s(self) -> float:
        """The whole iteration."""
        return self._sum_s("work", "exchange", "collective")

    @property
    def work_s(self) -> float:
        """Work alone: no iteration can be faster, however well its communication is hidden."""
        return self._sum_s("work")

    @property
    def communication_s(self) -> float:
        """Exchanges and collectives."""
        return self._sum_s("exchange", "collective")

    @property
    def communication_ratio(self) -> float:
        """Communication over work: the paper's communication-to-execution ratio (CER)."""
        return self.communication_s / self.work_s if self.work_s else np.inf


def numbered(domains: Sequence[Hashable]) -> NDArray[np.int32]:
    """The number of each rank's memory domain, (p,), in the order of their first ranks.

    ``domains`` has a key for each rank, such as its node and the number of the domain on it.
    """
    numbers = {domain: number for number, domain in enumerate(dict.fromkeys(domains))}
    return np.array([numbers[domain] for domain in domains], np.int32)


def gain(before_s: float, after_s: float) -> float:
    """How much faster an iteration became, as a fraction; infinite if it takes no time any more."""
    return before_s / after_s - 1 if after_s else np.inf
