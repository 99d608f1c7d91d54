"""A full or failing disk: finished cases stay, and a sentence reports the failure."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from full_disk import Disk
from sample_cases import FACTS, STUDY, make_case, make_samples

import offbeat
from offbeat.base.errors import BadInput, RunFailed
from offbeat.measurement.results.store import Store


@pytest.mark.parametrize("room", [0, 1, 100, 1000, 1500, 2000, 2500])
def test_a_full_disk_loses_nothing_and_the_run_resumes_when_there_is_space(
    store, directory, monkeypatch, room
):
    disk = Disk(monkeypatch)
    for number in range(3):
        store.append(make_case(number), FACTS, make_samples(number))
    disk.room = room
    with pytest.raises(RunFailed, match="No space left on device; everything finished before is kept"):
        for number in (3, 4, 5):
            store.append(make_case(number), FACTS, make_samples(number))
    stored_count = len(store.done)
    assert 3 <= stored_count < 6
    assert len(offbeat.read_cases(directory)) == stored_count
    disk.room = 10**9
    for number in range(stored_count, 8):
        store.append(make_case(number), FACTS, make_samples(number))
    store.close()
    results = offbeat.read_study(directory)
    assert results.cases["case"].to_list() == [make_case(number).id for number in range(8)]
    assert len(results.repetitions) == 8 * 4
    assert results.notes == []


def test_a_disk_that_refuses_even_to_shorten_a_file_leaves_no_half_case_behind(store, directory, monkeypatch):
    disk = Disk(monkeypatch)
    store.append(make_case(0), FACTS, make_samples(0))
    disk.room = 700
    with monkeypatch.context() as worse:
        worse.setattr(os, "ftruncate", lambda *_: disk.pwrite(-1, b"", 0))
        with pytest.raises(RunFailed):
            store.append(make_case(1), FACTS, make_samples(1))
    disk.room = 10**9
    store.append(make_case(2), FACTS, make_samples(2, repetitions=1, invalid=0))
    store.close()
    results = offbeat.read_study(directory)
    assert results.cases["case"].to_list() == [make_case(0).id, make_case(2).id]
    assert len(results.repetitions) == 5


def test_an_interrupt_in_the_middle_of_a_write_leaves_no_half_case(store, directory, monkeypatch):
    store.append(make_case(0), FACTS, make_samples(0))
    really, calls = os.fsync, []

    def interrupted(descriptor):
        calls.append(descriptor)
        if len(calls) == 2:  # the samples are on disk, the case's line is not
            raise KeyboardInterrupt
        really(descriptor)

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.append(make_case(1), FACTS, make_samples(1))
    monkeypatch.undo()
    assert len(offbeat.read_cases(directory)) == 1
    store.append(make_case(1), FACTS, make_samples(1))
    store.close()
    results = offbeat.read_study(directory)
    assert len(results.cases) == 2
    assert len(results.repetitions) == 8


def test_without_space_to_join_records_the_samples_are_kept(store, directory, monkeypatch):
    store.append(make_case(), FACTS, make_samples())

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("offbeat.base.campaign.durable.publish", full)
    with pytest.raises(RunFailed, match="No space left"):
        store.close()
    monkeypatch.undo()
    assert len(offbeat.read_study(directory).repetitions) == 4
    assert not list(directory.rglob("*.tmp"))
    Store.open(directory).close()
    assert len(list((directory / "repetitions").iterdir())) == 1
    assert len(offbeat.read_study(directory).ranks()) == 12


LIMITED = """
import resource, sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from sample_cases import FACTS, STUDY, make_case, make_samples
from offbeat.base.errors import RunFailed
from offbeat.measurement.results.store import Store
with Store.create(Path(sys.argv[1]), study_toml=STUDY, provenance={}) as store:
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
    try:
        for number in range(10_000):
            store.append(make_case(number), FACTS, make_samples(number, repetitions=10))
    except RunFailed as error:
        print(len(store.done), error)
"""


def test_a_write_that_the_system_really_refuses_loses_nothing(directory):
    command = [sys.executable, "-c", LIMITED, str(directory), str(Path(__file__).parent)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    stored_count, _, sentence = done.stdout.partition(" ")
    assert sentence.startswith("cannot write")
    assert "File too large" in sentence
    results = offbeat.read_study(directory)
    assert len(results.cases) == int(stored_count) > 10
    assert len(results.repetitions) == 10 * int(stored_count)


def test_a_full_disk_at_the_start_is_bad_input(directory, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("offbeat.base.campaign.durable.write_durably", full)
    with pytest.raises(BadInput, match=r"cannot write to the directory .*: No space left"):
        Store.create(directory, study_toml=STUDY, provenance={})
    monkeypatch.undo()
    Store.create(directory, study_toml=STUDY, provenance={}).close()


def test_reading_changes_nothing_in_the_directory(store, directory, tmp_path):
    store.append(make_case(), FACTS, make_samples())
    store.close()
    before = {path: path.stat().st_mtime_ns for path in directory.rglob("*")}
    results = offbeat.read_study(directory)
    results.ranks()
    assert {path: path.stat().st_mtime_ns for path in directory.rglob("*")} == before
    moved = Path(shutil.copytree(directory, tmp_path / "copy"))
    (moved / "offbeat.lock").unlink()
    assert offbeat.read_study(moved).cases.equals(results.cases)
