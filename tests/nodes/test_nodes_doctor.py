"""``offbeat doctor`` on several nodes: which nodes answer, and the cores of each."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from real_libraries import real_installation
from several_nodes import OFFSETS, ONE_OF_THEM, WHOLE, hostfile, offbeat, on_nodes

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", [*ONE_OF_THEM, "mpich5"] if not WHOLE else list(OFFSETS))
def test_the_doctor_counts_the_cores_of_each_node(name: str, tmp_path: Path) -> None:
    arguments = ["doctor", "--mpi", real_installation(name).mpirun, "--hostfile", hostfile(tmp_path)]
    text = offbeat(arguments, tmp_path, "--cores", "0,1:1").stdout
    assert "node node1: 2 hardware threads" in text and "node node2: 1 hardware thread\n" in text
    assert "different numbers of hardware threads: 1 on node2, 2 elsewhere" in text


def test_the_node_that_does_not_answer_is_named(tmp_path: Path) -> None:
    hosts = hostfile(tmp_path)
    hosts.write_text("node1\nnode7\nnode2\n", encoding="utf-8")
    arguments = [
        sys.executable,
        "-m",
        "offbeat",
        "doctor",
        "--mpi",
        real_installation("openmpi4").mpirun,
        "--hostfile",
        hosts,
    ]
    done = on_nodes(arguments, tmp_path)
    assert done.returncode == 1
    assert "node node7: does not answer" in done.stdout
    assert done.stdout.count("does not answer") == 3, "once as a node, as the failure and as a limit"
    assert "node node2: 1 hardware thread\n" in done.stdout
