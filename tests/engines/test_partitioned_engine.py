"""A study of messages in partitions runs through on every library, and resumes."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest
import real_studies
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from offbeat.base.errors import BadInput
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.driver_protocol import PartitionedAnswer
from offbeat.measurement.engines.mpi_engine import WARMUP_REPETITIONS, wrong_bytes
from offbeat.measurement.engines.partitioned_engine import (
    LEARNING_ITERATIONS,
    WARMUP_S,
    unrecorded_iterations,
)
from offbeat.measurement.results.read import read_study
from offbeat.model.study.case import PARTITIONED_SEND
from offbeat.partitioned.cells import measured_of, read_measured

STUDY = """
name = "partitioned"
[[partitioned]]
sizes = ["4 KiB"]
partitions = [4]
threads = [1, 2]
approaches = ["offbeat", "offbeat(messages=2)", "single", "many", "rma_fence"]
[processes]
p = [2]
[patterns]
shapes = ["no_delay", "last_delayed"]
[skew]
policy = "rate"
rates = [1e6]
[repetitions]
blocks = 1
minimum = 3
maximum = 3
hang_after = 30
[start]
tolerance = "50 ms"
"""


@pytest.mark.slow
def test_every_approach_is_measured_with_its_delays(mpi_installation: Installation, tmp_path: Path) -> None:
    loaded = real_studies.study(tmp_path, STUDY)
    directory = tmp_path / "results"
    outcome = real_studies.measure(loaded, directory, mpi_installation)
    assert (outcome.finished_cases, outcome.total) == (20, 20)
    results = read_study(directory)
    assert results.notes == []
    cases = results.cases
    assert set(cases["status"]) == {"measured"} and set(cases["proof"]) == {"proved"}
    assert set(cases["collective"]) == {PARTITIONED_SEND}
    assert sorted(set(cases["threads"])) == [1, 2] and set(cases["partitions"]) == {4}

    # 1 s a MB of a partition: 1.024 ms for a partition of 1 KiB.
    delayed = cases.filter(pattern="last_delayed")
    assert delayed["skew_s"].to_list() == pytest.approx([1.024e-3] * 10)
    assert (delayed["total_delay_s"] > 1.024e-3).all()
    ranks = results.ranks().join(delayed.select("case"), on="case")
    last = ranks.filter(rank=0, partition=3)["arrival_s"]
    assert (last.to_numpy() >= 1.024e-3).all()
    assert (ranks.filter(rank=1)["exit_s"].to_numpy() >= np.min(last.to_numpy())).all()

    measured = read_measured([directory])
    assert len(measured.cells) == len(cases) and min(measured.noise_s) >= 0
    for cell in measured.cells:
        assert cell.partitions == 4 and cell.low_s <= cell.time_s <= cell.high_s
        expected_s = 1.024e-3 if cell.pattern == "last_delayed" else 0.0
        assert cell.ready_s[-1] == pytest.approx(expected_s, abs=0.05)  # the tolerance of the study

    elsewhere = replace(results, cases=cases.with_columns(nodes=pl.lit(2, cases.schema["nodes"])))
    with pytest.raises(BadInput, match="give the results of one placement"):
        measured_of([results, elsewhere])

    again = real_studies.measure(loaded, directory, mpi_installation)
    assert (again.measured_now, again.finished_cases) == (0, 20)


def test_wrong_bytes_are_a_reason_to_stop() -> None:
    answer = PartitionedAnswer(tried=5, valid=5, wrong=0)
    assert wrong_bytes(answer) == ""
    assert wrong_bytes(msgspec.structs.replace(answer, wrong=7)) == "7 bytes were wrong in 5 messages"


def test_no_measured_repetition_of_learned_aggregation_is_a_trial() -> None:
    folder = Path(__file__).parents[2] / "native/partitioned"
    text = "".join((folder / name).read_text(encoding="utf-8") for name in ("layout.c", "layout.h"))
    second, growth = map(int, re.findall(r"SECOND_ROUND = (\d+), GROWTH = (\d+)", text)[0])
    trials = int(re.findall(r"OFFBEAT_PARTITIONED_TRIALS = (\d+)", text)[0])
    per_trial = int(re.findall(r"per_trial = iteration == 1 \? 1 : (\d+)", text)[0])
    announced = second + trials * per_trial
    assert announced < LEARNING_ITERATIONS < second * growth


@given(st.floats(0, 1e12))
def test_all_approaches_have_as_many_uncounted_iterations_unless_delays_are_long(skew_s: float) -> None:
    learning, other = (unrecorded_iterations(skew_s, learns=learns) for learns in (True, False))
    assert learning == LEARNING_ITERATIONS
    if skew_s <= 5e-3:
        assert other == learning
    else:
        assert WARMUP_REPETITIONS <= other <= learning
        assert other == WARMUP_REPETITIONS or other * skew_s <= WARMUP_S


@pytest.mark.slow
def test_an_approach_that_the_library_lacks_is_refused_with_its_line(
    some_mpi_installation: Installation, tmp_path: Path
) -> None:
    for name in ("pigeon", "offbeat(pigeons=2)", "many(messages=2)"):
        loaded = real_studies.study(tmp_path, STUDY.replace("rma_fence", name))
        sentence = re.escape(f"this library has no '{name}' for partitioned_send")
        with pytest.raises(BadInput, match=rf"study.toml:7: .*{sentence}"):
            real_studies.measure(loaded, tmp_path / "results", some_mpi_installation)


@pytest.mark.slow
def test_settings_of_an_approach_reach_the_library(
    some_mpi_installation: Installation, tmp_path: Path
) -> None:
    text = STUDY.replace(
        '"offbeat", "offbeat(messages=2)", "single", "many", "rma_fence"', '"offbeat(messages=0)", "many"'
    )
    loaded = real_studies.study(tmp_path, text.replace("threads = [1, 2]", "threads = [1]"))
    real_studies.measure(loaded, tmp_path / "results", some_mpi_installation)
    verdicts = real_studies.verdicts(tmp_path / "results")
    assert verdicts == {"offbeat(messages=0)": "refused", "many": "proved"}
