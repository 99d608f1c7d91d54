"""The verdict of a check in one sentence: the 95th percentile of start skew, and its causes."""

from __future__ import annotations

from collections.abc import Iterator

from offbeat.clock.rows import HARMONIZE, Machine
from offbeat.clock.summary import Skew, Summary
from offbeat.study.algorithm import DEFAULT
from offbeat.units import counted, format_time

FEW = 20
"""The least number of starts on time for a 95th percentile."""


def trusted_s(found: Summary) -> float | None:
    """The smallest skew in seconds that exceeds the start's own skew; None if there is none."""
    harmonised = found.skew(HARMONIZE)
    if harmonised is None or harmonised.includes_late or broken(found):
        return None
    return harmonised.trusted_s


def sentence(found: Summary, machine: Machine) -> str:
    """The verdict."""
    return "; ".join([*_sentence(found, machine)]) + "."


def broken(found: Summary) -> int:
    """In how many comparisons the clock's error certainly exceeded its bound, over all methods."""
    return sum(aged.broken for aged in found.aged)


def _sentence(found: Summary, machine: Machine) -> Iterator[str]:
    harmonised = found.skew(HARMONIZE)
    if harmonised is None:
        yield "No verdict yet: no harmonised start was measured"
    elif broken(found):
        checks = sum(aged.count for aged in found.aged)
        methods = ", ".join(dict.fromkeys(aged.method for aged in found.aged if aged.broken))
        yield (
            f"Start skew is unknown here: in {broken(found)} of {counted(checks, 'comparison')} a clock's"
            " error"
            f" exceeded its bound ({methods}): a clock was set during the check, or its drift exceeds the"
            " assumed limits"
        )
    elif harmonised.includes_late:
        yield (
            f"Harmonised starts are not reliable here: {harmonised.on_time} of {harmonised.starts} were on"
            " time,"
            f" and the median skew of all is {format_time(harmonised.median_s, 2)}"
        )
    else:
        yield _trusted(harmonised, machine)
        if harmonised.on_time < FEW:
            yield f"only {harmonised.on_time} starts were on time: measure more with --repetitions"
    yield from _barriers(found)
    if machine.oversubscribed:
        yield _oversubscribed(machine)


def _trusted(harmonised: Skew, machine: Machine) -> str:
    share = harmonised.on_time / harmonised.starts
    clock = (
        "all processes read one physical clock, which adds no error"
        if machine.shared
        else f"of which {format_time(harmonised.error_s, 2)} are the clocks' error"
    )
    return (
        f"95th percentile of start skew: {format_time(harmonised.trusted_s, 2)} for {machine.p} processes"
        " with"
        f" a harmonised start ({_percent(share)} of {harmonised.starts} starts were on time), {clock}"
    )


def _barriers(found: Summary) -> Iterator[str]:
    """The 95th percentile of the observed skew of the best barrier and of the library's own choice."""
    if not found.barriers:
        return
    best = min(found.barriers, key=lambda one: one.high_s)
    own = next((one for one in found.barriers if one.start == DEFAULT), None)
    text = f"with the best barrier ({best.start}) it is {format_time(best.high_s, 2)}"
    if own is not None and own is not best:
        text += f", with the library's own choice {format_time(own.high_s, 2)}"
    yield text


def _oversubscribed(machine: Machine) -> str:
    cores = f"{counted(machine.cores, 'core')}" if machine.cores else "fewer cores"
    return (
        f"but {machine.p} processes share {cores} here, so these times are mostly waiting for a core: check"
        " again with a core for each process"
    )


def _percent(share: float) -> str:
    """At most 99.9% unless the share is exactly 1."""
    return "100%" if share == 1 else f"{min(99.9, 100 * share):.3g}%"
