"""What an installed MPICH says about itself: its default selection trees and the names it knows.

MPICH 4 and 5 choose algorithms by trees of conditions, kept inside the shared library as JSON text: one for
its collectives in general, one for the compositions by which its device splits a collective into a part
inside nodes and one between them. A tuning file replaces such a tree as a whole, so it is made from the
library's own.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from offbeat.errors import BadInput

Tree = dict[str, "Tree"]
"""Conditions and what to do when they hold; an algorithm's key holds its parameters."""

_START = b'{"collective='
_NAME = re.compile(rb"(?:algorithm|composition)=(\w+)")


class Embedded(Struct, frozen=True, kw_only=True):
    """The trees and names found in one library.

    ``general`` maps ``collective=NAME`` to its default; ``compositions`` likewise, or is ``None`` where the
    device has none. ``names`` are the algorithms and compositions that the library can be told to use.
    """

    general: Tree
    compositions: Tree | None
    names: frozenset[str]


def read(library: Path) -> Embedded:
    """Read the shared library of an MPICH. Raises :class:`BadInput` when there is no default tree in it."""
    try:
        with library.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            trees = list(_trees(data))
            names = frozenset(match.group(1).decode() for match in _NAME.finditer(data))
    except (OSError, ValueError) as error:
        raise BadInput(f"cannot read MPICH's library {library}: {error}") from error
    general = [
        tree for tree in trees if "collective=ialltoall" in tree and _leaf(tree).startswith("algorithm=MPIR_")
    ]
    compositions = [tree for tree in trees if _leaf(tree).startswith("composition=")]
    if not general:
        raise BadInput(
            f"{library} does not hold MPICH's default selection of algorithms, from which a tuning file is"
            " made; MPICH 4.0 and later hold it. Give the MPICH that the study measured with --mpi PREFIX"
        )
    return Embedded(
        general=general[0],
        compositions=compositions[0] if compositions else None,
        names=names,
    )


def _trees(data: mmap.mmap) -> Iterator[Tree]:
    """Every piece of text in the library that is a selection tree."""
    at = data.find(_START)
    while at >= 0:
        end = data.find(b"\0", at)
        try:
            yield msgspec.json.decode(data[at:end], type=dict[str, dict])
        except (msgspec.DecodeError, UnicodeDecodeError):
            end = at + len(_START)
        at = data.find(_START, end)


def _leaf(tree: Tree) -> str:
    """The first algorithm or composition key of a tree; empty when it has none."""
    for key, below in tree.items():
        if key.startswith(("algorithm=", "composition=")):
            return key
        found = _leaf(below)
        if found:
            return found
    return ""
