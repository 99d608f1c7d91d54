"""Patterns from what users type: a shape with its p, skew and seed, or a pattern file."""

from __future__ import annotations

from pathlib import Path

import offbeat
from offbeat.errors import BadInput
from offbeat.pattern import file, sequence
from offbeat.pattern.file import Pattern
from offbeat.pattern.sequence import Sequence
from offbeat.pattern.shapes import SHAPES, delays


def make(shape: str, p: int, skew_s: float, *, seed: int = 1, ppn: int = 0) -> Pattern:
    """A pattern of a shape, with a header that says how to make it again.

    Raises BadInput as :func:`offbeat.pattern.shapes.delays` does.
    """
    header = {
        "producer": f"offbeat {offbeat.__version__}",
        "shape": shape,
        "skew_s": repr(float(skew_s)),
        "seed": str(seed),
    }
    if ppn:
        header["ppn"] = str(ppn)
    return Pattern(name=shape, delays_s=delays(shape, p, skew_s, seed=seed, ppn=ppn), header=header)


def file_or_shape(name: str, p: int, skew_s: float, *, seed: int = 1, ppn: int = 0) -> Pattern | Sequence:
    """The pattern of the shape of this name, else of the pattern file or replay file at this path.

    ``p``, ``skew_s``, ``seed`` and ``ppn`` are for shapes only. BadInput if it is none of them.
    """
    if name in SHAPES:
        return make(name, p, skew_s, seed=seed, ppn=ppn)
    if not Path(name).exists():
        raise BadInput(f"{name} is neither a pattern file nor a shape; the shapes are {', '.join(SHAPES)}")
    return read(Path(name))


def read(path: Path, p: int | None = None) -> Pattern | Sequence:
    """A replay file where the path ends in ``.replay``, else a pattern file; BadInput as they are read."""
    return sequence.read(path, p) if path.suffix == sequence.SUFFIX else file.read(path, p)
