"""Configurations in which the library's default scores better are left to it."""

from __future__ import annotations

from offbeat.model.study.algorithm import Algorithm
from offbeat.selection.choices.choose import Choice
from offbeat.selection.choices.delay_table import Configuration
from offbeat.selection.tuning_files.tuning_plan import plan

BINOMIAL = Algorithm(collective="reduce", name="binomial", settings={"coll_tuned_reduce_algorithm": "5"})


def choice(size: int, cost_of_default: float | None) -> Choice:
    configuration = Configuration(
        library="x", p=4, nodes=0, ppn=0, collective="reduce", bytes=size, op="sum", datatype="double", root=0
    )
    return Choice(
        configuration=configuration,
        rule="average",
        algorithm="binomial",
        no_delay_winner="binomial",
        winners={},
        good={},
        scores={"binomial": 1.0},
        certainty=None,
        cost_of_no_delay_winner=0.0,
        cost_of_default=cost_of_default,
        warnings=[],
    )


def test_a_configuration_with_a_clearly_better_default_gets_no_rule_and_a_sentence() -> None:
    tuning_plan = plan([choice(8, 0.3), choice(1024, -0.54)], [BINOMIAL])
    assert [rule.bytes for rule in tuning_plan.rules["reduce"]] == [8]
    assert "54% better" in tuning_plan.notes[0] and "1 KiB" in tuning_plan.notes[0]


def test_noise_and_an_unmeasured_default_do_not_prevent_a_rule() -> None:
    tuning_plan = plan([choice(8, -0.04), choice(1024, None)], [BINOMIAL])
    assert [rule.bytes for rule in tuning_plan.rules["reduce"]] == [8, 1024]
    assert tuning_plan.notes == []


def test_neighbouring_sizes_do_not_cover_a_configuration_left_to_the_library() -> None:
    tuning_plan = plan([choice(8, 0.3), choice(1024, -0.54), choice(2**20, 0.2)], [BINOMIAL])
    small, large = tuning_plan.rules["reduce"]
    assert small.bytes_high < 1024 < large.bytes_low
    assert (small.bytes, large.bytes) == (8, 2**20)


def test_nothing_is_written_if_the_default_is_better_everywhere() -> None:
    tuning_plan = plan([choice(8, -0.3), choice(1024, -0.54)], [BINOMIAL])
    assert tuning_plan.rules == {} and len(tuning_plan.notes) == 2
