"""Sizes, times and bandwidths as people write them: ``64 KiB``, ``1.5 ms``, ``10 Gbit/s``.

Reading is exact: sizes are whole bytes, times and bandwidths the nearest double. Decimal and binary prefixes
are distinguished (kB is 1000 bytes, KiB 1024), and each unit has one spelling.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from offbeat.base.errors import BadInput

SIZE_UNITS: dict[str, int] = {
    "B": 1,
    "kB": 10**3,
    "KiB": 2**10,
    "MB": 10**6,
    "MiB": 2**20,
    "GB": 10**9,
    "GiB": 2**30,
    "TB": 10**12,
    "TiB": 2**40,
}
"""Unit → bytes."""

MAX_BYTES = 2**63 - 1
"""The largest size: that of a signed 64-bit integer."""

TIME_UNITS: dict[str, Fraction] = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "ms": Fraction(1, 10**3),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
}
"""Unit → seconds."""

US_PER_MB = 1e-12
"""The unit of delay rates, µs per MB of a partition, in seconds per byte."""

_PREFIXES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}

BANDWIDTH_UNITS: dict[str, Fraction] = {
    **{f"{prefix}bit/s": Fraction(scale, 8) for prefix, scale in _PREFIXES.items()},
    **{f"{unit}/s": Fraction(scale) for unit, scale in SIZE_UNITS.items()},
}
"""Unit → bytes per second."""

_QUANTITY = re.compile(
    r"([+-]?)(\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})((?:[eE][+-]?\d{1,3})?)\s*([^\W\d]*(?:/s)?)", re.ASCII
)
_GREEK_MU, _MICRO_SIGN = "\u03bc", "\u00b5"


def parse_size(value: str | int) -> int:
    """The bytes that a size like ``"64 KiB"``, ``"8 B"``, ``"2 kB"``, ``"1024"`` or 1024 means.

    Raises :class:`BadInput` for anything that isn't a whole number of bytes, 0 or more.
    """
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise BadInput(f"{value!r} is not a size; write whole bytes, or text such as '64 KiB'")
    exact = Fraction(value) if isinstance(value, int) else _parse(value, "size", "64 KiB", SIZE_UNITS)
    _refuse_negative(exact, value)
    if exact.denominator != 1:
        raise BadInput(f"{value!r} is not a whole number of bytes")
    if exact > MAX_BYTES:
        raise BadInput(f"{value!r} is more than any memory holds")
    return exact.numerator


def parse_time(value: str | float) -> float:
    """The seconds that a time like ``"100 us"``, ``"1.5 ms"``, ``"2 s"``, ``"0.1"`` or 0.1 means.

    Raises :class:`BadInput` for anything that isn't a finite time, 0 or more.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise BadInput(f"{value!r} is not a time; write seconds, or text such as '100 us'")
    if isinstance(value, float) and not math.isfinite(value):
        raise BadInput(f"{value!r} is not a finite time; write seconds, or text such as '100 us'")
    exact = _parse(value, "time", "100 us", TIME_UNITS) if isinstance(value, str) else Fraction(value)
    _refuse_negative(exact, value)
    try:
        return float(exact)
    except OverflowError:
        raise BadInput(f"{value!r} is longer than a number can hold") from None


def parse_bandwidth(value: str | float) -> float:
    """The bytes per second that ``"10 Gbit/s"``, ``"12.5 GB/s"`` or 1.25e9 means.

    Raises :class:`BadInput` for anything that isn't a finite bandwidth, 0 or more.
    """
    remedy = "write bytes per second, or text such as '10 Gbit/s'"
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise BadInput(f"{value!r} is not a bandwidth; {remedy}")
    if isinstance(value, float) and not math.isfinite(value):
        raise BadInput(f"{value!r} is not a finite bandwidth; {remedy}")
    if isinstance(value, str):
        exact = _parse(value, "bandwidth", "10 Gbit/s", BANDWIDTH_UNITS)
    else:
        exact = Fraction(value)
    _refuse_negative(exact, value)
    try:
        return float(exact)
    except OverflowError:
        raise BadInput(f"{value!r} is more than a number can hold") from None


def format_size(size_bytes: int) -> str:
    """A size for tables, exact and as short as that allows: ``8 B``, ``1.5 KiB``, ``1 MB``, ``1023 B``.

    ``parse_size(format_size(n)) == n`` for every n.
    """
    for factor in (1024, 1000):
        for unit, scale in reversed(SIZE_UNITS.items()):
            if scale == 1 or scale % factor or size_bytes < scale:
                continue
            hundredths, rest = divmod(size_bytes * 100, scale)
            if rest == 0:
                return f"{_plain(Decimal(hundredths) / 100)} {unit}"
    return f"{size_bytes} B"


def rounded_size(size_bytes: int) -> str:
    """Bytes, rounded for tables: ``1.25 GB``."""
    for factor, unit in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.3g} {unit}"
    return format_size(size_bytes)


def format_time(time_s: float, digits: int = 3) -> str:
    """A time for tables, rounded to ``digits`` significant digits: ``12.3 µs``, ``1.5 ms``, ``0 s``.

    Negative times keep their sign; NaN is ``–``. ``parse_time(format_time(x)) == x`` for every x ≥ 0 that has
    no more significant digits in its unit.
    """
    if math.isnan(time_s):
        return "–"
    if math.isinf(time_s) or time_s == 0:
        return f"{time_s:g} s" if time_s else "0 s"
    decimal = Decimal(f"{time_s:.{digits - 1}e}")
    for unit, exponent in (("s", 0), ("ms", 3), ("µs", 6)):
        if abs(decimal) >= Decimal(1).scaleb(-exponent):
            return f"{_plain(decimal.scaleb(exponent))} {unit}"
    return f"{_plain(decimal.scaleb(9))} ns"


def format_bandwidth(bytes_per_second: float, digits: int = 3) -> str:
    """A bandwidth for tables, rounded to ``digits`` significant digits: ``1.25 GB/s``, ``0 B/s``."""
    if not math.isfinite(bytes_per_second):
        return "–" if math.isnan(bytes_per_second) else "no limit"
    decimal = Decimal(f"{bytes_per_second:.{digits - 1}e}")
    for unit, exponent in (("TB", 12), ("GB", 9), ("MB", 6), ("kB", 3)):
        if decimal >= Decimal(1).scaleb(exponent):
            return f"{_plain(decimal.scaleb(-exponent))} {unit}/s"
    return f"{_plain(decimal)} B/s"


def amount(number: int, noun: str) -> str:
    """A number and its noun: ``1 case``, ``2 cases``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def format_list(items: Sequence[object], limit: int = 3, separator: str = ", ") -> str:
    """The first items and the number of the others: ``a, b, c and 2 more``, or ``a; b; c; and 2 more``."""
    more = f"{separator.strip(', ')} and {len(items) - limit} more" if len(items) > limit else ""
    return separator.join(map(str, items[:limit])) + more


def enumeration(names: Sequence[str]) -> str:
    """Names as a part of a sentence: ``a``, ``a and b``, ``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def exact_time_label(time_s: float) -> str:
    """An exact time for names, without blanks and Greek letters: ``100us``, ``1.5ms``, ``2s``."""
    exact = Decimal(repr(float(time_s)))
    for unit, exponent in (("s", 0), ("ms", 3), ("us", 6)):
        if exact >= Decimal(1).scaleb(-exponent):
            return f"{_plain(exact.scaleb(exponent))}{unit}"
    return f"{_plain(exact.scaleb(9))}ns"


def _parse(text: str, noun: str, example: str, units: dict[str, int] | dict[str, Fraction]) -> Fraction:
    """The number and unit of a text as one exact number; a missing unit means bytes, seconds or both."""
    match = _QUANTITY.fullmatch(text.strip().replace(_GREEK_MU, "u").replace(_MICRO_SIGN, "u"))
    if match is None:
        raise BadInput(f"{text!r} is not a {noun}; write a number and a unit, such as '{example}'")
    sign, number, exponent, unit = match.groups()
    if unit and unit not in units:
        raise BadInput(f"{text!r}: {_unknown_unit(unit, noun, list(units))}")
    return Fraction(sign + number + exponent) * (units[unit] if unit else 1)


def _unknown_unit(unit: str, noun: str, unit_names: list[str]) -> str:
    """The message for an unknown unit, with the nearest known one."""
    if unit[0] in "kKmMgGtT" and unit[1:] in ("", "b", "B", "ib", "iB") and noun == "size":
        decimal, binary = (f"{'k' if unit[0] in 'kK' else unit[0].upper()}B", f"{unit[0].upper()}iB")
        hint = f"'{decimal}' ({SIZE_UNITS[decimal]} bytes) or '{binary}' ({SIZE_UNITS[binary]} bytes)"
        return f"'{unit}' is not a unit of size; did you mean {hint}? Known: {', '.join(unit_names)}"
    names_by_casefold = {name.casefold(): name for name in unit_names}
    close_matches = difflib.get_close_matches(unit.casefold(), names_by_casefold, n=1)
    hint = f"; did you mean '{names_by_casefold[close_matches[0]]}'?" if close_matches else "."
    return f"'{unit}' is not a unit of {noun}{hint} Known: {', '.join(unit_names)}"


def _refuse_negative(exact: Fraction, value: object) -> None:
    if exact < 0:
        raise BadInput(f"{value!r} is negative; it must be 0 or more")


def _plain(number: Decimal) -> str:
    """A decimal without exponent and trailing zeros."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def ordinal(number: int) -> str:
    """Returns ``1st``, ``2nd``, ``4th``, ``11th``."""
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"
