"""The fit recovers the platform from which the measurements were generated."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from numpy.typing import NDArray
from synthetic import SyntheticProbe, machine_of

from offbeat.libraries.calibration import calibration
from offbeat.libraries.calibration.calibration import calibrate
from offbeat.libraries.calibration.fit import NEVER, fit, residuals
from offbeat.libraries.calibration.measured_times import Measurements
from offbeat.libraries.calibration.measurement_plan import measure
from offbeat.model.platform import machine
from offbeat.model.platform.message_times import message_paths, message_s

pytestmark = pytest.mark.slow

LARGEST = 2**22
EVERYWHERE = np.unique(np.round(2 ** np.arange(0, 22.01, 0.19)).astype(int))


def measured(platform: machine.Platform, nodes: int = 2, ppn: int = 4, noise: float = 0.0) -> Measurements:
    processes = machine_of(nodes, ppn)
    probe = SyntheticProbe(platform, processes, noise)
    return measure(probe, processes, lambda _: None, LARGEST)


def errors(truth: machine.Platform, fitted: machine.PlatformFile) -> dict[str, np.ndarray]:
    """Relative errors of the message times for all sizes."""
    pairs = zip(("inside", "between"), message_paths(truth.file), message_paths(fitted), strict=False)
    return {
        name: np.abs(message_s(fitted, after, EVERYWHERE) / message_s(truth.file, before, EVERYWHERE) - 1)
        for name, before, after in pairs
    }


@st.composite
def factors(draw: st.DrawFn) -> str:
    """Steps like those of protocols: at least two octaves apart."""
    places = draw(st.lists(st.integers(3, 9), unique=True, max_size=3))
    sizes = [0, *(int(4**place * draw(st.floats(1.0, 1.4))) for place in sorted(places))]
    latency = [draw(st.floats(0.5, 4.0)) for _ in sizes]
    bandwidth = [draw(st.floats(0.3, 1.0)) for _ in sizes]
    return f"from_sizes = {sizes}\nlatency_factors = {latency}\nbandwidth_factors = {bandwidth}"


@st.composite
def platforms(draw: st.DrawFn) -> machine.Platform:
    """Clusters of two nodes at one switch, from slow Ethernet to fast networks."""
    link = draw(st.floats(1e8, 5e10))
    cap = draw(st.sampled_from([0.0, 0.5, 0.8])) * link
    text = f"""nodes = 2
cores = 4
[link]
bandwidth = {link}
latency = {draw(st.floats(3e-7, 5e-5))}
[inside]
bandwidth = {draw(st.floats(1e9, 4e10))}
latency = {draw(st.floats(1e-7, 2e-6))}
{draw(factors())}
[messages]
flow_bandwidth = {cap}
header = 0
eager_below = {draw(st.integers(65, 100_000))}
send_overhead = {draw(st.floats(1e-8, 4e-8))}
receive_overhead = {draw(st.floats(1e-8, 4e-8))}
reduce_bandwidth = 5e9
copy_bandwidth = 2e10
{draw(factors())}
"""
    return machine.loads(text, "true.toml")


@given(truth=platforms())
@settings(deadline=None, max_examples=8)
def test_a_platform_is_found_from_exact_measurements(truth: machine.Platform) -> None:
    taken = measured(truth)
    fitted = fit(taken)
    for name, error in errors(truth, fitted).items():
        assert np.median(error) < 0.01, name
        assert np.quantile(error, 0.9) < 0.05, name
    messages = truth.file.messages
    assert fitted.messages.eager_below == messages.eager_below
    assert fitted.messages.send_overhead == pytest.approx(messages.send_overhead, rel=1e-6)
    assert fitted.messages.receive_overhead == pytest.approx(messages.receive_overhead, rel=1e-6)
    assert fitted.messages.reduce_bandwidth == pytest.approx(5e9)
    assert fitted.messages.copy_bandwidth == pytest.approx(2e10)
    together = [residual for residual in residuals(taken, fitted) if residual.flows > 1]
    assert together and max(abs(residual.error) for residual in together) < 0.05


@given(truth=platforms())
@settings(deadline=None, max_examples=4)
def test_a_platform_is_found_from_noisy_measurements(truth: machine.Platform) -> None:
    fitted = fit(measured(truth, noise=0.03))
    for name, error in errors(truth, fitted).items():
        assert np.median(error) < 0.04, name
        assert np.quantile(error, 0.9) < 0.08, name


@given(truth=platforms())
@settings(deadline=None, max_examples=4)
def test_the_file_that_is_written_is_as_good_as_the_fit(truth: machine.Platform) -> None:
    taken = measured(truth)
    written = calibrate(taken)
    assert machine.loads(written.text, "x.toml").file == written.platform.file
    fitted = fit(taken)
    for before, after in zip(message_paths(fitted), message_paths(written.platform.file), strict=True):
        same = message_s(written.platform.file, after, EVERYWHERE)
        assert same == pytest.approx(message_s(fitted, before, EVERYWHERE), rel=1e-4)


SATURATED = """nodes = 2
cores = 8
[link]
bandwidth = "20 GB/s"
latency = "600 ns"
[inside]
bandwidth = "8 GB/s"
latency = "200 ns"
[messages]
header = 0
flow_bandwidth = "8 GB/s"
"""


def test_a_link_that_one_message_cannot_saturate_has_a_flow_limit() -> None:
    fitted = fit(measured(machine.loads(SATURATED, "x.toml"), ppn=8))
    assert fitted.link.bandwidth == pytest.approx(20e9, rel=0.01)
    assert fitted.messages.flow_bandwidth == pytest.approx(8e9, rel=0.01)
    assert fitted.link.latency == pytest.approx(600e-9, rel=0.01)


def test_a_link_that_one_message_saturates_has_no_flow_limit() -> None:
    text = SATURATED.replace("20 GB/s", "8 GB/s")
    fitted = fit(measured(machine.loads(text, "x.toml"), ppn=8))
    assert fitted.messages.flow_bandwidth == 0
    assert fitted.link.bandwidth == pytest.approx(8e9, rel=0.01)


def test_if_no_sender_waits_all_messages_are_eager() -> None:
    text = SATURATED + 'eager_below = "1 GiB"\n'
    taken = measured(machine.loads(text, "x.toml"))
    assert fit(taken).messages.eager_below == NEVER
    assert calibration.ALL_EAGER in calibration.notes(taken, "")


def test_if_every_sender_waits_there_are_no_overheads() -> None:
    taken = measured(machine.loads(SATURATED, "x.toml"))
    fitted = fit(taken).messages
    assert (fitted.eager_below, fitted.send_overhead, fitted.receive_overhead) == (1, 0, 0)


def test_one_node_makes_a_platform_of_one_node_that_says_so() -> None:
    written = calibrate(measured(machine.loads(SATURATED, "x.toml"), nodes=1))
    assert written.platform.file.nodes == 1
    assert calibration.ONE_NODE in written.notes
    assert "# Only one node was measured, so nothing is known between nodes" in written.text
    assert any("Only one node" in line for line in written.lines())


def test_one_node_and_a_base_make_a_platform_with_the_bases_network() -> None:
    base = machine.load("islands")
    written = calibrate(measured(machine.loads(SATURATED, "x.toml"), nodes=1), base)
    platform_file = written.platform.file
    assert (platform_file.nodes, platform_file.fat_tree) == (528, base.file.fat_tree)
    assert platform_file.link.bandwidth == base.file.link.bandwidth
    assert message_s(platform_file, message_paths(platform_file)[1], [1, 2**20]) == pytest.approx(
        message_s(base.file, message_paths(base.file)[1], [1, 2**20]), rel=1e-3
    )
    assert platform_file.inside.bandwidth == pytest.approx(8e9, rel=0.01)
    assert "are those of islands" in " ".join(written.text.replace("\n#", "").split())
    assert all(abs(residual.error) < 0.05 for residual in written.residuals)


def test_measurements_between_nodes_alone_give_the_same_times_inside_a_node() -> None:
    taken = measured(machine.loads(SATURATED, "x.toml"), ppn=1)
    assert taken.inside is None
    written = calibrate(taken)
    assert calibration.NO_PAIR_INSIDE in written.notes
    inside, between = message_paths(written.platform.file)
    assert message_s(written.platform.file, inside, [2**20]) == pytest.approx(
        message_s(written.platform.file, between, [2**20]), rel=0.01
    )


def test_overheads_are_limited_by_the_shortest_message() -> None:
    """The caches of late receivers are cold: their overhead may exceed half a round trip."""
    text = SATURATED + 'eager_below = "4 KiB"\nsend_overhead = "3 us"\nreceive_overhead = "9 us"\n'
    slow = measured(machine.loads(text, "x.toml"))
    quick = measured(machine.loads(SATURATED, "x.toml"))
    assert slow.between and quick.between
    between = Measurements(
        library="x",
        hosts=["a", "b"],
        cores=1,
        between=type(slow.between)(
            messages=quick.between.messages, late=slow.between.late, streams=[], eager_below=4096
        ),
    )
    fitted = fit(between)
    shortest_s = min(point.time_s for point in quick.between.messages)
    busy_s = fitted.messages.send_overhead + fitted.messages.receive_overhead
    assert busy_s == pytest.approx(0.9 * shortest_s)
    assert fitted.link.latency > 0


def test_residuals_are_listed_for_every_size_and_every_number_of_messages() -> None:
    taken = measured(machine.loads(SATURATED, "x.toml"), ppn=8)
    assert taken.between
    residuals = calibrate(taken).residuals
    between = [residual for residual in residuals if residual.where == "between two nodes"]
    assert [residual.flows for residual in between if residual.flows > 1] == [2, 4, 8]
    assert sum(residual.flows == 1 for residual in between) == len(taken.between.messages)


MEMORY = """
flop_rate = 2e10
[memory]
domains = 2
bandwidth = "50 GB/s"
core_bandwidth = "{core} GB/s"
message_bandwidth = "{messages} GB/s"
"""


@pytest.mark.parametrize("core", [10, 30, 49])
@pytest.mark.parametrize("messages", [0, 3])
def test_the_memory_of_a_domain_is_found(core: int, messages: int) -> None:
    keys = MEMORY.format(core=core, messages=messages).split("[memory]")
    truth = machine.loads(keys[0] + SATURATED + "[memory]" + keys[1], "x.toml")
    fitted = fit(measured(truth, ppn=8))
    assert fitted.memory.bandwidth == pytest.approx(50e9)
    assert fitted.memory.core_bandwidth == pytest.approx(core * 1e9)
    assert fitted.memory.message_bandwidth == pytest.approx(messages * 1e9, rel=0.02)
    assert fitted.flop_rate == pytest.approx(2e10)
    assert fitted.flop_noise == 0


@pytest.mark.parametrize(("ppn", "is_tested"), [(2, False), (8, True)])
def test_two_values_fitted_to_two_measurements_have_no_error_of_0(ppn: int, is_tested: bool) -> None:
    keys = MEMORY.format(core=10, messages=0).split("[memory]")
    truth = machine.loads(keys[0] + SATURATED + "[memory]" + keys[1], "x.toml")
    found = calibrate(measured(truth, ppn=ppn))
    (sentence,) = [line for line in found.lines() if line.startswith("memory: ")]
    unknown = "memory: the model's error is unknown, as 2 measurements determine the fitted values"
    assert (sentence == unknown) != is_tested
    errors_shown = {row[5] for row in found.table()[1] if row[0] == "memory"}
    assert (errors_shown == {"unknown"}) != is_tested


class NoisyCore(SyntheticProbe):
    """A core with the noise 0.03: each pass has another frequency, one repetition in 20 is interrupted."""

    passes = 0

    def flops(self, rank: int, count: int) -> NDArray[np.float64]:
        self.passes += 1
        times_s = np.random.default_rng(self.passes).normal(1.0, 0.03, 200) * (1 + self.passes / 10)
        times_s[::20] *= 3
        return times_s


def test_the_noise_of_a_core_counts_neither_its_frequency_nor_rare_interruptions() -> None:
    processes = machine_of(1, 2)
    probe = NoisyCore(machine.loads(SATURATED, "x.toml"), processes)
    taken = measure(probe, processes, lambda _: None, LARGEST)
    assert fit(taken).flop_noise == pytest.approx(0.03, rel=0.15)


def test_domains_that_do_not_divide_the_cores_give_a_platform_that_can_be_read() -> None:
    taken = measured(machine.loads(SATURATED, "x.toml"), ppn=2)
    assert taken.memory is not None
    odd = structs.replace(taken, cores=9, memory=structs.replace(taken.memory, domains=4))
    found = calibrate(odd)
    assert found.platform.file.memory.domains == 3
    assert "9 cores of a node are not divided evenly among its 4 memory domains" in " ".join(found.notes)
    assert "divided evenly" not in " ".join(calibrate(taken).notes)


def test_a_domain_that_too_few_processes_draw_from_gets_a_note() -> None:
    taken = measured(machine.loads(SATURATED, "x.toml"), ppn=2)
    more_cores = structs.replace(taken, cores=16)
    assert "with 2 of 16 cores of a domain" in " ".join(calibrate(more_cores).notes)
    assert "cores of a domain" not in " ".join(calibrate(taken).notes)
