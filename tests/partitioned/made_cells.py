"""Cells of a machine whose messages cost exactly what is stated, with or without noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from offbeat.model.pattern.shapes import delays
from offbeat.partitioned.cells import Cell, Measured
from offbeat.partitioned.cost_fit import Fit
from offbeat.partitioned.costs import Costs, approach_time_s

COSTS = Costs(
    latency_s=8e-7,
    message_s=3e-7,
    partition_s=4e-8,
    contention=0.5,
    eager_below=8192,
    eager_bandwidth=4e9,
    rendezvous_latency_s=1.5e-6,
    rendezvous_message_s=9e-7,
    rendezvous_bandwidth=9e9,
    eager_progress=0.95,
    rendezvous_progress=0.9,
)

DELAYS = [("no_delay", 0.0), ("last_delayed", 3e-5), ("last_delayed", 6e-4), ("ascending", 6e-4)]


def cells(
    approach: str,
    costs: Costs = COSTS,
    noise: float = 0.0,
    sizes: Sequence[int] = (2**10, 2**14, 2**18, 2**22),
    threads: Sequence[int] = (1, 2),
    seed: int = 1,
) -> list[Cell]:
    """A cell for each size, 4 and 16 partitions, number of threads and delay."""
    generator = np.random.default_rng([seed, *approach.encode()])
    made = []
    for size in sizes:
        for partitions in (4, 16):
            for count in threads:
                for shape, delay_s in DELAYS:
                    ready_s = delays(shape, partitions, delay_s) if delay_s else np.zeros(partitions)
                    exact_s = float(approach_time_s(costs, approach, ready_s[None], size, count)[0])
                    time_s = exact_s * float(np.exp(noise * generator.normal()))
                    made.append(
                        Cell(
                            approach=approach,
                            total_bytes=size,
                            threads=count,
                            pattern=f"{shape} {delay_s}",
                            ready_s=ready_s,
                            time_s=time_s,
                            low_s=time_s * np.exp(-2 * noise),
                            high_s=time_s * np.exp(2 * noise),
                        )
                    )
    return made


def measured(made: list[Cell]) -> Measured:
    """The cells as those of a study."""
    return Measured(
        cells=made,
        noise_s=(1e-7, 2e-8),
        source="a made-up library on a host",
        date="2026-01-01",
        nodes=1,
        cores=4,
    )


def fitted(approach: str, costs: Costs = COSTS) -> Fit:
    """What a fit of exact cells finds."""
    ranges = {"sizes": (2**10, 2**22), "partitions": (4, 16), "threads": (1, 2), "delays_s": (0.0, 6e-4)}
    return Fit(approach=approach, costs=costs, low=costs, high=costs, error=0.05, **ranges)
