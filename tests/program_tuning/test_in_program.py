"""The heaviest calls of a program get the algorithms with which the program itself is the fastest."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from offbeat.model.study.algorithm import DEFAULT
from offbeat.selection.choices.delay_table import Configuration
from offbeat.tuning.pipeline.program_choices import ExpectedGain
from offbeat.tuning.pipeline.program_comparison import fastest_in_program
from offbeat.tuning.prediction.measured_configuration import Estimate

NAMES = ["ring", "linear", "binomial"]


def gain(collective: str, algorithm: str = DEFAULT, share: float = 0.5, saved: float = 0.0) -> ExpectedGain:
    """The expected gain of calls that take a share of the run time."""
    return ExpectedGain(
        configurations=[Configuration("x", 4, 0, 0, collective, 8)],
        algorithm=algorithm,
        change=Estimate(time_s=-saved, low_s=-saved, high_s=-saved),
        run_s=1.0,
        calls=[],
        share_in_program=share,
        usable=NAMES,
    )


class Program:
    """A program whose run time depends on the algorithms of its collectives; unknown ones change nothing."""

    def __init__(self, times_s: dict[tuple[tuple[str, str], ...], float]) -> None:
        self.times_s = times_s
        self.runs = 0

    def time_s(self, used: Sequence[ExpectedGain]) -> float:
        algorithms = {one.configurations[0].collective: one.algorithm for one in used}
        return self.times_s.get(tuple(sorted(algorithms.items())), 1.0)

    def __call__(
        self, calls: ExpectedGain, names: Sequence[str], settings: Sequence[list[ExpectedGain]]
    ) -> list[float]:
        self.runs += len(settings)
        return [self.time_s(used) for used in settings]


def algorithms(used: Sequence[ExpectedGain]) -> dict[str, str]:
    return {one.configurations[0].collective: one.algorithm for one in used}


def test_an_algorithm_with_which_the_program_is_faster_is_used() -> None:
    program = Program({(("reduce", "ring"),): 0.8, (("reduce", "linear"),): 0.9})
    assert algorithms(fastest_in_program([gain("reduce")], program)) == {"reduce": "ring"}


def test_an_expected_gain_is_given_up_if_the_program_is_slower_with_it() -> None:
    program = Program({(("reduce", "ring"),): 1.1})
    assert fastest_in_program([gain("reduce", "ring", saved=0.1)], program) == []


def test_less_than_half_a_percent_changes_nothing() -> None:
    program = Program({(("reduce", "ring"),): 0.996})
    assert fastest_in_program([gain("reduce")], program) == []


def test_calls_are_compared_again_after_others_have_changed() -> None:
    program = Program(
        {
            (("reduce", "ring"),): 1.1,
            (("bcast", "linear"),): 0.95,
            (("bcast", "linear"), ("reduce", "ring")): 0.7,
        }
    )
    used = fastest_in_program([gain("reduce", share=0.6), gain("bcast", share=0.3)], program)
    assert algorithms(used) == {"reduce": "ring", "bcast": "linear"}


def test_light_calls_and_those_that_no_file_can_set_are_not_run() -> None:
    program = Program({})
    fixed = gain("bcast")
    light = gain("reduce", share=0.01)
    assert fastest_in_program([light], program) == []
    assert not program.runs
    used = fastest_in_program([structs.replace(fixed, is_settable=False)], program)
    assert (used, program.runs) == ([], 0)


def test_settings_that_were_not_run_are_not_used() -> None:
    def nothing_runs(
        calls: ExpectedGain, names: Sequence[str], settings: Sequence[list[ExpectedGain]]
    ) -> list[float]:
        return [inf] * len(settings)

    assert algorithms(fastest_in_program([gain("reduce", "ring", saved=0.1)], nothing_runs)) == {
        "reduce": "ring"
    }


@given(
    st.lists(st.floats(0.5, 2.0), min_size=16, max_size=16),
    st.sampled_from([DEFAULT, *NAMES]),
    st.sampled_from([DEFAULT, *NAMES]),
)
def test_the_program_is_never_slower_than_with_the_expected_gains(
    times_s: list[float], reduce: str, bcast: str
) -> None:
    every = [DEFAULT, *NAMES]
    table = {}
    for place, time_s in enumerate(times_s):
        pair = {"bcast": every[place % 4], "reduce": every[place // 4]}
        table[tuple(sorted((name, one) for name, one in pair.items() if one != DEFAULT))] = time_s
    program = Program(table)
    gains = [gain("reduce", reduce, saved=0.1), gain("bcast", bcast, share=0.3, saved=0.1)]
    expected = [one for one in gains if one.is_used]
    assert program.time_s(fastest_in_program(gains, program)) <= program.time_s(expected)
