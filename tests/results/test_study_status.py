import os
import subprocess
import sys

import pytest
from captured_command import invoke
from sample_cases import FACTS, make_case, make_samples
from typer import Typer

from offbeat.base.errors import BadInput
from offbeat.cli.status import command
from offbeat.measurement.results.status import read_status
from offbeat.model.study.algorithm import Verdict


def run(directory):
    app = Typer()
    app.command()(command)
    return invoke(app, directory).stdout


@pytest.fixture
def half_done(store):
    store.set_total(6)
    store.append(make_case(0), FACTS, make_samples())
    store.append(make_case(1), FACTS | {"status": "incomplete"}, make_samples(invalid=4))
    failed = FACTS | {"status": "quarantined", "reason": "it hung for 60 s"}
    store.append(make_case(2, collective="bcast"), failed, make_samples(repetitions=0))
    return store


def test_the_status_of_a_running_study_has_its_progress_and_its_process(half_done, directory):
    status = read_status(directory)
    assert (status.done, status.total) == (3, 6)
    assert status.active is not None
    assert status.active.pid == os.getpid()
    assert status.counts == {
        "reduce": {"measured": 1, "unfinished": 0, "incomplete": 1, "quarantined": 0},
        "bcast": {"measured": 0, "unfinished": 0, "incomplete": 0, "quarantined": 1},
    }
    assert status.quarantined == [
        ("bcast chain(fanout=2), p = 3, 1024 B, ascending×1.5", "it hung for 60 s"),
    ]
    assert status.size_bytes > 1000
    assert status.last_activity is not None


def test_a_study_that_ended_is_not_active(half_done, directory):
    half_done.close()
    assert read_status(directory).active is None


def test_reading_the_status_does_not_block_a_run(half_done, directory):
    read_status(directory)
    half_done.append(make_case(3), FACTS, make_samples())
    assert read_status(directory).done == 4


def test_the_command_shows_it_in_plain_lines(half_done, directory):
    text = run(directory)
    assert "3 of 6 cases done; process" in text
    assert "quarantined: bcast chain(fanout=2), p = 3, 1024 B, ascending×1.5: it hung for 60 s" in text
    reduce = next(line for line in text.splitlines() if line.startswith("reduce"))
    assert reduce.split() == ["reduce", "1", "0", "1", "0"]


def test_unfinished_cases_are_shown_with_their_blocks(store, directory):
    for number, reason in enumerate(("2 of 5 blocks", "2 of 5 blocks", "3 of 5 blocks")):
        store.append(make_case(number), FACTS | {"status": "unfinished", "reason": reason}, make_samples())
    text = run(directory)
    assert "unfinished: 2 cases with 2 of 5 blocks\nunfinished: 1 case with 3 of 5 blocks\n" in text


def test_an_algorithm_that_was_proved_again_counts_once(store, directory):
    """Its collective is proved again when the study grows by sizes."""
    for size, evidence in ((8, "one launch"), (8, "another launch"), (1024, "another launch")):
        of = {"collective": "reduce", "algorithm": "chain", "p": 3, "bytes": size}
        store.add_verdicts([Verdict(**of, status="proved", evidence=evidence)])
    assert "reduce: 2 tests proved\n" in run(directory)


def test_a_study_without_cases_has_a_status(store, directory):
    store.close()
    assert "0 cases done; no run is active" in run(directory)


def test_other_folders_have_no_status(tmp_path):
    with pytest.raises(BadInput, match="does not hold results"):
        run(tmp_path)


def test_cases_whose_samples_are_missing_count_until_they_are_checked(half_done, directory):
    half_done.close()
    for part in (directory / "repetitions").iterdir():
        part.unlink()
    assert read_status(directory).done == 3
    checked = read_status(directory, check=True)
    assert checked.done == 1  # the quarantined one has none
    assert "2 cases are left out because their samples are missing" in checked.notes[0]


def test_reading_a_status_loads_no_frames():
    imported = "offbeat.measurement.results.status"
    program = f"import sys, {imported}; print({{'polars', 'numpy'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
