"""From what people type to algorithms."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from offbeat import _simulator
from offbeat.algorithm.subject import Listed, Subject, Written
from offbeat.algorithm.watch import StoppedByLimit, limited
from offbeat.errors import BadInput, RunFailed
from offbeat.simulation import catalogue
from offbeat.study.algorithm import split_name
from offbeat.toml.faults import hint, unknown

FAMILIES = ("openmpi", "mpich", "simgrid")
"""Whose names are looked up first."""

COLLECTIVES = tuple(dict.fromkeys(entry["collective"] for entry in _simulator.algorithms()))
"""Those that the simulator has algorithms for."""

_FUNCTION = re.compile(r"(?P<path>.+\.py):(?P<function>\w+)")


def listed(collective: str = "", family: str = "") -> list[Listed]:
    """The simulator's algorithms with their defaults, of one collective and one family if they are named.

    Raises :class:`BadInput` for a name that doesn't exist.
    """
    if collective and collective not in COLLECTIVES:
        raise BadInput(unknown(collective, "a collective", COLLECTIVES))
    if family and family not in FAMILIES:
        raise BadInput(unknown(family, "a family of algorithms", FAMILIES))
    return [
        entry for entry in _all() if collective in ("", entry.collective) and family in ("", entry.family)
    ]


def _all() -> Iterator[Listed]:
    for entry in _simulator.algorithms():
        yield Listed(
            collective=entry["collective"],
            family=entry["family"],
            name=entry["name"],
            parameters=tuple((name, value) for name, value, _ in entry["parameters"]),
            smallest=tuple(smallest for _, _, smallest in entry["parameters"]),
            ordered=entry["ordered"],
            scales=entry["scales"],
        )


def subject(text: str, family: str = "", collective: str = "") -> Subject:
    """The algorithm of ``reduce/chain(fanout=2)``, or of ``my_file.py:function`` and its collective.

    Without a family, the first of :data:`FAMILIES` that has the name is taken. Raises :class:`BadInput` for
    what doesn't exist.
    """
    function = _FUNCTION.fullmatch(text)
    if function:
        return _written(Path(function["path"]), function["function"], collective)
    own, slash, name = text.partition("/")
    if not slash:
        raise BadInput(
            f"{text!r} names no algorithm; write COLLECTIVE/NAME, such as 'reduce/binomial', or"
            " FILE.py:FUNCTION for one of yours"
        )
    if collective not in ("", own):
        raise BadInput(f"{text!r} is an algorithm for {own}, and the collective {collective} is asked for")
    entries = listed(own, family)
    for one in FAMILIES:
        wanted = catalogue.find(own, one, name) if family in ("", one) else None
        if wanted is not None:
            return _with_values(entries, wanted)
    likely = [entry.family for entry in entries if entry.name == split_name(name)[0]]
    if family or likely:
        return _with_values(entries, catalogue.named(own, family or likely[0], name))
    names = list(dict.fromkeys(entry.name for entry in entries))
    raise BadInput(f"{name!r} is not an algorithm for {own}{hint(name, names)}")


def _with_values(entries: list[Listed], wanted: catalogue.Wanted) -> Listed:
    known, given = wanted.known, dict(wanted.parameters)
    (entry,) = (each for each in entries if (each.family, each.name) == (known.family, known.name))
    for (name, _), smallest in zip(entry.parameters, entry.smallest, strict=True):
        if given.get(name, smallest) < smallest:
            raise BadInput(f"{known.name}: {name} is {given[name]}; it must be at least {smallest}")
    return Listed(
        collective=entry.collective,
        family=entry.family,
        name=entry.name,
        parameters=tuple((name, given.get(name, value)) for name, value in entry.parameters),
        smallest=entry.smallest,
        given=tuple(given),
        ordered=entry.ordered,
        scales=entry.scales,
    )


def _written(path: Path, name: str, collective: str) -> Written:
    if not collective:
        raise BadInput(f"which collective does {path}:{name} compute? Say it with --collective")
    if collective not in COLLECTIVES:
        raise BadInput(unknown(collective, "a collective", COLLECTIVES))
    module = _load(path)
    function = getattr(module, name, None)
    if not inspect.isfunction(function):
        names = [key for key, value in vars(module).items() if inspect.isfunction(value)]
        raise BadInput(f"{path} has no function {name!r}{hint(name, names)}")
    return Written(collective=collective, name=f"{path.name}:{name}", write=_told(function, path))


def _load(path: Path) -> ModuleType:
    if not path.is_file():
        raise BadInput(f"{path} is not a file; FILE.py:FUNCTION names an algorithm that is written in Python")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None  # the suffix is .py
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))  # its own neighbours, as with python FILE.py
    try:
        with _faults_of(path):
            spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


def _told(function: Callable[[Any], object], path: Path) -> Callable[[Any], object]:
    """The function, with its exceptions as sentences; NotImplementedError is how it refuses a call."""

    def write(rank: Any) -> None:
        with _faults_of(path, f" (rank {rank.id} of {rank.p})"):
            function(rank)

    return write


@contextmanager
def _faults_of(path: Path, where: str = "") -> Iterator[None]:
    """Exceptions of the user's own code name the line of his file that was running."""
    try:
        with limited():
            yield
    except NotImplementedError:
        raise
    except SyntaxError as error:
        raise BadInput(f"{error.filename}:{error.lineno}: {error.msg}") from None
    except StoppedByLimit as error:
        raise RunFailed(f"{_line_in(path, error)}{where}: {error}") from None
    except Exception as error:
        raise RunFailed(f"{_line_in(path, error)}: {type(error).__name__}: {error}{where}") from None


def _line_in(path: Path, error: BaseException) -> str:
    """The line of a file that an exception comes from, as far as it is there."""
    own = path.resolve()
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == own]
    return f"{path}:{frames[-1].lineno}" if frames else str(path)
