"""The words a study may choose from."""

from __future__ import annotations

from offbeat.pattern.shapes import SHAPES
from offbeat.study.case import COLLECTIVES
from offbeat.study.schema import EXTENTS, OPS
from offbeat.toml.faults import Vocabulary, Words

VOCABULARY: Vocabulary = {
    "collective": Words("a collective", tuple(COLLECTIVES)),
    "shape": Words("a shape", tuple(SHAPES)),
    "op": Words("an operation", OPS),
    "datatype": Words("a datatype", tuple(EXTENTS)),
}
"""The lists, by the nouns that the schema marks its keys with."""


def choices(noun: str) -> tuple[str, ...]:
    """The words for ``collective``, ``shape``, ``op`` or ``datatype``, as the schema marks its keys."""
    return VOCABULARY[noun].known
