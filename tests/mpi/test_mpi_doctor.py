"""``offbeat doctor`` and its check with two processes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest
import typer
from installation_factory import described, make, script
from real_libraries import skip_without
from typer.testing import CliRunner

from offbeat.base.errors import BadInput, RunFailed
from offbeat.cli import doctor
from offbeat.libraries.installations import check, diagnosis, find
from offbeat.libraries.installations.check import NodeStatus, limits_of_nodes
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.batch_job import Allocation, NodeGroup
from offbeat.libraries.launch.cores import Cores
from offbeat.libraries.launch.driver_protocol import LaunchFacts
from offbeat.libraries.launch.launch_command import command

ANSWER = {
    "ok": True,
    "protocol": 1,
    "p": 2,
    "family": "openmpi",
    "library": "Open MPI v4.1.6",
    "clock_source": "CLOCK_MONOTONIC",
    "clock_resolution_ns": 1,
    "clock_shared": True,
    "clock_bound_ns": 0,
    "overshoot_ns": 1500,
    "switches": True,
    "places": ["a 0", "a 1"],
    "domains": [0, 0],
}

app = typer.Typer()
app.command()(doctor.command)


def offbeat_doctor(*arguments: str) -> tuple[int, str]:
    """Exit status and standard output; sentences for users are exceptions."""
    result = CliRunner().invoke(app, list(arguments))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout


def launching(tmp_path: Path, body: str) -> Installation:
    """An installation whose launcher is a script."""
    prefix = make(tmp_path / "mpi", "openmpi", 4, 1, 6)
    installation = find.choose(str(prefix))
    script(prefix / "bin/mpirun", body)
    return installation


def test_each_real_library_runs_two_processes_on_cores_of_their_own(
    mpi_installation: Installation, mpi_driver: Path
) -> None:
    answer = check.check(mpi_installation, mpi_driver)
    assert (answer.p, len(answer.hosts), len(answer.places)) == (2, 1, 2)
    assert answer.clock_source == "CLOCK_MONOTONIC"
    assert answer.clock_shared
    assert answer.switches == (mpi_installation.family != "intelmpi")
    if len(os.sched_getaffinity(0)) >= 2:
        assert len(set(answer.binding)) == 2
        assert all("," not in cores for cores in answer.binding)


def test_each_real_library_runs_more_processes_than_cores(
    mpi_installation: Installation, mpi_driver: Path
) -> None:
    p = len(os.sched_getaffinity(0)) + 2
    answer = check.check(mpi_installation, mpi_driver, p)
    assert answer.p == p
    assert len(set(answer.binding)) == 1


def test_each_real_library_runs_on_two_nodes(
    mpi_installation: Installation, mpi_driver: Path, tmp_path: Path
) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text("nodea\nnodeb\n", encoding="utf-8")
    one_core = Cores(logical=1, physical=1, machine_logical=1)
    launch = command(
        mpi_installation,
        [str(mpi_driver), "--check"],
        4,
        nodes=2,
        ppn=2,
        hostfile=hosts,
        options=_remote_shell(mpi_installation, tmp_path),
        cores=one_core,
    )
    answer = check.run(launch, mpi_installation, 4)
    assert sorted(place.split(" ")[0] for place in answer.places) == ["nodea", "nodea", "nodeb", "nodeb"]


def _remote_shell(installation: Installation, folder: Path) -> list[str]:
    """A replacement for ssh that runs the command on this machine under the given host name, and options to
    use it."""
    if os.geteuid() != 0 or os.system("unshare --uts true 2>/dev/null") != 0:
        skip_without("the right to give a process another host name (unshare --uts)")
    shell = script(
        folder / "remote-shell",
        'while [ "${1#-}" != "$1" ]; do shift; done\n'
        'host="${1#*@}"; shift\nexec unshare --uts sh -c "hostname $host; $*"\n',
    )
    if installation.family == "openmpi":
        agent = ["--prtemca", "plm_ssh_agent"] if installation.is_at_least(5) else ["--mca", "plm_rsh_agent"]
        return [*agent, str(shell)]
    if installation.family == "mpich":
        return ["-launcher", "ssh", "-launcher-exec", str(shell)]
    return ["-bootstrap", "ssh", "-bootstrap-exec", str(shell)]


def test_a_launch_inside_another_launch_does_not_inherit_its_variables(
    mpi_installation: Installation, mpi_driver: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "OMPI_COMM_WORLD_RANK": "3",
        "OMPI_COMM_WORLD_SIZE": "4",
        "OMPI_MCA_ess": "pmi",
        "OMPI_MCA_orte_hnp_uri": "1.0;tcp://192.0.2.1:1",
        "PMIX_NAMESPACE": "1",
        "PMIX_RANK": "3",
        "PMIX_SERVER_URI41": "x",
        "PMI_RANK": "3",
        "PMI_SIZE": "4",
        "PMI_FD": "99",
        "OPAL_PREFIX": "/nowhere",
        "PRTE_LAUNCHED": "1",
    }.items():
        monkeypatch.setenv(name, value)
    assert check.check(mpi_installation, mpi_driver).p == 2


def test_sentences_about_this_node_are_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    few = Cores(logical=3, physical=3, machine_logical=8, quota=3.5)
    monkeypatch.setattr(diagnosis.cores, "available", lambda: few)
    monkeypatch.setattr(diagnosis.cores, "clock_source", lambda: "hpet")
    limits = diagnosis.inspect_node().limits
    assert "Of the machine's 8 hardware threads only 3 can be used: a CPU limit of 3.5 cores." in limits
    assert any("'hpet'" in limit and limit.endswith("'tsc' takes 20 ns.") for limit in limits)


def test_a_coarse_clock_is_reported_in_a_complete_sentence(tmp_path: Path) -> None:
    answer = json.dumps(ANSWER | {"clock_resolution_ns": 4000})
    installation = launching(tmp_path, f"echo '@offbeat {answer}'\n")
    checked = check.run(command(installation, ["driver"], 2), installation, 2)
    limits = list(diagnosis._limits_of_installation(installation, checked))
    assert "The clock's resolution is 4000 ns: shorter times cannot be distinguished." in limits


def test_nodes_that_differ_or_do_not_answer_are_reported() -> None:
    fat, thin = NodeStatus(host="a", threads=8), NodeStatus(host="b", threads=4)
    assert list(limits_of_nodes([fat, msgspec.structs.replace(fat, host="b")])) == []
    (output,) = limits_of_nodes([fat, thin])
    assert "4 on b, 8 elsewhere. With a 'ppn' above 4, processes share them there." in output
    (output,) = limits_of_nodes([fat, fat])
    assert "several names in the host file mean one node" in output
    (output,) = limits_of_nodes([fat, NodeStatus(host="c", failure="no route")])
    assert output == "Node c does not answer: no route"


def test_the_doctor_reports_a_real_library_as_json(mpi_installation: Installation) -> None:
    status, out = offbeat_doctor("--mpi", str(mpi_installation.mpirun), "--json", "-")
    document = json.loads(out)
    (examined,) = document["examined"]
    assert (status, examined["failure"]) == (0, "")
    assert examined["installation"]["family"] == mpi_installation.family
    assert Path(examined["driver"]).is_file()
    assert examined["check"]["p"] == 2
    assert document["node"]["cores"]["logical"] >= 1


def test_the_doctor_lists_the_limitations_of_each_real_library(mpi_installation: Installation) -> None:
    _, out = offbeat_doctor("--mpi", str(mpi_installation.mpirun))
    assert f"{mpi_installation.version_text}" in out
    assert "works" in out
    assert ("cannot change algorithms while it runs" in out) == (mpi_installation.family == "intelmpi")
    assert "which algorithm ran" not in out  # all of them show their functions, MPICH by its error texts
    assert ("has no working mpicc" in out) == (mpi_installation.mpicc is None)


def test_the_table_marks_the_tested_installations_and_names_unusable_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = make(tmp_path / "good", "openmpi", 4, 1, 6)
    bad = make(tmp_path / "bad", "mpich", 4, 0, 2, header_version=(3, 4, 1))
    monkeypatch.setenv("PATH", f"{good / 'bin'}:{bad / 'bin'}:/usr/local/nothing:/bin")
    monkeypatch.setattr(diagnosis, "try_installation", _working)
    _, out = offbeat_doctor("--mpi", "openmpi-4.1.6")
    assert "*  openmpi-4.1.6" in out
    assert f"not usable: {bad / 'bin/mpirun'}" in out
    assert "mpi.h is of MPICH 3.4.1" in out


def _working(
    installation: Installation, echo: object, hostfile: Path | None = None
) -> diagnosis.TriedInstallation:
    answer = msgspec.convert({**ANSWER}, LaunchFacts)
    return diagnosis.TriedInstallation(
        installation=installation, driver="/d", check=answer, failure="", nodes=[], limits=[]
    )


def test_an_installation_that_does_not_work_gives_status_1_and_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation = launching(tmp_path, "echo the network is on fire >&2; exit 7\n")
    monkeypatch.setattr(diagnosis, "build_native", lambda *_, **__: Path("/driver"))
    monkeypatch.setattr(find, "choose", lambda _: installation)
    status, out = offbeat_doctor("--mpi", "openmpi")
    assert status == 1
    assert "openmpi-4.1.6: does not work" in out
    assert "ended with status 7 and no answer: the network is on fire; to try it yourself: " in out
    assert "Nothing can be measured with openmpi-4.1.6: see above." in out
    assert "All checks passed" not in out


def test_a_folder_that_is_no_mpi_prefix_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is not an MPI prefix") as failure:
        offbeat_doctor("--mpi", str(tmp_path))
    assert failure.value.exit_status == 2


def test_all_and_one_exclude_each_other() -> None:
    with pytest.raises(BadInput, match="give one of the two"):
        offbeat_doctor("--all", "--mpi", "openmpi")


def test_a_machine_without_mpi_gives_status_1_after_the_node_is_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("OFFBEAT_MPI_PATH", "")
    monkeypatch.setattr(find, "PYTHON_PREFIX", tmp_path)
    result = CliRunner().invoke(app, [])
    assert isinstance(result.exception, RunFailed)
    assert "This node" in result.stdout
    assert "cmake is not on PATH" in result.stdout


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("exit 0\n", "ended with status 0 and no answer: nothing was printed"),
        ("sleep 30\n", "did not end within 1 s"),
        ("echo '@offbeat {}'\n", "answer to 'hello' is not that of this offbeat: .* missing required field"),
        (
            f"echo '@offbeat {json.dumps({**ANSWER, 'p': 1})}'\n",
            "launched, but the driver saw 1: the launcher",
        ),
        (f"echo '@offbeat {json.dumps(ANSWER)}'; exit 3\n", "ended with status 3 and an answer"),
    ],
)
def test_a_check_that_fails_says_how(tmp_path: Path, body: str, sentence: str) -> None:
    with pytest.raises(RunFailed, match=sentence):
        check.check(launching(tmp_path, body), Path("/driver"), timeout_s=1)


def test_a_missing_launcher_gives_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="/opt/mpi/bin/mpirun cannot be started: No such file"):
        check.check(described("mpich", 4, 0, 2), Path("/driver"))


def test_other_lines_on_standard_output_do_not_disturb_the_answer(tmp_path: Path) -> None:
    installation = launching(tmp_path, f"echo a banner; echo '@offbeat {json.dumps(ANSWER)}'; echo bye\n")
    answer = check.check(installation, Path("/driver"))
    assert (answer.hosts, answer.binding) == (["a"], ["0", "1"])


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        (2, "start one process on each of the job's nodes"),
        (1, "all processes share it"),
        (0, "all processes share it"),
    ],
)
def test_one_core_on_each_of_several_nodes_is_no_shared_core(nodes: int, words: str) -> None:
    group = NodeGroup(nodes=nodes, cores_per_node=1, cores=nodes, slots=nodes)
    job = Allocation(system="Slurm", job="7", groups=(group,)) if nodes else None
    node = Cores(logical=1, physical=1, machine_logical=64)
    (first, *_) = diagnosis._limits_of_node(node, "tsc", {}, job)
    assert words in first
