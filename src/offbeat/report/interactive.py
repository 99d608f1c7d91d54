"""x
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from offbeat.report.configurations import ConfigurationView
from offbeat.select import wording
from offbeat.select.certainty import samples_of
from offbeat.select.table import DelayTable

MAXIMUM_VALUES = 250_000
"""Maximum number of values in a page, all cases together: about two megabytes of text."""

MINIMUM_PER_CASE = 5
"""Minimum number of values per case: minimum, quartiles, maximum."""


def distributions(views: Sequence[ConfigurationView], repetitions: pl.DataFrame) -> dict[str, Any]:
    """The data of the distribution plot: ``configurations``, each with its unit and
    ``values[pattern][algorithm]``.

    Values are in the configuration's unit. A case without repetitions on record (an import) has its median
    alone. ``thinned`` is how many numbers stand for a case where some were left out, else 0; ``repeated``
    says whether any case has several repetitions.
    """
    samples = {case: repeated.last_delay_s for case, repeated in samples_of(repetitions).items()}
    shown = [view for view in views if view.table is not None]
    number = sum(int(np.isfinite(view.table.last_delay_s).sum()) for view in shown if view.table is not None)
    most = max(MINIMUM_PER_CASE, MAXIMUM_VALUES // max(number, 1))
    configurations = [
        _configuration(view, view.table, samples, most) for view in shown if view.table is not None
    ]
    longest = max((len(values) for values in samples.values()), default=0)
    return {
        "configurations": configurations,
        "thinned": most if longest > most else 0,
        "repeated": longest > 1,
    }


def thinned(values: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """At most ``most`` values that are distributed as ``values``: evenly spaced order statistics, with both
    ends."""
    if len(values) <= most:
        return values
    return np.asarray(np.quantile(values, np.linspace(0, 1, most)))


def _configuration(
    view: ConfigurationView, table: DelayTable, samples: dict[str, NDArray[np.float64]], most: int
) -> dict[str, Any]:
    unit, per_second = wording.common_unit(table.last_delay_s)

    def numbers(i: int, j: int) -> list[float]:
        if np.isnan(table.last_delay_s[i, j]):
            return []
        case = table.cases[i][j] if table.cases is not None else ""
        values = thinned(samples.get(case, table.last_delay_s[i, j : j + 1]), most) * per_second
        return [float(f"{value:.4g}") for value in values]

    return {
        "id": view.slug,
        "title": view.title,
        "unit": unit,
        "patterns": table.patterns,
        "algorithms": table.algorithms,
        "values": [[numbers(i, j) for j in range(len(table.algorithms))] for i in range(len(table.patterns))],
    }
