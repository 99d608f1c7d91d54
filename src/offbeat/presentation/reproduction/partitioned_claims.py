"""The claims of the partitioned paper about its figures 4 to 8, checked against measurements."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, takewhile

from offbeat.base.units import US_PER_MB, amount, enumeration, format_size
from offbeat.partitioned.gain_model import gain_by_delay_rate
from offbeat.presentation.reproduction.claims import Claim, Observation, all_hold, explained, most_hold
from offbeat.presentation.reproduction.partitioned_figure import AGGREGATIONS, RMA, aggregated, each_partition
from offbeat.presentation.reproduction.partitioned_lines import Measured

SMALL_BYTES = 16384
"""Messages below this size are small (section 2.2.2 of the paper: much less than 16 kB)."""

LARGE_BYTES = 2**20
"""Messages from this size on are large: their time is that of the bandwidth."""

ALIKE = 1.25
"""Two times agree if neither is longer than the other by more than this factor."""

NEAR_THEORY = 0.85
"""The share of a predicted gain that counts as agreement; the paper measured 0.95 of it."""

Check = Callable[[Measured], Observation | None]


def remarks(results: Measured, interfaces_variable: str) -> list[str]:
    """What differs from the paper's machine and library, as sentences."""
    one = results.setting
    lines = []
    if one.threads != one.figure.threads:
        lines.append(
            f"The paper has {one.figure.threads} threads; these are {one.threads}, because this node has"
            f" {amount(one.cores, 'core')} (--threads takes another number)."
        )
    if one.shares_cores and one.threads > 1:
        lines.append(
            f"{amount(one.threads, 'thread')} and the receiver share {amount(one.cores, 'core')}: the times"
            " include waiting for a core, so that the scheduler is measured, too."
        )
    if one.nodes == 1:
        lines.append("Both processes are on one node; the paper's are on two nodes with 25 GB/s.")
    if one.figure.has_interfaces:
        lines.append(f"offbeat has {amount(one.threads, 'lane')}, which its messages use in turn.")
        lines.append(
            f"{interfaces_variable} = {one.threads}: the variable's real name; the paper writes"
            " MPIR_CVAR_NUM_VCIS."
            if interfaces_variable
            else f"{results.library} has no variable for interfaces: only offbeat differs from figure 5."
        )
    if one.figure.number == 7:
        lines.append(
            "MPIR_CVAR_PART_AGGR_SIZE is in no release of MPICH: offbeat's own library aggregates here."
        )
    if results.few:
        lines.append(
            f"{amount(results.few, 'case')} started late too"
            " often and have fewer repetitions than required: other programs ran, or threads waited for"
            " cores."
        )
    if missing := [name for name in one.figure.approaches if name not in results.times]:
        whys = [f"{name} ({why})" if (why := results.reasons.get(name)) else name for name in missing]
        lines.append(f"Not measured with {results.library}: {enumeration(whys)}.")
    return lines


def sentences(results: Measured) -> list[str]:
    """A line for each claim about the figure that can be checked."""
    lines = []
    for claim in CLAIMS[results.setting.figure.number]:
        observation = claim.check(results)
        if observation is not None:
            lines.append(explained(claim, "Measured", observation))
    return lines


def _small(sizes: Sequence[int]) -> list[int]:
    return [size for size in sizes if size < SMALL_BYTES]


def _large(sizes: Sequence[int]) -> list[int]:
    return [size for size in sizes if size >= LARGE_BYTES]


def _at(place: int, one: str, other: str, *, at_least: float = 0.0, at_most: float = math.inf) -> Check:
    """Whether the time of one approach over another's is in a range, at the smallest small size (0) or the
    largest large one (-1)."""

    def check(results: Measured) -> Observation | None:
        sizes = (_small if place == 0 else _large)(results.common_sizes(one, other))
        if not sizes or (ratio := results.ratio(one, other, sizes[place])) is None:
            return None
        text = f"{one} takes {ratio} times as long as {other} at {format_size(sizes[place])}"
        return Observation(text, ratio.is_within(at_least, at_most))

    return check


def _mostly(one: str, other: str, *, at_least: float = 0.0, at_most: float = math.inf) -> Check:
    """The same at most sizes."""

    def check(results: Measured) -> Observation | None:
        each = [results.ratio(one, other, size) for size in results.common_sizes(one, other)]
        ratios = [ratio for ratio in each if ratio]
        values = [ratio.middle_s for ratio in ratios]
        if not values:
            return None
        text = (
            f"{one} takes {min(values):.3g} to {max(values):.3g} times as long as {other}, median"
            f" {statistics.median(values):.3g}"
        )
        return Observation(text, most_hold(ratio.is_within(at_least, at_most) for ratio in ratios))

    return check


def _fastest(one: str, others: Callable[[Measured], Sequence[str]]) -> Check:
    """Whether an approach is the fastest at most small sizes."""

    def is_fastest(results: Measured, names: Sequence[str], size: int) -> bool | None:
        ratios = [results.ratio(one, name, size) for name in names if name != one]
        return all_hold(ratio.is_within(at_most=1.0) for ratio in ratios if ratio)

    def check(results: Measured) -> Observation | None:
        names = [name for name in (one, *others(results)) if name in results.times]
        sizes = _small(results.common_sizes(*names)) if names else []
        if one not in names or not sizes:
            return None
        best = [min(names, key=lambda name: results.times[name][size].middle_s) for size in sizes]
        count = best.count(one)
        text = f"{one} at {count} of {amount(len(sizes), 'size')} below {format_size(SMALL_BYTES)}"
        if elsewhere := list(dict.fromkeys(name for name in best if name != one)):
            text += f", elsewhere {enumeration(elsewhere)}"
        return Observation(text, most_hold(is_fastest(results, names, size) for size in sizes))

    return check


def _rma_is_slower(results: Measured) -> Observation | None:
    names = [name for name in RMA if name in results.times]
    sizes = _small(results.common_sizes("single", *names)) if names else []
    each = [results.ratio(name, "single", sizes[0]) for name in names] if sizes else []
    ratios = [ratio for ratio in each if ratio]
    values = [ratio.middle_s for ratio in ratios]
    if not values:
        return None
    text = f"{min(values):.3g} to {max(values):.3g} times as long as single at {format_size(sizes[0])}"
    return Observation(text, all_hold(ratio.is_within(at_least=1.0) for ratio in ratios))


def _aggregation_helps(results: Measured) -> Observation | None:
    """Aggregated messages against one a partition, where the rule of figure 7 aggregates."""
    each = each_partition(results.setting.figure.partitions)
    ratios = [
        ratio
        for message_bytes in AGGREGATIONS
        for size in results.common_sizes(aggregated(message_bytes), each)
        if size <= results.setting.figure.partitions * message_bytes // 2
        and (ratio := results.ratio(aggregated(message_bytes), each, size))
    ]
    if not ratios:
        return None
    faster = sum(ratio.middle_s < 1 for ratio in ratios)
    text = f"faster than a message for each partition in {faster} of {amount(len(ratios), 'case')}"
    return Observation(text, most_hold(ratio.is_within(at_most=1.0) for ratio in ratios))


def theoretical_gain(results: Measured) -> float | None:
    """Equation 4 for this machine: β is the bandwidth of the single message at the largest size."""
    single = results.times.get("single")
    if not single:
        return None
    size = max(single)
    bandwidth = size / single[size].middle_s
    one = results.setting
    return gain_by_delay_rate(one.figure.partitions, one.delay_rate * US_PER_MB, bandwidth)


def _gain_is_predicted(results: Measured) -> Observation | None:
    each = each_partition(results.setting.figure.partitions)
    sizes, theory = _large(results.common_sizes("single", each)), theoretical_gain(results)
    ratio = results.ratio("single", each, sizes[-1]) if sizes else None
    if ratio is None or theory is None:
        return None
    text = f"{ratio} at {format_size(sizes[-1])}, where equation 4 gives {theory:.3g} for the bandwidth here"
    return Observation(text, ratio.is_within(at_least=NEAR_THEORY * theory))


def _gains_are_alike(results: Measured) -> Observation | None:
    names = [name for name in results.times if name not in ("single", "library")]
    sizes = _large(results.common_sizes("single", *names)) if names else []
    gains = {name: ratio for name in names if sizes and (ratio := results.ratio("single", name, sizes[-1]))}
    if len(gains) < 2:
        return None
    text = ", ".join(f"{gain.middle_s:.3g} with {name}" for name, gain in gains.items())
    ratios = [results.ratio(one, other, sizes[-1]) for one, other in combinations(gains, 2)]
    are_alike = all_hold(ratio.is_within(1 / ALIKE, ALIKE) for ratio in ratios if ratio)
    return Observation(f"{text} at {format_size(sizes[-1])}", are_alike)


def _trade_off(results: Measured) -> Observation | None:
    """From which size on the partitions are faster, up to the largest size."""
    each = each_partition(results.setting.figure.partitions)
    sizes = results.common_sizes("single", each)
    if not _small(sizes) or not _large(sizes):
        return None
    faster = {
        size: ratio.is_within(at_least=1.0)
        for size in sizes
        if (ratio := results.ratio("single", each, size))
    }
    first = _first(sizes, faster, lambda is_faster: is_faster is True)
    possible = _first(sizes, faster, lambda is_faster: is_faster is not False)
    if possible is None:
        return Observation(f"{each} is not faster at the largest size", holds=False)
    between = [size for size in sizes if possible <= size <= (first or math.inf)]
    are_near = {25e3 <= size <= 400e3 for size in between} | (set() if first else {False})
    holds = None if len(are_near) > 1 else are_near.pop()
    surely = f"surely from {format_size(first)} on" if first else "not surely at the largest size"
    return Observation(f"{each} may be faster from {format_size(possible)} on, {surely}", holds)


def _first(
    sizes: Sequence[int],
    faster: Mapping[int, bool | None],
    accepts: Callable[[bool | None], bool],
) -> int | None:
    """The smallest size from which on all sizes are accepted; None if the largest is not."""
    accepted = list(takewhile(lambda size: accepts(faster.get(size, False)), reversed(sizes)))
    return accepted[-1] if accepted else None


def _approaches(results: Measured) -> list[str]:
    """The paper's: offbeat's own aggregation sends small messages at once, as ``single`` does."""
    return [name for name in results.times if name not in ("single", "offbeat")]


NOT_RELEASED = (
    "The paper's improved MPICH was not released; the library's own calls differ between libraries."
)
SHARED_MEMORY = "Messages inside a node cost no network latency; processors copy them."
FEW_THREADS = "Contention grows with the number of threads that have a core: the paper's 32 do."
NO_INTERFACES = "Inside a node, messages go through shared memory, which has no such interfaces."
ONE_COPY = (
    "Equation 4 knows one bandwidth: on a node, that of a message depends on its size, on caches and on who"
    " copies; and the early partitions can only move while a process is in MPI."
)

CLAIMS: dict[int, tuple[Claim[Measured], ...]] = {
    4: (
        Claim(
            says="The existing implementation is slower than the improved one at all sizes (by 3.18 at one).",
            check=_mostly("library", "offbeat", at_least=1.0),
            differs=NOT_RELEASED,
        ),
        Claim(
            says="The improved implementation is as fast as a single message.",
            check=_mostly("offbeat", "single", at_most=ALIKE),
            differs="offbeat's library counts its partitions and polls by itself.",
        ),
        Claim(
            says="Many messages are as fast as a single one if there is one partition.",
            check=_mostly("many", "single", at_least=1 / ALIKE, at_most=ALIKE),
        ),
        Claim(says="RMA is slower for small messages.", check=_rma_is_slower, differs=SHARED_MEMORY),
        Claim(
            says="The difference between RMA and messages vanishes for large messages.",
            check=_at(-1, "rma_passive_single", "single", at_least=1 / ALIKE, at_most=ALIKE),
            differs="On a node, MPI_Put copies once, and a message may be copied twice.",
        ),
    ),
    5: (
        Claim(
            says="A single message is the fastest approach for small messages.",
            check=_fastest("single", _approaches),
            differs=SHARED_MEMORY,
        ),
        Claim(
            says="One message for each partition takes 29.76 times as long as a single message of 1 kB.",
            check=_at(0, each_partition(32), "single", at_least=29.76 / 2, at_most=29.76 * 2),
            differs=FEW_THREADS,
        ),
        Claim(
            says="Partitions and many messages have about the same overhead.",
            check=_mostly(each_partition(32), "many", at_least=1 / ALIKE, at_most=ALIKE),
        ),
        Claim(
            says="MPI_Put on many windows is slower than on one window for small messages.",
            check=_at(0, "rma_passive_many", "rma_passive_single", at_least=1.0),
            differs="There is a window for each thread, not for each partition.",
        ),
    ),
    6: (
        Claim(
            says="With an interface for each thread, many messages are as fast as a single one.",
            check=_at(0, "many", "single", at_most=ALIKE),
            differs=NO_INTERFACES,
        ),
        Claim(
            says="Partitions still take longer than a single message, 4.04 times at 1 kB.",
            check=_at(0, each_partition(32), "single", at_least=4.04 / 2, at_most=4.04 * 2),
            differs=NO_INTERFACES,
        ),
        Claim(
            says="MPI_Put on many windows is faster than on one window.",
            check=_at(0, "rma_passive_many", "rma_passive_single", at_most=1.0),
            differs=NO_INTERFACES,
        ),
    ),
    7: (
        Claim(
            says="Without aggregation, partitions are as fast as many messages.",
            check=_mostly(each_partition(128), "many", at_least=1 / ALIKE, at_most=ALIKE),
        ),
        Claim(
            says="Many messages take about 10 times as long as a single small one.",
            check=_at(0, "many", "single", at_least=5.0),
            differs=FEW_THREADS,
        ),
        Claim(
            says="With aggregation it is 3.13 times at the smallest size, or less.",
            check=_at(0, aggregated(AGGREGATIONS[-1]), "single", at_most=3.13 * ALIKE),
        ),
        Claim(
            says="Aggregation is faster for messages below 128 times the aggregated size.",
            check=_aggregation_helps,
        ),
        Claim(
            says="A single message stays the fastest for small messages.",
            check=_fastest("single", _approaches),
            differs="The counters of partitions cost less here than the barrier of threads does.",
        ),
    ),
    8: (
        Claim(
            says="The early-bird gain is near the theory: 2.54 of 2.67 with 25 GB/s.",
            check=_gain_is_predicted,
            differs=ONE_COPY,
        ),
        Claim(says="The gain of all approaches is the same.", check=_gains_are_alike, differs=ONE_COPY),
        Claim(
            says="Small messages are slower in partitions than as a single message.",
            check=_at(0, each_partition(4), "single", at_least=1.0),
        ),
        Claim(says="Partitions are faster from about 100 kB on.", check=_trade_off, differs=SHARED_MEMORY),
        Claim(
            says="The existing implementation has no early-bird effect.",
            check=_at(-1, "library", "single", at_least=1 / 1.1),
            differs=NOT_RELEASED,
        ),
    ),
}
"""Number of the figure → its claims."""
