"""Shell completion of options and arguments: names of collectives, functions, algorithms and directories.

Slow imports and launches are avoided, so that completion is immediate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path


def result_directories(incomplete: str) -> Iterator[str]:
    """Folders that hold results of a study or an import, and their parent folders."""
    return _folders(incomplete, "provenance.json")


def trace_directories(incomplete: str) -> Iterator[str]:
    """Folders that hold a trace, and their parent folders."""
    return _folders(incomplete, "*.trace")


def collectives(incomplete: str) -> list[str]:
    """Names of collectives."""
    from offbeat.model.study.collectives import COLLECTIVES

    return [name for name in COLLECTIVES if name.startswith(incomplete)]


def algorithms(incomplete: str) -> list[str]:
    """Names of the simulator's algorithms, as COLLECTIVE/NAME, once the collective is typed."""
    collective, slash, _ = incomplete.partition("/")
    if not slash:
        return [f"{name}/" for name in collectives(incomplete)]
    if collective not in collectives(collective):
        return []
    from offbeat.simulation.algorithms.lookup import list_algorithms  # loads the simulator, about 0.1 s

    names = dict.fromkeys(f"{entry.collective}/{entry.name}" for entry in list_algorithms(collective, ""))
    return [name for name in names if name.startswith(incomplete)]


def functions(incomplete: str) -> list[str]:
    """Names of MPI functions whose calls can be delayed."""
    from offbeat.trace.wrapped_functions import wrapped_functions

    return [name for name in wrapped_functions() if name.startswith(incomplete)]


def libraries(incomplete: str) -> list[str]:
    """Names of the MPI installations that are found here."""
    from offbeat.libraries.installations.find import installations

    return [one.name for one in installations() if one.name.startswith(incomplete)]


def platforms(incomplete: str) -> Iterator[str]:
    """Names of built-in platforms, and TOML files in this folder."""
    from offbeat.model.platform.bundled_platforms import PRESETS

    yield from (name for name in PRESETS.names() if name.startswith(incomplete))
    yield from (path.name for path in sorted(Path().glob("*.toml")) if path.name.startswith(incomplete))


def one_of(*values: str) -> Callable[[str], list[str]]:
    """A completion with fixed values."""

    def complete(incomplete: str) -> list[str]:
        return [value for value in values if value.startswith(incomplete)]

    return complete


def _folders(incomplete: str, content: str) -> Iterator[str]:
    parent, _, start = incomplete.rpartition("/")
    base = parent + "/" if "/" in incomplete else ""
    try:
        entries = sorted(entry for entry in Path(base or ".").iterdir() if entry.is_dir())
    except OSError:
        return
    for entry in entries:
        if not entry.name.startswith(start) or (entry.name.startswith(".") and not start.startswith(".")):
            continue
        try:
            if any(entry.glob(content)):
                yield f"{base}{entry.name}"
            elif any(inner.is_dir() for inner in entry.iterdir()):
                yield f"{base}{entry.name}/"
        except OSError:
            continue
