"""Checks of the clock without MPI: rows as a driver would have answered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from offbeat.measurement.clock_check.check_plan import CheckSettings
from offbeat.measurement.clock_check.directory import CheckDirectory
from offbeat.measurement.clock_check.rows import (
    HARMONIZE,
    Accuracy,
    CheckedAlgorithms,
    Machine,
    Row,
    Start,
    Sync,
)
from offbeat.model.study.algorithm import Algorithm, Verdict

US = 1000
"""Nanoseconds."""


def plan(**changes: object) -> CheckSettings:
    return CheckSettings(
        **({"library": "Open MPI 5.0.11", "p": 4, "methods": ["constraints", "offset"]} | changes)
    )


def machine(**changes: object) -> Machine:
    usual = {
        "host": "n1",
        "library": "Open MPI 5.0.11",
        "p": 4,
        "hosts": ["n1"],
        "clock": "CLOCK_MONOTONIC",
        "shared": True,
        "oversubscribed": False,
        "cores": 8,
        "command": "mpirun -n 4 offbeat-driver",
        "time": "2026-01-02T03:04:05+00:00",
        "offbeat": "0.1.0",
    }
    return Machine(**(usual | changes))


def checked_algorithms(*refused: str) -> CheckedAlgorithms:
    names = [("barrier", "default"), ("barrier", "tree"), ("barrier", "double_ring")]
    names += [("reduce", "default"), ("reduce", "binomial"), ("reduce", "linear")]
    return CheckedAlgorithms(
        algorithms=[Algorithm(collective=collective, name=name) for collective, name in names],
        verdicts=[
            Verdict(
                collective=collective,
                algorithm=name,
                p=4,
                bytes=0 if collective == "barrier" else 8,
                status="refused" if name in refused else "proved",
                reason="it would not <run>" if name in refused else "",
                evidence=f"functions:{collective}_{name}",
            )
            for collective, name in names
        ],
    )


def starts(
    start: str,
    skews_us: Sequence[float],
    *,
    error_us: float = 0.0,
    algorithm: str = "",
    average_us: float = 1.0,
    verdicts: Sequence[int] = (),
    number: int = 0,
    p: int = 4,
) -> Start:
    """Starts with these skews, each with a collective that takes ``average_us`` on every process."""
    count = len(skews_us)
    skew_ns = [round(skew * US) for skew in skews_us]
    return Start(
        step=f"start {number} {start} {algorithm}".strip(),
        round=number,
        start=start,
        collective="reduce" if algorithm else "",
        algorithm=algorithm,
        bytes=8 if algorithm else 0,
        skew_ns=skew_ns,
        least_skew_ns=[max(0, skew - round(error_us * US)) for skew in skew_ns],
        most_skew_ns=[skew + round(error_us * US) for skew in skew_ns],
        taken_ns=[round(average_us * US * p)] * count,
        longest_ns=[round(2 * average_us * US)] * count,
        last_delay_ns=[round(average_us * US)] * count,
        verdicts=list(verdicts) or [0] * count,
        lags_ns=[rank * US for rank in range(p)],
    )


def comparisons(
    *about: tuple[int, float, float, float], distorted: bool = True, width_us: float = 0.1
) -> Accuracy:
    """Comparisons: (method, age in seconds, error in µs, bound in µs) each."""
    methods, ages_s, errors_us, bounds_us = zip(*about, strict=True)
    return Accuracy(
        step="accuracy bent" if distorted else "accuracy real",
        is_distorted=distorted,
        names=["constraints", "offset"],
        methods=list(methods),
        rounds=[0] * len(about),
        ranks=[1] * len(about),
        planned_ns=[round(age * 1e9) for age in ages_s],
        ages_ns=[round((age + 1e-5) * 1e9) for age in ages_s],
        low_ns=[round((error - width_us / 2) * US) for error in errors_us],
        high_ns=[round((error + width_us / 2) * US) for error in errors_us],
        bound_ns=[round(bound * US) for bound in bounds_us],
        physical=True,
    )


def sync(method: str, processes: int, taken_us: Sequence[float], *, distorted: bool = True) -> Sync:
    return Sync(
        step=f"sync {distorted} {method} {processes}",
        method=method,
        processes=processes,
        is_distorted=distorted,
        taken_ns=[round(taken * US) for taken in taken_us],
        exchanges=[10] * len(taken_us),
        bound_ns=[300] * len(taken_us),
    )


def rows() -> list[Row]:
    """A complete check: the harmonised start is good, and double_ring makes linear look fast."""
    times_us = {
        ("binomial", HARMONIZE): 2.0,
        ("binomial", "default"): 2.2,
        ("binomial", "double_ring"): 4.0,
        ("linear", HARMONIZE): 8.0,
        ("linear", "default"): 8.0,
        ("linear", "double_ring"): 0.4,
    }
    skews = {HARMONIZE: 0.2, "default": 3.0, "double_ring": 40.0}
    return [
        *(starts(name, [skew * (1 + i / 100) for i in range(20)]) for name, skew in skews.items()),
        *(
            starts(start, [skews[start]] * 10, algorithm=algorithm, average_us=time_us)
            for (algorithm, start), time_us in times_us.items()
        ),
        *(
            sync(name, p, [scale * p] * 5)
            for name, scale in (("constraints", 3), ("offset", 2))
            for p in (2, 4)
        ),
        comparisons(
            *((0, age, 0.02, 0.3 + age) for age in (0.0, 0.1, 1.0)),
            *((1, age, 18 * age, 0.3 + 400 * age) for age in (0.0, 0.1, 1.0)),
        ),
    ]


def keep(directory: Path, kept_rows: Sequence[Row] | None = None, **changes: object) -> Path:
    """A directory with a check; ``changes`` are of its machine."""
    with CheckDirectory(directory, plan()) as check_directory:
        check_directory.update_head(machine=machine(**changes), algorithms=checked_algorithms("tree"))
        for row in rows() if kept_rows is None else kept_rows:
            check_directory.append(row)
    return directory
