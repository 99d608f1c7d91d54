"""An algorithm that can be drawn, simulated and checked: of the catalogue, or a Python function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from offbeat import _simulator
from offbeat.simulation.calls.catalogue import SimulatedAlgorithm


class Call(Struct, frozen=True, kw_only=True):
    """One collective call. ``count`` is elements as the MPI call states it, of ``element_bytes`` each;
    ``node_of_rank`` is empty if all ranks are on one node."""

    p: int
    root: int = 0
    count: int = 1
    element_bytes: int = 1
    node_of_rank: tuple[int, ...] = ()


class CheckBatch(Struct, frozen=True, kw_only=True):
    """Calls that are checked together: every combination of these values.

    Negative roots count from p, roots outside 0 to p − 1 are skipped, and no roots means every root.
    ``ranks_per_node`` ranks share a node (0: all of them), placed in blocks or (``by_node``) round-robin.
    """

    p: int
    roots: tuple[int, ...] = ()
    counts: tuple[int, ...] = (1,)
    element_bytes: int = 4
    ranks_per_node: int = 0
    by_node: bool = False
    commutative: tuple[bool, ...] = (True,)


class Finding(Struct, frozen=True):
    """A wrong or refused call, and the message that says why."""

    p: int
    root: int
    count: int
    commutative: bool
    sentence: str


class BatchResult(Struct, frozen=True, kw_only=True):
    """The results of the calls of a batch.

    ``commutative_only`` calls are right except that they combine out of rank order although the operation is
    not commutative; ``refused`` calls were refused by the algorithm itself, the first one is in ``refusals``.
    Checking ends after 20 findings.
    """

    proved: int
    refused: int
    commutative_only: int
    refusals: list[Finding]
    findings: list[Finding]


class CatalogueAlgorithm(SimulatedAlgorithm, frozen=True, kw_only=True):
    """An algorithm of the simulator's catalogue."""

    @property
    def title(self) -> str:
        """The algorithm's name in headings: ``reduce/chain(fanout=2) (openmpi)``."""
        explicit = ", ".join(f"{name}={self.parameters[name]}" for name in self.explicit)
        return f"{self.collective}/{self.name}{f'({explicit})' if explicit else ''} ({self.family})"

    def messages(self, call: Call) -> dict[str, Any]:
        """Arrays source, target, elements, tag and depth: all messages of a call. ValueError if refused."""
        return _simulator.messages(*(self.identity + _arguments(call)))

    def schedule(self, call: Call, *, local_work: bool) -> Any:
        """The schedule that the simulator evaluates. ValueError if the call is refused."""
        return _simulator.Schedule(*(self.identity + _arguments(call)), local_work=local_work)

    def check(self, batch: CheckBatch) -> BatchResult:
        """Check many calls; releases the GIL."""
        return _result(_simulator.check_range(*self.identity, *_ranges(batch)))


class PythonAlgorithm(Struct, frozen=True, kw_only=True):
    """A Python function that is called for each rank with its Rank; used as :class:`CatalogueAlgorithm`."""

    collective: str
    name: str
    write: Callable[[Any], object]
    parameters: dict[str, int] = {}

    @property
    def title(self) -> str:
        """The title ``bcast/my_file.py:chain``."""
        return f"{self.collective}/{self.name}"

    def messages(self, call: Call) -> dict[str, Any]:
        """The messages of a call."""
        return self._programs(call).messages()

    def schedule(self, call: Call, *, local_work: bool) -> Any:
        """The schedule that the simulator evaluates."""
        return _simulator.Schedule(self._programs(call), local_work=local_work)

    def check(self, batch: CheckBatch) -> BatchResult:
        """Check many calls."""
        return _result(_simulator.check_written(self.collective, self.write, *_ranges(batch)))

    def _programs(self, call: Call) -> _simulator.Programs:
        try:
            return _simulator.Programs(self.collective, self.write, *_arguments(call))
        except NotImplementedError as refusal:
            raise ValueError(str(refusal)) from None


InspectedAlgorithm = CatalogueAlgorithm | PythonAlgorithm


def _arguments(call: Call) -> tuple[int, int, int, int, list[int]]:
    return call.p, call.root, call.count, call.element_bytes, list(call.node_of_rank)


def _ranges(batch: CheckBatch) -> tuple[Any, ...]:
    return (
        [batch.p],
        list(batch.roots),
        list(batch.counts),
        batch.element_bytes,
        batch.ranks_per_node,
        batch.by_node,
        list(batch.commutative),
    )


def _result(outcome: dict[str, Any]) -> BatchResult:
    calls = {key: [Finding(*entry) for entry in outcome[key]] for key in ("refusals", "findings")}
    return BatchResult(**(outcome | calls))
