"""How uneven the blocks of calls with counts for each process are: empty blocks, and the largest one."""

from __future__ import annotations

import math
from collections.abc import Sequence

from offbeat.base.units import rounded_size
from offbeat.trace.calls.call_site_stats import CallSiteStats

_LEAST_RATIO = 2
"""A largest block of less than this many mean blocks is not worth a word."""


def empty_share(rows: Sequence[CallSiteStats]) -> float:
    """The share of blocks without bytes; NaN where no counts were recorded."""
    blocks = sum(row.blocks for row in rows)
    return sum(row.empty_blocks for row in rows) / blocks if blocks else math.nan


def sparsity_text(rows: Sequence[CallSiteStats]) -> str:
    """A clause about empty and large blocks of some calls; empty where all blocks are about equal."""
    largest = max((row.largest_block_bytes for row in rows), default=0)
    share = empty_share(rows)
    is_uneven = largest >= _LEAST_RATIO * max((row.most_bytes for row in rows), default=0) > 0
    if not (share > 0 or is_uneven):
        return ""
    return f"{share:.0%} of the blocks are empty, and the largest one has {rounded_size(largest)}"


def sparsity_notes(rows: Sequence[CallSiteStats]) -> list[str]:
    """A note for each row, by its number, whose blocks are uneven."""
    texts = ((number, row, sparsity_text([row])) for number, row in enumerate(rows, 1))
    return [f"row {number}: {text} ({row.function})" for number, row, text in texts if text]
