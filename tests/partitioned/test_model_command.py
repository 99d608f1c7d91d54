"""``offbeat partitioned model``: its table, JSON, picture, and the options that it refuses."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from captured_command import invoke
from click.testing import Result
from made_cells import COSTS, cells, fitted, measured
from msgspec.structs import replace

from offbeat.base.errors import BadInput
from offbeat.base.toml.write import toml_text
from offbeat.cli.partitioned import app
from offbeat.model.platform import machine
from offbeat.partitioned.cost_fit import fitted_platform
from offbeat.partitioned.costs import time_s
from offbeat.partitioned.gain_model import Times
from offbeat.partitioned.predictions import network
from offbeat.presentation.pictures.partitioned import picture


def run(*arguments: object) -> Result:
    return invoke(app, "model", *arguments)


def predictions(*arguments: object) -> list[dict[str, float]]:
    records: list[dict[str, float]] = json.loads(run(*arguments, "--json", "-").stdout)["messages"]
    return records


def test_there_is_a_row_for_each_size_and_number_of_partitions() -> None:
    arguments = ("--threads", 4, "--partitions", 1, "--partitions", 2, "--size", "4 MiB", "--size", "1 KiB")
    rows = predictions(*arguments)
    assert [(row["total_bytes"], row["partitions_per_thread"]) for row in rows] == [
        (4194304, 1),
        (4194304, 2),
        (1024, 1),
        (1024, 2),
    ]
    text = run(*arguments).stdout
    assert "4 × 2" in text and "below 1, a single message is faster" in " ".join(text.split())
    assert all(len(line) <= 80 for line in text.splitlines())


def test_the_delay_rate_is_in_microseconds_per_megabyte_of_a_partition() -> None:
    (row,) = predictions("--threads", 4, "--partitions", 1, "--size", "4 MB", "--delay-rate", 100)
    assert row["delay_s"] == pytest.approx(100e-6)


def test_small_messages_lose_and_large_messages_with_delays_gain() -> None:
    """The paper's figures 5 and 8: many small messages cost latencies, large ones use the delay."""
    (small,) = predictions("--threads", 32, "--partitions", 1, "--size", "1 KiB")
    (large,) = predictions("--threads", 4, "--partitions", 1, "--size", "4 MiB", "--delay-rate", 4000)
    assert small["gain"] < 0.1 and small["best_messages"] == 1
    assert 3.5 < large["gain"] <= 4


def test_without_a_platform_the_machine_is_that_of_the_paper() -> None:
    """Section 4.3: four threads with 100 µs/MB gain 2.67 in theory, where latencies do not matter."""
    (row,) = predictions("--threads", 4, "--partitions", 1, "--size", "1 GiB", "--delay-rate", 100)
    assert row["gain"] == pytest.approx(2.67, abs=0.01)


def test_a_message_cost_below_the_latency_makes_many_messages_cheaper() -> None:
    arguments = ("--size", "1 KiB", "--partitions", 1)
    (dear,), (cheap,) = predictions(*arguments), predictions(*arguments, "--message-cost", "100 ns")
    assert cheap["gain"] > dear["gain"]


def test_no_number_of_messages_is_predicted_to_be_slower_than_the_best() -> None:
    for row in predictions("--arithmetic-intensity", 5, "--imbalance", 0.5):
        assert row["best_gain"] >= max(row["gain"], 1.0)


def test_a_pattern_file_with_a_line_for_each_thread_gives_the_delays(tmp_path: Path) -> None:
    path = tmp_path / "threads.txt"
    path.write_text("# partitions: 2\n0 1e-3\n0 3e-3\n")
    (row,) = predictions("--threads", 2, "--partitions", 2, "--size", "1 MiB", "--pattern", path)
    assert row["delay_s"] == pytest.approx(3e-3)
    with pytest.raises(BadInput, match="has 4 delays, but 3 threads with 2 partitions each need 6"):
        run("--threads", 3, "--partitions", 2, "--pattern", path)


def test_the_calls_of_a_replay_file_are_averaged(tmp_path: Path) -> None:
    path = tmp_path / "calls.replay"
    path.write_text("0 1e-3\n0 3e-3\n")
    (row,) = predictions("--threads", 2, "--partitions", 1, "--size", "1 MiB", "--pattern", path)
    assert row["delay_s"] == pytest.approx(2e-3)


def test_the_picture_is_written(tmp_path: Path) -> None:
    out = tmp_path / "gain.svg"
    assert f"wrote {out}" in run("--partitions", 1, "--picture", out).stdout
    assert out.stat().st_size > 10_000


class TwentyTrials:
    """Ready times that differ between trials: see :class:`offbeat.partitioned.predictions.ReadySource`."""

    def ready_s(self, threads: int, partitions_per_thread: int, partition_bytes: float) -> Times:
        return np.random.default_rng(1).random((20, threads * partitions_per_thread))


def test_the_picture_of_many_partitions_needs_little_memory(tmp_path: Path) -> None:
    """All trials of all delays at once would be 40 MB for each of several intermediate arrays."""
    between = network(machine.load("paper").file)
    picture(between, TwentyTrials(), 1, [1024], tmp_path / "first.png")  # fonts are loaded
    tracemalloc.start()
    picture(between, TwentyTrials(), 4096, [1], tmp_path / "second.png")
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 40e6


def test_no_table_is_printed_for_a_picture_that_cannot_be_drawn(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot draw"):
        run("--json", tmp_path / "o.json", "--picture", tmp_path / "x.doc")
    assert not (tmp_path / "o.json").exists()


def test_a_core_computes_with_the_platforms_flop_rate_unless_a_frequency_is_given() -> None:
    """The platform fritz has 20 Gflop/s, which are 8 flops in each cycle of 2.5 GHz."""
    arguments = ("--threads", 4, "--size", "4 MiB", "--arithmetic-intensity", 5, "--imbalance", 0.5)
    rows = predictions("fritz", *arguments)
    assert rows == predictions("fritz", *arguments, "--frequency", 2.5)
    assert rows != predictions("fritz", *arguments, "--frequency", 3.5)
    assert predictions("paper", *arguments) == predictions("paper", *arguments, "--frequency", 3.5)


def test_the_noise_of_a_computation_is_twice_the_platforms_unless_it_is_given(tmp_path: Path) -> None:
    """Equation 7 has σ = ε / 2 without imbalance."""
    machine_file = tmp_path / "machine.toml"
    machine_file.write_text(f"flop_noise = 0.07\n{toml_text(machine.load('fritz').file)}", encoding="utf-8")
    arguments = ("--arithmetic-intensity", 5)
    assert "σ = 0.07" in run(machine_file, *arguments).stdout
    assert "σ = 0.1\n" in run(machine_file, *arguments, "--noise", 0.2).stdout
    assert "σ = 0.02" in run("fritz", *arguments).stdout


def test_the_delay_rates_of_a_computation_are_printed() -> None:
    """5 flops a byte at 2.5 GHz take 250 µs/MB; σ = (0.04 + 0.5) / 2 in equation 9."""
    text = run("fritz", "--arithmetic-intensity", 5, "--imbalance", 0.5).stdout
    assert "μ = 250 µs/MB, σ = 0.27" in text
    assert "γ_θ by the partitions of a thread: 135 µs/MB with 1, 952.5 µs/MB with 4" in text
    assert "γ_θ" not in run("fritz").stdout


SINGLE = replace(COSTS, message_s=5e-7)


@pytest.fixture
def machine_file(tmp_path: Path) -> Path:
    """A platform file with the costs of single, offbeat and many."""
    fits = [fitted("single", SINGLE), fitted("offbeat"), fitted("many")]
    path = tmp_path / "machine.toml"
    path.write_text(toml_text(fitted_platform(fits, measured(cells("single")), None)))
    return path


def test_fitted_costs_replace_the_model_of_the_paper(machine_file: Path) -> None:
    arguments = ("--threads", 2, "--partitions", 4, "--size", "4 MiB", "--delay-rate", 1000)
    (paper,), (row,) = predictions(*arguments), predictions(machine_file, *arguments, "--approach", "offbeat")
    assert row["delay_s"] == paper["delay_s"]
    ready_s = np.zeros((1, 8))
    ready_s[0, -1] = row["delay_s"]
    assert row["single_s"] == pytest.approx(time_s(SINGLE, ready_s, 2**22, 2, 1)[0])
    assert row["each_s"] == pytest.approx(time_s(COSTS, ready_s, 2**22, 2, 8)[0])
    text = run(machine_file, *arguments, "--approach", "offbeat").stdout
    assert "fitted costs of offbeat, and of single for a single message" in text


def test_other_approaches_send_each_partition(machine_file: Path) -> None:
    rows = predictions(machine_file, "--threads", 8, "--approach", "many")
    assert {row["best_messages"] for row in rows} == {8, 32}


def test_a_partition_of_another_approach_is_not_a_single_message(machine_file: Path) -> None:
    """The approaches have different costs: one message by ``offbeat`` is not one by ``single``."""
    (row,) = predictions(
        machine_file, "--threads", 1, "--partitions", 1, "--size", "1 KiB", "--approach", "offbeat"
    )
    assert row["gain"] == row["best_gain"] != 1.0


def test_offbeat_is_predicted_with_the_messages_that_it_can_send(machine_file: Path) -> None:
    (row,) = predictions(
        machine_file, "--threads", 4096, "--partitions", 1, "--size", "4 GiB", "--approach", "offbeat"
    )
    assert row["best_messages"] <= 1024


def test_the_picture_shows_fitted_costs_of_many_threads(machine_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "gain.png"
    run(machine_file, "--approach", "offbeat", "--threads", 512, "--partitions", 1, "--picture", out)
    assert out.stat().st_size > 10_000


def test_the_longest_computation_that_can_be_given_has_a_gain() -> None:
    arguments = ("--arithmetic-intensity", 1e9, "--communication-intensity", 1e-9, "--frequency", 1e-6)
    for row in predictions(*arguments):
        assert 0 < row["gain"] < 1e3


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--delay-rate", 1, "--pattern", "bell"), "give one of --delay-rate"),
        (("--delay-rate", -1), "--delay-rate -1: give a number from 0"),
        (("--delay-rate", "nan"), "--delay-rate nan: give a number"),
        (("--arithmetic-intensity", 0), "--arithmetic-intensity 0: give a number from 1e-09"),
        (("--arithmetic-intensity", 1, "--frequency", 0), "--frequency 0: give"),
        (("--size", "0"), "a message has 1 byte or more"),
        (("--size", "4 MX"), "--size: .*not a unit of size"),
        (("--threads", 65536, "--partitions", 2), "a message has at most 65536 partitions"),
        (("--message-cost", "fast"), "--message-cost: 'fast' is not a time"),
        (("--pattern", "no_such_file"), "no_such_file"),
        (("--pattern", "no_delay", "--picture", "x.png"), "no partition is later than another"),
        (("--picture", "x.doc"), "cannot draw x.doc"),
        (("--approach", "many"), "has no costs of many in .* but of: none; 'offbeat partitioned fit' writes"),
        (("--approach", "offbeat_learned"), "give offbeat or another one"),
        (("--approach", "offbeat", "--inside"), "leave them out with --approach"),
        (("--pattern", "node_delayed"), "delays processes, not partitions; take another shape"),
    ],
)
def test_options_that_mean_nothing_are_refused(
    arguments: tuple[object, ...], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=sentence):
        run(*arguments)
