"""From names on the command line to algorithms of the catalogue, or functions in Python files."""

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

from msgspec import structs

from offbeat.algorithm.inspected import CatalogueAlgorithm, InspectedAlgorithm, PythonAlgorithm
from offbeat.algorithm.watchdog import LimitExceeded, limited
from offbeat.errors import BadInput, RunFailed
from offbeat.simulation import catalogue
from offbeat.study.algorithm import split_name
from offbeat.study.schema import FAMILIES
from offbeat.toml.faults import hint, unknown

COLLECTIVES = tuple(dict.fromkeys(collective for collective, _ in catalogue.catalogue()))
"""The collectives that the simulator has algorithms for."""

_FUNCTION = re.compile(r"(?P<path>.+\.py):(?P<function>\w+)")


def listed(collective: str = "", family: str = "") -> list[CatalogueAlgorithm]:
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

    Without a family, the first of :data:`offbeat.study.schema.FAMILIES` that has the name is used. Raises
    :class:`BadInput` for an unknown name.
    """
    function = _FUNCTION.fullmatch(text)
    if function:
        return _python_algorithm(Path(function["path"]), function["function"], collective)
    stated, slash, name = text.partition("/")
    if not slash:
        raise BadInput(
            f"{text!r} names no algorithm; write COLLECTIVE/NAME, such as 'reduce/binomial', or"
            " FILE.py:FUNCTION for one of yours"
        )
    if collective not in ("", stated):
        raise BadInput(f"{text!r} is an algorithm for {stated}, but the collective {collective} is requested")
    entries = listed(stated, family)
    for candidate in FAMILIES:
        algorithm = catalogue.find(stated, candidate, name) if family in ("", candidate) else None
        if algorithm is not None:
            return _inspected(algorithm)
    likely = [entry.family for entry in entries if entry.name == split_name(name)[0]]
    if family or likely:
        return _inspected(catalogue.named(stated, family or likely[0], name))
    names = list(dict.fromkeys(entry.name for entry in entries))
    raise BadInput(f"{name!r} is not an algorithm for {stated}{hint(name, names)}")


def _inspected(known: catalogue.SimulatedAlgorithm) -> CatalogueAlgorithm:
    for name, smallest in known.smallest.items():
        if known.parameters[name] < smallest:
            raise BadInput(
                f"{known.name}: {name} is {known.parameters[name]}; it must be at least {smallest}"
            )
    return CatalogueAlgorithm(**structs.asdict(known))


def _python_algorithm(path: Path, name: str, collective: str) -> PythonAlgorithm:
    if not collective:
        raise BadInput(f"which collective does {path}:{name} compute? Say it with --collective")
    if collective not in COLLECTIVES:
        raise BadInput(unknown(collective, "a collective", COLLECTIVES))
    module = _load(path)
    function = getattr(module, name, None)
    if not inspect.isfunction(function):
        names = [key for key, value in vars(module).items() if inspect.isfunction(value)]
        raise BadInput(f"{path} has no function {name!r}{hint(name, names)}")
    return PythonAlgorithm(
        collective=collective, name=f"{path.name}:{name}", write=_wrap_errors(function, path)
    )


def _load(path: Path) -> ModuleType:
    if not path.is_file():
        raise BadInput(f"{path} is not a file; FILE.py:FUNCTION names an algorithm that is written in Python")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None  # the suffix is .py
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))  # for imports of its own folder
    try:
        with _user_errors(path):
            spec.loader.exec_module(module)
    finally:
        sys.path.pop(0)
    return module


def _wrap_errors(function: Callable[[Any], object], path: Path) -> Callable[[Any], object]:
    """The function with its exceptions turned into messages; NotImplementedError refuses a call."""

    def write(rank: Any) -> None:
        with _user_errors(path, f" (rank {rank.id} of {rank.p})"):
            function(rank)

    return write


@contextmanager
def _user_errors(path: Path, where: str = "") -> Iterator[None]:
    """Turn exceptions of the user's code into messages with the line of the user's file."""
    try:
        with limited():
            yield
    except NotImplementedError:
        raise
    except SyntaxError as error:
        raise BadInput(f"{error.filename}:{error.lineno}: {error.msg}") from None
    except LimitExceeded as error:
        raise RunFailed(f"{_line_in(path, error)}{where}: {error}") from None
    except Exception as error:
        raise RunFailed(f"{_line_in(path, error)}: {type(error).__name__}: {error}{where}") from None


def _line_in(path: Path, error: BaseException) -> str:
    """``FILE:LINE`` where an exception was raised, or FILE if its traceback has no line of the file."""
    file = path.resolve()
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == file]
    return f"{path}:{frames[-1].lineno}" if frames else str(path)
