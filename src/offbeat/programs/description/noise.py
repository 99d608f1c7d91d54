"""The delays of a program's ranks, drawn from its seed: which rank, in which iteration, for how long."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.base.errors import BadInput
from offbeat.programs.description.program_file import Program
from offbeat.programs.description.schema import NoiseSection


class Delays(Struct, frozen=True, kw_only=True, eq=False):
    """Delays of one section: ``rank`` (n,), ``iteration`` (n,) from 0, and ``time_s`` (n,)."""

    rank: NDArray[np.int64]
    iteration: NDArray[np.int64]
    time_s: NDArray[np.float64]


def delays(program: Program, domain_of_rank: NDArray[np.int32]) -> list[Delays]:
    """The delays of each noise section. ``domain_of_rank`` is (p,).

    Each section draws from a generator of its own, so that a section that is added does not change what the
    others draw. Raises :class:`BadInput` if a section names a rank that the program does not have.
    """
    file = program.file
    generators = np.random.SeedSequence(file.seed).spawn(len(file.noise))
    return [
        _section_delays(section, index, program, domain_of_rank, np.random.default_rng(generator))
        for index, (section, generator) in enumerate(zip(file.noise, generators, strict=True))
    ]


def _section_delays(
    section: NoiseSection,
    index: int,
    program: Program,
    domain_of_rank: NDArray[np.int32],
    generator: np.random.Generator,
) -> Delays:
    last = min(section.last or program.file.iterations, program.file.iterations)
    first = -(-section.first // section.every) * section.every
    iterations = np.arange(first, last + 1, section.every) - 1
    picked = _picked(section, index, program, len(iterations), domain_of_rank, generator)
    each = picked.shape[1]
    time_s = np.full(picked.shape, section.time)
    if section.distribution == "exponential":
        time_s = generator.exponential(section.time, picked.shape)
    return Delays(rank=picked.ravel(), iteration=np.repeat(iterations, each), time_s=time_s.ravel())


def _picked(
    section: NoiseSection,
    index: int,
    program: Program,
    times: int,
    domain_of_rank: NDArray[np.int32],
    generator: np.random.Generator,
) -> NDArray[np.int64]:
    """The ranks that are delayed each time, (times, ranks)."""
    p = len(domain_of_rank)
    if section.pick == "each_domain":
        order = np.argsort(domain_of_rank, kind="stable")
        _, starts, counts = np.unique(domain_of_rank[order], return_index=True, return_counts=True)
        return order[starts + generator.integers(counts, size=(times, len(counts)))]
    if section.pick == "random":
        if section.count > p:
            where = program.where(("noise", index, "count"))
            raise BadInput(f"{where} {section.count} ranks are to be delayed, and there are {p}")
        if section.count == 1:
            return generator.integers(p, size=(times, 1))
        ranks = np.tile(np.arange(p), (times, 1))
        return generator.permuted(ranks, axis=1)[:, : section.count]
    ranks = np.arange(p) if section.pick == "all" else np.array(section.ranks)
    if ranks.max() >= p:
        where = program.where(("noise", index, "ranks"))
        raise BadInput(f"{where} there is no rank {ranks.max()} of {p}; the last is {p - 1}")
    return np.broadcast_to(ranks, (times, len(ranks)))
