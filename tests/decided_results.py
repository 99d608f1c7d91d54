"""Measured results whose delays a test replaces, because measured delays on a busy machine are random."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from offbeat.base.campaign.append_file import encode_lines, read_checked_lines
from offbeat.measurement.results.recorded import CASE_LINE


def decide(results: Path, seconds_of: Callable[[dict[str, Any]], float | None]) -> None:
    """Give the cases of a result directory other last delays; None leaves a case as it was measured."""
    path = results / "cases.jsonl"
    lines = read_checked_lines(path, CASE_LINE).items
    for line in lines:
        seconds = seconds_of(line)
        if seconds is not None:
            line |= {"last_delay_s": seconds, "last_delay_low_s": seconds, "last_delay_high_s": seconds}
    path.write_bytes(encode_lines(lines))
