"""Algorithms that users write as Python functions: from a file and a name, or from a function object.

A function is called once for each rank and describes what the rank does; limits on its time and memory turn
an endless loop into a message.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from msgspec import Struct

from offbeat.base.errors import BadInput, RunFailed
from offbeat.base.reading import read_file
from offbeat.base.toml.faults import hint
from offbeat.simulation.calls.watchdog import LimitExceeded, limit_resources

RankFunction = Callable[[Any], object]


class FunctionOfFile(Struct, frozen=True, kw_only=True):
    """An algorithm in a file with a given content; can be sent to other processes that see the file."""

    path: Path
    name: str
    digest: str

    def load(self) -> RankFunction:
        """The function, loaded once in a process. Raises what :func:`load_function` raises, and
        :class:`RunFailed` if the file has changed."""
        if digest_of(self.path) != self.digest:
            raise RunFailed(f"{self.path} has changed since the study began; put the old file back")
        return _cached_function(self)


def function_of_file(path: Path, name: str) -> FunctionOfFile:
    """The algorithm with the file's present content. Raises :class:`BadInput` if there is no such file."""
    return FunctionOfFile(path=path.absolute(), name=name, digest=digest_of(path))


def digest_of(path: Path) -> str:
    """The SHA-256 of a file's content."""
    return hashlib.sha256(read_file(path)).hexdigest()


@lru_cache(maxsize=64)
def _cached_function(function: FunctionOfFile) -> RankFunction:
    return load_function(function.path, function.name)


def load_function(path: Path, name: str) -> RankFunction:
    """The function of a file, with its exceptions turned into messages. Raises :class:`BadInput`, or
    :class:`RunFailed` if the file cannot be executed."""
    module = _load(path)
    function = getattr(module, name, None)
    if not inspect.isfunction(function):
        names = [key for key, value in vars(module).items() if inspect.isfunction(value)]
        raise BadInput(f"{path} has no function {name!r}{hint(name, names)}")
    return with_messages(function, path)


def with_messages(function: RankFunction, path: Path) -> RankFunction:
    """The function with its exceptions turned into messages; NotImplementedError refuses a call."""

    def write(rank: Any) -> None:
        with _user_errors(path, f" (rank {rank.id} of {rank.p})"):
            function(rank)

    return write


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


@contextmanager
def _user_errors(path: Path, where: str = "") -> Iterator[None]:
    """Turn exceptions of the user's code into messages with the line of the user's file."""
    try:
        with limit_resources():
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
    """The ``FILE:LINE`` where an exception was raised, or FILE if its traceback has no line of the file."""
    file = path.resolve()
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == file]
    return f"{path}:{frames[-1].lineno}" if frames else str(path)
