"""A campaign is valid after a kill at any moment, and resumes without repeating a step."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import squares
from full_disk import Disk
from hypothesis import given
from hypothesis import strategies as st
from squares import FORMAT, Listener, Settings, Square, compute, numbers, open_squares, square

from offbeat.base.campaign.directory import read_campaign
from offbeat.base.errors import BadInput, RunFailed, SignalExit

COUNT = Settings().count


class Killed(BaseException):
    """The process ends here."""


def killed_at(number: int) -> Callable[[int], Square]:
    """Does the steps before this one."""

    def do(step: int) -> Square:
        if step == number:
            raise Killed
        return square(step)

    return do


def content(directory: Path) -> dict[str, bytes]:
    """Every file of a directory, without the lock, which names a process."""
    files = (path for path in directory.rglob("*") if path.is_file() and path.name != "offbeat.lock")
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("campaign") / "uninterrupted"
    compute(directory)
    return directory


@given(kills=st.lists(st.integers(0, COUNT - 1), max_size=6), cut=st.integers(0, 60))
def test_a_campaign_killed_after_any_steps_and_resumed_equals_an_uninterrupted_one(
    tmp_path_factory: pytest.TempPathFactory, uninterrupted: Path, kills: list[int], cut: int
) -> None:
    directory = tmp_path_factory.mktemp("campaign") / "killed"
    done: list[int] = []
    for number in sorted(kills):
        listener = Listener()
        with pytest.raises(Killed):
            compute(directory, do=killed_at(number), listener=listener)
        done += listener.recorded_numbers
    if done:  # the kill came while the last record was written
        records = directory / FORMAT.records
        last = len(records.read_bytes().splitlines(keepends=True)[-1])
        records.write_bytes(records.read_bytes()[: -(cut % last + 1)])
        done.pop()
    listener = Listener()
    assert compute(directory, listener=listener) is None
    assert listener.begun == (len(done), COUNT)
    assert done + listener.recorded_numbers == list(range(COUNT))
    assert content(directory) == content(uninterrupted)


PROGRAM = [sys.executable, squares.__file__]


def test_a_repeatedly_killed_process_repeats_no_step_and_ends_like_an_uninterrupted_one(
    tmp_path: Path, uninterrupted: Path
) -> None:
    begun: list[int] = []
    for steps in (2, 1, 3):
        process = subprocess.Popen(
            [*PROGRAM, str(tmp_path / "killed"), str(COUNT), "0.05"], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        for _ in range(steps):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.stdout.read()
        process.stdout.close()
        process.wait()
        begun.append(len(numbers(tmp_path / "killed")))
    assert begun == sorted(begun)
    assert compute(tmp_path / "killed") is None
    assert content(tmp_path / "killed") == content(uninterrupted)


def test_a_finished_campaign_does_nothing_more(uninterrupted: Path) -> None:
    before = content(uninterrupted)
    listener = Listener()
    compute(uninterrupted, do=killed_at(0), listener=listener)
    assert listener.begun == (COUNT, COUNT)
    assert content(uninterrupted) == before


def test_a_record_is_on_disk_before_the_next_step_begins(tmp_path: Path) -> None:
    observed: list[list[int]] = []

    def do(number: int) -> Square:
        observed.append(numbers(tmp_path))
        return square(number)

    compute(tmp_path, do=do)
    assert observed == [list(range(number)) for number in range(COUNT)]


def test_a_failed_attempt_is_recorded_ends_the_run_and_is_repeated(tmp_path: Path) -> None:
    failed = Square(number=2, square=None)
    assert compute(tmp_path, do=lambda number: failed if number == 2 else square(number)) == failed
    listener = Listener()
    assert compute(tmp_path, listener=listener) is None
    assert listener.begun == (2, COUNT)
    assert numbers(tmp_path) == [0, 1, 2, 2, 3, 4, 5]


@pytest.mark.parametrize("garbage", [b"{", b'{"number": 9, "square": 81}\n', b"\0" * 30 + b"\n", b"\xff\n"])
def test_a_last_line_of_garbage_does_not_count(tmp_path: Path, uninterrupted: Path, garbage: bytes) -> None:
    compute(tmp_path)
    with (tmp_path / FORMAT.records).open("ab") as file:
        file.write(garbage)
    assert numbers(tmp_path) == list(range(COUNT))
    compute(tmp_path)
    assert content(tmp_path) == content(uninterrupted)


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    compute(tmp_path)
    path = tmp_path / FORMAT.records
    path.write_bytes(path.read_bytes().replace(b'"square":4', b'"square":5'))
    for use in (compute, numbers):
        with pytest.raises(BadInput, match=r"squares\.jsonl:3: the line is damaged \(its checksum"):
            use(tmp_path)


@pytest.mark.parametrize("settings", [Settings(count=4), Settings(unit="m"), Settings(names=["one"] * 50)])
def test_other_settings_are_refused_and_nothing_is_changed(tmp_path: Path, settings: Settings) -> None:
    compute(tmp_path)
    before = content(tmp_path)
    with pytest.raises(BadInput, match="holds squares with other settings"):
        compute(tmp_path, settings)
    assert content(tmp_path) == before
    compute(tmp_path)


def test_settings_that_differ_are_named_with_both_values_unless_these_are_long(tmp_path: Path) -> None:
    compute(tmp_path)
    with pytest.raises(BadInput) as refused:
        compute(tmp_path, Settings(count=4, unit="", names=["number one"] * 50))
    assert str(refused.value) == (
        f"{tmp_path} holds squares with other settings (count: 6 there, 4 here; unit: cm there, '' here; the"
        " names of the numbers): new results would not be comparable. Restore the old values to resume, or"
        " give another directory with --output"
    )


def test_a_directory_with_other_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "squares.jsonl").write_text("mine", encoding="utf-8")
    with pytest.raises(BadInput, match=r"is not empty and does not hold squares .*no squares\.json in it"):
        compute(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.txt", "squares.jsonl"]
    with pytest.raises(BadInput, match=r"it has no squares\.json; give the directory that 'offbeat square'"):
        numbers(tmp_path)
    for use in (compute, numbers):
        with pytest.raises(BadInput, match="is a file"):
            use(tmp_path / "mine.txt")
    with pytest.raises(BadInput, match=r"there is no directory .*; 'offbeat square' creates one"):
        numbers(tmp_path / "nowhere")


@pytest.mark.parametrize("names", [[], ["offbeat.lock"], ["offbeat.lock", "squares.json.tmp"]])
def test_a_directory_that_is_empty_or_left_by_a_killed_creation_is_used(
    tmp_path: Path, uninterrupted: Path, names: list[str]
) -> None:
    for name in names:
        (tmp_path / name).write_text("", encoding="utf-8")
    compute(tmp_path)
    assert content(tmp_path) == content(uninterrupted)


@pytest.mark.parametrize(
    ("head", "sentence"),
    [
        ("{", "is damaged"),
        ('{"squares_version": 1, "count": "many"}', "is damaged .*put it back from a copy"),
        ("[]", "has no squares_version"),
        ('{"count": 1}', "has no squares_version"),
        (
            '{"squares_version": 2}',
            "another version in squares version 2; this one reads version 1",
        ),
        ('{"squares_version": 7, "offbeat_version": "9.1"}', r"by offbeat 9\.1 in squares version 7"),
    ],
)
def test_a_head_that_cannot_be_used_is_refused_with_the_reason(
    tmp_path: Path, head: str, sentence: str
) -> None:
    compute(tmp_path)
    (tmp_path / FORMAT.head).write_text(head, encoding="utf-8")
    for use in (compute, numbers):
        with pytest.raises(BadInput, match=sentence):
            use(tmp_path)


def test_a_head_can_be_completed_later(tmp_path: Path) -> None:
    with open_squares(tmp_path) as campaign:
        campaign.update_head(unit="m")
    assert read_campaign(tmp_path, FORMAT)[0] == Settings(unit="m")


@pytest.mark.parametrize("place", ["file/below", "/proc/offbeat", "/proc/offbeat/below"])
def test_an_unwritable_place_is_refused_with_a_sentence(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(BadInput, match=r"cannot write to the directory .*; give a directory that you can"):
        compute(tmp_path / place)


def test_a_lock_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "offbeat.lock").mkdir()
    with pytest.raises(
        BadInput, match=r"cannot write to the directory .*: Is a directory \(.*offbeat\.lock\)"
    ):
        compute(tmp_path)


@pytest.mark.parametrize("room", [0, 1, 30, 100, 200])
def test_a_full_disk_loses_no_record_and_the_campaign_resumes_when_there_is_space(
    tmp_path: Path, uninterrupted: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    disk = Disk(monkeypatch)
    with pytest.raises(Killed):
        compute(tmp_path, do=killed_at(1))
    with open_squares(tmp_path) as campaign, pytest.raises(RunFailed, match=r"No space left .*is kept\."):
        disk.room = room
        for number in range(1, COUNT):
            campaign.append(square(number))
    assert numbers(tmp_path) == list(campaign.records_by_step)
    disk.room = 10**9
    compute(tmp_path)
    assert content(tmp_path) == content(uninterrupted)


def test_a_disk_that_is_full_at_the_start_is_reported_and_blocks_nothing(
    tmp_path: Path, uninterrupted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(RunFailed, match=r"cannot write .*squares\.json: No space left on device"):
            compute(tmp_path)
    compute(tmp_path)
    assert content(tmp_path) == content(uninterrupted)


@pytest.mark.parametrize(
    ("steps", "progress"), [(0, "; nothing was measured yet"), (1, "; what was measured is kept")]
)
def test_an_interrupted_campaign_reports_whether_records_are_kept(
    tmp_path: Path, steps: int, progress: str
) -> None:
    def do(number: int) -> Square:
        if number == steps:
            raise SignalExit(15)
        return square(number)

    with pytest.raises(SignalExit) as stop:
        compute(tmp_path, do=do)
    assert stop.value.progress == progress
