"""The verdict in one sentence: how small a skew can be trusted here, and why."""

from __future__ import annotations

from collections.abc import Iterator

from offbeat.clock.rows import HARMONIZE, Machine
from offbeat.clock.summary import Skew, Summary
from offbeat.study.algorithm import DEFAULT
from offbeat.units import counted, format_time

FEW = 20
"""So many starts on time are needed to speak of 95% of them."""


def trusted_s(found: Summary) -> float | None:
    """The smallest skew in seconds that can be told from that of the start; None where none can."""
    harmonised = found.skew(HARMONIZE)
    if harmonised is None or harmonised.forgiven or broken(found):
        return None
    return harmonised.trusted_s


def sentence(found: Summary, machine: Machine) -> str:
    """The verdict."""
    return "; ".join([*_sentence(found, machine)]) + "."


def broken(found: Summary) -> int:
    """In how many comparisons the clock was beyond its bound for certain, whatever the method."""
    return sum(aged.broken for aged in found.aged)


def _sentence(found: Summary, machine: Machine) -> Iterator[str]:
    harmonised = found.skew(HARMONIZE)
    if harmonised is None:
        yield "Nothing can be said yet: no harmonised start was measured"
    elif broken(found):
        checks = sum(aged.count for aged in found.aged)
        methods = ", ".join(dict.fromkeys(aged.method for aged in found.aged if aged.broken))
        yield (
            f"No skew can be trusted here: in {broken(found)} of {counted(checks, 'comparison')} a clock was"
            f" further off than its bound ({methods}), so it was set meanwhile, or drifts beyond all limits"
        )
    elif harmonised.forgiven:
        yield (
            f"No skew can be trusted here: {harmonised.on_time} of {harmonised.starts} harmonised starts were"
            f" on time, and half of all let the processes go more than {format_time(harmonised.median_s, 2)}"
            " apart"
        )
    else:
        yield _trusted(harmonised, machine)
        if harmonised.on_time < FEW:
            yield f"only {harmonised.on_time} starts say so: ask for more with --repetitions"
    yield from _barriers(found)
    if machine.crowded:
        yield _crowded(machine)


def _trusted(harmonised: Skew, machine: Machine) -> str:
    share = harmonised.on_time / harmonised.starts
    clock = (
        "all processes read one physical clock, which adds nothing"
        if machine.shared
        else f"of which {format_time(harmonised.error_s, 2)} are the clocks' own error"
    )
    return (
        f"Skews of {format_time(harmonised.trusted_s, 2)} and more can be trusted here, as 95% of the"
        f" harmonised starts on time ({_percent(share)} of {harmonised.starts}) let {machine.p} processes go"
        f" no further apart, {clock}"
    )


def _barriers(found: Summary) -> Iterator[str]:
    """How far apart 95% of a barrier's starts let the processes go, as far as was seen."""
    if not found.barriers:
        return
    best = min(found.barriers, key=lambda one: one.high_s)
    own = next((one for one in found.barriers if one.start == DEFAULT), None)
    words = f"the best barrier ({best.start}) lets them go {format_time(best.high_s, 2)} apart"
    if own is not None and own is not best:
        words += f", the library's own choice {format_time(own.high_s, 2)}"
    yield words


def _crowded(machine: Machine) -> str:
    cores = f"{counted(machine.cores, 'core')}" if machine.cores else "fewer cores"
    return (
        f"but {machine.p} processes share {cores} here, so all of this is mostly waiting for a core: check"
        " again with a core for each process before you believe any of it"
    )


def _percent(share: float) -> str:
    """Never a rounded 100% that isn't one."""
    return "100%" if share == 1 else f"{min(99.9, 100 * share):.3g}%"
