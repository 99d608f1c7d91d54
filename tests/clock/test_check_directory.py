"""A check's directory is valid after a kill at any moment, and the check resumes."""

from __future__ import annotations

from pathlib import Path

import pytest
from check_factory import checked_algorithms, keep, machine, plan, rows, starts

from offbeat.base.campaign.steps import run_steps
from offbeat.base.errors import BadInput, RunFailed
from offbeat.measurement.clock_check.check_plan import Step, steps
from offbeat.measurement.clock_check.directory import CHECK, CheckDirectory, read
from offbeat.measurement.clock_check.measure import failure_row
from offbeat.measurement.clock_check.rows import HARMONIZE, Row


class Silent:
    """Ignores all events."""

    def say(self, activity: str) -> None:
        pass

    warn = say

    def begin(self, done: int, total: int, unit: str = "steps") -> None:
        pass

    def report_record(self, record: Row) -> None:
        pass


def all_steps() -> list[Step]:
    return steps(
        plan(),
        checked_algorithms().algorithms_to_measure("barrier"),
        checked_algorithms().algorithms_to_measure("reduce"),
        is_distorted=True,
    )


def test_stored_checks_are_read_as_they_were_written(tmp_path: Path) -> None:
    check = read(keep(tmp_path / "check"))
    assert check.rows == rows()
    assert (
        check.head.settings == plan()
        and check.head.machine == machine()
        and check.head.algorithms == checked_algorithms("tree")
    )


def test_a_killed_check_resumes_and_measures_no_step_twice(tmp_path: Path) -> None:
    todo = {step.id: step for step in all_steps()}
    measured: list[str] = []

    def measure(step: Step) -> Row:
        measured.append(step.id)
        return failure_row(step, "made", plan())

    def measure_seven(step: Step) -> Row:
        if len(measured) == 7:
            raise RunFailed("the power went off")
        return measure(step)

    with pytest.raises(RunFailed, match="power"), CheckDirectory(tmp_path, plan()) as check_directory:
        run_steps(check_directory, todo, measure_seven, Silent())
    with CheckDirectory(tmp_path, plan()) as check_directory:
        run_steps(check_directory, todo, measure, Silent())
    assert measured == [row.step for row in read(tmp_path).rows] == list(todo)


def test_other_settings_need_another_directory(tmp_path: Path) -> None:
    keep(tmp_path)
    with pytest.raises(
        BadInput,
        match=r"holds a check of the clock with other settings \(p: 4 there, 8 here; seed: 1 there, 2 here\)",
    ):
        CheckDirectory(tmp_path, plan(p=8, seed=2))
    assert read(tmp_path).rows == rows()


def test_a_directory_of_something_else_is_not_used_for_a_check(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(BadInput, match="does not hold a check of the clock"):
        CheckDirectory(tmp_path, plan())
    with pytest.raises(BadInput, match=r"has no check\.json; give the directory that 'offbeat clock check'"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "is damaged"),
        ('{"check_version": 1}', "is damaged"),
        ('{"check_version": 2, "wanted": {}}', "another version in check version 2"),
        ("[]", "has no check_version"),
    ],
)
def test_an_unreadable_head_is_reported(tmp_path: Path, content: str, sentence: str) -> None:
    keep(tmp_path)
    (tmp_path / CHECK).write_text(content, encoding="utf-8")
    with pytest.raises(BadInput, match=sentence):
        read(tmp_path)
    with pytest.raises(BadInput, match=sentence):
        CheckDirectory(tmp_path, plan())


def test_starts_are_stored_completely(tmp_path: Path) -> None:
    row = starts(HARMONIZE, [0.1, 0.2], verdicts=[0, 2])
    assert read(keep(tmp_path, [row])).rows == [row]
