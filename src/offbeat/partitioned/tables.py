"""Predictions as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from offbeat.base.units import US_PER_MB, amount, format_bandwidth, format_size, format_time
from offbeat.model.study.algorithm import LEARNED, OWN
from offbeat.partitioned.cost_fit import FEWEST_CELLS, Fit
from offbeat.partitioned.costs import SINGLE
from offbeat.partitioned.predictions import Prediction, RandomComputation, ReadySource
from offbeat.partitioned.recommendation import EXTRAPOLATED, MEASURED, Option, Recommendation, message_bytes

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
    " single message divided by the time in the column 'one each'; below 1, a single message is faster."
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


def computation_sentences(source: ReadySource, per_thread: Iterable[int]) -> Iterator[str]:
    """μ, σ and γ_θ of a computation (equations 6, 7 and 9); nothing for other delays."""
    if not isinstance(source, RandomComputation):
        return
    one = source.computation
    yield f"computation: μ = {_per_mb(one.seconds_per_byte)}, σ = {one.relative_noise:.3g}"
    rates = (f"{_per_mb(one.delay_rate(number))} with {number}" for number in per_thread)
    yield f"delay rate γ_θ by the partitions of a thread: {', '.join(rates)}"


def _per_mb(seconds_per_byte: float) -> str:
    return f"{seconds_per_byte / US_PER_MB:.4g} µs/MB"


OPTION_HEADINGS = ("approach", "messages", "partitions a thread", "time", "gain", "95% interval", "rests on")


def option_rows(options: Iterable[Option]) -> Iterator[tuple[str, ...]]:
    """The cells below OPTION_HEADINGS."""
    for one in options:
        yield (
            one.approach,
            f"up to {one.messages}" if one.approach == LEARNED else str(one.messages),
            str(one.partitions_per_thread),
            format_time(one.time_s),
            f"{one.gain:.2f}",
            f"{one.gain_low:.2f} to {one.gain_high:.2f}",
            one.rests_on,
        )


def recommendation_sentences(recommendation: Recommendation) -> Iterator[str]:
    """What to do, what it gains, and what that rests on."""
    best = recommendation.best
    yield f"Recommendation: {_what(best)}, with {amount(best.partitions_per_thread, 'partition')} a thread."
    if best.approach == OWN and best.setting:
        size = message_bytes(best, recommendation.total_bytes, recommendation.threads)
        alternative = f", or offbeat_message_bytes = {size}" if size else ""
        yield f"Set offbeat_messages = {best.setting}{alternative}."
    interval = f"95% interval {best.gain_low:.2f} to {best.gain_high:.2f}"
    if best.approach == SINGLE:
        yield _no_gain(recommendation)
    elif best.is_gain:
        yield f"Expected gain over a single message: {best.gain:.2f} ({interval})."
    elif best.gain > 1:
        yield f"The gain over a single message is uncertain: {best.gain:.2f} ({interval})."
    else:
        yield f"It is not expected to gain over a single message: {best.gain:.2f} ({interval})."
    yield f"This rests on {_basis(best)} ({recommendation.source})."
    if recommendation.too_few:
        yield too_few_sentence(recommendation.too_few)


def too_few_sentence(too_few: Mapping[str, int]) -> str:
    """Which approaches have too few measured cells."""
    listed = ", ".join(f"{name} ({count})" for name, count in sorted(too_few.items()))
    return f"Left out, with fewer than {FEWEST_CELLS} measured cases: {listed}."


def _no_gain(recommendation: Recommendation) -> str:
    faster = [one for one in recommendation.options if one.gain > 1]
    if not faster:
        return "No way of sending in partitions is expected to be faster than a single message."
    if all(one.rests_on == EXTRAPOLATED for one in faster):
        return "Only extrapolated ways of sending are expected to be faster: measure messages like this one."
    return "No way of sending in partitions is expected to be faster than a single message by more than 1%."


def _what(best: Option) -> str:
    if best.approach == SINGLE:
        return "send one message when all partitions are ready"
    if best.approach == OWN:
        return f"offbeat's partitioned communication with {amount(best.messages, 'message')}"
    if best.approach == LEARNED:
        return "offbeat's partitioned communication with a learned number of messages"
    return f"the approach {best.approach}, with {amount(best.messages, 'message')}"


def _basis(best: Option) -> str:
    if best.rests_on == MEASURED:
        return "a measurement of this message"
    if best.rests_on == EXTRAPOLATED:
        return "an extrapolation: size, partitions, threads or delay are outside of what was measured"
    return "the model with fitted costs"


COST_HEADINGS = ("approach", "cost", "value", "95% interval")


def cost_rows(fits: Iterable[Fit]) -> Iterator[tuple[str, ...]]:
    """The cells below COST_HEADINGS: the fitted costs of each approach."""
    for fit in fits:
        for key, noun, form in _COSTS:
            value, low, high = (getattr(one, key) for one in (fit.costs, fit.low, fit.high))
            yield fit.approach, noun, form(value), _interval(value, low, high, form)


UNDETERMINED = 200.0
"""An end of an interval that differs from the value by this factor says nothing: the prior alone gives a
factor of 357, exp(1.96 × ``fit.PRIOR_WIDTH``)."""

MOST_SHARE = 10.0
"""The same for contention, whose value may be near 0."""


def _interval(value: float, low: float, high: float, form: Callable[[float], str]) -> str:
    if form is _share:
        return f"{form(low)} to {form(high)}" if high < MOST_SHARE else "not determined"
    has_low, has_high = low * UNDETERMINED > value, high < value * UNDETERMINED
    if has_low and has_high:
        return f"{form(low)} to {form(high)}"
    if has_high:
        return f"up to {form(high)}"
    return f"from {form(low)}" if has_low else "not determined"


def _share(value: float) -> str:
    return f"{value:.2f}"


_COSTS = (
    ("latency_s", "latency", format_time),
    ("message_s", "an eager message", format_time),
    ("partition_s", "a partition", format_time),
    ("contention", "contention", _share),
    ("eager_bandwidth", "eager bandwidth", format_bandwidth),
    ("rendezvous_latency_s", "rendezvous latency", format_time),
    ("rendezvous_message_s", "a rendezvous message", format_time),
    ("rendezvous_bandwidth", "rendezvous bandwidth", format_bandwidth),
    ("eager_progress", "eager progress", _share),
    ("rendezvous_progress", "rendezvous progress", _share),
)
