"""The program that runs SimGrid: times independent of earlier calls, and sentences for invalid calls."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest
from local_smpi import oracle, placed, platform, program

from offbeat.base.errors import RunFailed
from offbeat.libraries.installations.build import native_sources
from offbeat.libraries.launch.driver import CommandRefused, DriverLost
from offbeat.measurement.engines import smpi_platform, smpi_program
from offbeat.measurement.engines.smpi_commands import SmpiCall
from offbeat.measurement.engines.smpi_program import build_program

pytestmark = pytest.mark.slow

LATENCY_S, BANDWIDTH = 1e-6, 1.25e9
P = 16


def call(collective, algorithm, size=64, datatype="byte", root=0):
    return SmpiCall(collective=collective, algorithm=algorithm, bytes=size, datatype=datatype, root=root)


@pytest.fixture(scope="module")
def two_nodes(tmp_path_factory):
    with oracle(platform(), placed(P, 2), tmp_path_factory.mktemp("smpi")) as running:
        yield running


def test_a_message_inside_a_node_takes_latency_and_size_with_their_factors(tmp_path):
    with oracle(platform(), placed(2, 1), tmp_path) as running:
        exits, _ = running.run(call("reduce", "binomial", 2), np.zeros(2))
    assert exits[0] == pytest.approx(2.01467 * LATENCY_S + 18 / (0.812084 * BANDWIDTH), rel=1e-9)
    assert exits[1] == 0  # detached: the sender leaves at once


def test_a_message_between_nodes_passes_two_cables(tmp_path):
    with oracle(platform(), placed(2, 2), tmp_path) as running:
        exits, _ = running.run(call("reduce", "binomial", 1024), np.zeros(2))
    assert exits[0] == pytest.approx(2 * 1.9503 * LATENCY_S + 1040 / (0.341987 * BANDWIDTH), rel=1e-9)


def test_no_rank_leaves_before_the_last_arrival(two_nodes):
    delays = np.linspace(0, 1e-4, P)
    exits, _ = two_nodes.run(call("reduce", "flat_tree"), delays)
    assert (exits >= delays).all()
    assert exits[0] > 1e-4
    assert exits[5] < exits[0]


def test_times_do_not_depend_on_earlier_calls(two_nodes):
    delays = np.random.default_rng(2).random(P) * 1e-4
    asked = [
        call("allreduce", "redbcast"),
        call("alltoall", "pair_mpi_barrier"),
        call("allreduce", "smp_rdb", 4096),
        call("reduce", "mvapich2_two_level"),
    ]
    first = [two_nodes.run(one, delays)[0] for one in asked]
    two_nodes.run(call("reduce", "ompi_chain"), np.zeros(P))
    two_nodes.run(call("bcast", "flattree"), delays)
    two_nodes.run(call("barrier", "ompi_tree", 0), delays)
    again = [two_nodes.run(one, delays)[0] for one in reversed(asked)]
    np.testing.assert_allclose(again[::-1], first, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("collective", "algorithm"),
    [("reduce", "scatter_gather"), ("allreduce", "smp_rdb"), ("alltoall", "bruck"), ("bcast", "SMP_binary")],
)
def test_moving_the_data_changes_no_time(two_nodes, collective, algorithm):
    delays = np.random.default_rng(3).random(P) * 1e-4
    for size in (64, 4096, 131072):
        without, _ = two_nodes.run(call(collective, algorithm, size), delays)
        with_data, _ = two_nodes.run(call(collective, algorithm, size), delays, copies=True)
        np.testing.assert_allclose(without, with_data, rtol=0, atol=1e-12)


def test_check_distinguishes_correct_and_wrong_results(two_nodes):
    for collective in (
        "allgather",
        "allreduce",
        "alltoall",
        "barrier",
        "bcast",
        "exscan",
        "gather",
        "reduce",
        "reduce_scatter",
        "reduce_scatter_block",
        "scan",
        "scatter",
    ):
        size = 0 if collective == "barrier" else 12
        assert two_nodes.wrong(call(collective, "default", size, "int", root=3)) == 0, collective
    # one that leaves elements out unless their number is a multiple of that of ranks
    assert two_nodes.wrong(call("allreduce", "smp_rsag", 12, "int")) > 0


def test_algorithms_are_those_that_this_simgrid_has(two_nodes):
    assert {"binomial", "flat_tree", "ompi_in_order_binary"} <= set(two_nodes.algorithms("reduce"))
    assert two_nodes.algorithms("scan") == []
    for name in two_nodes.algorithms("gather"):
        two_nodes.run(call("gather", name), np.zeros(P))


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (call("reduce", "quick"), "no algorithm 'quick' for reduce"),
        (call("alltoallv", "default"), "no collective 'alltoallv'"),
        (call("scan", "linear"), "single algorithm for scan"),
        (call("reduce", "binomial", 7, "double"), "not a whole number of elements of 8 bytes"),
        (call("reduce", "binomial", 8, "quad"), "unknown datatype 'quad'"),
        (call("reduce", "binomial", 8, root=P), f"root={P} is not one of the {P} processes"),
        (call("alltoall", "rdb", 2**24), "cannot count so many elements"),
    ],
)
def test_invalid_call_is_refused_and_the_program_continues(two_nodes, asked, sentence):
    with pytest.raises(CommandRefused, match=sentence):
        two_nodes.run(asked, np.zeros(P))
    assert two_nodes.run(call("reduce", "binomial"), np.zeros(P))[0].max() > 0


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("run collective", "has the form key=value"),
        ("run collective=reduce bytes=many", "bytes must be a whole number"),
        ("run collective=reduce bytes=8 delays=1,-2", "delays must be seconds"),
        ("run collective=reduce bytes=8 delays=0,0,0", "delays has 3 entries for 2 processes"),
        ("dance", "unknown command 'dance'"),
    ],
)
def test_invalid_worklist_line_is_reported(tmp_path, line, sentence):
    (tmp_path / "p.xml").write_text(smpi_platform.xml(platform(), placed(2, 1)))
    (tmp_path / "hosts").write_text("node-0\nnode-0\n")
    done = subprocess.run(
        [program(), tmp_path / "p.xml", tmp_path / "hosts"],
        input=f"{line}\nhello\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    fault, hello = done.stdout.splitlines()
    assert '"ok":false' in fault
    assert sentence in fault
    assert '"ok":true' in hello


def test_missing_host_is_named(tmp_path):
    (tmp_path / "p.xml").write_text(smpi_platform.xml(platform(), placed(2, 1)))
    (tmp_path / "hosts").write_text("node-0\nnode-77\n")
    done = subprocess.run(
        [program(), tmp_path / "p.xml", tmp_path / "hosts"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert "names the host 'node-77', which is not in the platform" in done.stderr


def test_crash_is_reported_and_leaves_only_the_log(tmp_path):
    with oracle(platform(), placed(3, 1), tmp_path) as running:
        with pytest.raises(DriverLost, match="SimGrid was killed by signal"):
            running.run(call("reduce", "arrival_pattern_aware"), np.zeros(3))
        assert [file.name for file in tmp_path.iterdir()] == ["smpi.log"]


def test_missing_simgrid_package_is_named(tmp_path, monkeypatch):
    sources = tmp_path / "smpi"
    shutil.copytree(native_sources() / "smpi", sources)
    recipe = sources / "CMakeLists.txt"
    recipe.write_text(recipe.read_text().replace("simgrid/s4u.hpp", "nowhere/s4u.hpp"))
    monkeypatch.setattr(smpi_program, "_sources", lambda: sources)
    with pytest.raises(RunFailed, match=r"needs SimGrid, which is not installed here: .*libsimgrid-dev"):
        build_program(tmp_path / "cache")
