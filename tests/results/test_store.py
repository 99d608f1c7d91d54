import json
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_cases import FACTS, STUDY, make_case, make_samples

import offbeat
from offbeat.base.errors import BadInput, RunFailed, SignalExit
from offbeat.measurement.results.blocks import Samples
from offbeat.measurement.results.layout import SCHEMA_VERSION
from offbeat.measurement.results.schema import CASES, RANKS, REPETITIONS, polars_schema
from offbeat.measurement.results.store import Store
from offbeat.model.study.algorithm import Algorithm, Verdict


def verdict(status="proved", bytes=8):
    return Verdict(collective="reduce", algorithm="binomial", p=4, bytes=bytes, status=status)


def test_a_case_comes_back_with_its_facts_and_statistics(store, directory):
    case, samples = make_case(p=5), make_samples(p=5, repetitions=9, invalid=2)
    store.append(case, FACTS | {"evidence": "functions:x", "overshoot_s": 5e-7}, samples)
    row = offbeat.read_cases(directory).row(0, named=True)
    last_s = (samples.exits_s.max(axis=1) - samples.arrivals_s.max(axis=1))[2:]
    total_s = (samples.exits_s.max(axis=1) - samples.arrivals_s.min(axis=1))[2:]
    assert row["case"] == case.id
    assert row["algorithm"] == "chain(fanout=0)"
    assert row["pattern"] == "ascending×1.5"
    assert (row["library"], row["evidence"], row["skew_s"]) == ("Open MPI 5.0.6", "functions:x", 1e-4)
    assert (row["repetitions"], row["invalid"]) == (7, 2)
    assert row["last_delay_s"] == np.median(last_s)
    assert (row["last_delay_low_s"], row["last_delay_high_s"]) == (last_s.min(), last_s.max())
    assert row["total_delay_s"] == np.median(total_s)
    assert (row["overshoot_s"], row["clock_bound_s"]) == (5e-7, 3e-7)


@given(
    sizes=st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4), st.integers(0, 5)), max_size=5),
    closed=st.booleans(),
)
def test_every_time_comes_back_to_the_last_bit(tmp_path_factory, sizes, closed):
    directory = tmp_path_factory.mktemp("store") / "results"
    store = Store.create(directory, study_toml=STUDY, provenance={})
    given_samples = {}
    for number, (repetitions, p, invalid) in enumerate(sizes):
        case = make_case(number, p)
        given_samples[case.id] = make_samples(number, repetitions, p, invalid)
        store.append(case, FACTS, given_samples[case.id])
    if closed:
        store.close()
    results = offbeat.read_study(directory)
    ranks = results.ranks()
    store.close()
    assert results.cases["case"].to_list() == list(given_samples)
    for case_id, samples in given_samples.items():
        case_ranks = ranks.filter(pl.col("case") == case_id).sort("repetition", "rank")
        assert case_ranks["arrival_s"].to_list() == samples.arrivals_s.ravel().tolist()
        assert case_ranks["exit_s"].to_list() == samples.exits_s.ravel().tolist()
        valid = results.repetitions.filter(pl.col("case") == case_id).sort("repetition")["valid"]
        assert valid.to_list() == samples.valid.tolist()


def test_an_empty_study_has_the_columns_of_the_schema(store, directory):
    results = offbeat.read_study(directory)
    assert results.cases.schema == pl.Schema(polars_schema(CASES))
    assert results.repetitions.schema == pl.Schema(polars_schema(REPETITIONS))
    assert results.ranks().schema == pl.Schema(polars_schema(RANKS))
    assert results.study == {"name": "a study"}
    assert results.provenance["host"] == "here"


@pytest.mark.parametrize("closed", [False, True])
def test_a_study_with_cases_has_the_columns_of_the_schema(store, directory, closed):
    store.append(make_case(), FACTS, make_samples())
    if closed:
        store.close()
    results = offbeat.read_study(directory)
    assert results.cases.schema == pl.Schema(polars_schema(CASES))
    assert results.repetitions.schema == pl.Schema(polars_schema(REPETITIONS))
    assert results.ranks().schema == pl.Schema(polars_schema(RANKS))


def test_a_quarantined_case_is_kept_with_its_reason_and_without_numbers(store, directory):
    nothing = np.zeros((0, 3))
    failed = Samples(arrivals_s=nothing, exits_s=nothing, valid=np.zeros(0, dtype=bool), failure="it hung")
    store.append(make_case(), FACTS | {"status": "quarantined"}, failed)
    row = offbeat.read_cases(directory).row(0, named=True)
    assert (row["status"], row["reason"], row["repetitions"]) == ("quarantined", "it hung", 0)
    assert row["last_delay_s"] is None
    assert row["last_delay_low_s"] is None


def test_repetitions_that_are_all_invalid_give_no_median(store, directory):
    store.append(make_case(), FACTS | {"status": "incomplete"}, make_samples(repetitions=3, invalid=3))
    results = offbeat.read_study(directory)
    assert results.cases["last_delay_s"].to_list() == [None]
    assert results.cases["invalid"].to_list() == [3]
    assert len(results.repetitions) == 3


def test_a_study_resumed_in_another_session_keeps_the_order(directory):
    for session in range(3):
        opened = (
            Store.open(directory) if session else Store.create(directory, study_toml=STUDY, provenance={})
        )
        with opened as store:
            assert len(store.done) == 2 * session
            for number in (2 * session, 2 * session + 1):
                store.append(make_case(number), FACTS, make_samples(number))
    results = offbeat.read_study(directory)
    assert results.cases["case"].to_list() == [make_case(number).id for number in range(6)]
    assert (
        results.repetitions["case"].unique(maintain_order=True).to_list() == results.cases["case"].to_list()
    )
    assert len(results.ranks()) == 6 * 4 * 3
    assert len(list((directory / "ranks").iterdir())) == 3


def test_a_session_that_adds_nothing_leaves_no_files(directory):
    Store.create(directory, study_toml=STUDY, provenance={}).close()
    Store.open(directory).close()
    assert not any(list((directory / folder).iterdir()) for folder in ("ranks", "repetitions"))


def test_algorithms_and_verdicts_are_stored_and_the_last_verdict_counts(store, directory):
    algorithm = Algorithm(collective="reduce", name="binomial", settings={"coll_tuned": "5"})
    store.add_algorithms([algorithm])
    store.add_verdicts([verdict("unproved"), verdict(bytes=64)])
    store.close()
    with Store.open(directory) as again:
        again.add_algorithms([algorithm])
        again.add_verdicts([verdict("quarantined")])
        assert again.algorithms == [algorithm]
        assert again.verdict("reduce", "binomial", 4, 8) == verdict("quarantined")
        assert again.verdict("reduce", "binomial", 4, 64) == verdict(bytes=64)
        assert again.verdict("reduce", "binomial", 5, 8) is None
    results = offbeat.read_study(directory)
    assert results.algorithms == [algorithm]
    assert results.verdicts == [verdict("quarantined"), verdict(bytes=64)]
    assert len((directory / "algorithms.jsonl").read_text().splitlines()) == 1


def test_provenance_can_be_completed_later(store, directory):
    store.update_provenance({"clock_residual_s": 1e-7})
    assert offbeat.read_study(directory).provenance == {
        "schema_version": SCHEMA_VERSION,
        "host": "here",
        "clock_residual_s": 1e-7,
    }


def test_the_study_is_read_back_unchanged(store, directory):
    store.close()
    with Store.open(directory) as again:
        assert again.study_toml == STUDY


def test_a_case_cannot_be_added_twice(store):
    store.append(make_case(), FACTS, make_samples())
    with pytest.raises(ValueError, match="is finished already"):
        store.append(make_case(), FACTS, make_samples())


@pytest.mark.parametrize(
    "facts", [{}, FACTS | {"reson": "typo"}, {key: FACTS[key] for key in FACTS if key != "library"}]
)
def test_missing_and_unknown_facts_are_refused(store, facts):
    with pytest.raises(ValueError, match="facts of a case"):
        store.append(make_case(), facts, make_samples())
    assert not store.done


def test_samples_of_another_p_are_refused(store):
    with pytest.raises(ValueError, match=r"\(4, 3\)"):
        store.append(make_case(p=3), FACTS, make_samples(p=4))


def test_valid_samples_that_are_not_finite_are_refused(store):
    samples = make_samples()
    samples.exits_s[3, 1] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        store.append(make_case(), FACTS, samples)


def test_a_directory_of_something_else_is_refused_and_left_alone(directory):
    directory.mkdir()
    (directory / "study.toml").write_text("mine")
    with pytest.raises(BadInput, match="not empty and does not hold results of offbeat"):
        Store.create(directory, study_toml=STUDY, provenance={})
    assert {path.name: path.read_text() for path in directory.iterdir()} == {"study.toml": "mine"}
    with pytest.raises(BadInput, match=r"has no provenance\.json"):
        Store.open(directory)


@pytest.mark.parametrize("content", ["{}", "[]", '{"schema": 1}'])
def test_a_foreign_provenance_is_refused(directory, content):
    directory.mkdir()
    (directory / "provenance.json").write_text(content)
    with pytest.raises(BadInput, match="no schema_version"):
        Store.open(directory)


def test_results_are_never_overwritten(store, directory):
    store.close()
    with pytest.raises(BadInput, match="holds the results of a study already"):
        Store.create(directory, study_toml=STUDY, provenance={})


def test_a_missing_directory_is_refused(directory):
    for use in (Store.open, offbeat.read_study):
        with pytest.raises(BadInput, match="there is no directory"):
            use(directory)


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/offbeat", "/proc/offbeat/below"])
def test_an_unwritable_place_is_refused_with_a_sentence(tmp_path, place):
    (tmp_path / "file").write_text("")
    target = tmp_path / place if not place.startswith("/") else Path(place)
    with pytest.raises(BadInput, match=r"is a file|cannot write to the directory"):
        Store.create(target, study_toml=STUDY, provenance={})


def test_another_schema_version_is_refused_with_both_versions(store, directory):
    store.close()
    path = directory / "provenance.json"
    path.write_text(json.dumps({"schema_version": 7, "offbeat_version": "9.1"}))
    for use in (Store.open, offbeat.read_study):
        with pytest.raises(BadInput, match=r"offbeat 9\.1 in schema version 7; this one reads version 3"):
            use(directory)


def test_a_second_run_is_refused_with_the_process_of_the_first(store, directory):
    with pytest.raises(RunFailed, match=f"is being written by process {os.getpid()} on "):
        Store.open(directory)
    store.append(make_case(), FACTS, make_samples())
    assert len(offbeat.read_cases(directory)) == 1


def test_a_failed_opening_releases_the_lock_of_results(store, directory):
    store.close()
    cases = directory / "cases.jsonl"
    cases.unlink()
    cases.mkdir()
    with pytest.raises(BadInput):
        Store.open(directory)
    cases.rmdir()
    Store.open(directory).close()


def test_a_stopped_session_reports_whether_anything_was_stored(directory):
    with pytest.raises(SignalExit) as stop, Store.create(directory, study_toml=STUDY, provenance={}):
        raise SignalExit(15)
    assert stop.value.progress == "; nothing was measured yet"
    with pytest.raises(SignalExit) as stop, Store.open(directory) as store:
        store.append(make_case(), FACTS, make_samples())
        raise SignalExit(15)
    assert stop.value.progress == "; what was measured is kept"
