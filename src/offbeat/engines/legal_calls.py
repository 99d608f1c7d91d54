"""The legal calls of a collective that an algorithm must get right: one table, and the calls that follow.

Tried are the calls of the table on all processes of a launch, and its most telling ones on communicators of
fewer processes and of other ranks: a tuning file's rules match those as well. Extents and counts are such
that the message has about the size that is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from offbeat.study.case import REDUCING, ROOTED
from offbeat.study.schema import EXTENTS
from offbeat.units import format_size

MOVING = ("alltoall", "alltoallv", "allgather", "allgatherv", "bcast", "gather", "scatter")
IN_PLACE = (*REDUCING, "alltoall", "alltoallv", "allgather", "allgatherv", "gather", "scatter")
IRREGULAR = ("alltoallv", "allgatherv", "reduce_scatter")
DISPLACED = ("alltoallv", "allgatherv")
WITH_DATA = (*REDUCING, *MOVING)

SMALL_COMMUNICATORS = 8
"""Up to so many processes, communicators of every smaller size are tried; of larger launches some."""

MOST_BUFFER_BYTES = 16 * 1024 * 1024
"""Sizes are cut so that a buffer with a message for each process is not larger."""

ELEMENTS = {name: (extent, extent) for name, extent in EXTENTS.items()} | {
    "affine": (16, 16),
    "odd": (3, 3),
    "wide": (1032, 1032),
    "gapped": (32, 16),
}
"""Datatype of the driver → its extent and its size in bytes (``native/collectives/element.h``)."""


class Row(Struct, frozen=True, kw_only=True):
    """A way in which a call can be: ``words`` say it, ``options`` ask the driver for it.

    ``kinds`` are of :data:`offbeat.study.algorithm.KINDS`; none for the call that is measured. ``root`` is
    ``first``, ``middle`` or ``last``. ``count`` fixes the number of elements, from the number of processes;
    such calls are tried once and not at each size. Those that are ``everywhere`` are tried on every
    communicator.
    """

    of: tuple[str, ...]
    words: str
    kinds: tuple[str, ...] = ()
    options: dict[str, object] = {}
    root: str = "first"
    count: Callable[[int], int] | None = None
    everywhere: bool = False


NONCOMMUTATIVE: dict[str, object] = {"datatype": "affine", "op": "affine"}
NULLED: dict[str, object] = {"in_place": 1, "null_ignored": 1}

TABLE = (
    Row(of=(*WITH_DATA, "barrier"), words="", everywhere=True),
    Row(
        of=REDUCING,
        kinds=("noncommutative",),
        words="with an operation that is not commutative",
        options=NONCOMMUTATIVE,
        everywhere=True,
    ),
    Row(
        of=REDUCING,
        kinds=("operations",),
        words="with a user-defined operation",
        options={"datatype": "double", "op": "user_sum"},
    ),
    Row(of=REDUCING, kinds=("operations",), words="with MPI_BXOR", options={"datatype": "int", "op": "bxor"}),
    Row(
        of=WITH_DATA, kinds=("datatypes",), words="in single bytes", options={"datatype": "byte", "op": "max"}
    ),
    Row(of=MOVING, kinds=("datatypes",), words="in elements of 3 bytes", options={"datatype": "odd"}),
    Row(of=MOVING, kinds=("datatypes",), words="in elements of 1032 bytes", options={"datatype": "wide"}),
    Row(
        of=WITH_DATA,
        kinds=("datatypes",),
        words="in elements with gaps",
        options={"datatype": "gapped", "op": "user_sum"},
    ),
    Row(of=ROOTED, kinds=("roots",), words="", root="middle"),
    Row(of=ROOTED, kinds=("roots",), words="", root="last", everywhere=True),
    Row(
        of=("reduce",),
        kinds=("roots", "noncommutative"),
        words="with an operation that is not commutative",
        options=NONCOMMUTATIVE,
        root="last",
    ),
    Row(of=IN_PLACE, kinds=("in-place",), words="with MPI_IN_PLACE", options={"in_place": 1}),
    Row(
        of=IN_PLACE,
        kinds=("in-place", "null-arguments"),
        words="with MPI_IN_PLACE and null for what MPI ignores",
        options=NULLED,
        everywhere=True,
    ),
    Row(
        of=("reduce", "gather", "scatter"),
        kinds=("in-place", "null-arguments", "roots"),
        words="with MPI_IN_PLACE and null for what MPI ignores",
        options=NULLED,
        root="last",
    ),
    Row(
        of=REDUCING,
        kinds=("in-place", "noncommutative"),
        words="with MPI_IN_PLACE and an operation that is not commutative",
        options=NONCOMMUTATIVE | {"in_place": 1},
        everywhere=True,
    ),
    Row(
        of=("gather", "scatter"),
        kinds=("null-arguments",),
        words="with null for what MPI ignores",
        options={"null_ignored": 1},
        everywhere=True,
    ),
    Row(
        of=WITH_DATA,
        kinds=("zero-counts",),
        words="of 0 elements",
        options={"counts": "none"},
        count=lambda _: 1,
    ),
    Row(
        of=IN_PLACE,
        kinds=("zero-counts", "in-place"),
        words="of 0 elements with MPI_IN_PLACE",
        options={"counts": "none", "in_place": 1},
        count=lambda _: 1,
    ),
    Row(of=WITH_DATA, kinds=("few-elements",), words="of 1 element", count=lambda _: 1, everywhere=True),
    Row(of=WITH_DATA, kinds=("few-elements",), words="of p - 1 elements", count=lambda p: max(1, p - 1)),
    Row(of=WITH_DATA, kinds=("few-elements",), words="of p + 1 elements", count=lambda p: p + 1),
    Row(
        of=REDUCING,
        kinds=("few-elements", "noncommutative"),
        words="of p - 1 elements with an operation that is not commutative",
        options=NONCOMMUTATIVE,
        count=lambda p: max(1, p - 1),
    ),
    Row(
        of=MOVING,
        kinds=("few-elements", "datatypes"),
        words="of p - 1 elements of 1032 bytes",
        options={"datatype": "wide"},
        count=lambda p: max(1, p - 1),
    ),
    Row(
        of=IRREGULAR,
        kinds=("uneven-counts",),
        words="with uneven counts, some of them 0",
        options={"counts": "uneven"},
        everywhere=True,
    ),
    Row(
        of=IRREGULAR,
        kinds=("uneven-counts", "in-place"),
        words="with uneven counts and MPI_IN_PLACE",
        options={"counts": "uneven", "in_place": 1},
    ),
    Row(
        of=("reduce_scatter",),
        kinds=("uneven-counts", "noncommutative"),
        words="with uneven counts and an operation that is not commutative",
        options=NONCOMMUTATIVE | {"counts": "uneven"},
    ),
    Row(
        of=DISPLACED,
        kinds=("uneven-counts",),
        words="with blocks in descending order and gaps between them",
        options={"counts": "reversed"},
    ),
)
"""Every kind of legal call."""


class LegalCall(Struct, frozen=True, kw_only=True):
    """One call: ``asked`` are the driver's words for it, ``p`` the processes of its communicator."""

    kinds: tuple[str, ...]
    p: int
    text: str
    asked: dict[str, object]


class Communicator(Struct, frozen=True):
    """Ranks of a launch in order, and how a sentence calls them."""

    ranks: list[int]
    text: str
    is_whole: bool = False


def legal_calls(
    collective: str,
    p: int,
    sizes: Sequence[int],
    datatype: str = "",
    op: str = "",
    more_processes: Sequence[int] = (),
) -> list[LegalCall]:
    """The legal calls of a collective to try in a launch of ``p`` processes, each once.

    ``sizes`` are message sizes in bytes as studies count them (bytes per process); ``datatype`` and ``op``
    are those of the study. ``more_processes`` are further sizes of communicators.
    """
    usual: dict[str, object] = {"collective": collective, "datatype": datatype or "double"}
    if collective in REDUCING:
        usual["op"] = op or "sum"
    most = max(ELEMENTS["affine"][0], MOST_BUFFER_BYTES // p)
    bounded = list(dict.fromkeys(min(size, most) for size in sizes))
    found: dict[str, LegalCall] = {}
    for communicator in communicators(p, more_processes):
        for row in TABLE:
            if collective not in row.of or not (communicator.is_whole or row.everywhere):
                continue
            for size in bounded[:1] if row.count else bounded:
                call = _call(row, communicator, usual, size)
                found.setdefault(repr(call.asked), call)
    return list(found.values())


def few_sizes(sizes: Sequence[int]) -> list[int]:
    """The smallest, a middle and the largest of some message sizes."""
    ordered = sorted(set(sizes))
    return list(dict.fromkeys([ordered[0], ordered[len(ordered) // 2], ordered[-1]])) if ordered else []


def communicators(p: int, more: Sequence[int] = ()) -> list[Communicator]:
    """All processes of a launch, fewer of them, every second one, and all in reverse order."""
    found = [Communicator(list(range(p)), f"{p} processes" if p > 1 else "1 process", is_whole=True)]
    for size in sorted({*smaller_sizes(p), *(size for size in more if 0 < size < p)}):
        first = f"the first {size}" if size > 1 else "1"
        found.append(Communicator(list(range(size)), f"{first} of {p} processes"))
    if p > 2:
        found.append(Communicator(list(range(1, p, 2)), f"every second of {p} processes"))
    if p > 1:
        found.append(Communicator(list(range(p - 1, -1, -1)), f"{p} processes in reverse order"))
    return found


def smaller_sizes(p: int) -> list[int]:
    """Every size below a small p; of a larger one the small sizes, the powers of two, their successors, and
    p - 1."""
    powers = [2**i for i in range(3, p.bit_length())]
    some = {*range(1, SMALL_COMMUNICATORS + 1), *powers, *(power + 1 for power in powers), p - 1}
    return sorted(size for size in some if 0 < size < p)


def _call(row: Row, communicator: Communicator, usual: dict[str, object], size: int) -> LegalCall:
    p = len(communicator.ranks)
    asked = usual | row.options
    if asked["collective"] not in REDUCING:
        asked.pop("op", None)
    root = {"first": 0, "middle": p // 2, "last": p - 1}[row.root]
    asked["root"] = root
    asked["members"] = ",".join(map(str, communicator.ranks))
    extent, own_bytes = ELEMENTS[str(asked["datatype"])]
    count = row.count(p) if row.count else max(1, size // own_bytes)
    is_barrier = asked["collective"] == "barrier"
    asked["bytes"] = 0 if is_barrier else count * extent
    words = [f"MPI_{str(asked['collective']).capitalize()}"]
    if not (row.count or is_barrier):
        words.append(f"of {format_size(count * own_bytes)}")
    words += [row.words] if row.words else []
    words += (
        [f"to root {root}" if asked["collective"] in ("reduce", "gather") else f"from root {root}"]
        if root
        else []
    )
    words.append(f"on {communicator.text}")
    kinds = row.kinds if communicator.is_whole else (*row.kinds, "communicators")
    return LegalCall(kinds=kinds, p=p, text=" ".join(words), asked=asked)
