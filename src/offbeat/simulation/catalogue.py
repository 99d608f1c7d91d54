"""The simulator's algorithms by name."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from offbeat import _simulator
from offbeat.errors import BadInput
from offbeat.study.algorithm import split_name
from offbeat.toml.faults import hint


class Known(Struct, frozen=True, kw_only=True):
    """An algorithm of the simulator.

    ``family`` is whose algorithm and whose name it is (``openmpi``, ``mpich``, ``simgrid``); ``parameters``
    maps the names of its integers to their defaults. ``scales`` says that its schedule for n elements is that
    for one element with every length times n.
    """

    collective: str
    family: str
    name: str
    parameters: dict[str, int]
    scales: bool


class Wanted(Struct, frozen=True, kw_only=True):
    """An algorithm with values for some of its parameters, as (name, value); the others have their
    defaults."""

    known: Known
    parameters: tuple[tuple[str, int], ...] = ()


@lru_cache(maxsize=1)
def catalogue() -> dict[tuple[str, str], dict[str, Known]]:
    """(collective, family) → name → algorithm, in the order in which the simulator lists them."""
    found: dict[tuple[str, str], dict[str, Known]] = {}
    for entry in _simulator.algorithms():
        known = Known(
            collective=entry["collective"],
            family=entry["family"],
            name=entry["name"],
            parameters={name: value for name, value, _ in entry["parameters"]},
            scales=entry["scales"],
        )
        found.setdefault((known.collective, known.family), {})[known.name] = known
    return found


def families() -> list[str]:
    """Every family that has an algorithm."""
    return sorted({family for _, family in catalogue()})


def algorithms(collective: str, family: str) -> list[Known]:
    """The algorithms of a collective in a family; none where the simulator has none."""
    return list(catalogue().get((collective, family), {}).values())


def find(collective: str, family: str, name: str) -> Wanted | None:
    """The algorithm of a name, parameters included: ``chain(fanout=4, segment=65536)``; None if there is
    none with this name and these parameters."""
    own = catalogue().get((collective, family), {})
    if name in own:
        return Wanted(known=own[name])
    plain, texts = split_name(name)
    known = own.get(plain)
    if known is None or not texts or not texts.keys() <= known.parameters.keys():
        return None
    try:
        values = tuple((parameter, int(text)) for parameter, text in texts.items())
    except ValueError:
        return None
    return Wanted(known=known, parameters=values)


def named(collective: str, family: str, name: str) -> Wanted:
    """As :func:`find`. Raises :class:`BadInput`, with what could be meant, where there is none."""
    found = find(collective, family, name)
    if found is not None:
        return found
    names = [known.name for known in algorithms(collective, family)]
    if not names:
        both = ", ".join(f"{collective} of {family}" for collective, family in catalogue())
        raise BadInput(f"the simulator has no algorithms for {collective} of {family}; it has {both}")
    plain = split_name(name)[0]
    if plain in names:
        takes = ", ".join(catalogue()[collective, family][plain].parameters) or "none"
        raise BadInput(f"{name!r}: {plain} takes whole numbers for its parameters; they are: {takes}")
    raise BadInput(f"the simulator has no {name!r} for {collective} of {family}{hint(name, names)}")
