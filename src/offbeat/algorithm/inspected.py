"""An algorithm that can be drawn, simulated and checked: of the catalogue, or a Python function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct

from offbeat import _simulator


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


class Finding(Struct, frozen=True, kw_only=True):
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


class InspectedAlgorithm(Protocol):
    """An algorithm that can be drawn, simulated and checked."""

    @property
    def collective(self) -> str:
        """The collective that it computes."""
        ...

    @property
    def title(self) -> str:
        """Its name in headings: ``reduce/binomial (openmpi)``."""
        ...

    @property
    def parameters(self) -> tuple[tuple[str, int], ...]:
        """Every integer parameter with its value."""
        ...

    def messages(self, call: Call) -> dict[str, Any]:
        """Arrays source, target, elements, tag and depth: all messages of a call. ValueError if refused."""
        ...

    def schedule(self, call: Call, *, local_work: bool) -> Any:
        """The schedule that the simulator evaluates. ValueError if the call is refused."""
        ...

    def check(self, batch: CheckBatch) -> BatchResult:
        """Check many calls."""
        ...


class CatalogueAlgorithm(Struct, frozen=True, kw_only=True):
    """An algorithm of the simulator's catalogue, with a value for each of its parameters.

    ``explicit`` are the names of the parameters that the user set.
    """

    collective: str
    family: str
    name: str
    parameters: tuple[tuple[str, int], ...] = ()
    smallest: tuple[int, ...] = ()
    explicit: tuple[str, ...] = ()
    ordered: bool = False
    scales: bool = False

    @property
    def title(self) -> str:
        """``reduce/chain(fanout=2) (openmpi)``."""
        values = dict(self.parameters)
        explicit = ", ".join(f"{name}={values[name]}" for name in self.explicit)
        return f"{self.collective}/{self.name}{f'({explicit})' if explicit else ''} ({self.family})"

    def messages(self, call: Call) -> dict[str, Any]:
        """See :class:`InspectedAlgorithm`."""
        return _simulator.messages(*(self._identity() + _arguments(call)))

    def schedule(self, call: Call, *, local_work: bool) -> Any:
        """See :class:`InspectedAlgorithm`."""
        return _simulator.Schedule(*(self._identity() + _arguments(call)), local_work=local_work)

    def check(self, batch: CheckBatch) -> BatchResult:
        """See :class:`InspectedAlgorithm`; releases the GIL."""
        return _result(_simulator.check_range(*self._identity(), *_ranges(batch)))

    def _identity(self) -> tuple[str, str, str, dict[str, int]]:
        return self.collective, self.family, self.name, dict(self.parameters)


class PythonAlgorithm(Struct, frozen=True, kw_only=True):
    """A Python function that is called for each rank with its Rank."""

    collective: str
    name: str
    write: Callable[[Any], object]
    parameters: tuple[tuple[str, int], ...] = ()

    @property
    def title(self) -> str:
        """``bcast/my_file.py:chain``."""
        return f"{self.collective}/{self.name}"

    def messages(self, call: Call) -> dict[str, Any]:
        """See :class:`InspectedAlgorithm`."""
        return self._programs(call).messages()

    def schedule(self, call: Call, *, local_work: bool) -> Any:
        """See :class:`InspectedAlgorithm`."""
        return _simulator.Schedule(self._programs(call), local_work=local_work)

    def check(self, batch: CheckBatch) -> BatchResult:
        """See :class:`InspectedAlgorithm`."""
        return _result(_simulator.check_written(self.collective, self.write, *_ranges(batch)))

    def _programs(self, call: Call) -> _simulator.Programs:
        try:
            return _simulator.Programs(self.collective, self.write, *_arguments(call))
        except NotImplementedError as refusal:
            raise ValueError(str(refusal)) from None


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


def _result(counts: dict[str, Any]) -> BatchResult:
    return BatchResult(
        proved=counts["proved"],
        refused=counts["refused"],
        commutative_only=counts["commutative_only"],
        refusals=[_finding(entry) for entry in counts["refusals"]],
        findings=[_finding(entry) for entry in counts["findings"]],
    )


def _finding(entry: tuple[int, int, int, bool, str]) -> Finding:
    p, root, count, commutative, sentence = entry
    return Finding(p=p, root=root, count=count, commutative=commutative, sentence=sentence)
