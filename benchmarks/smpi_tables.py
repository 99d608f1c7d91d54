"""Comparisons as tables, and whether they are within the limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby

from smpi_cases import CLOSE, Comparison

from offbeat.base.units import format_size

NEAR = 0.01
MIN_CLOSE_SHARE = 0.95
TIE = CLOSE
EXPECTED_SPEEDUP, EXPECTED_SPEEDUP_EACH = 100, 60
LARGE = 1024
"""The p for which the speedups are expected."""

HEADING = (
    f"{'algorithm':22} {'cases':>9} {'<=0.1%':>7} {'<=1%':>7} {'worst':>8} {'messages':>9}"
    f" {'SMPI ms':>10} {'simulator ms':>12} {'speedup':>10} {'build ms':>9}  evaluation"
)


def print_all(compared: Sequence[Comparison]) -> None:
    """All tables: algorithms, disagreements, best algorithms, missing cases, and sums."""
    key = lambda case: (case.p, case.collective)  # noqa: E731
    for (p, collective), group in groupby(sorted(compared, key=key), key):
        print(f"\n{collective}, p = {p}\n{HEADING}")
        for rows in by_algorithm(group):
            print(_row(rows))
    _print_disagreements(compared)
    _print_best(compared)
    _print_missing(compared)
    print()
    for p in sorted({case.p for case in compared}):
        print(_sum([case for case in compared if case.p == p], p))


def within_limits(compared: Sequence[Comparison]) -> bool:
    """Whether both agree within the limits. Speed is only printed, as it needs an idle machine."""
    known = answered(compared)
    close = sum(case.difference <= CLOSE for case in known)
    return (
        bool(known)
        and close >= MIN_CLOSE_SHARE * len(known)
        and all(case.difference <= NEAR or is_within_spread(case) for case in known)
        and not different_winners(compared)
    )


def is_within_spread(case: Comparison) -> bool:
    """Whether the spread of SMPI's own results explains the difference."""
    return case.spread >= case.difference / 2


def answered(compared: Iterable[Comparison]) -> list[Comparison]:
    """The cases with a result of SMPI."""
    return [case for case in compared if not math.isnan(case.smpi_s)]


def by_algorithm(compared: Iterable[Comparison]) -> list[list[Comparison]]:
    """The cases of each algorithm, in the order of their first cases."""
    rows: dict[tuple[str, int, str], list[Comparison]] = {}
    for case in compared:
        rows.setdefault((case.collective, case.p, case.algorithm), []).append(case)
    return list(rows.values())


def speedup(rows: Iterable[Comparison]) -> float:
    """SMPI's CPU time divided by the simulator's for an algorithm's cases; NaN if SMPI has no results."""
    known = answered(rows)
    return (
        sum(case.smpi_cpu_s for case in known) / sum(case.simulator_cpu_s for case in known)
        if known
        else math.nan
    )


def different_winners(compared: Iterable[Comparison]) -> list[tuple[Comparison, Comparison]]:
    """Configurations with different best algorithms: (the simulator's, SMPI's).

    A tie in SMPI, within the tolerance for agreement, is no difference.
    """
    configurations: dict[tuple[str, int, int, str], list[Comparison]] = {}
    for case in answered(compared):
        configurations.setdefault(case.configuration, []).append(case)
    different = []
    for rows in configurations.values():
        sim_best, smpi_best = (
            min(rows, key=lambda case: case.simulator_s),
            min(rows, key=lambda case: case.smpi_s),
        )
        if sim_best.smpi_s > smpi_best.smpi_s * (1 + TIE):
            different.append((sim_best, smpi_best))
    return different


def _row(rows: Sequence[Comparison]) -> str:
    known = answered(rows)
    close, near = (sum(case.difference <= limit for case in known) for limit in (CLOSE, NEAR))
    worst = max((case.difference for case in known), default=math.nan)
    smpi_ms, simulator_ms = (
        1e3 * sum(times) / max(len(known), 1)
        for times in ([case.smpi_cpu_s for case in known], [case.simulator_cpu_s for case in known])
    )
    build_ms = 1e3 * sum(case.build_cpu_s for case in rows) / len(rows)
    messages = max(case.messages for case in rows)
    cases = f"{len(known)}/{len(rows)}"
    ways = "+".join(sorted({case.evaluation for case in rows}))
    return (
        f"{rows[0].algorithm:22} {cases:>9} {close:7} {near:7} {worst:8.4%} {messages:9}"
        f" {smpi_ms:10.3f} {simulator_ms:12.4f} {speedup(rows):10.0f} {build_ms:9.2f}  {ways}"
    )


def _print_disagreements(compared: Iterable[Comparison]) -> None:
    far = sorted(
        (case for case in answered(compared) if case.difference > CLOSE), key=lambda case: -case.difference
    )
    chance = sum(is_within_spread(case) for case in far)
    print(f"\ndisagreements above {CLOSE:.1%}: {len(far)}, of which {chance} within SMPI's own spread:")
    print("its result changes as much with its clock's precision, or with the seventh digit of latencies")
    for case in far:
        print(
            f"  {case.collective} {case.algorithm}, p = {case.p}, {format_size(case.bytes)}, {case.shape}"
            f" by {case.skew_s:.3g} s: simulator {case.simulator_s * 1e6:.6g} us,"
            f" SMPI {case.smpi_s * 1e6:.6g} us"
            f" ({case.simulator_s / case.smpi_s - 1:+.3%}, {case.evaluation}); spread of SMPI's own results"
            f" {case.spread:.3%}{'' if is_within_spread(case) else ': NOT explained'}"
        )


def _print_best(compared: Sequence[Comparison]) -> None:
    configurations = {case.configuration for case in answered(compared)}
    others = different_winners(compared)
    same = len(configurations) - len(others)
    print(f"\nbest algorithm: the same or a tie in {same} of {len(configurations)} configurations")
    for sim_best, smpi_best in others:
        where = f"{sim_best.collective}, p = {sim_best.p}, {format_size(sim_best.bytes)}, {sim_best.shape}"
        print(
            f"  {where}: simulator {sim_best.algorithm}"
            f" ({sim_best.simulator_s * 1e6:.6g} us, in SMPI {sim_best.smpi_s * 1e6:.6g} us),"
            f" SMPI {smpi_best.algorithm}"
            f" ({smpi_best.simulator_s * 1e6:.6g} us, in SMPI {smpi_best.smpi_s * 1e6:.6g} us)"
        )


def _print_missing(compared: Iterable[Comparison]) -> None:
    print("\nnot compared on all cases:")
    for rows in by_algorithm(compared):
        known = answered(rows)
        reasons = sorted({case.lost for case in rows if case.lost})
        if len(known) < len(rows):
            why = "; ".join(reasons) or "SMPI's budget of CPU time was spent"
            who = f"{rows[0].collective} {rows[0].algorithm}, p = {rows[0].p}"
            print(f"  {who}: {len(known)} of {len(rows)}: {why}")


def _sum(compared: Sequence[Comparison], p: int) -> str:
    known = answered(compared)
    if not known:
        return f"p = {p}: nothing was compared"
    close, near = (sum(case.difference <= limit for case in known) for limit in (CLOSE, NEAR))
    rows = [case for case in by_algorithm(compared) if answered(case)]
    ratios = {f"{cases[0].collective} {cases[0].algorithm}": speedup(cases) for cases in rows}
    least = min(ratios, key=lambda name: ratios[name])
    # case average case of each algorithm: the expensive algorithms have fewer cases
    mixed = _mean_cost(rows, "smpi_cpu_s") / _mean_cost(rows, "simulator_cpu_s")
    return (
        f"p = {p}: {close / len(known):.2%} of {len(known)} cases within {CLOSE:.1%},"
        f" {near / len(known):.2%} within {NEAR:.0%}; speedup over all algorithms {mixed:.0f}"
        f" (expected at p = {LARGE}: {EXPECTED_SPEEDUP}), least {ratios[least]:.0f} (expected:"
        f" {EXPECTED_SPEEDUP_EACH}), {least}"
    )


def _mean_cost(rows: Sequence[Sequence[Comparison]], field: str) -> float:
    return sum(
        sum(getattr(case, field) for case in answered(algorithm)) / len(answered(algorithm))
        for algorithm in rows
    )
