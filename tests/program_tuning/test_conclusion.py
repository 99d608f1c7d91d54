"""The verdict on a tuned program: only what is significantly faster is recommended."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.model.study.algorithm import DEFAULT
from offbeat.tuning.pipeline.conclusion import conclude, disturbance_note, unmeasured_note
from offbeat.tuning.pipeline.traced_calls import Selected

BALANCED = Selected(calls=[], tunable_share=0.3, covered=1.0, waiting_share=0.01, notes=[])
IMBALANCED = Selected(calls=[], tunable_share=0.1, covered=1.0, waiting_share=0.4, notes=[])
STEADY = [1.0, 1.01, 0.99, 1.0, 1.02]

times = st.lists(st.floats(0.1, 10), min_size=5, max_size=10)


def times_of(factor: float) -> Sequence[float]:
    return [factor * time_s * (1 + 0.001 * number) for number, time_s in enumerate(STEADY)]


def test_a_faster_choice_is_recommended_with_its_gain_and_interval() -> None:
    verdict = conclude({DEFAULT: STEADY, "tuned": times_of(0.8)}, BALANCED)
    assert verdict.choice == "tuned"
    assert verdict.low < verdict.gain < verdict.high
    assert verdict.gain == pytest.approx(0.2, abs=0.01)
    assert verdict.sentence.startswith("19.8% faster: 804.8 ms instead of 1.004 s (95% interval 19.")


def test_the_choice_with_the_largest_gain_is_recommended() -> None:
    times_s = {DEFAULT: STEADY, "tuned": times_of(0.9), "heaviest": times_of(0.8)}
    assert conclude(times_s, BALANCED).choice == "heaviest"


def test_a_difference_that_chance_may_explain_is_no_recommendation() -> None:
    noisy = [0.7, 1.3, 0.8, 1.1, 0.9]
    verdict = conclude({DEFAULT: STEADY, "tuned": noisy}, BALANCED)
    assert (verdict.choice, verdict.gain) == ("", 0.0)
    assert verdict.sentence.startswith("Nothing here is faster: in 5 rounds of the trial")


def test_waiting_for_late_ranks_is_named_where_it_takes_more_time() -> None:
    slower = {DEFAULT: STEADY, "tuned": times_of(1.1)}
    assert "balance the work" in conclude(slower, IMBALANCED).sentence
    assert "balance the work" not in conclude(slower, BALANCED).sentence


def test_the_change_of_a_choice_has_the_sign_of_the_table_of_run_times() -> None:
    verdict = conclude({DEFAULT: [1.0, 1.0, 1.0], "tuned": [0.9, 1.0, 0.95]}, BALANCED)
    assert "(tuned: -5.1%, " in verdict.sentence


def test_runs_that_other_work_disturbs_are_named() -> None:
    note = disturbance_note({DEFAULT: [1.0, 1.1, 2.4], "tuned": STEADY})
    assert note.startswith(
        "Runs with the same algorithms took 1 s to 2.4 s: other work disturbs this machine"
    )
    assert disturbance_note({DEFAULT: STEADY, "tuned": times_of(0.4)}) == ""
    assert disturbance_note({}) == ""


def test_a_verdict_on_all_calls_needs_no_note() -> None:
    assert unmeasured_note([], 3) == ""


@given(times, st.randoms(use_true_random=False), st.floats(0.5, 2))
def test_no_recommended_choice_is_slower_in_the_mean(
    default: list[float], random: object, factor: float
) -> None:
    generator = np.random.default_rng(random.randrange(2**32))  # type: ignore[attr-defined]
    tuned = [time_s * factor * float(generator.lognormal(0, 0.1)) for time_s in default]
    verdict = conclude({DEFAULT: default, "tuned": tuned}, BALANCED)
    if verdict.choice:
        assert 0 < verdict.low <= verdict.gain <= verdict.high
        assert np.log(tuned).mean() < np.log(default).mean()


def test_equal_choices_are_recommended_in_one_of_twenty_trials_at_most() -> None:
    generator = np.random.default_rng(5)
    recommended = 0
    for _ in range(400):
        names = (DEFAULT, "tuned", "heaviest")
        times_s = {name: list(generator.lognormal(0, 0.05, 8)) for name in names}
        recommended += bool(conclude(times_s, BALANCED).choice)
    assert recommended <= 0.05 * 400
