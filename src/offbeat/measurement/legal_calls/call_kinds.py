"""What is special about a legal call: its kinds (:data:`offbeat.model.study.algorithm.KINDS`), and the call
without one of them.

A call that fails is named by the kind that suffices: the call with this kind alone fails as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec import UNSET, UnsetType

from offbeat.base.units import enumeration
from offbeat.libraries.launch.driver_protocol import CallDrawn
from offbeat.measurement.legal_calls.datatypes import BASICS, OPERATIONS, USER_OPERATIONS, Layout, parse
from offbeat.model.study.algorithm import KINDS
from offbeat.model.study.collectives import PROPERTIES

FEW_ELEMENTS = 4
"""A block has few elements if it has fewer than this number of times the processes."""


def layouts(command: CallDrawn) -> list[Layout]:
    """The layout of each datatype of a call; none of barrier."""
    texts = [text for text in (command.send, command.receive) if not isinstance(text, UnsetType)]
    return [parse(text) for text in dict.fromkeys("/".join(texts).split("/") if texts else [])]


def _elements(command: CallDrawn) -> list[int]:
    return [] if isinstance(command.elements, UnsetType) else command.elements


def _op(command: CallDrawn) -> str:
    if not PROPERTIES[command.collective].reduces:
        return ""
    return "sum" if isinstance(command.op, UnsetType) else command.op


def _has_different_types(command: CallDrawn) -> bool:
    texts = [text for text in (command.send, command.receive) if not isinstance(text, UnsetType)]
    return len(set("/".join(texts).split("/"))) > 1


def _has_other_members(command: CallDrawn) -> bool:
    is_world = command.members == list(range(len(command.members)))
    return not is_world or command.next is not UNSET


def _has_uneven_counts(command: CallDrawn) -> bool:
    return len(set(_elements(command))) > 1 or bool(command.gap) or bool(command.descending)


_TESTS: dict[str, Callable[[CallDrawn], bool]] = {
    "absolute-addresses": lambda call: any("bottom" in one.text for one in layouts(call)),
    "pair-types": lambda call: any(
        BASICS[name].family == "pair" for one in layouts(call) for name in one.unit
    ),
    "types-differ": _has_different_types,
    "lower-bounds": lambda call: any(one.is_shifted for one in layouts(call)),
    "noncommutative": lambda call: _op(call) == "affine",
    "in-place": lambda call: bool(call.in_place),
    "null-arguments": lambda call: bool(call.nulls),
    "zero-counts": lambda call: 0 in _elements(call),
    "uneven-counts": _has_uneven_counts,
    "operations": lambda call: _op(call) not in ("", "sum", "affine"),
    "datatypes": lambda call: any(one.text != "double" for one in layouts(call)),
    "few-elements": lambda call: any(
        0 < count < FEW_ELEMENTS * len(call.members) for count in _elements(call)
    ),
    "roots": lambda call: bool(call.root),
    "communicators": _has_other_members,
}
"""Kind → whether a call is of it; in the order in which kinds are tried as the reason for a failure."""


def kinds_of_call(command: CallDrawn) -> tuple[str, ...]:
    """The kinds of a call, the most special ones first."""
    # an unset number is not 0 but false: msgspec's UNSET is not falsy
    plain = _with_numbers(command)
    return tuple(kind for kind, has in _TESTS.items() if has(plain))


def features(command: CallDrawn) -> set[str]:
    """The kinds of a call and, unless its operation is a sum, the operation and the families of its basic
    types."""
    kinds = set(kinds_of_call(command))
    if "operations" not in kinds:
        return kinds
    return kinds | {_op(command)} | {BASICS[name].family for one in layouts(command) for name in one.unit}


def _with_numbers(command: CallDrawn) -> CallDrawn:
    numbers = {
        name: 0
        for name in ("gap", "descending", "in_place", "nulls", "root")
        if isinstance(getattr(command, name), UnsetType)
    }
    return msgspec.structs.replace(command, **numbers)


def phrase(command: CallDrawn) -> str:
    """The call in words: ``MPI_Reduce of 12 elements with MPI_IN_PLACE on 4 processes``."""
    elements = _elements(command)
    size = f" of {max(elements)} basic elements" if elements else ""
    kinds = [
        kind for kind in kinds_of_call(command) if kind not in ("few-elements", "communicators", "datatypes")
    ]
    special = f" with {enumeration([KINDS[kind] for kind in kinds])}" if kinds else ""
    p = len(command.members)
    return f"MPI_{command.collective.capitalize()}{size}{special} on {p} process{'es' if p > 1 else ''}"


# --- the call without a kind -----------------------------------------------------------------------------


def _flat(text: str) -> str:
    """The datatype with the same signature and without gaps: a basic type, or basic types in a row."""
    layout = parse(text)
    return _in_a_row(layout.unit, layout.times)


def _in_a_row(unit: Sequence[str], times: int) -> str:
    """Basic types without gaps but for their alignment, several times."""
    if len(set(unit)) == 1:
        number = len(unit) * times
        return unit[0] if number == 1 else f"contiguous[{number}]({unit[0]})"
    blocks, offset = [], 0
    for name in unit:
        offset = -(-offset // BASICS[name].alignment) * BASICS[name].alignment
        blocks.append(f"1,{offset}")
        offset += BASICS[name].extent
    alignment = max(BASICS[name].alignment for name in unit)
    extent = -(-offset // alignment) * alignment
    element = f"resized[0,{extent}](struct[{','.join(blocks)}]({','.join(unit)}))"
    return element if times == 1 else f"contiguous[{times}]({element})"


def _by_text(command: CallDrawn, change: Callable[[str], str]) -> CallDrawn:
    """The call with every datatype of both sides changed."""
    values: dict[str, str | UnsetType] = {}
    for side in ("send", "receive"):
        texts = getattr(command, side)
        side_texts = UNSET if texts is UNSET else "/".join(change(text) for text in texts.split("/"))
        values[side] = side_texts
    return msgspec.structs.replace(command, **values)


def without_bottom(text: str) -> str:
    """The datatype with addresses that are relative to the buffer."""
    return text.removeprefix("bottom(")[:-1] if text.startswith("bottom(") else text


def _without_shift(text: str) -> str:
    return _flat(text) if parse(without_bottom(text)).is_shifted else text


def _rename_types(command: CallDrawn, names: dict[str, str]) -> CallDrawn:
    """The call with other basic types, and without gaps."""

    def change(text: str) -> str:
        layout = parse(text)
        if not names.keys() & set(layout.unit):
            return text
        return _in_a_row([names.get(name, name) for name in layout.unit], layout.times)

    return _by_text(command, change)


def _only_first_types(command: CallDrawn) -> CallDrawn:
    first = str(command.send).split("/")[0]
    return msgspec.structs.replace(command, send=without_bottom(first), receive=UNSET)


def _only_basic_type(command: CallDrawn) -> CallDrawn:
    """The call whose datatypes are all ``double``, or the basic type that the operation needs."""
    op = _op(command)
    keeps = op and op not in USER_OPERATIONS
    names = [name for one in layouts(command) for name in one.unit]
    is_double = not keeps or "floating" in OPERATIONS[op]
    basic = "double" if is_double or not names else names[0]
    return msgspec.structs.replace(command, send=basic, receive=UNSET)


def _many_elements(command: CallDrawn) -> CallDrawn:
    """The call with more elements in blocks that have few."""
    threshold = FEW_ELEMENTS * len(command.members)
    counts = [count * threshold if 0 < count < threshold else count for count in _elements(command)]
    return msgspec.structs.replace(command, elements=counts)


def _even_counts(command: CallDrawn) -> CallDrawn:
    largest = max(_elements(command), default=0)
    return msgspec.structs.replace(command, elements=[largest], slope=UNSET, gap=UNSET, descending=UNSET)


def _nonzero_counts(command: CallDrawn) -> CallDrawn:
    counts = _elements(command)
    step = 1
    for layout in layouts(command):
        step = step * layout.count if layout.count and step % layout.count else step
    filler = max(counts) or step * FEW_ELEMENTS * len(command.members)
    return msgspec.structs.replace(command, elements=[count or filler for count in counts])


def _sum(command: CallDrawn) -> CallDrawn:
    """The call with MPI_SUM, or with a user-defined commutative sum where MPI defines none for its type."""
    call_layouts = layouts(command)
    has_sum = all(one.is_basic and BASICS[one.text].family in OPERATIONS["sum"] for one in call_layouts)
    return msgspec.structs.replace(command, op="sum" if has_sum else "user_sum")


def _with_commutative_operation(command: CallDrawn) -> CallDrawn:
    if _op(command) != "affine":
        return command
    return msgspec.structs.replace(command, op="user_sum")


def _without_pairs(command: CallDrawn) -> CallDrawn:
    op = _op(command)
    names = {name: "double" for name, basic in BASICS.items() if basic.family == "pair"}
    new_command = _rename_types(command, names)
    return msgspec.structs.replace(new_command, op="sum") if op in ("minloc", "maxloc") else new_command


_REMOVALS: dict[str, Callable[[CallDrawn], CallDrawn]] = {
    "absolute-addresses": lambda call: _by_text(call, without_bottom),
    "pair-types": _without_pairs,
    "types-differ": _only_first_types,
    "lower-bounds": lambda call: _by_text(call, _without_shift),
    "noncommutative": _with_commutative_operation,
    "in-place": lambda call: msgspec.structs.replace(call, in_place=UNSET),
    "null-arguments": lambda call: msgspec.structs.replace(call, nulls=UNSET),
    "zero-counts": _nonzero_counts,
    "uneven-counts": _even_counts,
    "operations": _sum,
    "datatypes": _only_basic_type,
    "few-elements": _many_elements,
    "roots": lambda call: msgspec.structs.replace(call, root=UNSET),
    "communicators": lambda call: msgspec.structs.replace(
        call, members=list(range(len(call.members))), next=UNSET
    ),
}


def remove_kind(command: CallDrawn, kind: str) -> CallDrawn | None:
    """The call without a kind; None if that changes nothing or gives no legal call."""
    try:
        new_command = _REMOVALS[kind](command)
        return new_command if new_command != command and is_legal(new_command) else None
    except (ValueError, IndexError):
        return None


def alone(command: CallDrawn, kind: str) -> CallDrawn:
    """The call with as few other kinds as possible."""
    simplest = command
    for other_kind in reversed(kinds_of_call(command)):
        new_command = (
            remove_kind(simplest, other_kind)
            if other_kind != kind and other_kind in kinds_of_call(simplest)
            else None
        )
        if new_command is not None and kind in kinds_of_call(new_command):
            simplest = new_command
    return simplest


def isolate_kinds(command: CallDrawn) -> Iterator[tuple[str, CallDrawn]]:
    """Yields each kind of a call, and the call with this kind alone."""
    for kind in kinds_of_call(command):
        yield kind, alone(command, kind)


def is_legal(command: CallDrawn) -> bool:
    """Whether blocks are whole numbers of their datatypes, signatures match, and the operation is defined."""
    call_layouts, counts = layouts(command), _elements(command)
    if not PROPERTIES[command.collective].has_data:
        return True
    if not _has_one_address(command):
        return False
    if any(count % one.count if one.count else count for one in call_layouts for count in counts):
        return False
    op = _op(command)
    if op:
        families = {BASICS[name].family for one in call_layouts for name in one.unit}
        if op in USER_OPERATIONS:
            return "logical" not in families and len(call_layouts) == 1
        return len(call_layouts) == 1 and call_layouts[0].is_basic and families <= set(OPERATIONS[op])
    return _same_signature(call_layouts, max(counts, default=0))


def _has_one_address(command: CallDrawn) -> bool:
    """Whether the datatypes of each buffer have the same address: MPI_BOTTOM, or that of the buffer."""
    if not PROPERTIES[command.collective].has_uneven_types:
        return True
    sides = [text for text in (command.send, command.receive) if not isinstance(text, UnsetType)]
    return all(len({text.startswith("bottom(") for text in side.split("/")}) == 1 for side in sides)


def _same_signature(layouts: list[Layout], elements: int) -> bool:
    """Whether blocks of so many elements have one signature, whichever datatype describes them."""
    units = [one.unit for one in layouts if one.times]
    if len({name for unit in units for name in unit}) <= 1:
        return True
    longest = min(elements, 12 * max(map(len, units)))
    return len({tuple(unit[i % len(unit)] for i in range(longest)) for unit in units}) <= 1
