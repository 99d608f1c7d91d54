"""A case: an algorithm of a configuration under one arrival pattern."""

from __future__ import annotations

import hashlib

import msgspec
from msgspec import Struct

SAME_SKEW = ("mean", "median", "fastest", "fixed")
"""Skew policies that give all algorithms of a configuration the same skew."""


class Case(Struct, frozen=True, kw_only=True):
    """An algorithm of a collective at one p, placement and message size, under one pattern.

    ``bytes`` is the message size: bytes per process as the MPI call states it (count × extent); for alltoall
    bytes per destination; 0 for barrier. ``pattern`` is the row label that everything downstream uses: the
    shape's or scenario's name, followed by ``×factor`` where a study has several skews of one shape.
    ``skew_factor`` multiplies the runtime that ``skew_policy`` (``mean``, ``median``, ``fastest``, ``own``,
    ``fixed``, ``file`` or ``none``) refers to; for ``fixed`` it is the skew itself in seconds.
    """

    collective: str
    algorithm: str
    bytes: int
    pattern: str
    shape: str
    skew_policy: str
    skew_factor: float
    p: int
    nodes: int
    ppn: int
    op: str = ""
    datatype: str = ""
    root: int = 0

    @property
    def id(self) -> str:
        """A short digest of all fields; the same in every run."""
        return hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()[:16]
