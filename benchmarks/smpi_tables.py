"""What was compared, as tables; and whether it is as promised."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby

from smpi_cases import CLOSE, Compared

from offbeat.units import format_size

NEAR = 0.01
WANTED_CLOSE = 0.95
TIE = CLOSE
WANTED_FASTER, WANTED_FASTER_EACH = 100, 60
LARGE = 1024
"""The p at which the speeds are promised."""

HEADING = (
    f"{'algorithm':22} {'cases':>9} {'<=0.1%':>7} {'<=1%':>7} {'worst':>8} {'messages':>9}"
    f" {'SMPI ms':>10} {'ours ms':>9} {'times less':>10} {'build ms':>9}  evaluation"
)


def print_all(compared: Sequence[Compared]) -> None:
    """Everything: tables, disagreements, best algorithms, what is missing, and the sums."""
    key = lambda one: (one.p, one.collective)  # noqa: E731
    for (p, collective), group in groupby(sorted(compared, key=key), key):
        print(f"\n{collective}, p = {p}\n{HEADING}")
        for rows in by_algorithm(group):
            print(_line(rows))
    _print_disagreements(compared)
    _print_best(compared)
    _print_missing(compared)
    print()
    for p in sorted({one.p for one in compared}):
        print(_sum([one for one in compared if one.p == p], p))


def promises_kept(compared: Sequence[Compared]) -> bool:
    """Whether both agree as promised. Speed is printed, not judged: it needs a quiet machine."""
    known = answered(compared)
    close = sum(one.off <= CLOSE for one in known)
    return (
        bool(known)
        and close >= WANTED_CLOSE * len(known)
        and all(one.off <= NEAR or is_chance(one) for one in known)
        and not other_winners(compared)
    )


def is_chance(case: Compared) -> bool:
    """Whether SMPI's own answers are about as far apart as ours is from it."""
    return case.spread >= case.off / 2


def answered(compared: Iterable[Compared]) -> list[Compared]:
    """The cases that SMPI has an answer to."""
    return [one for one in compared if not math.isnan(one.theirs_s)]


def by_algorithm(compared: Iterable[Compared]) -> list[list[Compared]]:
    """The cases of each algorithm, in the order of the first one."""
    found: dict[tuple[str, int, str], list[Compared]] = {}
    for one in compared:
        found.setdefault((one.collective, one.p, one.algorithm), []).append(one)
    return list(found.values())


def times_less(rows: Iterable[Compared]) -> float:
    """How many times less CPU time ours takes for an algorithm's cases; NaN where SMPI has no answers."""
    known = answered(rows)
    return (
        sum(one.theirs_cpu_s for one in known) / sum(one.ours_cpu_s for one in known) if known else math.nan
    )


def other_winners(compared: Iterable[Compared]) -> list[tuple[Compared, Compared]]:
    """Cells in which our best algorithm is not SMPI's: (ours, SMPI's), both among what was compared.

    A tie in SMPI, to within what counts as close, is no difference.
    """
    cells: dict[tuple[str, int, int, str], list[Compared]] = {}
    for one in answered(compared):
        cells.setdefault(one.cell, []).append(one)
    found = []
    for rows in cells.values():
        ours, theirs = min(rows, key=lambda one: one.ours_s), min(rows, key=lambda one: one.theirs_s)
        if ours.theirs_s > theirs.theirs_s * (1 + TIE):
            found.append((ours, theirs))
    return found


def _line(rows: Sequence[Compared]) -> str:
    known = answered(rows)
    close, near = (sum(one.off <= limit for one in known) for limit in (CLOSE, NEAR))
    worst = max((one.off for one in known), default=math.nan)
    theirs_ms, ours_ms = (
        1e3 * sum(times) / max(len(known), 1)
        for times in ([one.theirs_cpu_s for one in known], [one.ours_cpu_s for one in known])
    )
    build_ms = 1e3 * sum(one.build_cpu_s for one in rows) / len(rows)
    messages = max(one.messages for one in rows)
    cases = f"{len(known)}/{len(rows)}"
    ways = "+".join(sorted({one.evaluation for one in rows}))
    return (
        f"{rows[0].algorithm:22} {cases:>9} {close:7} {near:7} {worst:8.4%} {messages:9}"
        f" {theirs_ms:10.3f} {ours_ms:9.4f} {times_less(rows):10.0f} {build_ms:9.2f}  {ways}"
    )


def _print_disagreements(compared: Iterable[Compared]) -> None:
    far = sorted((one for one in answered(compared) if one.off > CLOSE), key=lambda one: -one.off)
    chance = sum(is_chance(one) for one in far)
    print(
        f"\ndisagreements above {CLOSE:.1%}: {len(far)}, of which {chance} by chance: there SMPI's own answer"
    )
    print("moves as far with the precision of its clock, or with the seventh digit of latencies")
    for one in far:
        print(
            f"  {one.collective} {one.algorithm}, p = {one.p}, {format_size(one.bytes)}, {one.shape}"
            f" by {one.skew_s:.3g} s: ours {one.ours_s * 1e6:.6g} us, SMPI {one.theirs_s * 1e6:.6g} us"
            f" ({one.ours_s / one.theirs_s - 1:+.3%}, {one.evaluation}); SMPI's own answers spread over"
            f" {one.spread:.3%}{'' if is_chance(one) else ': NOT explained'}"
        )


def _print_best(compared: Sequence[Compared]) -> None:
    cells = {one.cell for one in answered(compared)}
    others = other_winners(compared)
    same = len(cells) - len(others)
    print(f"\nbest algorithm: the same one, or one that ties with it, in {same} of {len(cells)} cells")
    for ours, theirs in others:
        where = f"{ours.collective}, p = {ours.p}, {format_size(ours.bytes)}, {ours.shape}"
        print(
            f"  {where}: ours {ours.algorithm}"
            f" ({ours.ours_s * 1e6:.6g} us, in SMPI {ours.theirs_s * 1e6:.6g} us), SMPI {theirs.algorithm}"
            f" ({theirs.ours_s * 1e6:.6g} us, in SMPI {theirs.theirs_s * 1e6:.6g} us)"
        )


def _print_missing(compared: Iterable[Compared]) -> None:
    print("\nnot compared on all cases:")
    for rows in by_algorithm(compared):
        known = answered(rows)
        reasons = sorted({one.lost for one in rows if one.lost})
        if len(known) < len(rows):
            why = "; ".join(reasons) or "SMPI's budget of CPU time was spent"
            who = f"{rows[0].collective} {rows[0].algorithm}, p = {rows[0].p}"
            print(f"  {who}: {len(known)} of {len(rows)}: {why}")


def _sum(compared: Sequence[Compared], p: int) -> str:
    known = answered(compared)
    if not known:
        return f"p = {p}: nothing was compared"
    close, near = (sum(one.off <= limit for one in known) for limit in (CLOSE, NEAR))
    rows = [one for one in by_algorithm(compared) if answered(one)]
    ratios = {f"{one[0].collective} {one[0].algorithm}": times_less(one) for one in rows}
    least = min(ratios, key=lambda name: ratios[name])
    # one average case of each algorithm: the expensive ones were asked for fewer
    mixed = _mean_cost(rows, "theirs_cpu_s") / _mean_cost(rows, "ours_cpu_s")
    return (
        f"p = {p}: {close / len(known):.2%} of {len(known)} cases within {CLOSE:.1%},"
        f" {near / len(known):.2%} within {NEAR:.0%}; CPU time over all algorithms {mixed:.0f} times less"
        f" (wanted at p = {LARGE}: {WANTED_FASTER}), least {ratios[least]:.0f} times (wanted:"
        f" {WANTED_FASTER_EACH}), {least}"
    )


def _mean_cost(rows: Sequence[Sequence[Compared]], what: str) -> float:
    return sum(
        sum(getattr(one, what) for one in answered(algorithm)) / len(answered(algorithm))
        for algorithm in rows
    )
