"""How much time each algorithm takes relative to the library's default, and how surely."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from offbeat.model.study.algorithm import DEFAULT
from offbeat.selection.choices.delay_table import DelayTable
from offbeat.selection.choices.selection_rules import Rule, comparable_columns


class RelativeTime(Struct, frozen=True):
    """A time divided by that of the default, and the half width of its 95% interval; inf if unknown."""

    ratio: float
    half_width: float

    @property
    def is_slower(self) -> bool:
        """Whether it is significantly slower than the default."""
        return self.ratio - self.half_width > 1

    @property
    def is_faster(self) -> bool:
        """Whether it is significantly faster than the default."""
        return self.ratio + self.half_width < 1


def against_default(table: DelayTable, rule: Rule) -> dict[str, RelativeTime]:
    """The score by a rule of each candidate that was measured in all of its rows, relative to the default's.

    Empty if the default was not measured in all of these rows. Half widths are combined from those of the
    cases, whose errors are taken as independent: the root of the sum of their squares.
    """
    rows = rule.rows(table)
    columns = comparable_columns(table, rows)
    if not columns or DEFAULT not in table.algorithms:
        return {}
    column = table.algorithms.index(DEFAULT)
    delays_s = table.delays_s()[rows]
    if np.isnan(delays_s[:, column]).any():
        return {}
    unit_s = delays_s[:, columns].min(axis=1, keepdims=True)
    scores, errors = _scores(rule, delays_s / unit_s, _half_widths_s(table, rows) / unit_s)
    default, default_error = float(scores[column]), float(errors[column])
    relative = {}
    for j in columns:
        ratio = float(scores[j]) / default
        share = math.hypot(float(errors[j]) / float(scores[j]), default_error / default)
        relative[table.algorithms[j]] = RelativeTime(ratio, ratio * share)
    return relative


def _half_widths_s(table: DelayTable, rows: list[int]) -> NDArray[np.float64]:
    """The half width of each interval in seconds, ``rows × algorithms``; inf where it is unknown."""
    half_s = (table.high_s[rows] - table.low_s[rows]) / 2
    return np.where(np.isnan(half_s), np.inf, half_s)


def _scores(
    rule: Rule, normalised_delays: NDArray[np.float64], half_widths: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The score of each column by a rule, and its half width."""
    if rule.kind == "worst":
        worst = normalised_delays.argmax(axis=0, keepdims=True)
        return normalised_delays.max(axis=0), np.take_along_axis(half_widths, worst, axis=0)[0]
    return normalised_delays.mean(axis=0), np.sqrt((half_widths**2).sum(axis=0)) / len(normalised_delays)
