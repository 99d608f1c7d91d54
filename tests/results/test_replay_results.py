"""Replays in results: the stored calls, export and import, and results without replays."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from sample_cases import FACTS, make_case, make_samples

import offbeat
from offbeat.measurement.results.export import export_file
from offbeat.measurement.results.import_csv import import_csv
from offbeat.measurement.results.schema import CASES
from offbeat.measurement.results.statistics import mean_interval

SITE = "MPI_Alltoall of 32 KiB at ft.c:118 in /traces/ft"
REPLAYED = FACTS | {"pattern_kind": "replay", "source": SITE}


def make_replay(number: int = 0):
    return make_case(number, pattern="ft", shape="ft", skew_policy="replay", skew_factor=1.0)


def replayed_samples(seed: int = 0, calls: int = 4, rounds: int = 3):
    """Whole rounds, of which the first repetition missed its start."""
    samples = make_samples(seed, repetitions=calls * rounds + 1)
    return msgspec.structs.replace(samples, calls=np.concatenate([[0], np.tile(np.arange(calls), rounds)]))


def last_delays(samples):
    return (samples.exits_s.max(axis=1) - samples.arrivals_s.max(axis=1))[samples.valid]


def test_a_replay_s_delay_is_the_mean_over_its_calls_with_its_interval(store, directory):
    samples = replayed_samples()
    store.append(make_replay(), REPLAYED, samples)
    (row,) = offbeat.read_study(directory).cases.to_dicts()
    last_s = last_delays(samples)
    assert row["last_delay_s"] == pytest.approx(np.median(last_s.reshape(3, 4), axis=0).mean())
    low, high = mean_interval(last_s, samples.calls[samples.valid])
    assert (row["last_delay_low_s"], row["last_delay_high_s"]) == (low, high)
    assert low < row["last_delay_s"] < high
    assert (row["repetitions"], row["invalid"], row["source"]) == (12, 1, SITE)


def test_an_exact_replay_is_its_own_interval(store, directory):
    store.append(make_replay(), REPLAYED, msgspec.structs.replace(replayed_samples(), is_exact=True))
    (row,) = offbeat.read_study(directory).cases.to_dicts()
    assert row["last_delay_low_s"] == row["last_delay_s"] == row["last_delay_high_s"]


@pytest.mark.parametrize("closed", [False, True])
def test_each_repetition_keeps_the_number_of_its_call(store, directory, closed):
    store.append(make_replay(0), REPLAYED, replayed_samples())
    store.append(make_case(1), FACTS, make_samples(1))
    if closed:
        store.close()
    repetitions = offbeat.read_study(directory).repetitions
    assert repetitions["call"].to_list() == [0, *range(4), *range(4), *range(4), None, None, None, None]


def test_an_export_with_replays_is_imported_unchanged(store, directory, tmp_path):
    store.append(make_replay(0), REPLAYED, replayed_samples(0))
    store.append(make_replay(1), REPLAYED, replayed_samples(1))
    store.append(make_case(2), FACTS, make_samples(2, repetitions=20))
    exported = offbeat.read_study(directory)
    export_file(exported, tmp_path / "ours.csv")
    import_csv(tmp_path / "ours.csv", tmp_path / "out")
    imported = offbeat.read_study(tmp_path / "out")
    columns = [name for name in CASES if name not in ("case", "engine", "evidence")]
    assert imported.cases.select(columns).equals(exported.cases.select(columns))
    assert imported.study["patterns"]["replays"] == ["ft"]


@pytest.mark.parametrize("numbered", [True, False])
def test_rows_of_a_replay_measured_elsewhere_are_averaged_by_call(tmp_path, numbered):
    more = ",call" if numbered else ""
    lines = [f"collective,algorithm,bytes,p,pattern,pattern_kind,last_delay_us{more}"]
    for call, delay in [(0, 10), (0, 20), (1, 100)]:
        lines.append(f"reduce,a,8,4,ft,replay,{delay}" + (f",{call}" if numbered else ""))
    (tmp_path / "theirs.csv").write_text("\n".join(lines) + "\n")
    import_csv(tmp_path / "theirs.csv", tmp_path / "out")
    results = offbeat.read_study(tmp_path / "out")
    (row,) = results.cases.to_dicts()
    expected_us = (15 + 100) / 2 if numbered else 130 / 3
    assert row["last_delay_s"] == pytest.approx(expected_us * 1e-6)
    assert (row["pattern_kind"], row["skew_policy"]) == ("replay", "replay")
    assert results.repetitions["call"].to_list() == ([0, 0, 1] if numbered else [0, 1, 2])
