"""The claims of the paper's text about its figure 4, checked against the simulation.

Each claim is checked twice: among all simulated algorithms, and among those that the paper's text names,
because the paper does not list the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Generic, TypeVar

from msgspec import Struct

from offbeat.base.units import enumeration, format_size
from offbeat.presentation.reproduction.maps import Map
from offbeat.selection.choices.delay_table import NO_DELAY

NAMED = {
    "reduce": ("ompi_binomial", "scatter_gather", "ompi_in_order_binary"),
    "allreduce": ("lr", "rdb", "rab_rdb", "ompi_ring_segmented", "redbcast"),
    "alltoall": ("bruck", "basic_linear"),
}
"""The algorithms that section III.C names."""

FACTOR = 1.5
"""The paper shows this skew factor only."""

MOSTLY = 2 / 3
"""The share of squares that counts as most of them."""

NEAR = 0.1
"""The largest difference from the paper's ratio that counts as agreement."""

Maps = Mapping[str, Map]
"""Collective → its map at the paper's factor."""


class Observation(Struct, frozen=True):
    """What the simulation or the measurement shows, as text, and whether the claim holds.

    ``holds`` is None if it cannot be told: the interval of what was measured contains the claim's limit.
    """

    text: str
    holds: bool | None


def all_hold(parts: Iterable[bool | None]) -> bool | None:
    """Whether all parts of a claim hold; None if none fails and some cannot be told."""
    listed = list(parts)
    if any(part is False for part in listed):
        return False
    return None if None in listed else True


def most_hold(parts: Iterable[bool | None]) -> bool | None:
    """Whether more than MOSTLY of the parts hold; None if it depends on those that cannot be told."""
    listed = list(parts)
    enough = MOSTLY * len(listed)
    if listed.count(True) > enough:
        return True
    return False if len(listed) - listed.count(False) <= enough else None


Figure = TypeVar("Figure")


class Claim(Struct, Generic[Figure], frozen=True, kw_only=True):
    """A claim of a paper; ``check`` returns None if the figure lacks its subject.

    ``differs`` is a possible reason if the claim does not hold; of figure 4 on arrival patterns, not even
    among the algorithms that the paper names.
    """

    says: str
    check: Callable[[Figure], Observation | None]
    differs: str = ""


class Reproduction(Struct, frozen=True, kw_only=True):
    """A reproduced figure: the numbers of done and planned cases, the pictures, a line for each claim, and
    remarks about what differs from the paper's machine."""

    done: int
    total: int
    pictures: list[Path]
    claims: list[str]
    remarks: list[str] = []


def sentences(everything: list[Map], named: list[Map]) -> list[str]:
    """A line for each claim that can be checked; ``named`` are the maps of the NAMED algorithms."""
    lines = []
    for claim in CLAIMS:
        observation = claim.check(_at_factor(everything))
        if observation is None:
            continue
        line = sentence(claim, "Simulated", observation)
        among = claim.check(_at_factor(named))
        if observation.holds is False and among is not None:
            line += f" Among the algorithms that the paper names: {among.text}: {verdict(among)}."
        if observation.holds is False and (among is None or not among.holds) and claim.differs:
            line += f" {claim.differs}"
        lines.append(line)
    return lines


def sentence(claim: Claim[Figure], how: str, observation: Observation) -> str:
    """A claim, what was observed (``how``: "Simulated", "Measured"), and whether the claim holds."""
    return f"{claim.says} {how}: {observation.text}: {verdict(observation)}."


def explained(claim: Claim[Figure], how: str, observation: Observation) -> str:
    """As :func:`sentence`, with the reason if the claim does not hold and the reason is known."""
    line = sentence(claim, how, observation)
    return f"{line} {claim.differs}" if claim.differs and observation.holds is False else line


def simulated_sentence(claim: Claim[Figure], of: Figure) -> str:
    """The sentence of a claim whose check always finds what it needs in the figure."""
    observation = claim.check(of)
    assert observation is not None
    return explained(claim, "Simulated", observation)


def verdict(observation: Observation) -> str:
    """Whether a claim holds, in words."""
    if observation.holds is None:
        return "cannot be told, because the interval contains the limit"
    return "holds" if observation.holds else "does not hold"


def _at_factor(maps: list[Map]) -> Maps:
    return {one.collective: one for one in maps if one.factor == FACTOR}


def _best_at(
    collective: str, shape: str, algorithm: str, low: int, high: int
) -> Callable[[Maps], Observation | None]:
    """Whether an algorithm is best under a shape at most sizes of a range of bytes."""

    def check(maps: Maps) -> Observation | None:
        squares = _squares(maps, collective, shape, low, high)
        if not squares:
            return None
        names = list(squares.values())
        count = names.count(algorithm)
        others = [name for name in dict.fromkeys(names) if name != algorithm]
        text = f"{algorithm} at {count} of {len(names)} sizes"
        if others:
            text += f", elsewhere {', '.join(others)}"
        return Observation(text, count > MOSTLY * len(names))

    return check


def _squares(maps: Maps, collective: str, shape: str, low: int, high: int) -> dict[int, str]:
    """Size → the best algorithm, for the sizes of a range that were simulated."""
    one = maps.get(collective)
    if one is None:
        return {}
    return {
        size: one.squares[shape, size].algorithm
        for size in one.sizes
        if low <= size <= high and (shape, size) in one.squares
    }


def _ratio_at(
    collective: str, shape: str, size: int, algorithm: str, expected: float
) -> Callable[[Maps], Observation | None]:
    def check(maps: Maps) -> Observation | None:
        one = maps.get(collective)
        square = one.squares.get((shape, size)) if one else None
        if one is None or square is None:
            return None
        text = (
            f"{square.algorithm} at {square.ratio:.2f} of {one.winners[size]}, the winner without delays"
            f" ({square.last_delay_s * 1e6:.3g} µs)"
        )
        return Observation(text, square.algorithm == algorithm and abs(square.ratio - expected) <= NEAR)

    return check


def _mostly_unchanged(maps: Maps) -> Observation | None:
    one = maps.get("allreduce")
    if one is None:
        return None
    return Observation(f"in {1 - one.changed():.0%} of the squares", one.changed() < 1 - MOSTLY)


def _exceptions(maps: Maps) -> Observation | None:
    one = maps.get("allreduce")
    if one is None or not {256, 1024} & set(one.sizes):
        return None
    changed = {
        shape: [
            format_size(size)
            for size in one.sizes
            if 64 <= size <= 4096
            and (square := one.squares.get((shape, size))) is not None
            and square.algorithm != one.winners[size]
        ]
        for shape in ("ascending", "last_delayed")
    }
    changes = [f"{shape} at {', '.join(sizes)}" for shape, sizes in changed.items() if sizes]
    return Observation(
        f"another one under {enumeration(changes)}" if changes else "the same one there", bool(changes)
    )


def _more_than_allreduce(maps: Maps) -> Observation | None:
    if "reduce" not in maps or "allreduce" not in maps:
        return None
    shares = {name: maps[name].changed() for name in ("reduce", "allreduce")}
    text = ", ".join(f"{share:.0%} of {name}'s squares" for name, share in shares.items())
    return Observation(f"the best algorithm changes in {text}", shares["reduce"] > shares["allreduce"])


CROSSING = (
    "From which size on an algorithm that moves fewer bytes wins over one that sends fewer messages depends"
    " on latency against bandwidth at each size: the paper states one of each, and not the factors by size."
)

SATURATED = (
    "32 ranks share each node's link here, which a linear alltoall saturates from about 10 B on, while bruck"
    " sends every byte five times. SimGrid's SMPI gives both the same times as this simulation."
)

CLAIMS: tuple[Claim[Maps], ...] = (
    Claim(
        says="Reduce without delays: ompi_binomial is best from 2 B to 256 B.",
        check=_best_at("reduce", NO_DELAY, "ompi_binomial", 2, 256),
    ),
    Claim(
        says="Reduce without delays: scatter_gather is best for larger messages.",
        check=_best_at("reduce", NO_DELAY, "scatter_gather", 257, 2**40),
        differs=CROSSING,
    ),
    Claim(
        says="Reduce when the last rank is delayed: ompi_in_order_binary is best.",
        check=_best_at("reduce", "last_delayed", "ompi_in_order_binary", 1, 2**40),
    ),
    Claim(
        says="There at 2 B it takes about 0.3 of the time of the winner without delays.",
        check=_ratio_at("reduce", "last_delayed", 2, "ompi_in_order_binary", 0.3),
    ),
    Claim(
        says="Allreduce: the best algorithm is mostly the one without delays.",
        check=_mostly_unchanged,
    ),
    Claim(
        says="Allreduce: ascending and last_delayed change it at medium sizes, such as 256 B and 1 KiB.",
        check=_exceptions,
    ),
    Claim(
        says="Alltoall without delays: bruck is best from 2 B to 1 KiB.",
        check=_best_at("alltoall", NO_DELAY, "bruck", 2, 1024),
        differs=SATURATED,
    ),
    Claim(
        says="Alltoall when the last rank is delayed: basic_linear is best for small messages (2 B, 4 B).",
        check=_best_at("alltoall", "last_delayed", "basic_linear", 2, 4),
    ),
    Claim(
        says="Arrival patterns matter more to reduce than to allreduce.",
        check=_more_than_allreduce,
    ),
)
