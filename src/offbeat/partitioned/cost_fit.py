"""Fitting the costs of each approach to measured cells.

The squared errors of the logarithms of d̂ are minimised (SciPy's trust-region method, in the logarithms of
the costs, with bounded influence of outliers). Weak priors keep costs finite that the cells do not determine,
such as contention where all cells have one thread; such costs have wide intervals. The size from which
messages use the rendezvous protocol is one of the measured sizes: each is tried. Intervals are those of the
linearised model at the minimum.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from offbeat.base.errors import BadInput
from offbeat.model.platform.schema import (
    INT32_MAX,
    MOST_ERROR,
    InsideSection,
    LinkSection,
    PartitionedSection,
    PlatformFile,
)
from offbeat.model.study.case_expansion import NO_DELAY
from offbeat.partitioned.cells import Cell, Measured
from offbeat.partitioned.costs import SINGLE, Costs, approach_time_s, message_counts

Array = NDArray[np.float64]
ValueT = TypeVar("ValueT", int, float)

LEAST_ERROR = 0.03
"""The relative error of the model that the fit allows at least."""

MOST_STEPS = 10
"""Sizes that are tried as the beginning of the rendezvous protocol."""

COARSE, FINE, FINISHED = 6, 30, 4
"""Steps of the minimisation from each start, further ones from the best starts, and how many these are."""

FEWEST_CELLS = 4

PRIOR_WIDTH = 3.0
"""Standard deviation of the priors, which are of logarithms: 3 is a factor of 20."""

FITTED = (
    "latency_s",
    "message_s",
    "partition_s",
    "eager_bandwidth",
    "rendezvous_latency_s",
    "rendezvous_message_s",
    "rendezvous_bandwidth",
    "contention",
    "eager_progress",
    "rendezvous_progress",
)
"""The fitted costs in the order of the fit's coordinates: logarithms, and of shares log(x / (1 − x))."""

SHARES = 2
"""The last costs are shares."""

Z95 = 1.96


class Fit(Struct, frozen=True, eq=False, kw_only=True):
    """The costs of an approach with the ends of their 95% intervals.

    ``error`` is the root mean square error of the logarithms of predicted times. The ranges are the smallest
    and the largest value of the cells. In ``delays_s``, a cell without delays counts as 0, however late its
    threads were.
    """

    approach: str
    costs: Costs
    low: Costs
    high: Costs
    error: float
    sizes: tuple[int, int]
    partitions: tuple[int, int]
    threads: tuple[int, int]
    delays_s: tuple[float, float]


def fit(measured: Measured) -> list[Fit]:
    """A fit of every approach with enough cells. Raises BadInput if there is none."""
    enough = {name: cells for name, cells in by_approach(measured).items() if len(cells) >= FEWEST_CELLS}
    if not enough:
        raise BadInput(
            f"no approach has {FEWEST_CELLS} measured cells; measure more sizes, partitions, threads or"
            " delays"
        )
    return [fit_approach(name, cells) for name, cells in sorted(enough.items())]


def by_approach(measured: Measured) -> dict[str, list[Cell]]:
    """The cells of each approach."""
    cells: dict[str, list[Cell]] = {}
    for cell in measured.cells:
        cells.setdefault(cell.approach, []).append(cell)
    return cells


def too_few(measured: Measured) -> dict[str, int]:
    """The number of cells of each approach that has too few of them for a fit."""
    counts = {name: len(cells) for name, cells in by_approach(measured).items()}
    return {name: count for name, count in counts.items() if count < FEWEST_CELLS}


def fit_approach(approach: str, cells: Sequence[Cell]) -> Fit:
    """The fit of one approach to its cells."""
    problem = _Problem(approach, cells)
    starts = [
        (np.array([*problem.prior[:-SHARES], progress, progress]), eager_below)
        for eager_below in problem.eager_limits()
        for progress in (3.0, -3.0)
    ]
    tried = sorted((problem.minimise(*start, COARSE) for start in starts), key=lambda one: one[0])
    finished = [problem.minimise(place, limit, FINE) for _, place, limit, _ in tried[:FINISHED]]
    _, place, eager_below, jacobian = min(finished, key=lambda one: one[0])
    logs = problem.logs(place, eager_below)
    typical = 1.4826 * np.median(np.abs(logs))  # the loss bounds the influence of outliers on the costs
    scale = max(1.0, typical / float(np.median(problem.errors)))
    spread = scale * np.sqrt(np.diag(np.linalg.inv(jacobian.T @ jacobian)))
    low, high = (_costs(place + sign * Z95 * spread, eager_below) for sign in (-1, 1))
    return Fit(
        approach=approach,
        costs=_costs(place, eager_below),
        low=low,
        high=high,
        # The mean square: the model is right for most cells and far off for some, which must be in intervals.
        error=float(np.clip(np.sqrt(np.mean(logs**2)), LEAST_ERROR, MOST_ERROR)),
        sizes=_range(cell.total_bytes for cell in cells),
        partitions=_range(cell.partitions for cell in cells),
        threads=_range(cell.threads for cell in cells),
        delays_s=_range(0.0 if cell.pattern == NO_DELAY else cell.delay_s for cell in cells),
    )


def predicted_s(costs: Costs, cells: Sequence[Cell]) -> Array:
    """The predicted time of each cell, (cells,); all are of the same approach."""
    return _Problem(cells[0].approach, cells).times_s(costs)


class _Problem:
    """The cells of an approach, those with equal numbers of partitions and threads as one array."""

    def __init__(self, approach: str, cells: Sequence[Cell]) -> None:
        self._approach, self._cells = approach, cells
        self.measured_s = np.array([cell.time_s for cell in cells])
        width = np.array([np.log(cell.high_s / cell.low_s) for cell in cells]) / (2 * Z95)
        self.errors = np.clip(width, LEAST_ERROR, 2.0)
        alike: dict[tuple[int, int, int], list[int]] = {}
        for index, cell in enumerate(cells):
            alike.setdefault((cell.partitions, cell.threads, cell.setting), []).append(index)
        self._groups = [
            (
                np.array(rows),
                np.stack([cells[row].ready_s for row in rows]),
                np.array([cells[row].total_bytes for row in rows]),
                threads,
                setting,
            )
            for (_, threads, setting), rows in alike.items()
        ]
        self.prior = self._prior()

    def _prior(self) -> Array:
        shortest_s = float(self.measured_s.min())
        sizes = np.array([cell.total_bytes for cell in self._cells])
        bandwidth = float((sizes / self.measured_s).max())
        costs = {
            "latency_s": shortest_s,
            "message_s": shortest_s / 10,
            "partition_s": 2e-8,
            "eager_bandwidth": bandwidth,
            "rendezvous_latency_s": shortest_s,
            "rendezvous_message_s": shortest_s / 10,
            "rendezvous_bandwidth": bandwidth,
            "contention": 0.1,
        }
        logs = [np.log(costs[name]) for name in FITTED[:-SHARES]]
        return np.array([*logs, *np.zeros(SHARES)])

    def eager_limits(self) -> list[int]:
        """The sizes from which messages may use rendezvous: measured ones, and INT32_MAX (none)."""
        sizes = {
            cell.total_bytes // count
            for cell in self._cells
            for count in message_counts(self._approach, cell.partitions, cell.total_bytes, cell.setting)
        }
        between = sorted(sizes)[1:]
        step = -(-len(between) // MOST_STEPS) if between else 1
        return [*between[::step], INT32_MAX]

    def times_s(self, costs: Costs) -> Array:
        times_s = np.empty(len(self._cells))
        for rows, ready_s, sizes, threads, setting in self._groups:
            times_s[rows] = approach_time_s(costs, self._approach, ready_s, sizes, threads, setting)
        return times_s

    def logs(self, place: Array, eager_below: int) -> Array:
        """log(predicted / measured) of each cell."""
        return np.asarray(np.log(self.times_s(_costs(place, eager_below)) / self.measured_s))

    def minimise(self, start: Array, eager_below: int, most: int) -> tuple[float, Array, int, Array]:
        """Cost, place and Jacobian at the minimum after at most this number of evaluations."""
        from scipy.optimize import least_squares  # loads slowly

        found = least_squares(self.residuals, start, args=(eager_below,), loss="soft_l1", max_nfev=most)
        return float(found.cost), found.x, eager_below, found.jac

    def residuals(self, place: Array, eager_below: int) -> Array:
        prior = (place - self.prior) / PRIOR_WIDTH
        return np.concatenate([self.logs(place, eager_below) / self.errors, prior])


def _costs(place: Array, eager_below: int) -> Costs:
    values = [
        *np.exp(np.clip(place[:-SHARES], -60, 60)),
        *1 / (1 + np.exp(-np.clip(place[-SHARES:], -60, 60))),
    ]
    return Costs(eager_below=eager_below, **{name: float(x) for name, x in zip(FITTED, values, strict=True)})


def _range(values: Iterable[ValueT]) -> tuple[ValueT, ValueT]:
    listed = list(values)
    return min(listed), max(listed)


def section(fitted: Fit, measured: Measured) -> PartitionedSection:
    """The section of the platform file with these costs."""
    estimates = {
        name.removesuffix("_s"): [getattr(one, name) for one in (fitted.costs, fitted.low, fitted.high)]
        for name in FITTED
    }
    return PartitionedSection(
        approach=fitted.approach,
        source=f"offbeat partitioned fit, {measured.source}",
        date=measured.date,
        eager_below=fitted.costs.eager_below,
        noise=list(measured.noise_s),
        error=fitted.error,
        sizes=list(fitted.sizes),
        partitions=list(fitted.partitions),
        threads=list(fitted.threads),
        delays=list(fitted.delays_s),
        **estimates,
    )


def fit_of(costs: PartitionedSection) -> Fit:
    """The fit that a section of the platform file holds."""
    values = [{name: getattr(costs, name.removesuffix("_s"))[place] for name in FITTED} for place in range(3)]
    estimate, low, high = (Costs(eager_below=costs.eager_below, **one) for one in values)
    return Fit(
        approach=costs.approach,
        costs=estimate,
        low=low,
        high=high,
        error=costs.error,
        sizes=(costs.sizes[0], costs.sizes[1]),
        partitions=(costs.partitions[0], costs.partitions[1]),
        threads=(costs.threads[0], costs.threads[1]),
        delays_s=(costs.delays[0], costs.delays[1]),
    )


def fitted_platform(fits: Sequence[Fit], measured: Measured, base: PlatformFile | None) -> PlatformFile:
    """The platform file with these fits. Without ``base`` it has the nodes of the measurements, between which
    messages cost what a single message costs."""
    platform = base or _measured_platform(fits, measured)
    new = [section(one, measured) for one in fits]
    names = {one.approach for one in new}
    kept = [one for one in platform.partitioned if one.approach not in names]
    return replace(platform, partitioned=[*kept, *new])


def _measured_platform(fits: Sequence[Fit], measured: Measured) -> PlatformFile:
    costs = next((one for one in fits if one.approach == SINGLE), fits[0]).costs
    bandwidth, latency_s = costs.rendezvous_bandwidth, costs.latency_s
    is_several = measured.nodes > 1
    return PlatformFile(
        name="fitted",
        source=f"offbeat partitioned fit, {measured.source}",
        nodes=measured.nodes,
        cores=measured.cores,
        inside=InsideSection(bandwidth=bandwidth, latency=latency_s),
        link=LinkSection(bandwidth=bandwidth, latency=latency_s / 2) if is_several else LinkSection(),
    )
