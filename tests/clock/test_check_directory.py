"""A check's directory is whole after a kill at any moment, and goes on where it stood."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_checks import found, keep, machine, rows, starts, wanted

from offbeat.clock.check_plan import Step, steps
from offbeat.clock.directory import CHECK, ROWS, CheckDirectory, read
from offbeat.clock.measure import failed
from offbeat.clock.rows import HARMONIZE, Row
from offbeat.clock.run import run_steps
from offbeat.errors import BadInput, RunFailed, SignalExit


class Silent:
    """Hears nothing, and counts what is finished."""

    def __init__(self) -> None:
        self.begun: tuple[int, int] = (0, 0)
        self.ids: list[str] = []

    def say(self, what: str) -> None:
        pass

    doing = warn = say

    def begin(self, done: int, total: int) -> None:
        self.begun = (done, total)

    def finished(self, step: Step, failure: str) -> None:
        self.ids.append(step.id)


class MadeProber:
    """Answers each step with a made row; dies in the step after ``most`` of them."""

    def __init__(self, most: int = 10**9) -> None:
        self.done: list[str] = []
        self._most = most

    def do(self, step: Step) -> Row:
        if len(self.done) == self._most:
            raise RunFailed("the power went off")
        self.done.append(step.id)
        return failed(step, "made", wanted())


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


def test_a_check_that_died_goes_on_where_it_stood_and_measures_nothing_twice(tmp_path: Path) -> None:
    todo, first, second = all_steps(), MadeProber(most=7), MadeProber()
    with pytest.raises(RunFailed, match="power"), CheckDirectory(tmp_path, wanted()) as kept:
        run_steps(kept, todo, first, Silent())
    told = Silent()
    with CheckDirectory(tmp_path, wanted()) as kept:
        run_steps(kept, todo, second, told)
    assert first.done + second.done == [step.id for step in todo]
    assert told.begun == (7, len(todo)) and told.ids == second.done
    assert [row.step for row in read(tmp_path).rows] == [step.id for step in todo]


def test_a_finished_check_does_nothing_more(tmp_path: Path) -> None:
    for _ in range(2):
        prober = MadeProber()
        with CheckDirectory(tmp_path, wanted()) as kept:
            run_steps(kept, all_steps(), prober, Silent())
    assert prober.done == []


@pytest.mark.parametrize("cut", [1, 10, 100])
def test_a_row_that_was_cut_off_does_not_count(tmp_path: Path, cut: int) -> None:
    keep(tmp_path)
    data = (tmp_path / ROWS).read_bytes()
    (tmp_path / ROWS).write_bytes(data[:-cut])
    assert read(tmp_path).rows == rows()[:-1]
    with CheckDirectory(tmp_path, wanted()) as kept:
        assert kept.rows == rows()[:-1]
        kept.append(rows()[-1])
    assert (tmp_path / ROWS).read_bytes() == data


def test_a_damaged_row_in_the_middle_is_named(tmp_path: Path) -> None:
    keep(tmp_path)
    lines = (tmp_path / ROWS).read_bytes().splitlines(keepends=True)
    lines[2] = b'{"kind": "nonsense"}\n'
    (tmp_path / ROWS).write_bytes(b"".join(lines))
    with pytest.raises(BadInput, match=r"rows\.jsonl:3: the line is damaged"):
        read(tmp_path)


def test_other_settings_need_another_directory(tmp_path: Path) -> None:
    keep(tmp_path)
    with pytest.raises(BadInput, match=r"other settings \(p: 4 there, 8 here; seed: 1 there, 2 here\)"):
        CheckDirectory(tmp_path, wanted(p=8, seed=2))
    assert read(tmp_path).rows == rows()


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(BadInput, match="does not hold a check of the clock"):
        CheckDirectory(tmp_path, wanted())
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(BadInput, match=r"has no check\.json"):
        read(tmp_path)
    with pytest.raises(BadInput, match="is a file"):
        CheckDirectory(tmp_path / "mine.txt", wanted())
    with pytest.raises(BadInput, match="there is no directory"):
        read(tmp_path / "nowhere")


def test_two_checks_at_once_in_one_directory_are_refused(tmp_path: Path) -> None:
    with CheckDirectory(tmp_path, wanted()), pytest.raises(RunFailed, match="is being written by process"):
        CheckDirectory(tmp_path, wanted())
    with CheckDirectory(tmp_path, wanted()):
        pass


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "is damaged"),
        ('{"check_version": 1}', "is damaged"),
        ('{"check_version": 2, "wanted": {}}', "another version of offbeat"),
        ("[]", "is damaged"),
    ],
)
def test_a_head_that_cannot_be_read_is_told(tmp_path: Path, content: str, sentence: str) -> None:
    keep(tmp_path)
    (tmp_path / CHECK).write_text(content, encoding="utf-8")
    with pytest.raises(BadInput, match=sentence):
        read(tmp_path)
    with pytest.raises(BadInput, match=sentence):
        CheckDirectory(tmp_path, wanted())


def test_a_row_is_on_disk_before_the_next_step_begins(tmp_path: Path) -> None:
    seen: list[int] = []

    class Looking(MadeProber):
        def do(self, step: Step) -> Row:
            seen.append(len(read(tmp_path).rows))
            return super().do(step)

    with CheckDirectory(tmp_path, wanted()) as kept:
        run_steps(kept, all_steps()[:5], Looking(), Silent())
    assert seen == [0, 1, 2, 3, 4]


def test_starts_are_kept_whole(tmp_path: Path) -> None:
    row = starts(HARMONIZE, [0.1, 0.2], verdicts=[0, 2])
    assert read(keep(tmp_path, [row])).rows == [row]


def test_a_stop_is_told_whether_anything_was_kept(tmp_path: Path) -> None:
    with pytest.raises(SignalExit) as stop, CheckDirectory(tmp_path, wanted()):
        raise SignalExit(15)
    assert stop.value.progress == "; nothing was measured yet"
    keep(tmp_path)
    with pytest.raises(SignalExit) as stop, CheckDirectory(tmp_path, wanted()):
        raise SignalExit(15)
    assert stop.value.progress == "; what was measured is kept"
