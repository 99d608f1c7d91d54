"""Batch jobs are read from their environment: drawn jobs of Slurm, PBS and LSF, and what remains of damaged
ones."""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from installation_factory import script

from offbeat.base.errors import BadInput
from offbeat.libraries.launch import batch_job
from offbeat.libraries.launch.batch_job import Allocation, NodeGroup

SLURM = {
    "SLURM_JOB_ID": "77",
    "SLURM_JOB_NUM_NODES": "3",
    "SLURM_JOB_CPUS_PER_NODE": "16(x2),8",
    "SLURM_TASKS_PER_NODE": "4(x3)",
    "PATH": "/nowhere",
}


class Node(NamedTuple):
    """A node of a drawn job: its cores, and how many processes the batch system expects there."""

    cores: int
    tasks: int


NODES = st.lists(st.builds(Node, st.integers(1, 256), st.integers(1, 256)), min_size=1, max_size=12)
NOT_NUMBERS = st.sampled_from(["", " ", "x", "-1", "²", "4(x", "(x2)", "9" * 5000, "0x10", "1.5"])

LISTING_SYSTEMS = [("PBS", "PBS_JOBID", "PBS_NODEFILE"), ("LSF", "LSB_JOBID", "LSB_DJOB_HOSTFILE")]
"""Batch systems with a list of hosts: name, and the variables of the job and of the list."""


def group_of(nodes: list[Node]) -> NodeGroup:
    """What is true of nodes."""
    cores = [node.cores for node in nodes]
    tasks = sum(node.tasks for node in nodes)
    return NodeGroup(nodes=len(nodes), cores_per_node=min(cores), cores=sum(cores), slots=tasks)


def short_form(numbers: list[int]) -> str:
    """Slurm's short form of a list."""
    runs = [(number, len(list(run))) for number, run in groupby(numbers)]
    return ",".join(f"{number}(x{times})" if times > 1 else str(number) for number, times in runs)


def slurm_variables(nodes: list[Node], suffix: str) -> dict[str, str]:
    variables = {
        "SLURM_JOB_NUM_NODES": str(len(nodes)),
        "SLURM_JOB_CPUS_PER_NODE": short_form([node.cores for node in nodes]),
        "SLURM_TASKS_PER_NODE": short_form([node.tasks for node in nodes]),
        "SLURM_CPUS_ON_NODE": str(nodes[0].cores),
    }
    return {f"{name}{suffix}": value for name, value in variables.items()}


def slurm(environ: Mapping[str, str]) -> Allocation:
    """The job of an environment, which must be one of Slurm."""
    job = batch_job.current({"PATH": "/nowhere", "SLURM_JOB_ID": "77", **environ})
    assert job is not None
    assert (job.system, job.job) == ("Slurm", "77")
    return job


@given(NODES)
def test_a_slurm_job_has_the_nodes_cores_and_processes_of_its_variables(nodes: list[Node]) -> None:
    job = slurm(slurm_variables(nodes, ""))
    assert job.groups == (group_of(nodes),)
    assert (job.nodes, job.cores, job.slots) == (len(nodes), group_of(nodes).cores, group_of(nodes).slots)


@given(st.lists(NODES, min_size=2, max_size=4), st.sampled_from(["HET", "PACK"]), st.booleans())
def test_a_heterogeneous_slurm_job_has_all_its_groups(
    groups: list[list[Node]], word: str, is_first_plain: bool
) -> None:
    environ = {f"SLURM_{word}_SIZE": str(len(groups))}
    for number, nodes in enumerate(groups):
        is_plain = is_first_plain and number == 0
        environ |= slurm_variables(nodes, "" if is_plain else f"_{word}_GROUP_{number}")
    job = slurm(environ)
    assert job.groups == tuple(map(group_of, groups))
    whole = [node for nodes in groups for node in nodes]
    assert job.join_groups().groups == (group_of(whole),)
    assert job.nodes == len(groups[0])


@given(NODES, st.data())
def test_a_slurm_variable_that_is_no_number_counts_as_not_set(nodes: list[Node], data: st.DataObject) -> None:
    complete = slurm_variables(nodes, "") | {"SLURM_JOB_END_TIME": "1"}
    damaged = data.draw(st.sets(st.sampled_from(sorted(complete))))
    environ = {**complete, **{name: data.draw(NOT_NUMBERS) for name in damaged}}
    unset = {name: value for name, value in complete.items() if name not in damaged}
    base = {"PATH": "/nowhere", "SLURM_JOB_ID": "77"}
    assert batch_job.current(base | environ) == batch_job.current(base | unset)


@given(
    NODES, st.sampled_from([("PBS", "PBS_JOBID", "PBS_NODEFILE"), ("LSF", "LSB_JOBID", "LSB_DJOB_HOSTFILE")])
)
def test_a_pbs_or_lsf_job_has_the_hosts_of_its_list(
    tmp_path_factory: pytest.TempPathFactory, nodes: list[Node], names: tuple[str, str, str]
) -> None:
    system, job_variable, file_variable = names
    node_file = tmp_path_factory.mktemp("job") / "nodes"
    lines = [f"node{number}" for number, node in enumerate(nodes) for _ in range(node.tasks)]
    node_file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    job = batch_job.current({job_variable: "9.server", file_variable: str(node_file)})
    tasks = [Node(node.tasks, node.tasks) for node in nodes]
    assert job == Allocation(system=system, job="9.server", groups=(group_of(tasks),), node_file=node_file)


def test_the_remaining_time_of_a_slurm_job_ends_with_the_job() -> None:
    job = slurm({**SLURM, "SLURM_JOB_END_TIME": str(int(time.time()) + 600)})
    assert job.time_left_s is not None
    assert 500 < job.time_left_s <= 600


def test_an_older_slurm_is_queried_for_the_remaining_time(tmp_path: Path) -> None:
    script(tmp_path / "squeue", 'test "$4" = 77 && echo "   1-02:03:04"\n')
    assert slurm({**SLURM, "PATH": str(tmp_path)}).time_left_s == 93784
    script(tmp_path / "squeue", "echo INVALID\n")
    assert slurm({**SLURM, "PATH": str(tmp_path)}).time_left_s is None


def test_a_slurm_job_with_few_variables_is_read_as_far_as_they_go() -> None:
    job = slurm({"SLURM_NNODES": "2", "SLURM_CPUS_ON_NODE": "4"})
    assert (job.nodes, job.cores, job.slots, job.time_left_s) == (2, 8, 8, None)


def test_a_pbs_job_may_say_how_many_cores_a_node_has(tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("a\na\nb\n", encoding="utf-8")
    environ = {"PBS_JOBID": "9.server", "PBS_NODEFILE": str(tmp_path / "nodes"), "NCPUS": "8"}
    job = batch_job.current(environ)
    assert job is not None
    assert (job.cores_per_node, job.cores, job.slots) == (8, 16, 3)


@pytest.mark.parametrize("names", [("PBS_JOBID", "PBS_NODEFILE"), ("LSB_JOBID", "LSB_DJOB_HOSTFILE")])
def test_a_list_of_hosts_that_is_no_text_is_named_with_its_variable(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    (tmp_path / "nodes").write_bytes(b"node1\n\xff\xfe\n")
    with pytest.raises(BadInput, match=f"{names[1]} = .*nodes is no list of hosts: the byte 0xff"):
        batch_job.current({names[0]: "9", names[1]: str(tmp_path / "nodes")})
    with pytest.raises(BadInput, match="/dev/zero is no regular file but a device"):
        batch_job.current({names[0]: "9", names[1]: "/dev/zero"})


def test_outside_a_job_there_is_no_allocation(tmp_path: Path) -> None:
    assert batch_job.current({}) is None
    assert batch_job.current({"PBS_JOBID": "9", "PBS_NODEFILE": str(tmp_path / "gone")}) is None
    assert batch_job.current({"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": ""}) is None


@given(st.integers(0, 20), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_slurms_durations_are_seconds(days: int, hours: int, minutes: int, seconds: int) -> None:
    text = f"{days}-{hours:02}:{minutes:02}:{seconds:02}"
    assert batch_job.slurm_duration_s(text) == ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    assert batch_job.slurm_duration_s("UNLIMITED") is None
