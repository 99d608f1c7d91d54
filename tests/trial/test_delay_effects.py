"""How much of the delays prolonged a run: laws, with run times that are given."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.tuning.trial.delay_effects import delay_effects, effect_table
from offbeat.tuning.trial.trial import Run


def runs(variant: str, times_s: list[float], occasions: int, ranks: int, delay_s: float) -> list[Run]:
    """The runs of a variant that delays this number of ranks on each occasion."""
    delays = occasions * ranks
    effect: dict[str, float] = {
        "calls": 100,
        "occasions": occasions,
        "delays": delays,
        "delayed_s": delays * delay_s,
    }
    return [
        Run(
            number=number,
            round=number,
            choice=variant,
            status=0,
            wall_s=time_s,
            time_s=time_s,
            began="",
            output="",
            effect=effect,
        )
        for number, time_s in enumerate(times_s)
    ]


@given(
    st.lists(st.floats(0.5, 5), min_size=1, max_size=5),
    st.integers(1, 50),
    st.integers(1, 8),
    st.floats(-1, 2),
)
def test_the_share_is_that_of_one_delay_on_each_occasion(
    none_s: list[float], occasions: int, ranks: int, share: float
) -> None:
    delay_s = 0.005
    delayed_s = [one + share * occasions * delay_s for one in none_s]
    (effect,) = delay_effects(
        {
            "none": runs("none", none_s, 0, 0, 0),
            "every 2": runs("every 2", delayed_s, occasions, ranks, delay_s),
        }
    )
    assert effect.reached == pytest.approx(share, abs=1e-6)
    assert math.isnan(effect.low) == (len(none_s) == 1)
    assert len(none_s) == 1 or effect.low <= effect.reached + 1e-9
    assert effect.delays == occasions * ranks


def test_experiments_without_a_complete_round_have_no_effects() -> None:
    assert delay_effects({"none": [], "every 2": []}) == []
    assert effect_table([]).rows == []
