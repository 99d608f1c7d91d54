"""Whether running out of step helps a program: what 'offbeat async advise' says, and why."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from offbeat.base.errors import BadInput
from offbeat.cli.asynchronous import app
from offbeat.model.platform import machine
from offbeat.programs.advice import wording
from offbeat.programs.advice.assess import Assessment, assess
from offbeat.programs.advice.changes import changes, without_collectives
from offbeat.programs.advice.gains import interval
from offbeat.programs.description.program_file import Program, load, loads
from offbeat.programs.simulation.lockstep import lockstep

FRITZ = machine.load("fritz")

WORK = """
ranks = 72
iterations = 200
[[phase]]
kind = "work"
name = "sweep"
memory = "20 MB"
"""
RING = """
[[phase]]
kind = "exchange"
neighbours = "ring"
bytes = ["200 kB"]
"""
ALLREDUCE = """
[[phase]]
kind = "collective"
name = "norm"
collective = "allreduce"
algorithm = "recursive_doubling"
bytes = [8]
"""


def program(*parts: str) -> Program:
    return loads("".join(parts), "program.toml")


def precondition(assessment: Assessment, name: str) -> bool:
    return {one.name: one.holds for one in assessment.preconditions}[name]


def test_the_papers_triad_is_helped_by_delays_as_the_paper_measured() -> None:
    assessment = assess(load("mst").resized(iterations=400), FRITZ, seeds=3)
    assert assessment.verdict == "helps"
    assert assessment.first is not None
    assert assessment.first.change.kind == "injected delays"
    assert (
        0.07 < assessment.first.total.low < assessment.first.total.high < 0.165
    )  # 16.5%: all communication hidden


def test_a_program_without_communication_to_hide_gets_nothing() -> None:
    assessment = assess(program(WORK, RING.replace("200 kB", "100 B")), FRITZ, seeds=2)
    assert (assessment.verdict, assessment.first) == ("does nothing", None)
    assert not precondition(assessment, "communication")


def test_delays_hurt_a_compute_bound_program_whose_messages_do_not_share_bandwidth() -> None:
    unshared = machine.loads(
        FRITZ.text.replace('message_bandwidth = "7.35 GB/s"', 'message_bandwidth = "0"'), "unshared.toml"
    )
    assert unshared.file.memory.message_bandwidth == 0
    assessment = assess(program(WORK.replace('memory = "20 MB"', 'time = "0.2 ms"'), RING), unshared, seeds=2)
    assert assessment.verdict == "hurts"
    assert assessment.first is None
    assert not precondition(assessment, "memory-bound")


def test_collectives_in_every_iteration_are_named_as_the_cause_and_rarer_ones_come_first() -> None:
    slow = ALLREDUCE.replace("recursive_doubling", "ring").replace("[8]", "[80000]")
    assessment = assess(program(WORK, RING, slow), FRITZ, seeds=2)
    assert assessment.first is not None
    assert assessment.first.change.kind == "rarer collectives"
    assessment = assess(program(WORK, RING, ALLREDUCE), FRITZ, seeds=2)
    delays = [gain for gain in assessment.gains if gain.change.kind == "injected delays"]
    assert delays
    assert all(gain.total.high < 0.005 for gain in delays)
    assert assessment.verdict == "helps" or not precondition(assessment, "rare collectives")


def test_changes_come_in_the_order_in_which_they_are_recommended() -> None:
    whole = program(WORK, RING, ALLREDUCE)
    kinds = [change.kind for change in changes(whole, FRITZ, lockstep(whole, FRITZ))]
    order = ["rarer collectives", "another algorithm", "injected delays"]
    assert kinds == sorted(kinds, key=order.index)
    assert set(kinds) == set(order)


def test_the_own_noise_of_a_program_stays_when_its_collectives_go() -> None:
    noise = '[[noise]]\nphase = "exchange 2"\ntime = "1 us"\n'
    without = without_collectives(program(WORK, RING, ALLREDUCE, noise))
    assert without is not None
    assert without.phase_names() == ["sweep", "exchange 2"]
    assert len(without.file.noise) == 1
    assert without_collectives(program(WORK, RING)) is None


def test_the_same_seed_gives_the_same_assessment() -> None:
    whole = program(WORK, RING)
    assert assess(whole, FRITZ, seeds=2) == assess(whole, FRITZ, seeds=2)


@pytest.mark.parametrize(
    ("text", "platform", "expected"),
    [
        (WORK + RING, machine.load("hydra"), "no memory bandwidth"),
        (WORK + ALLREDUCE.replace("recursive_doubling", "fastest"), FRITZ, "fastest"),
    ],
)
def test_what_cannot_be_simulated_is_refused(text: str, platform: machine.Platform, expected: str) -> None:
    with pytest.raises(BadInput, match=expected):
        assess(program(text), platform)


def test_one_seed_is_refused() -> None:
    with pytest.raises(BadInput, match="no interval"):
        assess(program(WORK), FRITZ, seeds=1)


def test_work_in_rare_iterations_is_no_gain_over_lockstep() -> None:
    checkpoint = '[[phase]]\nkind = "work"\nname = "checkpoint"\ntime = "5 s"\nevery = {every}\n'
    without = assess(program(WORK, RING), FRITZ, seeds=2)
    for every in (150, 1000):  # once in the second half of the iterations, and never
        assessment = assess(program(WORK, RING, checkpoint.format(every=every)), FRITZ, seeds=2)
        assert assessment.already.mean < without.already.mean + 0.005
        assert assessment.lockstep_s == pytest.approx(without.lockstep_s + (5 / 75 if every == 150 else 0))
    assert any(gain.total.mean > 0.01 for gain in assessment.gains)  # the work of all iterations is delayed


def test_too_few_iterations_are_refused_instead_of_a_verdict_without_delays() -> None:
    few = program(WORK, RING).resized(iterations=15)
    with pytest.raises(BadInput, match="too few iterations to try delays: 15; simulate 16 or more"):
        assess(few, FRITZ)
    assert assess(few, FRITZ, iterations=16, seeds=2).gains
    never = program(WORK.replace('memory = "20 MB"', 'time = "1 ms"\nevery = 1000'))
    with pytest.raises(BadInput, match="iterations 101 to 175, which count, execute no phase"):
        assess(never, FRITZ)


def test_work_in_every_fourth_iteration_is_delayed_where_it_is_executed() -> None:
    whole = program(WORK + "every = 4\n", RING)
    delayed = [change.program.file.noise[-1] for change in changes(whole, FRITZ, lockstep(whole, FRITZ))]
    thirteenth = program(WORK + "every = 13\n", RING).resized(iterations=208)
    (first, *_) = changes(thirteenth, FRITZ, lockstep(thirteenth, FRITZ))
    assert first.what.endswith("in every 52nd iteration")
    assert [noise.every for noise in delayed] == [16, 16]  # every 4th, 1 and 4 times; 80th ones are too rare


def test_work_alone_gets_nothing() -> None:
    assessment = assess(program(WORK), FRITZ, seeds=2)
    assert (assessment.verdict, assessment.gains) == ("does nothing", [])


@given(st.lists(st.floats(0.1, 10), min_size=2, max_size=8))
def test_an_interval_contains_its_mean_and_equal_ratios_have_none(ratios: list[float]) -> None:
    found = interval(np.array(ratios))
    assert found.low <= found.mean <= found.high
    assert math.isclose(1 + found.mean, math.exp(np.log(ratios).mean()))
    exact = interval(np.array(ratios[:1] * 3))
    assert exact.low == exact.mean == exact.high


def test_a_change_of_nothing_has_no_sign_of_a_loss() -> None:
    assert wording.percent(interval(np.array([1.0, 0.9999999]))) == "0.0% (0.0 to 0.0)"


def test_the_command_prints_the_verdict_and_json(tmp_path: Path) -> None:
    path = tmp_path / "program.toml"
    path.write_text(WORK + RING)
    arguments = ["advise", str(path), "--platform", "fritz", "--seeds", "2"]
    printed = CliRunner().invoke(app, arguments).stdout
    assert "Running out of step helps" in printed
    assert "Change first: a rank of each domain delayed" in printed
    assert all(len(line) <= 80 for line in printed.splitlines())
    assert json.loads(CliRunner().invoke(app, [*arguments, "--json", "-"]).stdout)["verdict"] == "helps"
    missing = CliRunner().invoke(app, ["advise", str(tmp_path / "none.toml"), "--platform", "fritz"])
    assert isinstance(missing.exception, BadInput)
