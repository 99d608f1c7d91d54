"""The costs that are fitted to the model's own times are those of the model; and their platform file."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_cells import COSTS, cells, fitted, measured
from msgspec.structs import replace

from offbeat.base.errors import BadInput
from offbeat.base.toml.write import toml_text
from offbeat.model.platform import machine
from offbeat.partitioned.cells import modelled_approach, read_measured
from offbeat.partitioned.cost_fit import Z95, fit, fit_approach, fit_of, fitted_platform, predicted_s, section
from offbeat.partitioned.costs import Costs, approach_time_s, message_counts, time_s
from offbeat.partitioned.gain_model import pipelined_s
from offbeat.partitioned.tables import cost_rows

READY = st.lists(st.floats(0, 1e-3), min_size=1, max_size=12)


def costs(latency_s: float, message_s: float, bandwidth: float, progress: float) -> Costs:
    """The same for both protocols, in which marking costs nothing."""
    return Costs(
        latency_s=latency_s,
        message_s=message_s,
        partition_s=0.0,
        contention=0.0,
        eager_below=0,
        eager_bandwidth=bandwidth,
        rendezvous_latency_s=0.0,
        rendezvous_message_s=message_s,
        rendezvous_bandwidth=bandwidth,
        eager_progress=progress,
        rendezvous_progress=progress,
    )


@given(ready=READY, message_s=st.floats(0, 1e-5), size=st.integers(1, 2**20))
def test_without_further_costs_the_time_is_that_of_the_papers_model(
    ready: list[float], message_s: float, size: int
) -> None:
    ready_s = np.array([ready])
    n = len(ready)
    expected_s = pipelined_s(ready_s, message_s + size / n / 1e9, 1e-6)
    assert time_s(costs(1e-6, message_s, 1e9, 1.0), ready_s, size, 1, n) == pytest.approx(expected_s)


@given(ready=READY, threads=st.integers(1, 4), name=st.sampled_from(["single", "many", "offbeat_learned"]))
def test_no_approach_is_faster_when_a_library_makes_less_progress_or_calls_cost_more(
    ready: list[float], threads: int, name: str
) -> None:
    ready_s, threads = np.array([ready]), min(threads, len(ready))
    base = float(approach_time_s(COSTS, name, ready_s, 2**20, threads)[0])
    for worse in (
        replace(COSTS, rendezvous_progress=0.2, eager_progress=0.2),
        replace(COSTS, message_s=1e-6),
        replace(COSTS, rendezvous_message_s=2e-6),
        replace(COSTS, latency_s=1e-5),
        replace(COSTS, rendezvous_bandwidth=1e9, eager_bandwidth=1e9),
    ):
        assert float(approach_time_s(worse, name, ready_s, 2**20, threads)[0]) >= base * (1 - 1e-9)


def test_a_message_has_the_cost_of_its_protocol() -> None:
    ready_s = np.zeros((1, 4))
    dear = replace(costs(1e-6, 1e-6, 1e9, 1.0), eager_below=1000, rendezvous_message_s=5e-6)
    assert time_s(dear, ready_s, 3996, 1, 4) == pytest.approx(1e-6 + 4 * 1e-6 + 3996 / 1e9)
    assert time_s(dear, ready_s, 4000, 1, 4) == pytest.approx(1e-6 + 4 * 5e-6 + 4000 / 1e9)


def test_without_progress_nothing_is_gained_by_several_messages() -> None:
    ready_s = np.array([[0.0, 0.0, 0.0, 1e-3]])
    idle = costs(1e-6, 0.0, 1e9, 0.0)
    assert time_s(idle, ready_s, 2**22, 1, 4) == pytest.approx(time_s(idle, ready_s, 2**22, 1, 1))


@pytest.mark.parametrize(
    ("approach", "setting", "counts"),
    [
        ("single", 0, [1]),
        ("many", 0, [32]),
        ("library", 0, [32]),
        ("offbeat", 0, [4]),
        ("offbeat", 7, [7]),
        ("offbeat", 100, [32]),
        ("offbeat_learned", 0, [1, 2, 4, 6, 12, 32]),
    ],
)
def test_each_approach_has_its_number_of_messages(approach: str, setting: int, counts: list[int]) -> None:
    assert message_counts(approach, 32, 2**22, setting) == counts


def test_learning_tries_the_numbers_of_the_native_library() -> None:
    native = Path(__file__).parents[2] / "native/partitioned/layout_test.c"
    beginning = "expected_iterations[][OFFBEAT_PARTITIONED_CANDIDATES] ="
    table = native.read_text(encoding="utf-8").split(beginning, 1)[1]
    rows = [list(map(int, row.split(","))) for row in re.findall(r"{([\d, ]+)}", table.split(";", 1)[0])]
    assert len(rows) > 10
    for row in rows:
        assert message_counts("offbeat_learned", row[-1], 2**22) == sorted(set(row))
    at_most = message_counts("offbeat_learned", 1024, 2**22)  # the last row of the table
    assert message_counts("offbeat_learned", 5000, 2**22) == at_most


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.03])
def test_the_costs_of_made_up_cells_are_found(noise: float) -> None:
    made = cells("many", noise=noise)
    found = fit_approach("many", made)
    assert found.costs.latency_s == pytest.approx(COSTS.latency_s, rel=0.2)
    assert found.costs.message_s == pytest.approx(COSTS.message_s, rel=0.2)
    assert found.costs.rendezvous_message_s == pytest.approx(COSTS.rendezvous_message_s, rel=0.2)
    assert found.costs.contention == pytest.approx(COSTS.contention, rel=0.4)
    assert found.costs.rendezvous_bandwidth == pytest.approx(COSTS.rendezvous_bandwidth, rel=0.1)
    assert found.costs.rendezvous_progress == pytest.approx(COSTS.rendezvous_progress, abs=0.1)
    exact = cells("many")
    errors = predicted_s(found.costs, exact) / np.array([cell.time_s for cell in exact]) - 1
    assert np.quantile(np.abs(errors), 0.9) < 0.1
    for name in ("latency_s", "message_s", "rendezvous_bandwidth", "rendezvous_progress"):
        low, high = getattr(found.low, name), getattr(found.high, name)
        assert low <= getattr(found.costs, name) <= high
    assert (found.sizes, found.partitions, found.threads) == ((2**10, 2**22), (4, 16), (1, 2))


@pytest.mark.slow
def test_the_error_of_a_fit_counts_cells_that_are_far_off() -> None:
    """Most times are near the predicted ones and some far off: intervals contain nine of ten times."""
    off = np.random.default_rng(3).standard_t(2, 64)
    made = [
        replace(one, time_s=one.time_s * float(np.exp(0.05 * error)))
        for one, error in zip(cells("many"), off, strict=True)
    ]
    found = fit_approach("many", made)
    apart = np.log(predicted_s(found.costs, made) / np.array([one.time_s for one in made]))
    assert np.mean(np.abs(apart) <= Z95 * found.error) >= 0.9


@pytest.mark.slow
def test_costs_that_cells_do_not_determine_have_wide_intervals() -> None:
    found = fit_approach("many", cells("many", threads=[1]))
    assert found.high.contention > 20 * found.low.contention


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.02, 0.97])
def test_a_library_that_sends_nothing_early_is_found_out(share: float) -> None:
    truth = replace(COSTS, rendezvous_progress=share)
    assert fit_approach("many", cells("many", truth, 0.02)).costs.rendezvous_progress == pytest.approx(
        share, abs=0.06
    )


@pytest.mark.slow
def test_the_platform_file_has_the_costs_and_can_be_read_and_written_again(tmp_path: Path) -> None:
    study = measured(cells("single", noise=0.02, sizes=[2**10, 2**18]))
    fits = fit(study)
    text = toml_text(fitted_platform(fits, study, None))
    read = machine.loads(text, "x.toml").file
    assert toml_text(read) == text and machine.loads(toml_text(read), "x.toml").file == read
    (costs,) = read.partitioned
    assert costs.source == "offbeat partitioned fit, a made-up library on a host"
    assert costs.date == "2026-01-01" and costs.noise == pytest.approx([1e-7, 2e-8])
    assert fit_of(costs).costs.latency_s == pytest.approx(fits[0].costs.latency_s, rel=1e-5)
    assert section(fit_of(costs), study).latency == costs.latency

    paper = machine.load("paper").file
    added = fitted_platform(fits, study, replace(paper, partitioned=[replace(costs, approach="many")]))
    assert [one.approach for one in added.partitioned] == ["many", "single"]
    assert replace(added, partitioned=[]) == paper


def test_too_few_cells_are_refused() -> None:
    with pytest.raises(BadInput, match="no approach has 4 measured cells"):
        fit(measured(cells("many")[:3]))


@pytest.mark.parametrize(
    ("name", "environment", "modelled"),
    [
        ("offbeat", {}, ("offbeat", 0)),
        ("offbeat_polled", {}, None),
        ("offbeat", {"messages": "4"}, ("offbeat", 4)),
        ("offbeat", {"messages": "learned"}, ("offbeat_learned", 0)),
        ("offbeat", {"message_bytes": "4096"}, ("offbeat", 4)),
        ("offbeat", {"messages": "2", "message_bytes": "4096"}, ("offbeat", 2)),
        ("offbeat(messages=32)", {"messages": "4"}, ("offbeat", 32)),
        ("offbeat(messages=32)", {"message_bytes": "4096"}, ("offbeat", 32)),
        ("offbeat(messages=learned)", {"messages": "4"}, ("offbeat_learned", 0)),
        ("offbeat(message_bytes=4096)", {}, ("offbeat", 4)),
        ("offbeat(message_bytes=5000)", {}, ("offbeat", 2)),
        ("offbeat(message_bytes=4096)", {"messages": "3"}, ("offbeat", 3)),
        ("offbeat(message_bytes=4096)", {"message_bytes": "1"}, ("offbeat", 4)),
        ("offbeat(message_bytes=0)", {}, None),
        ("offbeat(messages=many)", {}, None),
        ("offbeat(message_bytes=1000000)", {}, ("offbeat", 1)),
        ("offbeat(lanes=2)", {}, None),
        ("offbeat(messages=2, lanes=2)", {}, None),
        ("many", {"messages": "4"}, ("many", 0)),
    ],
)
def test_a_measured_approach_with_settings_is_that_of_the_model(
    name: str, environment: dict[str, str], modelled: tuple[str, int] | None
) -> None:
    assert modelled_approach(name, 16384, 4, environment) == modelled


def test_a_directory_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=str(tmp_path)):
        read_measured([tmp_path])


SECTION = """
nodes = 1
cores = 1
[inside]
bandwidth = "1 GB/s"
[[partitioned]]
approach = "many"
latency = {latency}
source = "measured"
message = [1e-6, 1e-6, 1e-6]
partition = [0, 0, 0]
contention = [0, 0, 0]
eager_below = 0
eager_bandwidth = [1e9, 1e9, 1e9]
rendezvous_latency = [0, 0, 0]
rendezvous_message = [1e-6, 1e-6, 1e-6]
rendezvous_bandwidth = [1e9, 1e9, 1e9]
eager_progress = [1, 1, 1]
rendezvous_progress = [1, 1, 1]
noise = [0, 0]
error = 0.1
sizes = [1, 2]
partitions = [1, 2]
threads = [1, 1]
delays = [0, "2 ms"]
"""


@pytest.mark.parametrize(
    ("latency", "sentence"),
    [
        ('["1 us"]', r"x.toml:8: .*the list has 1 number; write a value and the ends of its interval: 3"),
        ('["3 us", "1 us", "2 us"]', "is outside of its interval"),
        ('["fast", "1 us", "2 us"]', "'fast' is not a time"),
    ],
)
def test_a_cost_without_its_interval_is_refused_with_its_line(latency: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        machine.loads(SECTION.format(latency=latency), "x.toml")


@pytest.mark.parametrize(
    ("line", "other", "sentence"),
    [
        ("error = 0.1\n", "", r"partitioned\[0\].error: this key is missing"),
        ("error = 0.1", "error = 0", "error"),
        ("error = 0.1", "error = 400", "error"),
        ("eager_below = 0\n", "", "eager_below: this key is missing"),
        ('delays = [0, "2 ms"]', 'delays = ["2 ms", 0]', "more than 0.0; write the smaller value first"),
        ("noise = [0, 0]", "noise = [0]", "the list has 1 number; write mean and standard deviation"),
    ],
)
def test_a_section_without_uncertainty_or_limits_is_refused(line: str, other: str, sentence: str) -> None:
    text = SECTION.format(latency='["2 us", "1 us", "3 us"]')
    machine.loads(text, "x.toml")
    with pytest.raises(BadInput, match=sentence):
        machine.loads(text.replace(line, other), "x.toml")


def test_two_sections_of_an_approach_are_refused() -> None:
    text = SECTION.format(latency='["2 us", "1 us", "3 us"]')
    with pytest.raises(BadInput, match="'many' has two sections"):
        machine.loads(text + text[text.index("[[") :], "x.toml")


@pytest.mark.slow
def test_contention_is_not_determined_by_one_thread() -> None:
    found = fit_approach("offbeat", cells("offbeat", threads=(1,)))
    intervals = {cost: interval for _, cost, _, interval in cost_rows([found])}
    assert intervals["contention"] == "not determined"
    assert " to " in intervals["rendezvous bandwidth"]


def test_the_table_has_no_numbers_for_ends_of_intervals_that_say_nothing() -> None:
    low = replace(COSTS, message_s=1e-25, eager_bandwidth=1e-3)
    high = replace(COSTS, eager_bandwidth=1e30, contention=1e12, rendezvous_latency_s=1e9)
    rows = cost_rows([replace(fitted("offbeat"), low=low, high=high)])
    intervals = {cost: interval for _, cost, _, interval in rows}
    assert intervals["an eager message"] == "up to 300 ns"
    assert intervals["rendezvous latency"] == "from 1.5 µs"
    assert intervals["eager bandwidth"] == intervals["contention"] == "not determined"
    assert intervals["latency"] == "800 ns to 800 ns"
    assert intervals["eager progress"] == "0.95 to 0.95"
