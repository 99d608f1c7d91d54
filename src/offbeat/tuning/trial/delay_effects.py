"""What delays did in a trial: how many there were, and how much of them prolonged the run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct

from offbeat.base.document.tables import Table
from offbeat.base.units import format_time
from offbeat.selection.choices.wording import DASH
from offbeat.tuning.trial.comparison import difference_interval
from offbeat.tuning.trial.delays import NONE, DelayVariant
from offbeat.tuning.trial.trial import Run


class DelayEffect(Struct, frozen=True, kw_only=True):
    """The delays of one variant, as means over its runs.

    ``calls`` and ``occasions`` (calls at which ranks are delayed) are those of the rank with the most.
    ``delays`` and ``delayed_s`` are sums over all ranks. ``reached`` is the share of the delays that
    prolonged the run, with its 95% interval; below 0 if the program gained.
    """

    variant: str
    calls: float
    occasions: float
    delays: float
    delayed_s: float
    reached: float
    low: float
    high: float


def delay_effects(runs: Mapping[str, Sequence[Run]]) -> list[DelayEffect]:
    """The effect of each variant with delays, from the runs of the same rounds; none without a round."""
    reference_s = _times_s(runs[NONE])
    return [_effect(name, of, reference_s) for name, of in runs.items() if name != NONE and of]


def _times_s(runs: Sequence[Run]) -> list[float]:
    return [run.time_s for run in runs if run.time_s is not None]


def _effect(name: str, runs: Sequence[Run], reference_s: Sequence[float]) -> DelayEffect:
    mean = {key: math.fsum(run.effect[key] for run in runs) / len(runs) for key in runs[0].effect}
    # If all ranks waited for the delayed ones, each occasion would prolong the run by a delay.
    lockstep_s = mean["occasions"] * mean["delayed_s"] / mean["delays"]
    change_s, low_s, high_s = difference_interval(_times_s(runs), reference_s)
    return DelayEffect(
        variant=name,
        reached=change_s / lockstep_s,
        low=low_s / lockstep_s,
        high=high_s / lockstep_s,
        **mean,
    )


def tried_lines(tried: Sequence[DelayVariant]) -> list[str]:
    """One line per variant."""
    return [f"{one.name}: {one.described}" for one in tried]


def effect_table(effects: Sequence[DelayEffect]) -> Table:
    """A row per variant with delays."""
    rows = [
        [
            one.variant,
            f"{one.calls:.0f}",
            f"{one.occasions:.0f}",
            f"{one.delays:.0f}",
            format_time(one.delayed_s),
            f"{one.reached:.0%}",
            DASH if math.isnan(one.low) else f"{one.low:.0%} to {one.high:.0%}",
        ]
        for one in effects
    ]
    headings = ["variant", "calls", "occasions", "delays", "sum", "prolonged\nthe run", "95%\ninterval"]
    return Table(title="", headings=headings, rows=rows)
