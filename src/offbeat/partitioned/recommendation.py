"""Recommendations: which approach, how many partitions and messages, and the gain over a single message.

Every option has a time with a 95% interval. A measured cell counts first. Otherwise the fitted costs predict
the time, corrected by the errors of the predictions for nearby cells (a Gaussian process over sizes,
partitions, threads, messages and delays, with fixed length scales), as far as results are given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from offbeat.base.errors import BadInput
from offbeat.base.units import amount
from offbeat.model.platform.schema import MOST_ERROR, PlatformFile
from offbeat.model.study.algorithm import LEARNED, OWN
from offbeat.partitioned.cells import Cell, Measured
from offbeat.partitioned.cost_fit import (
    FEWEST_CELLS,
    Z95,
    Fit,
    by_approach,
    fit,
    fit_of,
    predicted_s,
    too_few,
)
from offbeat.partitioned.costs import (
    MOST_MESSAGES,
    SINGLE,
    message_counts,
    messages_of_bytes,
    threads_of_partitions,
    time_s,
)
from offbeat.partitioned.gain_model import Times, mean_delay_s
from offbeat.partitioned.predictions import ReadySource, powers_of_two

MEASURED, MODEL, EXTRAPOLATED = "measured", "model", "extrapolated"

SAME_DELAY, SAME_DELAY_S = 0.05, 2e-6
"""Ready times that differ by less than this share of the delay, or by less than this time, are the same."""

MOST_TRIALS = 50
"""Random ready times of which a prediction is the mean."""

SEED = 1

TIE = 0.01
"""Of options that differ by less than this share, the one with fewer messages is better."""

LENGTHS = np.array([2.5, 5.0, 0.68, 2.0, 0.15, 1.5])
"""Length scales of the correction: in octaves of bytes, partitions, threads and messages; in the delay as a
share of the delay and the time of the message alone; and in the mean earliness of partitions as a share of
the delay. About fifty were compared. With these, measured times of messages that were left out were the most
probable, and about as many recommendations as with any others were within 10% of the best (seven studies
with five MPI libraries; ``benchmarks/partitioned_advice.py`` prints both). That of threads is a guess: the
studies have one thread."""

LEAST_NOISE = 0.02
"""The standard deviation of the logarithm of a measured time is taken to be at least this."""


class Message(Struct, frozen=True, eq=False, kw_only=True):
    """A message to be sent: ready times of its partitions in seconds, (trials, partitions).

    ``planned_s`` are the ready times without the lateness of threads, if that is known: a measured cell has
    the same message if it has these.
    """

    total_bytes: int
    threads: int
    ready_s: Times
    planned_s: Times | None = None

    @property
    def partitions(self) -> int:
        """The partitions of the message."""
        return int(self.ready_s.shape[-1])

    @property
    def delay_s(self) -> float:
        """The mean time between the first and the last ready partition."""
        return mean_delay_s(self.ready_s)

    @property
    def without_lateness_s(self) -> Times:
        """The ready times without the lateness of threads, if that is known: these are compared with measured
        ones."""
        return self.ready_s if self.planned_s is None else self.planned_s

    def is_inside(self, fitted: Fit) -> bool:
        """Whether size, partitions, threads and delay are in the ranges of the fitted cells."""
        delay_s = mean_delay_s(self.without_lateness_s)
        shortest_s, longest_s = fitted.delays_s
        allowed_s = _allowed_s(delay_s)
        return (
            fitted.sizes[0] <= self.total_bytes <= fitted.sizes[1]
            and fitted.partitions[0] <= self.partitions <= fitted.partitions[1]
            and fitted.threads[0] <= self.threads <= fitted.threads[1]
            and shortest_s - allowed_s <= delay_s <= longest_s + allowed_s
        )


class Option(Struct, frozen=True, kw_only=True):
    """A way of sending a message, and its time after the last ready partition with its 95% interval.

    A measured time is the measured one. Of a predicted time, whose logarithm has a normal distribution, it is
    the expectation, so that an uncertain option must be faster by more than a certain one. ``setting`` is the
    number of messages to be set by ``offbeat_messages``; 0: the default. ``messages`` is their number (the
    largest, if it is learned). ``delay_s`` is the mean time between the first and the last ready partition,
    which may depend on the number of partitions. ``gain`` is the time of a single message divided by this
    time. ``rests_on`` is ``measured``, ``model``, or ``extrapolated``: outside of what was measured.
    """

    approach: str
    setting: int
    messages: int
    partitions_per_thread: int
    delay_s: float
    time_s: float
    low_s: float
    high_s: float
    gain: float = 1.0
    gain_low: float = 1.0
    gain_high: float = 1.0
    rests_on: str

    @property
    def is_gain(self) -> bool:
        """Whether the whole interval of the gain is above 1."""
        return self.gain_low > 1


class Recommendation(Struct, frozen=True, kw_only=True):
    """The options, the best first; the recommendation is the first.

    ``too_few`` has the measured cells of each approach that has too few of them to be an option.
    """

    total_bytes: int
    threads: int
    source: str
    options: list[Option]
    too_few: dict[str, int]

    @property
    def best(self) -> Option:
        """The advised option."""
        return self.options[0]


class Adviser:
    """Fitted costs, and the cells that they were fitted to, if these are known.

    ``noise_s`` is the lateness of threads (median and standard deviation), ``flop_noise`` the key of the
    platform file.
    """

    def __init__(
        self,
        fits: Sequence[Fit],
        measured: Measured | None,
        noise_s: tuple[float, float],
        source: str,
        flop_noise: float = 0.0,
    ):
        self.fits = {one.approach: one for one in fits}
        self.noise_s, self.source, self.flop_noise = noise_s, source, flop_noise
        self._cells = by_approach(measured) if measured else {}
        self.too_few = too_few(measured) if measured else {}
        self.notes = measured.notes if measured else []
        self._corrections = {
            name: _Correction(self.fits[name], cells)
            for name, cells in self._cells.items()
            if name in self.fits
        }
        if SINGLE not in self.fits:
            cases = amount(len(self._cells.get(SINGLE, [])), "measured case")
            found = (
                f"the approach single has {cases}" if measured else "there are no costs of a single message"
            )
            raise BadInput(f"{found}, so that no gain can be predicted; measure {FEWEST_CELLS} cases or more")

    def option(self, message: Message, approach: str, setting: int, per_thread: int) -> Option:
        """The time of one way of sending; the gain is that of :func:`with_gain`."""
        counts = message_counts(approach, message.partitions, message.total_bytes, setting)
        median_s, spread, basis = self._time(message, approach, setting)
        mean_s = median_s * float(np.exp(spread**2 / 2))
        return Option(
            approach=approach,
            setting=setting,
            messages=max(counts),
            partitions_per_thread=per_thread,
            delay_s=message.delay_s,
            time_s=median_s if basis == MEASURED else mean_s,
            low_s=median_s * float(np.exp(-Z95 * spread)),
            high_s=median_s * float(np.exp(Z95 * spread)),
            rests_on=basis,
        )

    def _time(self, message: Message, approach: str, setting: int) -> tuple[float, float, str]:
        """Median in seconds, standard deviation of the logarithm, and what the time rests on."""
        cell = self._measured(message, approach, setting)
        if cell is not None:
            return cell.time_s, float(np.log(cell.high_s / cell.low_s)) / (2 * Z95), MEASURED
        fitted = self.fits[approach]
        ready_s = message.ready_s
        # The mean of each number of messages, and then the best: a learned number is the same in all trials.
        predicted_s = min(
            float(time_s(fitted.costs, ready_s, message.total_bytes, message.threads, count).mean())
            for count in message_counts(approach, message.partitions, message.total_bytes, setting)
        )
        correction = self._corrections.get(approach)
        shift, spread = 0.0, fitted.error
        if correction is not None:
            shift, spread = correction.at(_features(message, setting, approach))
        basis = MODEL if message.is_inside(fitted) else EXTRAPOLATED
        return predicted_s * float(np.exp(shift)), spread, basis

    def _measured(self, message: Message, approach: str, setting: int) -> Cell | None:
        """The measured cell of this message, if there is one."""
        ready_s = message.without_lateness_s - message.without_lateness_s.min(axis=-1, keepdims=True)
        for cell in self._cells.get(approach, []):
            is_same = (cell.total_bytes, cell.partitions, cell.threads) == (
                message.total_bytes,
                message.partitions,
                message.threads,
            )
            same_messages = message_counts(
                approach, message.partitions, message.total_bytes, setting
            ) == message_counts(approach, cell.partitions, cell.total_bytes, cell.setting)
            if is_same and same_messages:
                apart_s = float(np.abs(cell.ready_s - ready_s).max())
                if apart_s <= _allowed_s(float(ready_s.max())):
                    return cell
        return None


class _Correction:
    """How much longer messages of an approach take than predicted: a Gaussian process over its cells."""

    def __init__(self, fitted: Fit, cells: Sequence[Cell]) -> None:
        times_s = np.array([cell.time_s for cell in cells])
        widths = np.array([np.log(cell.high_s / cell.low_s) for cell in cells]) / (2 * Z95)
        logs = np.log(times_s / predicted_s(fitted.costs, cells)).clip(-MOST_ERROR, MOST_ERROR)
        self._variance = fitted.error**2
        self._places = np.array([_features(_as_message(cell), cell.setting, cell.approach) for cell in cells])
        noise = np.clip(widths, LEAST_NOISE, 2.0) ** 2
        covariance = self._covariance(self._places, self._places) + np.diag(noise)
        self._inverse = np.linalg.inv(covariance)
        self._weights = self._inverse @ logs

    def at(self, place: NDArray[np.float64]) -> tuple[float, float]:
        """The expected logarithm of measured / predicted, and its standard deviation."""
        near = self._covariance(place[None], self._places)[0]
        variance = self._variance - near @ self._inverse @ near
        return float(near @ self._weights), float(np.sqrt(max(variance, 1e-6)))

    def _covariance(self, ones: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
        """Matérn's with smoothness 3/2: times change at once where a library changes its protocol."""
        distances = np.sqrt(3) * np.linalg.norm((ones[:, None] - others[None]) / LENGTHS, axis=-1)
        return np.asarray(self._variance * (1 + distances) * np.exp(-distances))


def _allowed_s(delay_s: float) -> float:
    """By how much ready times with this delay may differ from measured ones."""
    return max(SAME_DELAY * delay_s, SAME_DELAY_S)


def _as_message(cell: Cell) -> Message:
    return Message(total_bytes=cell.total_bytes, threads=cell.threads, ready_s=cell.ready_s[None])


def _features(message: Message, setting: int, approach: str) -> NDArray[np.float64]:
    """The coordinates of LENGTHS. The time of the message alone is taken to be 1 µs and that of its bytes at
    10 GB/s: after a delay that is much longer, all early messages have arrived, however long it is."""
    ready_s = message.ready_s
    delay_s = message.delay_s
    early_s = float((ready_s.max(axis=-1, keepdims=True) - ready_s).mean())
    counts = message_counts(approach, message.partitions, message.total_bytes, setting)
    alone_s = 1e-6 + message.total_bytes / 1e10
    return np.array(
        [
            np.log2(message.total_bytes),
            np.log2(message.partitions),
            np.log2(message.threads),
            np.log2(max(counts)),
            delay_s / (delay_s + alone_s),
            early_s / delay_s if delay_s else 0.0,
        ]
    )


def adviser_of_results(measured: Measured) -> Adviser:
    """Fits the cells of results. Raises BadInput."""
    return Adviser(fit(measured), measured, measured.noise_s, measured.source)


def adviser_of_platform(platform: PlatformFile) -> Adviser:
    """The costs of a platform file. Raises BadInput if it has none."""
    if not platform.partitioned:
        raise BadInput(
            f"the platform {platform.name} has no costs in [[partitioned]];"
            " 'offbeat partitioned fit' writes them"
        )
    listed = platform.partitioned
    mean_s, deviation_s = (float(np.median([one.noise[place] for one in listed])) for place in range(2))
    source = ", ".join(filter(None, (listed[0].source, listed[0].date)))
    return Adviser([fit_of(one) for one in listed], None, (mean_s, deviation_s), source, platform.flop_noise)


def message_of(
    source: ReadySource, total_bytes: int, threads: int, per_thread: int, noise_s: tuple[float, float]
) -> Message:
    """A message with the ready times of ``source`` and the lateness of the machine's threads."""
    partitions = threads * per_thread
    planned_s = source.ready_s(threads, per_thread, total_bytes / partitions)
    if len(planned_s) > MOST_TRIALS:  # evenly spaced ones: the first calls of a replay are often a start-up
        planned_s = planned_s[np.linspace(0, len(planned_s) - 1, MOST_TRIALS).astype(int)]
    ready_s = _late(planned_s, threads, noise_s)
    return Message(total_bytes=total_bytes, threads=threads, ready_s=ready_s, planned_s=planned_s)


def _late(planned_s: Times, threads: int, noise_s: tuple[float, float]) -> Times:
    """The ready times with the lateness of each thread; random where it varies."""
    mean_s, deviation_s = noise_s
    if not deviation_s:
        return planned_s
    trials = np.resize(np.arange(len(planned_s)), MOST_TRIALS)
    generator = np.random.default_rng(SEED)
    lateness_s = np.maximum(generator.normal(mean_s, deviation_s, (MOST_TRIALS, threads)), 0.0)
    return planned_s[trials] + lateness_s[:, threads_of_partitions(planned_s.shape[-1], threads)]


def settings(approach: str, message: Message) -> list[int]:
    """The numbers of messages that are compared: of offbeat's own library the default and powers of two."""
    if approach != OWN:
        return [0]
    most = min(message.partitions, MOST_MESSAGES)
    default = message_counts(OWN, message.partitions, message.total_bytes)[0]
    return [0, *(count for count in powers_of_two(most) if count != default)]


def advise(adviser: Adviser, messages: Iterable[tuple[int, Message]]) -> Recommendation:
    """The options for messages that differ in partitions per thread: (partitions per thread, message).

    Options are compared by their time after the last ready partition.
    """
    options, last = [], None
    for per_thread, message in messages:
        last = message
        options += [
            adviser.option(message, approach, setting, per_thread)
            for approach in adviser.fits
            for setting in settings(approach, message)
        ]
    assert last is not None
    single = min(_known([one for one in options if one.approach == SINGLE]), key=lambda one: one.time_s)
    return Recommendation(
        total_bytes=last.total_bytes,
        threads=last.threads,
        source=adviser.source,
        options=ranked([with_gain(one, single) for one in options]),
        too_few=adviser.too_few,
    )


def with_gain(option: Option, single: Option) -> Option:
    """The option with its gain over a single message; that of the single message itself is exactly 1."""
    if option == single:
        return option
    lows, highs = (np.log([getattr(one, key) for one in (single, option)]) for key in ("low_s", "high_s"))
    middle = (lows + highs) / 2
    spread = np.hypot.reduce(highs - lows) / 2
    low, high = (float(np.exp(middle[0] - middle[1] + sign * spread)) for sign in (-1, 1))
    return replace(option, gain=single.time_s / option.time_s, gain_low=low, gain_high=high)


def ranked(options: Sequence[Option]) -> list[Option]:
    """The best option, then the others by their time. Of options as fast as the fastest, the one with the
    fewest messages is the best; an extrapolated one only if all are."""
    by_time = sorted(options, key=lambda one: one.time_s)
    known = _known(by_time)
    fastest = [one for one in known if one.time_s <= known[0].time_s * (1 + TIE)]
    best = min(fastest, key=lambda one: (one.messages, one.approach != SINGLE, one.approach == LEARNED))
    return [best, *(one for one in by_time if one is not best)]


def _known(options: Sequence[Option]) -> Sequence[Option]:
    """The options that are not extrapolated; all, if all are."""
    return [one for one in options if one.rests_on != EXTRAPOLATED] or options


def message_bytes(option: Option, total_bytes: int, threads: int) -> int | None:
    """The value of ``offbeat_message_bytes`` that gives the option's number of messages; None if there is
    none."""
    size = max(1, total_bytes // option.messages)
    partitions = threads * option.partitions_per_thread
    return size if messages_of_bytes(partitions, total_bytes, size) == option.messages else None
