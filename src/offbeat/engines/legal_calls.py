"""The legal calls of a collective for which an algorithm must be correct: a table, and calls generated from
it.

All calls of the table are tried on all processes of a launch; those most likely to fail are also tried on
communicators with fewer processes or another order of ranks, because a tuning file's rules match these too.
Extents and counts are chosen such that the message has about the requested size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import UNSET, Struct, structs

from offbeat.mpi.protocol import Check
from offbeat.study.collectives import COLLECTIVES, PROPERTIES, REDUCING, ROOTED
from offbeat.study.schema import EXTENTS
from offbeat.units import format_size

MOVING = tuple(name for name in COLLECTIVES if PROPERTIES[name].has_data and name not in REDUCING)
WITH_DATA = (*REDUCING, *MOVING)
IN_PLACE = tuple(name for name in COLLECTIVES if PROPERTIES[name].has_two_buffers)
UNEVEN = tuple(name for name in COLLECTIVES if PROPERTIES[name].has_uneven_counts)
DISPLACED = tuple(name for name in UNEVEN if PROPERTIES[name].received == "BLOCK_PER_RANK")

SMALL_COMMUNICATORS = 8
"""Up to this number of processes, communicators of every smaller size are tried; above it, some sizes."""

MOST_BUFFER_BYTES = 16 * 1024 * 1024
"""Message sizes are limited so that a buffer with a message for each process is not larger."""

ELEMENTS = {name: (extent, extent) for name, extent in EXTENTS.items()} | {
    "affine": (16, 16),
    "odd": (3, 3),
    "wide": (1032, 1032),
    "gapped": (32, 16),
}
"""Datatype of the driver → its extent and its size in bytes (``native/collectives/element.h``)."""


class CallTemplate(Struct, frozen=True):
    """A property of a call: ``text`` describes it, ``options`` are the driver's arguments for it.

    ``kinds`` are of :data:`offbeat.study.algorithm.KINDS`; empty for the call that is measured. ``root`` is
    ``first``, ``middle`` or ``last``. ``count`` computes the number of elements from the number of processes;
    such calls are tried once and not at each size.
    """

    collectives: tuple[str, ...]
    kinds: tuple[str, ...]
    text: str
    options: dict[str, Any] = {}
    root: str = "first"
    count: Callable[[int], int] | None = None
    on_all_communicators: bool = False


NONCOMMUTATIVE = {"datatype": "affine", "op": "affine"}
NULLED = {"in_place": 1, "null_ignored": 1}

TABLE = (
    CallTemplate((*WITH_DATA, "barrier"), (), "", on_all_communicators=True),
    CallTemplate(
        REDUCING,
        ("noncommutative",),
        "with an operation that is not commutative",
        NONCOMMUTATIVE,
        on_all_communicators=True,
    ),
    CallTemplate(
        REDUCING, ("operations",), "with a user-defined operation", {"datatype": "double", "op": "user_sum"}
    ),
    CallTemplate(REDUCING, ("operations",), "with MPI_BXOR", {"datatype": "int", "op": "bxor"}),
    CallTemplate(WITH_DATA, ("datatypes",), "in single bytes", {"datatype": "byte", "op": "max"}),
    CallTemplate(MOVING, ("datatypes",), "in elements of 3 bytes", {"datatype": "odd"}),
    CallTemplate(MOVING, ("datatypes",), "in elements of 1032 bytes", {"datatype": "wide"}),
    CallTemplate(
        WITH_DATA, ("datatypes",), "in elements with gaps", {"datatype": "gapped", "op": "user_sum"}
    ),
    CallTemplate(ROOTED, ("roots",), "", root="middle"),
    CallTemplate(ROOTED, ("roots",), "", root="last", on_all_communicators=True),
    CallTemplate(
        tuple(name for name in ROOTED if name in REDUCING),
        ("roots", "noncommutative"),
        "with an operation that is not commutative",
        NONCOMMUTATIVE,
        root="last",
    ),
    CallTemplate(IN_PLACE, ("in-place",), "with MPI_IN_PLACE", {"in_place": 1}),
    CallTemplate(
        IN_PLACE,
        ("in-place", "null-arguments"),
        "with MPI_IN_PLACE and null for what MPI ignores",
        NULLED,
        on_all_communicators=True,
    ),
    CallTemplate(
        tuple(name for name in ROOTED if name in IN_PLACE),
        ("in-place", "null-arguments", "roots"),
        "with MPI_IN_PLACE and null for what MPI ignores",
        NULLED,
        root="last",
    ),
    CallTemplate(
        REDUCING,
        ("in-place", "noncommutative"),
        "with MPI_IN_PLACE and an operation that is not commutative",
        NONCOMMUTATIVE | {"in_place": 1},
        on_all_communicators=True,
    ),
    CallTemplate(
        tuple(name for name in ROOTED if name in IN_PLACE and name not in REDUCING),
        ("null-arguments",),
        "with null for what MPI ignores",
        {"null_ignored": 1},
        on_all_communicators=True,
    ),
    CallTemplate(WITH_DATA, ("zero-counts",), "of 0 elements", {"counts": "none"}, count=lambda _: 1),
    CallTemplate(
        IN_PLACE,
        ("zero-counts", "in-place"),
        "of 0 elements with MPI_IN_PLACE",
        {"counts": "none", "in_place": 1},
        count=lambda _: 1,
    ),
    CallTemplate(WITH_DATA, ("few-elements",), "of 1 element", count=lambda _: 1, on_all_communicators=True),
    CallTemplate(WITH_DATA, ("few-elements",), "of p - 1 elements", count=lambda p: max(1, p - 1)),
    CallTemplate(WITH_DATA, ("few-elements",), "of p + 1 elements", count=lambda p: p + 1),
    CallTemplate(
        REDUCING,
        ("few-elements", "noncommutative"),
        "of p - 1 elements with an operation that is not commutative",
        NONCOMMUTATIVE,
        count=lambda p: max(1, p - 1),
    ),
    CallTemplate(
        MOVING,
        ("few-elements", "datatypes"),
        "of p - 1 elements of 1032 bytes",
        {"datatype": "wide"},
        count=lambda p: max(1, p - 1),
    ),
    CallTemplate(
        UNEVEN,
        ("uneven-counts",),
        "with uneven counts, some of them 0",
        {"counts": "uneven"},
        on_all_communicators=True,
    ),
    CallTemplate(
        UNEVEN,
        ("uneven-counts", "in-place"),
        "with uneven counts and MPI_IN_PLACE",
        {"counts": "uneven", "in_place": 1},
    ),
    CallTemplate(
        tuple(name for name in UNEVEN if name in REDUCING),
        ("uneven-counts", "noncommutative"),
        "with uneven counts and an operation that is not commutative",
        NONCOMMUTATIVE | {"counts": "uneven"},
    ),
    CallTemplate(
        DISPLACED,
        ("uneven-counts",),
        "with blocks in descending order and gaps between them",
        {"counts": "reversed"},
    ),
)
"""Every kind of legal call."""


class LegalCall(Struct, frozen=True, kw_only=True):
    """One call: ``command`` is the driver's, ``p`` is the number of processes of its communicator."""

    kinds: tuple[str, ...]
    p: int
    text: str
    command: Check


class Communicator(Struct, frozen=True):
    """Ranks of a launch in order, and their description."""

    ranks: list[int]
    text: str
    is_world: bool = False


def legal_calls(
    collective: str,
    p: int,
    sizes: Sequence[int],
    datatype: str = "",
    op: str = "",
    more_processes: Sequence[int] = (),
) -> list[LegalCall]:
    """The legal calls of a collective to try in a launch of ``p`` processes, each once.

    ``sizes`` are message sizes in bytes per process, as in studies; ``datatype`` and ``op`` are those of the
    study. ``more_processes`` are further sizes of communicators.
    """
    usual = Check(collective=collective, datatype=datatype or "double", op=op or "sum")
    most = max(ELEMENTS["affine"][0], MOST_BUFFER_BYTES // p)
    bounded = list(dict.fromkeys(min(size, most) for size in sizes))
    calls: dict[str, LegalCall] = {}
    for communicator in communicators(p, more_processes):
        for template in TABLE:
            is_tried = communicator.is_world or template.on_all_communicators
            if collective not in template.collectives or not is_tried:
                continue
            for size in bounded[:1] if template.count else bounded:
                call = _call(template, communicator, usual, size)
                calls.setdefault(call.command.line(), call)
    return list(calls.values())


def few_sizes(sizes: Sequence[int]) -> list[int]:
    """The smallest, a middle and the largest of some message sizes."""
    ordered = sorted(set(sizes))
    return list(dict.fromkeys([ordered[0], ordered[len(ordered) // 2], ordered[-1]])) if ordered else []


def communicators(p: int, more: Sequence[int] = ()) -> list[Communicator]:
    """All processes of a launch, fewer of them, every second one, and all in reverse order."""
    result = [Communicator(list(range(p)), f"{p} processes" if p > 1 else "1 process", is_world=True)]
    for size in sorted({*smaller_sizes(p), *(size for size in more if 0 < size < p)}):
        first = f"the first {size}" if size > 1 else "1"
        result.append(Communicator(list(range(size)), f"{first} of {p} processes"))
    if p > 2:
        result.append(Communicator(list(range(1, p, 2)), f"every second of {p} processes"))
    if p > 1:
        result.append(Communicator(list(range(p - 1, -1, -1)), f"{p} processes in reverse order"))
    return result


def smaller_sizes(p: int) -> list[int]:
    """Every size below a small p; for a larger p small sizes, powers of two, these plus 1, and p - 1."""
    powers = [2**i for i in range(3, p.bit_length())]
    sizes = {*range(1, SMALL_COMMUNICATORS + 1), *powers, *(power + 1 for power in powers), p - 1}
    return sorted(size for size in sizes if 0 < size < p)


def _call(template: CallTemplate, communicator: Communicator, usual: Check, size: int) -> LegalCall:
    p, collective = len(communicator.ranks), usual.collective
    root = {"first": 0, "middle": p // 2, "last": p - 1}[template.root]
    command = structs.replace(usual, **template.options, root=root, members=communicator.ranks)
    extent, data_bytes = ELEMENTS[str(command.datatype)]
    count = template.count(p) if template.count else max(1, size // data_bytes)
    command = structs.replace(
        command,
        bytes=0 if collective == "barrier" else count * extent,
        op=command.op if collective in REDUCING else UNSET,
    )
    phrases = [f"MPI_{collective.capitalize()}"]
    if not (template.count or collective == "barrier"):
        phrases.append(f"of {format_size(count * data_bytes)}")
    phrases += [template.text] if template.text else []
    if root:
        phrases.append(
            f"to root {root}" if PROPERTIES[collective].root == "ROOT_RECEIVES" else f"from root {root}"
        )
    phrases.append(f"on {communicator.text}")
    kinds = template.kinds if communicator.is_world else (*template.kinds, "communicators")
    return LegalCall(kinds=kinds, p=p, text=" ".join(phrases), command=command)
