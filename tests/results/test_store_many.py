"""Many cases are appended at once: all of them or none, also after a kill."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_cases import FACTS, STUDY, make_case, make_samples

import offbeat
from offbeat.base.errors import RunFailed
from offbeat.measurement.results.store import Store

pytestmark = pytest.mark.slow


def entries(numbers, ps=(3, 5)):
    """Cases of different p, some with invalid repetitions and some with none at all."""
    collected = []
    for number in numbers:
        p = ps[number % len(ps)]
        samples = make_samples(number, repetitions=number % 4, p=p, invalid=number % 2)
        collected.append((make_case(number, p), FACTS, samples))
    return collected


def test_cases_appended_together_equal_cases_appended_one_by_one(tmp_path):
    finished = entries(range(8))
    with Store.create(tmp_path / "together", study_toml=STUDY, provenance={}) as store:
        store.append_all(finished)
    with Store.create(tmp_path / "apart", study_toml=STUDY, provenance={}) as store:
        for case, facts, samples in finished:
            store.append(case, facts, samples)
    one, other = offbeat.read_study(tmp_path / "together"), offbeat.read_study(tmp_path / "apart")
    assert one.cases.equals(other.cases)
    assert one.repetitions.equals(other.repetitions)
    assert one.ranks().equals(other.ranks())


def test_many_cases_are_synchronised_to_disk_once(tmp_path, monkeypatch):
    with Store.create(tmp_path / "results", study_toml=STUDY, provenance={}) as store:
        store.append_all(entries([1]))
        waits = []
        monkeypatch.setattr(os, "fsync", waits.append)
        store.append_all(entries(range(2, 40)))
        assert len(waits) == 3  # two files of samples, and the lines of cases
        monkeypatch.undo()


def test_a_failed_append_stores_none_of_the_cases(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    with Store.create(tmp_path / "results", study_toml=STUDY, provenance={}) as store:
        store.append_all(entries(range(3)))
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(RunFailed, match="No space left"):
                store.append_all(entries(range(3, 6)))
        store.append_all(entries(range(3, 6)))
    assert len(offbeat.read_cases(tmp_path / "results")) == 6
    assert offbeat.read_study(tmp_path / "results").notes == []


def test_a_duplicate_case_refuses_all_cases_of_an_append(tmp_path):
    with Store.create(tmp_path / "results", study_toml=STUDY, provenance={}) as store:
        store.append_all(entries([1, 2]))
        with pytest.raises(ValueError, match="is finished already"):
            store.append_all(entries([2, 3]))
        assert len(store.done) == 2


def test_appending_no_cases_changes_nothing(tmp_path):
    with Store.create(tmp_path / "results", study_toml=STUDY, provenance={}) as store:
        store.append_all([])
    assert offbeat.read_cases(tmp_path / "results").is_empty()


@settings(max_examples=30)
@given(data=st.data())
def test_a_kill_while_lines_are_written_keeps_the_whole_ones_and_their_samples(tmp_path_factory, data):
    directory = tmp_path_factory.mktemp("killed") / "results"
    finished = entries(range(1, 9))
    store = Store.create(directory, study_toml=STUDY, provenance={})
    store.append_all(finished)
    store._lock.release()  # as when a process ends
    lines = (directory / "cases.jsonl").read_bytes()
    cut = data.draw(st.integers(0, len(lines)), label="bytes on disk")
    (directory / "cases.jsonl").write_bytes(lines[:cut])
    whole = lines[:cut].count(b"\n")
    with Store.open(directory) as again:
        assert again.done == {case.id for case, _, _ in finished[:whole]}
        again.append_all([entry for entry in finished if entry[0].id not in again.done])
    results = offbeat.read_study(directory)
    assert results.notes == []
    counts = dict(results.repetitions.group_by("case").len().iter_rows())
    assert counts == {case.id: len(samples.valid) for case, _, samples in finished if len(samples.valid)}


def test_a_single_exact_repetition_is_its_own_interval(tmp_path):
    samples = make_samples(1, repetitions=1, invalid=0)
    with Store.create(tmp_path / "results", study_toml=STUDY, provenance={}) as store:
        store.append(make_case(), FACTS, samples)
    (row,) = offbeat.read_cases(tmp_path / "results").iter_rows(named=True)
    last_s = float(samples.exits_s.max() - samples.arrivals_s.max())
    assert row["last_delay_s"] == row["last_delay_low_s"] == row["last_delay_high_s"] == last_s
    assert (row["repetitions"], row["invalid"]) == (1, 0)


def test_one_repetition_that_does_not_count_gives_no_delay(tmp_path):
    samples = make_samples(1, repetitions=1, invalid=1)
    with Store.create(tmp_path / "results", study_toml=STUDY, provenance={}) as store:
        store.append(make_case(), FACTS, samples)
    (row,) = offbeat.read_cases(tmp_path / "results").iter_rows(named=True)
    assert row["last_delay_s"] is None
