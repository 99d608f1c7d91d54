"""Predictions as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from offbeat.partitioned.predictions import Prediction
from offbeat.units import format_size, format_time

HEADINGS = (
    "message",
    "threads × partitions",
    "delay",
    "single message",
    "one each",
    "gain",
    "best number of messages",
    "best gain",
)

EXPLANATION = (
    "delay: from the first to the last ready partition. Times: from the last ready partition to the arrival"
    " of all bytes. one each: one message a partition, sent when the partition is ready. gain: time of a"
    " single message divided by this time; below 1, a single message is faster."
)


def rows(predictions: Iterable[Prediction]) -> Iterator[tuple[str, ...]]:
    """The cells below HEADINGS."""
    for one in predictions:
        yield (
            format_size(one.total_bytes),
            f"{one.threads} × {one.partitions_per_thread}",
            format_time(one.delay_s),
            format_time(one.single_s),
            format_time(one.each_s),
            f"{one.gain:.2f}",
            str(one.best_messages),
            f"{one.best_gain:.2f}",
        )
