"""Platforms as SimGrid files: messages have the same cost, and unsupported keys are refused."""

from __future__ import annotations

import numpy as np
import pytest
from local_smpi import oracle, placed, platform

from offbeat.base.errors import BadInput
from offbeat.measurement.engines import smpi_platform
from offbeat.measurement.engines.smpi_commands import SmpiCall
from offbeat.model.study.communicators import CommunicatorLayout
from offbeat.simulation.calls.call_exits import Job, run_job

pytestmark = pytest.mark.slow

SIZES = (8, 1024, 8192, 131072)

DRAGONFLY = {
    "nodes": 16,
    "dragonfly__groups": 2,
    "dragonfly__routers": 4,
    "dragonfly__nodes_per_router": 2,
    "dragonfly__global_cables": 1,
}
NO_OVERHEADS = {"messages__send_overhead": 0.0, "messages__receive_overhead": 0.0}
"""SimGrid charges overheads for detached messages only."""
MACHINES = {
    "paper": platform(),
    "no factors": platform("hydra", **NO_OVERHEADS),
    "eager": platform(messages__eager_below=4096),
    "never detached": platform(messages__detached_below=0),
    "no way back": platform(reverse_share=0.0),
    "fat tree": platform("griffon", **NO_OVERHEADS),
    "dragonfly": platform("groups", **DRAGONFLY, **NO_OVERHEADS),
}


def ours(machine, node_of_rank, algorithm, size, delays):
    collective, name = algorithm.split("/")
    job = Job(
        platform=machine.file,
        node_of_rank=node_of_rank,
        collective=collective,
        family="simgrid",
        algorithm=name,
        root=0,
        bytes=size,
        element_bytes=8,
        arrivals_s=delays[np.newaxis, :],
        layout=CommunicatorLayout(p=len(node_of_rank)),
    )
    return run_job(job).exits_s[0]


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES.keys())
def test_messages_that_share_nothing_take_as_long_as_in_the_simulator(machine, tmp_path):
    far = np.array([0, machine.file.nodes - 1], dtype=np.int32)
    for number, node_of_rank in enumerate((placed(2, 1), placed(2, 2), far)):
        folder = tmp_path / str(number)
        with oracle(machine, node_of_rank, folder) as running:
            for size in SIZES:
                for delays in (np.zeros(2), np.array([3e-6, 0.0])):
                    call = SmpiCall(
                        collective="reduce", algorithm="binomial", bytes=size, datatype="double", root=0
                    )
                    simgrid_exits, _ = running.run(call, delays)
                    expected = ours(machine, node_of_rank, "reduce/binomial", size, delays)
                    np.testing.assert_allclose(simgrid_exits, expected, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("name", ["paper", "eager", "never detached", "no way back"])
@pytest.mark.parametrize("algorithm", ["alltoall/bruck", "allreduce/rab_rdb", "reduce/mvapich2_knomial"])
def test_contended_calls_take_as_long_as_in_the_simulator(name, algorithm, tmp_path):
    machine, node_of_rank = MACHINES[name], placed(12, 3)
    collective, word = algorithm.split("/")
    delays = np.random.default_rng(5).random(12) * 2e-5
    with oracle(machine, node_of_rank, tmp_path) as running:
        for size in SIZES:
            call = SmpiCall(collective=collective, algorithm=word, bytes=size, datatype="double", root=0)
            simgrid_exits, _ = running.run(call, delays)
            expected = ours(machine, node_of_rank, algorithm, size, delays)
            assert simgrid_exits.max() == pytest.approx(expected.max(), rel=1e-3)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"reverse_share": 0.1}, "reverse_share: SimGrid supports 0 or 0.05, not 0.1"),
        ({"messages__header": 40}, "messages.header: SMPI's messages have a header of 16 B, not 40 B"),
        (
            {"messages__flow_bandwidth": 1e9},
            "messages.flow_bandwidth: SimGrid cannot limit the bandwidth of one message",
        ),
        ({"messages__reduce_bandwidth": 1e9}, "messages.reduce_bandwidth: in SMPI reductions"),
        ({"messages__copy_bandwidth": 1e9}, "messages.copy_bandwidth: in SMPI reductions and copies"),
        ({"messages__eager_below": 10**6}, "messages.eager_below: SMPI's eager messages are detached"),
        (
            {"inside__from_sizes": [0], "inside__latency_factors": [1.5], "inside__bandwidth_factors": [1.0]},
            "inside.from_sizes: SimGrid has the same factors inside nodes as between them",
        ),
    ],
)
def test_unsupported_keys_are_refused(changes, sentence):
    with pytest.raises(BadInput) as refused:
        smpi_platform.refuse(platform(**changes))
    assert sentence in str(refused.value)


def test_all_unsupported_keys_are_reported_together():
    with pytest.raises(BadInput) as refused:
        smpi_platform.refuse(platform(reverse_share=0.1, messages__header=40, messages__copy_bandwidth=1e9))
    assert len(str(refused.value).splitlines()) == 3


@pytest.mark.parametrize("preset", ["paper", "hydra", "griffon", "islands", "groups"])
def test_every_built_in_platform_can_be_expressed(preset):
    smpi_platform.refuse(platform(preset))


def test_more_nodes_than_a_file_of_routes_can_have_are_refused():
    machine = platform("groups")
    with pytest.raises(BadInput, match="topology: with the engine smpi ranks may be on 512 nodes"):
        smpi_platform.xml(machine, placed(600, 600))


def test_differences_from_simgrid_are_reported():
    assert smpi_platform.warnings(platform()) == []
    assert "shorter routes" in smpi_platform.warnings(platform("griffon"))[0]
    assert "overheads" in smpi_platform.warnings(platform(messages__send_overhead=1e-6))[0]
