"""The simulator's algorithms by name, and whether their schedules combine in rank order."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct, structs

from offbeat import _simulator
from offbeat.base.errors import BadInput
from offbeat.base.toml.faults import hint
from offbeat.model.study.algorithm import split_name
from offbeat.model.study.collectives import REDUCING


class SimulatedAlgorithm(Struct, frozen=True, kw_only=True):
    """An algorithm of the simulator, with a value for each of its integer parameters.

    ``family`` is the library whose algorithm and name it is (``openmpi``, ``mpich``, ``simgrid``);
    ``smallest`` has the smallest value of each parameter, ``explicit`` the names of those that were set.
    ``ordered`` says that it combines in rank order whatever the operation, ``scales`` that its schedule for n
    elements is the schedule for one element with every length multiplied by n.
    """

    collective: str
    family: str
    name: str
    parameters: dict[str, int] = {}
    smallest: dict[str, int] = {}
    explicit: tuple[str, ...] = ()
    ordered: bool = False
    scales: bool = False

    @property
    def identity(self) -> tuple[str, str, str, dict[str, int]]:
        """The first arguments of the simulator's functions."""
        return self.collective, self.family, self.name, self.parameters


@lru_cache(maxsize=1)
def catalogue() -> dict[tuple[str, str], dict[str, SimulatedAlgorithm]]:
    """(collective, family) → name → algorithm with its defaults, in the order of the simulator."""
    by_family: dict[tuple[str, str], dict[str, SimulatedAlgorithm]] = {}
    for entry in _simulator.algorithms():
        parameters = entry.pop("parameters")
        algorithm = SimulatedAlgorithm(
            parameters={name: value for name, value, _ in parameters},
            smallest={name: smallest for name, _, smallest in parameters},
            **entry,
        )
        by_family.setdefault((algorithm.collective, algorithm.family), {})[algorithm.name] = algorithm
    return by_family


def algorithms(collective: str, family: str) -> list[SimulatedAlgorithm]:
    """The algorithms of a collective in a family; empty if the simulator has none."""
    return list(catalogue().get((collective, family), {}).values())


def find(collective: str, family: str, name: str) -> SimulatedAlgorithm | None:
    """The algorithm of a name that may have parameters (``chain(fanout=4, segment=65536)``), or None."""
    by_name = catalogue().get((collective, family), {})
    if name in by_name:
        return by_name[name]
    base_name, texts = split_name(name)
    algorithm = by_name.get(base_name)
    if algorithm is None or not texts or not texts.keys() <= algorithm.parameters.keys():
        return None
    try:
        values = {parameter: int(text) for parameter, text in texts.items()}
    except ValueError:
        return None
    return structs.replace(algorithm, parameters=algorithm.parameters | values, explicit=tuple(values))


def get_algorithm(collective: str, family: str, name: str) -> SimulatedAlgorithm:
    """Does the same as :func:`find`, but raises :class:`BadInput` with the nearest names if there is none."""
    if algorithm := find(collective, family, name):
        return algorithm
    names = [known.name for known in algorithms(collective, family)]
    if not names:
        available = ", ".join(f"{collective} of {family}" for collective, family in catalogue())
        raise BadInput(f"the simulator has no algorithms for {collective} of {family}; it has {available}")
    base_name = split_name(name)[0]
    if base_name in names:
        parameter_names = ", ".join(catalogue()[collective, family][base_name].parameters) or "none"
        raise BadInput(
            f"{name!r}: {base_name} takes whole numbers for its parameters; they are: {parameter_names}"
        )
    raise BadInput(f"the simulator has no {name!r} for {collective} of {family}{hint(name, names)}")


PROCESSES = range(2, 9)
COUNTS = (1, 17, 100)
"""These calls suffice: every algorithm that violates rank order does so for at least one of them."""


@lru_cache(maxsize=1024)
def keeps_order(collective: str, family: str, name: str, element_bytes: int) -> bool:
    """Whether the schedules of a few small calls combine in rank order, as operations that do not commute
    need it; true for collectives that do not reduce.

    Raises :class:`BadInput` if the family has no algorithm with this name.
    """
    if collective not in REDUCING:
        return True
    identity = get_algorithm(collective, family, name).identity
    outcome = _simulator.check_range(
        *identity, list(PROCESSES), [0], list(COUNTS), element_bytes, 0, False, [False]
    )
    return not outcome["commutative_only"]
