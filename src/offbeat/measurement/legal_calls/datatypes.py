"""Datatypes of legal calls as text, such as ``vector[2,3,5](int)``: what they cover, and drawing them.

``native/collectives/type_text.h`` lists the constructors; the driver creates the datatypes.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from random import Random
from typing import Any

from msgspec import Struct
from msgspec.structs import replace


class Basic(Struct, frozen=True):
    """A predefined datatype of MPI; its ``family`` decides which operations MPI defines on it."""

    name: str
    family: str
    extent: int
    alignment: int


def _basic(name: str, family: str, *numbers: type[ctypes._SimpleCData[Any]]) -> Basic:
    fields = [(f"number{i}", number) for i, number in enumerate(numbers)]
    memory = type(name, (ctypes.Structure,), {"_fields_": fields})
    return Basic(name, family, ctypes.sizeof(memory), ctypes.alignment(memory))


_INTEGERS: dict[str, type[ctypes._SimpleCData[Any]]] = {
    "signed_char": ctypes.c_byte,
    "unsigned_char": ctypes.c_ubyte,
    "short": ctypes.c_short,
    "unsigned_short": ctypes.c_ushort,
    "int": ctypes.c_int,
    "unsigned": ctypes.c_uint,
    "long": ctypes.c_long,
    "unsigned_long": ctypes.c_ulong,
    "long_long": ctypes.c_longlong,
    "unsigned_long_long": ctypes.c_ulonglong,
    "int8": ctypes.c_int8,
    "int16": ctypes.c_int16,
    "int32": ctypes.c_int32,
    "int64": ctypes.c_int64,
    "uint8": ctypes.c_uint8,
    "uint16": ctypes.c_uint16,
    "uint32": ctypes.c_uint32,
    "uint64": ctypes.c_uint64,
}
_REALS: dict[str, type[ctypes._SimpleCData[Any]]] = {
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "long_double": ctypes.c_longdouble,
}
_VALUES_OF_PAIRS: dict[str, type[ctypes._SimpleCData[Any]]] = {
    "short_int": ctypes.c_short,
    "2int": ctypes.c_int,
    "long_int": ctypes.c_long,
    "float_int": ctypes.c_float,
    "double_int": ctypes.c_double,
    "long_double_int": ctypes.c_longdouble,
}

BASICS = {
    basic.name: basic
    for basic in [
        _basic("char", "text", ctypes.c_char),
        _basic("wchar", "text", ctypes.c_wchar),
        _basic("byte", "bytes", ctypes.c_ubyte),
        *(_basic(name, "integer", ctype) for name, ctype in _INTEGERS.items()),
        *(_basic(name, "address", ctypes.c_ssize_t) for name in ("aint", "offset", "count")),
        *(_basic(name, "floating", ctype) for name, ctype in _REALS.items()),
        _basic("bool", "logical", ctypes.c_bool),
        *(_basic(f"{name}_complex", "complex", ctype, ctype) for name, ctype in _REALS.items()),
        *(_basic(name, "pair", ctype, ctypes.c_int) for name, ctype in _VALUES_OF_PAIRS.items()),
    ]
}
"""Every predefined datatype that calls are drawn with: the rows of ``native/collectives/basic_types.def``."""

_ARITHMETIC = ("integer", "address", "floating")
OPERATIONS = {
    "sum": (*_ARITHMETIC, "complex"),
    "prod": (*_ARITHMETIC, "complex"),
    "max": _ARITHMETIC,
    "min": _ARITHMETIC,
    "land": ("integer", "logical"),
    "lor": ("integer", "logical"),
    "lxor": ("integer", "logical"),
    "band": ("integer", "address", "bytes"),
    "bor": ("integer", "address", "bytes"),
    "bxor": ("integer", "address", "bytes"),
    "minloc": ("pair",),
    "maxloc": ("pair",),
}
"""Predefined operation → the families of datatypes on which MPI 4.0 defines it (section 6.9.2)."""

USER_OPERATIONS = ("affine", "user_sum")
"""User-defined operations of the driver on any datatype but bool; the first one is not commutative."""


class Layout(Struct, frozen=True, kw_only=True):
    """What a datatype covers; its type signature is the basic types ``unit``, ``times`` times.

    ``low`` and ``high`` bound the bytes of the data, ``lower_bound`` and ``upper_bound`` are MPI's. All are
    relative to the address of the element.
    """

    text: str
    unit: tuple[str, ...]
    times: int
    low: int
    high: int
    lower_bound: int
    upper_bound: int

    @property
    def count(self) -> int:
        """The number of basic elements."""
        return len(self.unit) * self.times

    @property
    def extent(self) -> int:
        """MPI's extent, in bytes."""
        return self.upper_bound - self.lower_bound

    @property
    def is_basic(self) -> bool:
        """Whether the datatype is predefined."""
        return self.text in BASICS

    @property
    def is_shifted(self) -> bool:
        """Whether its lower bound or its first byte is not at the address of the element."""
        return self.lower_bound != 0 or self.low != 0

    @property
    def may_repeat(self) -> bool:
        """Whether consecutive elements do not overlap."""
        return self.high - self.low <= self.extent


def _signature(parts: Sequence[tuple[tuple[str, ...], int]]) -> tuple[tuple[str, ...], int]:
    """The unit of a sequence of repeated units, and how often it is repeated."""
    if len({unit for unit, _ in parts}) == 1:
        return parts[0][0], sum(times for _, times in parts)
    return tuple(name for unit, times in parts for name in unit * times), 1 if parts else 0


def _layout_of_blocks(text: str, blocks: Sequence[tuple[int, int, Layout]]) -> Layout:
    """A datatype made of blocks of (displacement in bytes, number of elements, their layout)."""
    parts: list[tuple[tuple[str, ...], int]] = []
    bounds: list[tuple[int, int, int, int]] = []
    for displacement, number, child in blocks:
        if number and child.times:
            last = displacement + (number - 1) * child.extent
            parts.append((child.unit, child.times * number))
            bounds.append(
                (
                    displacement + child.low,
                    last + child.high,
                    displacement + child.lower_bound,
                    last + child.upper_bound,
                )
            )
    low, high, lower, upper = zip(*bounds, strict=True) if bounds else ((0,), (0,), (0,), (0,))
    unit, times = _signature(parts)
    return Layout(
        text=text,
        unit=unit,
        times=times,
        low=min(low),
        high=max(high),
        lower_bound=min(lower),
        upper_bound=max(upper),
    )


_HEAD = re.compile(r"(\w+)(?:\[([-\d,]+)\])?(\()?")


@lru_cache(maxsize=4096)
def parse(text: str) -> Layout:
    """The layout of a datatype. Raises ValueError for a text that is not a datatype."""
    layout, end = _parse_from(text, 0)
    if end != len(text):
        raise ValueError(f"{text!r} is not the text of a datatype: {text[end:]!r} follows it")
    return layout


def _parse_from(text: str, start: int) -> tuple[Layout, int]:
    head = _HEAD.match(text, start)
    if not head:
        raise ValueError(f"{text!r} has no datatype at position {start}")
    name, arguments, has_children = head.groups()
    if not has_children:
        basic = BASICS[name]
        extent = basic.extent
        layout = Layout(
            text=name, unit=(name,), times=1, low=0, high=extent, lower_bound=0, upper_bound=extent
        )
        return layout, head.end()
    numbers = [int(number) for number in arguments.split(",")] if arguments else []
    children: list[Layout] = []
    end = head.end()
    while not children or text[end] == ",":
        child, end = _parse_from(text, end + bool(children))
        children.append(child)
    end += 1
    return _construct(name, numbers, children, text[start:end]), end


def _construct(name: str, numbers: list[int], children: list[Layout], text: str) -> Layout:
    child = children[0]
    if name in ("dup", "bottom"):
        return _layout_of_blocks(text, [(0, 1, child)])
    if name == "contiguous":
        return _layout_of_blocks(text, [(0, numbers[0], child)])
    if name in ("vector", "hvector"):
        count, length, stride = numbers
        last = (count - 1) * stride * (1 if name == "hvector" else child.extent)
        ends = _layout_of_blocks(text, [(0, length, child), (last, length, child)])
        return replace(ends, times=child.times * length * count)
    if name == "resized":
        inner = _layout_of_blocks(text, [(0, 1, child)])
        return Layout(
            text=text,
            unit=inner.unit,
            times=inner.times,
            low=inner.low,
            high=inner.high,
            lower_bound=numbers[0],
            upper_bound=numbers[0] + numbers[1],
        )
    scale = child.extent if name == "indexed" else 1
    members = children * (len(numbers) // 2) if len(children) == 1 else children
    pairs = zip(numbers[::2], numbers[1::2], members, strict=True)
    return _layout_of_blocks(
        text, [(displacement * scale, number, one) for number, displacement, one in pairs]
    )


# --- drawing ---------------------------------------------------------------------------------------------

FAR_BYTES = 1 << 20
"""A far lower bound: more than the segments and scratch buffers of libraries are long."""


def drawn_type(random: Random, unit: Sequence[str], copies: int) -> str:
    """A datatype whose signature is ``unit`` (names of basic types) ``copies`` times; no bytes overlap."""
    alignment = max(BASICS[name].alignment for name in unit)
    layout = _unit(random, unit, alignment)
    while copies > 1 and random.random() < 0.3:
        divisors = [number for number in range(2, min(copies, 64) + 1) if copies % number == 0]
        part = random.choice(divisors) if divisors else copies
        layout = _repeat(random, layout, part, alignment)
        copies //= part
    if copies > 1:
        layout = _repeat(random, layout, copies, alignment)
    for _ in range(2):
        if random.random() < 0.3:
            layout = _decorate(random, layout, alignment)
    return layout.text


def _unit(random: Random, unit: Sequence[str], alignment: int) -> Layout:
    """One unit: a basic type, or a struct with gaps whose members may be in any order in memory."""
    if len(unit) == 1:
        return parse(unit[0])
    order = list(range(len(unit)))
    random.shuffle(order)
    offset, displacements = random.choice((0, 0, -2, 3)) * alignment, [0] * len(unit)
    for member in order:
        displacements[member] = offset
        offset += _align(BASICS[unit[member]].extent, alignment) + random.choice((0, 0, alignment))
    blocks = ",".join(f"1,{displacement}" for displacement in displacements)
    raw = parse(f"struct[{blocks}]({','.join(unit)})")
    return _resize(random, raw, alignment)


def _align(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def _repeat(random: Random, layout: Layout, copies: int, alignment: int) -> Layout:
    """Copies of a layout, by a constructor that is drawn."""
    kind = random.choice(("contiguous", "vector", "vector", "hvector", "indexed", "hindexed", "struct"))
    if kind == "contiguous":
        return parse(f"contiguous[{copies}]({layout.text})")
    if kind in ("vector", "hvector"):
        lengths = [number for number in range(1, min(copies, 64) + 1) if copies % number == 0]
        length = random.choice(lengths)
        stride = (length + random.choice((0, 1, 2))) * random.choice((1, 1, 1, -1))
        bytes_more = 0
        if kind == "hvector":
            bytes_more = random.choice((0, alignment)) * (1 if stride > 0 else -1)
            stride = stride * layout.extent + bytes_more
        return parse(f"{kind}[{copies // length},{length},{stride}]({layout.text})")
    return _irregular(random, kind, layout, copies, alignment)


def _irregular(random: Random, kind: str, layout: Layout, copies: int, alignment: int) -> Layout:
    """Blocks of different lengths with gaps, in any order."""
    lengths = list(_partition(random, copies))
    order = list(range(len(lengths)))
    random.shuffle(order)
    unit = 1 if kind == "indexed" else layout.extent
    offset, displacements = random.choice((0, 0, 2, -3)) * unit, [0] * len(lengths)
    for block in order:
        displacements[block] = offset
        gap = random.choice((0, 1)) * (1 if kind == "indexed" else alignment)
        offset += lengths[block] * unit + gap
    numbers = ",".join(f"{number},{place}" for number, place in zip(lengths, displacements, strict=True))
    if kind == "struct":
        raw = parse(f"struct[{numbers}]({','.join([layout.text] * len(lengths))})")
        return _resize(random, raw, alignment)
    return parse(f"{kind}[{numbers}]({layout.text})")


def _partition(random: Random, total: int) -> Iterator[int]:
    """At most four positive numbers that add up to a total."""
    for _ in range(random.randrange(4)):
        if total > 1:
            part = random.randint(1, total - 1)
            total -= part
            yield part
    yield total


def _resize(random: Random, layout: Layout, alignment: int) -> Layout:
    """The datatype with bounds of its own, between which the data may or may not begin."""
    lower = layout.low + random.choice((0, 0, -1, 2)) * alignment
    lower = -(-lower // alignment) * alignment
    extent = _align(layout.high - layout.low, alignment) + random.choice((0, 0, 1, 3)) * alignment
    return parse(f"resized[{lower},{extent}]({layout.text})")


def _decorate(random: Random, layout: Layout, alignment: int) -> Layout:
    """Duplicated, resized or moved; rarely to a place far away."""
    kind = random.choice(("dup", "resized", "resized", "moved", "moved", "far"))
    if kind == "dup":
        return parse(f"dup({layout.text})")
    if kind == "resized":
        return _resize(random, layout, alignment)
    displacement = FAR_BYTES if kind == "far" else random.choice((-5, -1, 1, 4)) * alignment
    return parse(f"hindexed[1,{displacement}]({layout.text})")
