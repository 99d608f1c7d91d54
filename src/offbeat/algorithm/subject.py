"""The algorithm that is looked at: one of the simulator's, or a function that somebody wrote in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from msgspec import Struct

from offbeat import _simulator


class Call(Struct, frozen=True, kw_only=True):
    """One collective call. ``count`` is elements as the MPI call states it, of ``element_bytes`` each;
    ``node_of_rank`` is empty where all ranks are on one node."""

    p: int
    root: int = 0
    count: int = 1
    element_bytes: int = 1
    node_of_rank: tuple[int, ...] = ()


class Portion(Struct, frozen=True, kw_only=True):
    """Calls that are checked together: every combination of these.

    Negative roots count from p, and those that p doesn't have are left out; no roots at all means every one.
    ``ranks_per_node`` ranks share a node (0: all of them), filled node after node or (``by_node``) in turn.
    """

    p: int
    roots: tuple[int, ...] = ()
    counts: tuple[int, ...] = (1,)
    element_bytes: int = 4
    ranks_per_node: int = 0
    by_node: bool = False
    commutative: tuple[bool, ...] = (True,)


class Finding(Struct, frozen=True, kw_only=True):
    """A call that went wrong or was refused, and the sentence that says why."""

    p: int
    root: int
    count: int
    commutative: bool
    sentence: str


class Tally(Struct, frozen=True, kw_only=True):
    """What became of the calls of a portion.

    ``commutative_only`` calls are right except that they combine out of rank order although the operation
    asked for it; ``refused`` ones were refused by the algorithm itself, with the first refusal kept.
    Checking ends after 20 findings.
    """

    proved: int
    refused: int
    commutative_only: int
    refusals: list[Finding]
    findings: list[Finding]


class Subject(Protocol):
    """What can be drawn, timed and checked."""

    @property
    def collective(self) -> str:
        """The collective that it computes."""
        ...

    @property
    def title(self) -> str:
        """How it is called in headings: ``reduce/binomial (openmpi)``."""
        ...

    @property
    def parameters(self) -> tuple[tuple[str, int], ...]:
        """Every integer it takes, with the value it has here."""
        ...

    def messages(self, call: Call) -> dict[str, Any]:
        """Arrays source, target, elements, tag and depth: all messages of a call. ValueError if refused."""
        ...

    def schedule(self, call: Call, *, local_work: bool) -> Any:
        """What the simulator evaluates. ValueError if the call is refused."""
        ...

    def check(self, portion: Portion) -> Tally:
        """Check many calls."""
        ...


class Listed(Struct, frozen=True, kw_only=True):
    """An algorithm of the simulator's catalogue, with a value for each of its parameters.

    ``given`` are the names of those that are not at their defaults because somebody said so.
    """

    collective: str
    family: str
    name: str
    parameters: tuple[tuple[str, int], ...] = ()
    smallest: tuple[int, ...] = ()
    given: tuple[str, ...] = ()
    ordered: bool = False
    scales: bool = False

    @property
    def title(self) -> str:
        """``reduce/chain(fanout=2) (openmpi)``."""
        values = dict(self.parameters)
        given = ", ".join(f"{name}={values[name]}" for name in self.given)
        return f"{self.collective}/{self.name}{f'({given})' if given else ''} ({self.family})"

    def messages(self, call: Call) -> dict[str, Any]:
        """See :class:`Subject`."""
        return _simulator.messages(*(self._identity() + _arguments(call)))

    def schedule(self, call: Call, *, local_work: bool) -> Any:
        """See :class:`Subject`."""
        return _simulator.Schedule(*(self._identity() + _arguments(call)), local_work=local_work)

    def check(self, portion: Portion) -> Tally:
        """See :class:`Subject`; other threads go on meanwhile."""
        return _tally(_simulator.check_range(*self._identity(), *_ranges(portion)))

    def _identity(self) -> tuple[str, str, str, dict[str, int]]:
        return self.collective, self.family, self.name, dict(self.parameters)


class Written(Struct, frozen=True, kw_only=True):
    """A function that is called with the Rank of each rank."""

    collective: str
    name: str
    write: Callable[[Any], object]
    parameters: tuple[tuple[str, int], ...] = ()

    @property
    def title(self) -> str:
        """``bcast/my_file.py:chain``."""
        return f"{self.collective}/{self.name}"

    def messages(self, call: Call) -> dict[str, Any]:
        """See :class:`Subject`."""
        return self._programs(call).messages()

    def schedule(self, call: Call, *, local_work: bool) -> Any:
        """See :class:`Subject`."""
        return _simulator.Schedule(self._programs(call), local_work=local_work)

    def check(self, portion: Portion) -> Tally:
        """See :class:`Subject`."""
        return _tally(_simulator.check_written(self.collective, self.write, *_ranges(portion)))

    def _programs(self, call: Call) -> _simulator.Programs:
        try:
            return _simulator.Programs(self.collective, self.write, *_arguments(call))
        except NotImplementedError as refusal:
            raise ValueError(str(refusal)) from None


def _arguments(call: Call) -> tuple[int, int, int, int, list[int]]:
    return call.p, call.root, call.count, call.element_bytes, list(call.node_of_rank)


def _ranges(portion: Portion) -> tuple[Any, ...]:
    return (
        [portion.p],
        list(portion.roots),
        list(portion.counts),
        portion.element_bytes,
        portion.ranks_per_node,
        portion.by_node,
        list(portion.commutative),
    )


def _tally(found: dict[str, Any]) -> Tally:
    return Tally(
        proved=found["proved"],
        refused=found["refused"],
        commutative_only=found["commutative_only"],
        refusals=[_finding(entry) for entry in found["refusals"]],
        findings=[_finding(entry) for entry in found["findings"]],
    )


def _finding(entry: tuple[int, int, int, bool, str]) -> Finding:
    p, root, count, commutative, sentence = entry
    return Finding(p=p, root=root, count=count, commutative=commutative, sentence=sentence)
