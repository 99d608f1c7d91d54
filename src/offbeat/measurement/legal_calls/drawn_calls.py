"""Legal calls of a collective, drawn at random from what MPI allows: the same seed gives the same calls.

A call is a command to the driver (:class:`offbeat.libraries.launch.driver_protocol.CallDrawn`), and its line
is the descriptor by which it is printed, kept in the corpus and repeated. Datatypes are drawn by
:mod:`offbeat.measurement.legal_calls.datatypes`; :mod:`offbeat.measurement.legal_calls.call_kinds` names what
is special about a call.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from msgspec import UNSET, Struct, structs

from offbeat.libraries.launch.driver_protocol import CallDrawn
from offbeat.measurement.legal_calls.call_kinds import FEW_ELEMENTS, kinds_of_call, phrase, without_bottom
from offbeat.measurement.legal_calls.datatypes import (
    BASICS,
    FAR_BYTES,
    OPERATIONS,
    USER_OPERATIONS,
    drawn_type,
    parse,
)
from offbeat.model.study.collectives import PROPERTIES

SMALL_COMMUNICATORS = 8
"""Up to this number of processes, communicators of every smaller size are drawn; above it, some sizes."""

MOST_BUFFER_BYTES = 1 << 20
"""No buffer has more data: large enough for the segments of pipelined algorithms, and quick to check."""


class LegalCall(Struct, frozen=True, kw_only=True):
    """One call: ``p`` is the number of processes of its communicator, ``text`` describes it in words."""

    kinds: tuple[str, ...]
    p: int
    text: str
    command: CallDrawn


def legal_call(command: CallDrawn) -> LegalCall:
    """A call with its kinds and its description."""
    return LegalCall(
        kinds=kinds_of_call(command), p=len(command.members), text=phrase(command), command=command
    )


def plain_call(collective: str, p: int) -> LegalCall:
    """A call of doubles on p processes in order; of a reduction, their sum."""
    elements = [FEW_ELEMENTS * p]
    has_data = PROPERTIES[collective].has_data
    return legal_call(
        CallDrawn(
            collective=collective,
            members=list(range(p)),
            send="double" if has_data else UNSET,
            elements=elements if has_data else UNSET,
        )
    )


def drawn_calls(
    collective: str, p: int, sizes: Sequence[int], seed: int, more_processes: Sequence[int] = ()
) -> Iterator[LegalCall]:
    """An endless series of legal calls for a launch of ``p`` processes.

    ``sizes`` are message sizes in bytes per process, as in studies, around which sizes are drawn;
    ``more_processes`` are further sizes of communicators.
    """
    random = Random(f"{seed} {collective} {p}")
    groups = communicators(p, more_processes)
    while True:
        yield legal_call(_Draw(random, collective, sizes or [64]).call(groups))


def communicators(p: int, more: Sequence[int] = ()) -> list[list[int]]:
    """Ranks of communicators: all processes of a launch in order, reversed and rotated; fewer of them; every
    second one."""
    ranks = list(range(p))
    groups = [ranks, ranks[::-1], ranks[1:] + ranks[:1], ranks[::2], ranks[1::2]]
    for size in sorted({*smaller_sizes(p), *(size for size in more if 0 < size < p)}):
        groups += [ranks[:size], ranks[p - size :][::-1]]
    return [list(group) for group in dict.fromkeys(map(tuple, groups)) if group]


def smaller_sizes(p: int) -> list[int]:
    """The sizes below a small p; for a larger p small sizes, powers of two, these plus 1, and p - 1."""
    powers = [2**i for i in range(3, p.bit_length())]
    sizes = {*range(1, SMALL_COMMUNICATORS + 1), *powers, *(power + 1 for power in powers), p - 1}
    return sorted(size for size in sizes if 0 < size < p)


class _Draw:
    """Draws one call."""

    def __init__(self, random: Random, collective: str, sizes: Sequence[int]) -> None:
        self.random = random
        self.row = PROPERTIES[collective]
        self.sizes = sizes
        self.most_processes = 1

    def _happens(self, share: float) -> bool:
        return self.random.random() < share

    def call(self, groups: Sequence[list[int]]) -> CallDrawn:
        random, row = self.random, self.row
        members = groups[0] if self._happens(0.4) else random.choice(groups)
        neighbours = random.choice(groups) if self._happens(0.1) else []
        call = CallDrawn(
            collective=row.name,
            members=members,
            next=neighbours or UNSET,
            root=random.randrange(len(members)) if row.is_rooted and self._happens(0.6) else UNSET,
            in_place=1 if row.has_two_buffers and self._happens(0.25) else UNSET,
            nulls=1 if row.has_two_buffers and self._happens(0.4) else UNSET,
        )
        if not row.has_data:
            return call
        self.most_processes = max(len(members), len(neighbours))
        with_types = self._reduction() if row.reduces else self._movement()
        return self._with_lists(call, with_types)

    def _with_lists(self, call: CallDrawn, types: _Types) -> CallDrawn:
        is_uneven = len(types.elements) > 1
        has_displacements = self.row.has_uneven_counts and not self.row.reduces
        is_symmetric = call.in_place == 1 or not is_uneven
        values: dict[str, Any] = {
            "send": types.send,
            "receive": types.receive if types.receive else UNSET,
            "elements": types.elements,
            "op": types.op or UNSET,
            "slope": UNSET if is_symmetric or not self._happens(0.5) else 2,
            "gap": self.random.choice((1, 2)) if has_displacements and self._happens(0.3) else UNSET,
            "descending": 1 if has_displacements and self._happens(0.2) else UNSET,
        }
        return structs.replace(call, **values)

    def _reduction(self) -> _Types:
        random = self.random
        if self._happens(0.55):
            op = random.choice(tuple(OPERATIONS))
            names = [name for name, basic in BASICS.items() if basic.family in OPERATIONS[op]]
            unit, copies, send = [random.choice(names)], 1, ""
            send = unit[0]
        else:
            op = random.choice((*USER_OPERATIONS, USER_OPERATIONS[0]))
            unit, copies = self._signature(is_user_operation=True), random.choice((1, 1, 2, 3, 6))
            if self._happens(0.2):
                copies = self._large(unit)
            send = drawn_type(random, unit, copies)
        return _Types(send=send, op=op, elements=self._elements(send, unit, copies))

    def _movement(self) -> _Types:
        random = self.random
        unit, copies = self._signature(is_user_operation=False), random.choice((1, 1, 2, 3, 4, 6, 12))
        elements = self._elements("", unit, copies)
        if not any(elements) and self._happens(0.3):
            return _Types(send=f"contiguous[0]({drawn_type(random, unit, 1)})", elements=elements)
        whole = elements[0] // len(unit) if len(elements) == 1 else 0
        form = random.choices(("basic", "same", "sides", "ranks"), (3, 3, 4, 5))[0]
        if form == "basic":
            return _Types(send=unit[0] if len(unit) == 1 else drawn_type(random, unit, 1), elements=elements)
        if form == "same":
            return _Types(send=self._type(unit, copies, whole), elements=elements)
        number = 1 if form == "sides" else 3
        sides = [
            [self._type(unit, copies, whole) for _ in range(random.randint(1, number))] for _ in range(2)
        ]
        send, receive = ("/".join(self._with_one_address(side)) for side in sides)
        return _Types(send=send, receive=receive, elements=elements)

    def _with_one_address(self, texts: list[str]) -> list[str]:
        """Datatypes of one buffer: where they differ between blocks, all or none are for MPI_BOTTOM."""
        is_mixed = len({text.startswith("bottom(") for text in texts}) > 1
        return [without_bottom(text) for text in texts] if self.row.has_uneven_types and is_mixed else texts

    def _signature(self, *, is_user_operation: bool) -> list[str]:
        """The basic types of which elements consist."""
        names = [name for name in BASICS if not (is_user_operation and name == "bool")]
        number = self.random.choices((1, 2, 3), (6, 2, 1))[0]
        return [self.random.choice(names) for _ in range(number)]

    def _type(self, unit: Sequence[str], copies: int, whole: int) -> str:
        """One datatype that divides a block: a number of units that divides ``copies``, or the block."""
        random = self.random
        divisors = [number for number in range(1, copies + 1) if copies % number == 0]
        number = whole if whole and self._happens(0.2) else random.choice(divisors)
        if number > 1 and self._happens(0.1):
            text = self._column(drawn_type(random, unit, 1), number, whole)
        else:
            text = drawn_type(random, unit, number)
        return f"bottom({text})" if self._happens(0.1) else text

    def _column(self, text: str, number: int, whole: int) -> str:
        """A column of a matrix whose next element is the next column; wide enough for all blocks."""
        stride = self.most_processes * (whole // number + 2)
        extent = parse(text).extent
        fits = whole and stride * number * extent <= MOST_BUFFER_BYTES
        column = f"vector[{number},1,{stride}]({text})"
        return f"resized[{parse(text).lower_bound},{extent}]({column})" if fits else drawn_far(text, number)

    def _large(self, unit: Sequence[str]) -> int:
        """Units of a large element, so that a message of a size that matters has one element or a few."""
        unit_bytes = sum(BASICS[name].extent for name in unit)
        return max(1, self.random.choice(self.sizes) // unit_bytes // self.random.choice((1, 1, 2, 3)))

    def _elements(self, send: str, unit: Sequence[str], copies: int) -> list[int]:
        """Basic elements of blocks: one number, or several for collectives with a count for each rank."""
        step, p = len(unit) * copies, self.most_processes
        step_bytes = sum(BASICS[name].extent for name in unit) * copies
        if send and (extent := parse(send).extent) > 0:
            step_bytes = max(step_bytes, extent)
        blocks = p if "BLOCK_PER_RANK" in (self.row.sent, self.row.received) else 1
        largest = max(1, MOST_BUFFER_BYTES // (step_bytes * blocks))
        number = 1
        if self.row.has_uneven_counts and self._happens(0.6):
            number = self.random.randint(2, max(2, p))
        counts = [min(self._count(step_bytes), largest) for _ in range(number)]
        if number > 1 and self._happens(0.4):
            counts = [count if self._happens(0.3) else 0 for count in counts]
        return [count * step for count in counts]

    def _count(self, step_bytes: int) -> int:
        """A count: 0, 1, about the number of processes, around the sizes that matter, or any below."""
        random, p = self.random, self.most_processes
        kind = random.choices(("none", "single", "processes", "size", "below"), (1, 1, 3, 4, 2))[0]
        if kind in ("none", "single"):
            return int(kind == "single")
        if kind == "processes":
            return max(1, random.choice((p - 1, p, p + 1, 2 * p + 1, 3 * p - 1)))
        typical = random.choice(self.sizes) // step_bytes + random.choice((0, 0, 1, -1))
        if kind == "size":
            return max(1, typical)
        return max(1, int(2 ** random.uniform(0, max(1, typical).bit_length())))


class _Types(Struct, kw_only=True):
    """The datatypes, counts and operation of a call."""

    send: str
    receive: str = ""
    op: str = ""
    elements: list[int]


def drawn_far(text: str, number: int) -> str:
    """So many elements of a datatype that begin far away from the address of the buffer."""
    return f"hindexed[1,{FAR_BYTES}](contiguous[{number}]({text}))"
