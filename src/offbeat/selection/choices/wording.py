"""The format of numbers in terminal tables: plain text that also suits pipes and narrow terminals."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from offbeat.base.errors import BadInput

DASH = "–"
"""Printed in place of a missing number."""

MINUS = "\N{MINUS SIGN}"
LAST_DELAY = "d\N{COMBINING CIRCUMFLEX ACCENT}"
"""The last delay's letter."""

UNITS = (("s", 1.0), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9))
"""Units of time and their number per second, the largest first."""


def common_unit(times_s: NDArray[np.float64]) -> tuple[str, float]:
    """The unit for a table and its number per second: the largest in which the median is 1 or more."""
    positive = times_s[np.isfinite(times_s) & (times_s > 0)]
    median = float(np.median(positive)) if positive.size else 1e-6
    return next((unit for unit in UNITS if median * unit[1] >= 1), UNITS[-1])


def significant(value: float, digits: int = 3) -> str:
    """A plain decimal with at least ``digits`` significant digits; whole numbers keep all their digits."""
    if not math.isfinite(value):
        return DASH
    if value == 0:
        return "0"
    return f"{value:.{min(max(0, digits - 1 - math.floor(math.log10(abs(value)))), 9)}f}"


def ratio(value: float, decimals: int = 2) -> str:
    """A ratio such as ``2.87``, with fewer decimals for larger values: ``59.2``, ``140``."""
    if not math.isfinite(value):
        return DASH
    return f"{value:.{max(0, decimals - (value >= 10) - (value >= 100) - (value >= 1000))}f}"


def change(value: float) -> str:
    """A relative change with its sign: ``-0.56``, ``+0.80``, ``+12.3``."""
    if not math.isfinite(value):
        return DASH
    return f"{value:+.{2 if abs(value) < 10 else 1 if abs(value) < 100 else 0}f}"


def cost(share: float | None) -> str:
    """A slowdown: ``+18%``, ``+0.4%``, ``-3.0%``; ``none`` for zero."""
    if share is None or not math.isfinite(share):
        return DASH
    if abs(share) < 1e-9:
        return "none"
    return f"{100 * share:+.{1 if abs(share) < 0.1 else 0}f}%"


def confidence(share: float | None) -> str:
    """A share of repeated studies: ``97%``; ``>99%`` rather than a rounded ``100%``; ``unknown`` for None."""
    if share is None:
        return "unknown"
    return ">99%" if 0.995 <= share < 1 else f"{100 * share:.0f}%"


def percent(share: float) -> str:
    """A share of a whole: ``0.4%``, ``12%``."""
    return f"{100 * share:.{1 if 0 < share < 0.1 else 0}f}%"


def share_label(share: float) -> str:
    """A share in percent: ``5%``, ``2.5%``."""
    return f"{100 * share:.6g}%"


def parse_share(text: str, option: str = "--within") -> float:
    """The share that ``5%`` or ``0.05`` means. Raises :class:`BadInput`, which names ``option``."""
    number = text.strip()
    percent = number.endswith("%")
    try:
        value = float(number.removesuffix("%")) / (100 if percent else 1)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise BadInput(
            f"{option} '{text}' is not a share; write a percentage of 0 or more such as '5%', or '0.05'."
        )
    if value >= 1 and not percent:
        raise BadInput(f"{option} '{text}' would be {value:.0%}; write '{number}%' or '{value:.0%}'.")
    return value


def typeset(number: str) -> str:
    """A number with a true minus sign in place of the hyphen, and without a sign where it rounds to zero."""
    if not number.strip("+-0.%"):
        number = number.lstrip("+-")
    return number.replace("-", MINUS)
