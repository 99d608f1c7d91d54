"""Kills at any moment: every file is truncated at any byte, and a writer is killed."""

import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_cases import FACTS, STUDY, make_case, make_samples

import offbeat
from offbeat.measurement.results.records import read_records
from offbeat.measurement.results.sample_files import FOLDERS
from offbeat.measurement.results.store import Store

pytestmark = pytest.mark.slow

COUNT = 5
IDS = [make_case(number).id for number in range(COUNT)]


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A result directory as a killed writer leaves it: five cases, a record for each."""
    running = tmp_path_factory.mktemp("killed") / "running"
    copy = running.with_name("copy")
    with Store.create(running, study_toml=STUDY, provenance={}) as store:
        for number in range(COUNT):
            store.append(make_case(number), FACTS, make_samples(number))
        shutil.copytree(running, copy)
    return copy


@pytest.fixture
def left(killed, tmp_path):
    return Path(shutil.copytree(killed, tmp_path / "left"))


def assert_whole(directory, ids):
    """Reading and opening agree on these cases, and each has all its repetitions and ranks."""
    for results in (offbeat.read_study(directory), _reopened(directory)):
        assert results.cases["case"].to_list() == ids
        assert results.repetitions.group_by("case").len()["len"].to_list() == [4] * len(ids)
        assert results.ranks().group_by("case").len()["len"].to_list() == [12] * len(ids)


def _reopened(directory):
    with Store.open(directory) as store:
        assert store.done == set(offbeat.read_study(directory).cases["case"])
    return offbeat.read_study(directory)


def test_all_finished_cases_of_a_killed_run_are_stored(left):
    assert_whole(left, IDS)


def test_cases_cut_at_any_byte_hold_the_cases_before_the_cut(killed, tmp_path):
    whole = (killed / "cases.jsonl").read_bytes()
    ends = [index + 1 for index, byte in enumerate(whole) if byte == 0x0A]
    near_ends = {end + shift for end in ends for shift in (-2, -1, 0, 1) if end + shift <= len(whole)}
    for size in sorted({0, 1, *near_ends, *range(0, len(whole), 397)}):
        directory = Path(shutil.copytree(killed, tmp_path / str(size)))
        (directory / "cases.jsonl").write_bytes(whole[:size])
        assert_whole(directory, IDS[: sum(end <= size for end in ends)])


@pytest.mark.parametrize("folder", FOLDERS)
def test_samples_cut_at_any_byte_hold_the_cases_before_the_cut(killed, tmp_path, folder):
    whole = next((killed / folder).iterdir()).read_bytes()
    recovered = set()
    for size in sorted({0, 1, 7, 8, *range(0, len(whole), 211), len(whole) - 1}):
        directory = Path(shutil.copytree(killed, tmp_path / str(size)))
        next((directory / folder).iterdir()).write_bytes(whole[:size])
        results = offbeat.read_study(directory)
        ids = results.ranks()["case"].unique(maintain_order=True).to_list()
        assert ids == IDS[: len(ids)]
        assert bool(results.notes) == (len(ids) < COUNT)
        Store.open(directory).close()
        assert_whole(directory, ids)
        recovered.add(len(ids))
    assert recovered == set(range(COUNT))


@settings(max_examples=40)
@given(data=st.data())
def test_cases_and_samples_cut_anywhere_hold_a_prefix(killed, tmp_path_factory, data):
    directory = Path(shutil.copytree(killed, tmp_path_factory.mktemp("cut") / "left"))
    for path in (directory / "cases.jsonl", next((directory / "repetitions").iterdir())):
        whole = path.read_bytes()
        path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    ids = offbeat.read_study(directory).cases["case"].to_list()
    assert ids == IDS[: len(ids)]
    assert_whole(directory, ids)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_study_that_lost_cases_measures_just_those_again(left, folder):
    stream = next((left / folder).iterdir())
    stream.write_bytes(stream.read_bytes()[:-1])
    with Store.open(left) as store:
        assert store.done == set(IDS[:-1])
        store.append(make_case(COUNT - 1), FACTS, make_samples(COUNT - 1))
    assert_whole(left, IDS)


def test_samples_without_a_case_are_ignored_and_then_removed(left):
    lines = (left / "cases.jsonl").read_bytes().splitlines(keepends=True)
    (left / "cases.jsonl").write_bytes(b"".join(lines[:-1]))
    with Store.open(left) as store:
        store.append(make_case(COUNT - 1), FACTS, make_samples(99, repetitions=2))
    results = offbeat.read_study(left)
    assert len(results.cases) == COUNT
    assert len(results.repetitions) == (COUNT - 1) * 4 + 2


@pytest.mark.parametrize("name", ["algorithms.jsonl", "verdicts.jsonl", "cases.jsonl"])
def test_a_last_line_of_garbage_does_not_count(left, name):
    with (left / name).open("ab") as file:
        file.write(b"\x00" * 20 + b"\n")
    assert_whole(left, IDS)


def test_a_deleted_file_means_measuring_its_cases_again(left):
    Store.open(left).close()
    (left / "repetitions" / "session-0001.records").unlink()
    results = offbeat.read_study(left)
    assert len(results.cases) == 0
    assert "5 cases are left out" in results.notes[0]
    with Store.open(left) as store:
        assert not store.done


@pytest.mark.parametrize("folders", [[], ["repetitions"], ["ranks", "repetitions"]])
def test_a_kill_while_records_are_joined_loses_and_repeats_nothing(left, tmp_path, folders):
    joined = Path(shutil.copytree(left, tmp_path / "joined"))
    Store.open(joined).close()
    for folder in folders:
        shutil.copy(joined / folder / "session-0001.records", left / folder)
    (left / "ranks" / "session-0001.records.tmp").write_bytes(b"half a file")
    (left / "ranks" / "session-0001.records.tmp.tmp").hardlink_to(left / "ranks" / "session-0001.records")
    assert_whole(left, IDS)
    assert not list(left.rglob("*.tmp"))


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_records_of_a_killed_session_are_joined_when_the_study_resumes(left, folder):
    small = next((left / folder).iterdir()).stat().st_size
    Store.open(left).close()
    (path,) = (left / folder).iterdir()
    assert len(list(read_records(path))) == 1
    assert path.stat().st_size < small


@pytest.mark.parametrize(
    "names", [[], ["offbeat.lock"], ["offbeat.lock", "study.toml"], ["offbeat.lock", "provenance.json.tmp"]]
)
def test_a_kill_while_creating_does_not_block_the_directory(directory, names):
    directory.mkdir()
    for name in names:
        (directory / name).write_text("")
    Store.create(directory, study_toml=STUDY, provenance={}).close()
    assert offbeat.read_study(directory).study == {"name": "a study"}


WRITER = """
import sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from sample_cases import FACTS, STUDY, make_case, make_samples
from offbeat.measurement.results.records import read_records
from offbeat.measurement.results.sample_files import FOLDERS
from offbeat.measurement.results.store import Store
directory = Path(sys.argv[1])
if (directory / "provenance.json").exists():
    store = Store.open(directory)
else:
    store = Store.create(directory, study_toml=STUDY, provenance={})
with store:
    for number in range(300):
        if make_case(number).id not in store.done:
            store.append(make_case(number), FACTS, make_samples(number, repetitions=20))
            print(number, flush=True)
"""


def test_a_repeatedly_killed_writer_ends_like_an_uninterrupted_one(directory):
    command = [sys.executable, "-c", WRITER, str(directory), str(Path(__file__).parent)]
    chance, finished = random.Random(5), []
    for _ in range(6):
        writer = subprocess.Popen(command, stdout=subprocess.PIPE)
        for _ in range(chance.randint(1, 40)):
            writer.stdout.readline()
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        messages = [int(line) for line in writer.stdout.read().split()]
        writer.stdout.close()
        results = offbeat.read_study(directory)
        assert results.notes == []
        assert len(results.cases) >= max(messages, default=0)
        finished.append(len(results.cases))
    assert finished == sorted(finished)
    assert finished[0] > 0
    subprocess.run(command, check=True, capture_output=True)
    results = offbeat.read_study(directory)
    assert results.cases["case"].to_list() == [make_case(number).id for number in range(300)]
    assert len(results.repetitions) == 300 * 20
    assert len(results.ranks()) == 300 * 20 * 3
