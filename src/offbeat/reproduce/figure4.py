"""Figure 4 of "MPI Collective Algorithm Selection in the Presence of Process Arrival Patterns" as a study.

Section III of the paper: reduce, allreduce and alltoall on 32 nodes of 32 cores, every algorithm that
SimGrid has, no_delay and the eight shapes of figure 3, skews of 0.5, 1.0 and 1.5 times the mean runtime
without delay. The caption says 1,024 processes; the sizes are powers of two up to 1 MiB.
"""

from __future__ import annotations

from collections.abc import Sequence

import tomlkit
from msgspec import Struct

from offbeat.errors import BadInput
from offbeat.simulation import catalogue
from offbeat.toml.faults import hint
from offbeat.units import parse_size

COLLECTIVES = ("reduce", "allreduce", "alltoall")
FACTORS = (0.5, 1.0, 1.5)
SIZES = tuple(2**exponent for exponent in range(1, 21))
SHAPES = (
    "no_delay",
    "ascending",
    "descending",
    "first_delayed",
    "last_delayed",
    "mid_delayed",
    "random",
    "half_delayed",
    "bell",
)
"""no_delay and eight shapes. The paper's text names four of those in its figure 3; the others are those that
its figures 5 to 8 name, and two with half of the processes late and with a bump in the middle."""

FAMILY = "simgrid"
"""The paper simulated with SimGrid 3.35: its algorithms, under its names."""


class Part(Struct, frozen=True, kw_only=True):
    """How much of the figure is wanted; what is empty is wanted whole.

    ``sizes`` are in bytes; ``p`` is 0 for all cores of the platform.
    """

    collectives: tuple[str, ...] = ()
    factors: tuple[float, ...] = ()
    sizes: tuple[int, ...] = ()
    algorithms: tuple[str, ...] = ()
    platform: str = "paper"
    p: int = 1024


def part(
    collectives: Sequence[str],
    factors: Sequence[float],
    sizes: Sequence[str],
    algorithms: Sequence[str],
    platform: str,
    p: int,
) -> Part:
    """What command line options ask for. Raises :class:`BadInput` for words that mean nothing here."""
    for name in collectives:
        if name not in COLLECTIVES:
            raise BadInput(f"--collective {name}: figure 4 shows {', '.join(COLLECTIVES)}")
    for factor in factors:
        if not 0 < factor < 1e6:
            raise BadInput(f"--factor {factor:g}: a skew factor is a number above 0, such as 1.5")
    asked = tuple(collectives) or COLLECTIVES
    known = [one.name for name in asked for one in catalogue.algorithms(name, FAMILY)]
    for name in algorithms:
        if not any(catalogue.find(collective, FAMILY, name) for collective in asked):
            raise BadInput(
                f"--algorithm {name}: {' and '.join(asked)} have none of this name{hint(name, known)}"
            )
    return Part(
        collectives=tuple(dict.fromkeys(collectives)),
        factors=tuple(dict.fromkeys(factors)),
        sizes=tuple(dict.fromkeys(_size(text) for text in sizes)),
        algorithms=tuple(dict.fromkeys(algorithms)),
        platform=platform,
        p=p,
    )


def study_text(wanted: Part) -> str:
    """The study file of a part of the figure."""
    document = tomlkit.document()
    document.add("name", "figure 4")
    document.add("engine", "sim")
    sections = tomlkit.aot()
    for collective in wanted.collectives or COLLECTIVES:
        section = tomlkit.table()
        section.add("names", [collective])
        section.add("sizes", list(wanted.sizes or SIZES))
        section.add("algorithms", _algorithms(collective, wanted.algorithms))
        section.add("datatype", "byte")
        sections.append(section)
    document.add("collective", sections)
    for name, values in {
        "processes": {"p": [wanted.p]},
        "patterns": {"shapes": list(SHAPES)},
        "skew": {"policy": "mean", "factors": list(wanted.factors or FACTORS)},
        "simulator": {"platform": wanted.platform, "family": FAMILY},
    }.items():
        document.add(name, tomlkit.item(values))
    return tomlkit.dumps(document)


def _algorithms(collective: str, wanted: Sequence[str]) -> list[str]:
    """Those that the collective has; all where none of them are its own."""
    own = [name for name in wanted if catalogue.find(collective, FAMILY, name)]
    return own or ["all"]


def _size(text: str) -> int:
    try:
        size = parse_size(text)
    except BadInput as error:
        raise BadInput(f"--size {text}: {error}") from None
    if size < 1:
        raise BadInput(f"--size {text}: a message has 1 byte or more")
    return size
