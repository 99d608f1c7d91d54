"""Labels of configurations, sizes and time spans in the report.

Numbers are formatted as in the terminal's tables (:mod:`offbeat.selection.choices.wording`,
:mod:`offbeat.base.units`), with a true minus sign, which pages and pictures can show.
"""

from __future__ import annotations

import re

from offbeat.base.units import format_size, format_time
from offbeat.model.study.collectives import REDUCING, ROOTED
from offbeat.selection.choices import wording
from offbeat.selection.choices.delay_table import Configuration

DASH = wording.DASH


def span(low: str, high: str) -> str:
    """Two texts such as ``80 µs – 1.2 ms``, or one if they are the same."""
    return low if low == high else f"{low} {DASH} {high}"


def duration_span(low_s: float, high_s: float) -> str:
    """A span of times."""
    return span(format_time(low_s), format_time(high_s))


def joined(*parts: str) -> str:
    """The parts that are not empty: ``p = 8 · 32 KiB``."""
    return " · ".join(filter(None, parts))


def processes_label(configuration: Configuration) -> str:
    """The number of processes, with nodes × processes per node if known: ``p = 8 (2×4)``."""
    return f"p = {configuration.placement}"


def size_label(configuration: Configuration) -> str:
    """The message size with its unit; empty for barrier, which has none."""
    return "" if configuration.collective == "barrier" else format_size(configuration.bytes)


def operation_label(configuration: Configuration) -> str:
    """The reduction and the root: ``sum of double, root 0``; of a message in partitions ``32 partitions, 4
    threads``; empty if there are none of these."""
    parts = []
    if configuration.collective in REDUCING and configuration.op:
        parts.append(
            f"{configuration.op} of {configuration.datatype}" if configuration.datatype else configuration.op
        )
    if configuration.collective in ROOTED:
        parts.append(f"root {configuration.root}")
    if configuration.division:
        parts.append(configuration.division)
    return ", ".join(parts)


def slug(text: str) -> str:
    """Letters, digits, dots and dashes only: for file names and anchors."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", text).strip("-.") or "configuration"
