"""From names on the command line to algorithms of the catalogue, or functions in Python files."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from offbeat.base.errors import BadInput
from offbeat.base.toml.faults import hint, unknown
from offbeat.model.study.algorithm import split_file_and_function, split_name
from offbeat.model.study.schema import FAMILIES
from offbeat.simulation.algorithms.inspected import CatalogueAlgorithm, InspectedAlgorithm, PythonAlgorithm
from offbeat.simulation.calls import catalogue
from offbeat.simulation.calls.user_function import load_function

COLLECTIVES = tuple(dict.fromkeys(collective for collective, _ in catalogue.catalogue()))
"""The collectives that the simulator has algorithms for."""


def list_algorithms(collective: str = "", family: str = "") -> list[CatalogueAlgorithm]:
    """The simulator's algorithms with their defaults, of one collective and one family if they are given.

    Raises :class:`BadInput` for an unknown name.
    """
    if collective and collective not in COLLECTIVES:
        raise BadInput(unknown(collective, "a collective", COLLECTIVES))
    if family and family not in FAMILIES:
        raise BadInput(unknown(family, "a family of algorithms", FAMILIES))
    return [
        CatalogueAlgorithm(**structs.asdict(known))
        for key, by_name in catalogue.catalogue().items()
        for known in by_name.values()
        if collective in ("", key[0]) and family in ("", key[1])
    ]


def find_algorithm(text: str, family: str = "", collective: str = "") -> InspectedAlgorithm:
    """The algorithm of ``reduce/chain(fanout=2)``, or of ``my_file.py:function`` and its collective.

    Without a family, the first of :data:`offbeat.model.study.schema.FAMILIES` that has the name is used.
    Raises
    :class:`BadInput` for an unknown name.
    """
    own_function = split_file_and_function(text)
    if own_function:
        return _python_algorithm(*own_function, collective)
    stated_collective, slash, name = text.partition("/")
    if not slash:
        raise BadInput(
            f"{text!r} names no algorithm; write COLLECTIVE/NAME, such as 'reduce/binomial', or"
            " FILE.py:FUNCTION for one of yours"
        )
    if collective not in ("", stated_collective):
        raise BadInput(
            f"{text!r} is an algorithm for {stated_collective}, but the collective {collective} is requested"
        )
    entries = list_algorithms(stated_collective, family)
    for candidate in FAMILIES:
        algorithm = catalogue.find(stated_collective, candidate, name) if family in ("", candidate) else None
        if algorithm is not None:
            return _inspect(algorithm)
    likely = [entry.family for entry in entries if entry.name == split_name(name)[0]]
    if family or likely:
        return _inspect(catalogue.get_algorithm(stated_collective, family or likely[0], name))
    names = list(dict.fromkeys(entry.name for entry in entries))
    raise BadInput(f"{name!r} is not an algorithm for {stated_collective}{hint(name, names)}")


def _inspect(algorithm: catalogue.SimulatedAlgorithm) -> CatalogueAlgorithm:
    for name, smallest in algorithm.smallest.items():
        if algorithm.parameters[name] < smallest:
            raise BadInput(
                f"{algorithm.name}: {name} is {algorithm.parameters[name]}; it must be at least {smallest}"
            )
    return CatalogueAlgorithm(**structs.asdict(algorithm))


def _python_algorithm(path: Path, name: str, collective: str) -> PythonAlgorithm:
    if not collective:
        raise BadInput(f"which collective does {path}:{name} compute? Say it with --collective")
    if collective not in COLLECTIVES:
        raise BadInput(unknown(collective, "a collective", COLLECTIVES))
    write = load_function(path, name)
    return PythonAlgorithm(collective=collective, name=f"{path.name}:{name}", write=write)
