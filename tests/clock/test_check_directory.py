"""A check's directory is whole after a kill at any moment, and goes on where it stood."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_checks import found, keep, machine, rows, starts, wanted

from offbeat.campaign.steps import run_steps
from offbeat.clock.check_plan import Step, steps
from offbeat.clock.directory import CHECK, CheckDirectory, read
from offbeat.clock.measure import failed
from offbeat.clock.rows import HARMONIZE, Row
from offbeat.errors import BadInput, RunFailed


class Silent:
    """Ignores all events."""

    def say(self, activity: str) -> None:
        pass

    warn = say

    def begin(self, done: int, total: int, unit: str = "steps") -> None:
        pass

    def recorded(self, record: Row) -> None:
        pass


def all_steps() -> list[Step]:
    return steps(wanted(), found().measured("barrier"), found().measured("reduce"), distorted=True)


def test_what_is_kept_reads_as_it_was_written(tmp_path: Path) -> None:
    check = read(keep(tmp_path / "check"))
    assert check.rows == rows()
    assert (
        check.head.settings == wanted()
        and check.head.machine == machine()
        and check.head.algorithms == found("tree")
    )


def test_a_check_that_died_resumes_and_measures_no_step_twice(tmp_path: Path) -> None:
    todo = {step.id: step for step in all_steps()}
    measured: list[str] = []

    def measure(step: Step) -> Row:
        measured.append(step.id)
        return failed(step, "made", wanted())

    def measure_seven(step: Step) -> Row:
        if len(measured) == 7:
            raise RunFailed("the power went off")
        return measure(step)

    with pytest.raises(RunFailed, match="power"), CheckDirectory(tmp_path, wanted()) as kept:
        run_steps(kept, todo, measure_seven, Silent())
    with CheckDirectory(tmp_path, wanted()) as kept:
        run_steps(kept, todo, measure, Silent())
    assert measured == [row.step for row in read(tmp_path).rows] == list(todo)


def test_other_settings_need_another_directory(tmp_path: Path) -> None:
    keep(tmp_path)
    with pytest.raises(
        BadInput,
        match=r"holds a check of the clock with other settings \(p: 4 there, 8 here; seed: 1 there, 2 here\)",
    ):
        CheckDirectory(tmp_path, wanted(p=8, seed=2))
    assert read(tmp_path).rows == rows()


def test_a_directory_of_something_else_is_not_used_for_a_check(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(BadInput, match="does not hold a check of the clock"):
        CheckDirectory(tmp_path, wanted())
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
def test_a_head_that_cannot_be_read_is_told(tmp_path: Path, content: str, sentence: str) -> None:
    keep(tmp_path)
    (tmp_path / CHECK).write_text(content, encoding="utf-8")
    with pytest.raises(BadInput, match=sentence):
        read(tmp_path)
    with pytest.raises(BadInput, match=sentence):
        CheckDirectory(tmp_path, wanted())


def test_starts_are_kept_whole(tmp_path: Path) -> None:
    row = starts(HARMONIZE, [0.1, 0.2], verdicts=[0, 2])
    assert read(keep(tmp_path, [row])).rows == [row]
