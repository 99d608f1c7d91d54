"""The exact launch commands for each family and placement, and the refusals before a launch."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from installation_factory import described, script

from offbeat.base.errors import BadInput
from offbeat.libraries.installations.installation import Installation
from offbeat.libraries.launch.batch_job import Allocation, NodeGroup
from offbeat.libraries.launch.cores import Cores
from offbeat.libraries.launch.launch_command import LaunchCommand, command, shell_line
from offbeat.libraries.launch.placement import place_processes

FAMILIES = {
    "openmpi4": described("openmpi", 4, 1, 4, mpirun="mpirun.openmpi"),
    "openmpi5": described("openmpi", 5, 0, 11),
    "mpich4": described("mpich", 4, 0, 2, mpirun="mpirun.mpich"),
    "mpich5": described("mpich", 5, 0, 2),
    "intelmpi": described("intelmpi", 2021, 18, 1),
}
FOUR_CORES = Cores(logical=4, physical=4, machine_logical=4)
TWO_THREADS_EACH = Cores(logical=4, physical=2, machine_logical=4)


def a_job(system: str, *groups: tuple[int, int, int], node_file: Path | None = None) -> Allocation:
    """A job with groups of nodes: nodes, cores per node and slots of each."""
    return Allocation(
        system=system,
        job="77",
        node_file=node_file,
        groups=tuple(
            NodeGroup(nodes=nodes, cores_per_node=cores, cores=nodes * cores, slots=slots)
            for nodes, cores, slots in groups
        ),
    )


SLURM = a_job("Slurm", (2, 8, 16))
ENVIRON = {"PATH": "/usr/bin", "HOME": "/home/somebody"}
DRIVER = Path("/cache/offbeat-driver")


@pytest.fixture(autouse=True)
def not_root(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "real" not in request.node.name:
        monkeypatch.setattr(os, "geteuid", lambda: 1000)


def launch(name: str, p: int, **more: object) -> LaunchCommand:
    settings: dict[str, object] = {"cores": FOUR_CORES, "environ": ENVIRON, **more}
    return command(FAMILIES[name], DRIVER, p, **settings)  # type: ignore[arg-type]


def words(name: str, p: int, **more: object) -> str:
    """The launcher's arguments, between the launcher and the driver."""
    argv = launch(name, p, **more).argv
    assert argv[0] == str(FAMILIES[name].mpirun)
    assert argv[-1] == str(DRIVER)
    return " ".join(argv[1:-1])


def pbs(tmp_path: Path) -> Allocation:
    nodes = tmp_path / "nodes"
    nodes.write_text("a\na\nb\nb\n", encoding="utf-8")
    return a_job("PBS", (2, 2, 4), node_file=nodes)


def hostfile(tmp_path: Path) -> Path:
    path = tmp_path / "hosts"
    path.write_text("a\nb  # the second\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "golden"),
    [
        ("openmpi4", "-np 4 --bind-to core"),
        ("openmpi5", "-np 4 --bind-to core"),
        ("mpich4", "-np 4 -bind-to core -genv MPIR_CVAR_DEVICE_COLLECTIVES none"),
        ("mpich5", "-np 4 -bind-to core -genv MPIR_CVAR_DEVICE_COLLECTIVES none"),
        ("intelmpi", "-np 4"),
    ],
)
def test_on_one_node_each_process_gets_a_core(name: str, golden: str) -> None:
    assert words(name, 4) == golden
    assert launch(name, 4).warnings == []


@pytest.mark.parametrize(
    ("name", "golden"),
    [
        ("openmpi4", "-np 6 --oversubscribe --mca mpi_yield_when_idle 1 --bind-to none -x OFFBEAT_YIELD=1"),
        ("openmpi5", "-np 6 --oversubscribe --mca mpi_yield_when_idle 1 --bind-to none -x OFFBEAT_YIELD=1"),
        ("mpich4", "-np 6 -bind-to none -genv MPIR_CVAR_DEVICE_COLLECTIVES none -genv OFFBEAT_YIELD 1"),
        ("mpich5", "-np 6 -bind-to none -genv MPIR_CVAR_DEVICE_COLLECTIVES none -genv OFFBEAT_YIELD 1"),
        ("intelmpi", "-np 6 -genv OFFBEAT_YIELD 1"),
    ],
)
def test_more_processes_than_cores_yield_and_are_warned_of(name: str, golden: str) -> None:
    assert words(name, 6) == golden
    launch_spec = launch(name, 6)
    assert launch_spec.is_oversubscribed
    (warning,) = launch_spec.warnings
    assert warning.startswith("6 processes share 4 cores here: times include waiting for a core.")
    assert "at most 4 processes give reliable times" in warning


@pytest.mark.parametrize("name", ["openmpi4", "openmpi5"])
def test_a_parameter_that_the_user_sets_is_not_given_twice(name: str) -> None:
    line = words(name, 6, environment={"OMPI_MCA_mpi_yield_when_idle": "0"})
    assert line.split().count("mpi_yield_when_idle") == 1
    assert "--mca mpi_yield_when_idle 0" in line


@pytest.mark.parametrize(
    ("name", "golden"),
    [
        ("openmpi4", "-np 4 --use-hwthread-cpus --bind-to hwthread"),
        ("openmpi5", "-np 4 --use-hwthread-cpus --bind-to hwthread"),
        ("mpich4", "-np 4 -bind-to hwthread -genv MPIR_CVAR_DEVICE_COLLECTIVES none"),
        ("mpich5", "-np 4 -bind-to hwthread -genv MPIR_CVAR_DEVICE_COLLECTIVES none"),
        ("intelmpi", "-np 4"),
    ],
)
def test_processes_that_share_a_core_are_bound_to_threads_and_warned_of(name: str, golden: str) -> None:
    assert words(name, 4, cores=TWO_THREADS_EACH) == golden
    launch_spec = launch(name, 4, cores=TWO_THREADS_EACH)
    assert not launch_spec.is_oversubscribed
    assert launch_spec.warnings[0].startswith("4 processes run on 2 cores with 4 hardware threads here")


def test_a_warning_of_shared_hardware_threads_does_not_call_them_cores() -> None:
    (warning,) = launch("openmpi5", 6, cores=TWO_THREADS_EACH).warnings
    assert warning.startswith("6 processes share 4 hardware threads here: times include waiting for a core.")
    assert "at most 2 processes give reliable times" in warning


@pytest.mark.parametrize(
    ("name", "golden"),
    [
        ("openmpi4", "-np 4 --hostfile HOSTS --map-by ppr:2:node --bind-to core"),
        ("openmpi5", "-np 4 --hostfile HOSTS --map-by ppr:2:node --bind-to core"),
        ("mpich4", "-np 4 -f HOSTS -ppn 2 -bind-to core -genv MPIR_CVAR_DEVICE_COLLECTIVES none"),
        ("mpich5", "-np 4 -f HOSTS -ppn 2 -bind-to core -genv MPIR_CVAR_DEVICE_COLLECTIVES none"),
        ("intelmpi", "-np 4 -f HOSTS -ppn 2"),
    ],
)
def test_nodes_and_processes_per_node_with_a_hostfile(name: str, golden: str, tmp_path: Path) -> None:
    hosts = hostfile(tmp_path)
    assert words(name, 4, nodes=2, ppn=2, hostfile=hosts) == golden.replace("HOSTS", str(hosts))


@pytest.mark.parametrize(
    ("name", "golden"),
    [
        ("openmpi4", "-np 4 --hostfile HOSTS --bind-to core"),
        ("openmpi5", "-np 4 --hostfile HOSTS --bind-to core"),
        ("mpich4", "-np 4 -f HOSTS -bind-to core -genv MPIR_CVAR_DEVICE_COLLECTIVES none"),
        ("mpich5", "-np 4 -f HOSTS -bind-to core -genv MPIR_CVAR_DEVICE_COLLECTIVES none"),
        ("intelmpi", "-np 4 -f HOSTS"),
    ],
)
def test_a_hostfile_alone_leaves_the_placement_to_the_launcher(
    name: str, golden: str, tmp_path: Path
) -> None:
    hosts = hostfile(tmp_path)
    assert words(name, 4, hostfile=hosts) == golden.replace("HOSTS", str(hosts))


@pytest.mark.parametrize(
    ("name", "golden"),
    [
        ("openmpi4", "-np 16 --map-by ppr:8:node --bind-to core"),
        ("openmpi5", "-np 16 --map-by ppr:8:node --bind-to core"),
        ("mpich4", "-np 16 -ppn 8 -bind-to core -genv MPIR_CVAR_DEVICE_COLLECTIVES none"),
        ("mpich5", "-np 16 -ppn 8 -bind-to core -genv MPIR_CVAR_DEVICE_COLLECTIVES none"),
        ("intelmpi", "-np 16 -ppn 8"),
    ],
)
def test_inside_a_slurm_job_the_launcher_takes_its_nodes(name: str, golden: str) -> None:
    assert words(name, 16, nodes=2, ppn=8, allocation=SLURM) == golden
    assert launch(name, 16, nodes=2, ppn=8, allocation=SLURM).warnings == []


@pytest.mark.parametrize(
    ("name", "golden"),
    [
        ("openmpi4", "-np 4 --hostfile NODES --map-by ppr:2:node --bind-to core"),
        ("openmpi5", "-np 4 --hostfile NODES --map-by ppr:2:node --bind-to core"),
        ("mpich4", "-np 4 -f NODES -ppn 2 -bind-to core -genv MPIR_CVAR_DEVICE_COLLECTIVES none"),
        ("mpich5", "-np 4 -f NODES -ppn 2 -bind-to core -genv MPIR_CVAR_DEVICE_COLLECTIVES none"),
        ("intelmpi", "-np 4 -f NODES -ppn 2"),
    ],
)
def test_inside_a_pbs_job_the_launcher_gets_the_node_file(name: str, golden: str, tmp_path: Path) -> None:
    job = pbs(tmp_path)
    assert words(name, 4, nodes=2, ppn=2, allocation=job) == golden.replace("NODES", str(job.node_file))


def test_a_batch_job_that_expects_fewer_processes_than_it_has_cores_is_not_oversubscribed() -> None:
    job = a_job("Slurm", (1, 8, 1))
    assert words("openmpi4", 8, allocation=job) == (
        "-np 8 --oversubscribe --mca mpi_yield_when_idle 0 --bind-to core"
    )
    assert not launch("openmpi4", 8, allocation=job).is_oversubscribed


def test_launchers_use_the_first_group_of_a_heterogeneous_job_unless_srun_names_others() -> None:
    job = a_job("Slurm", (2, 8, 16), (4, 4, 16))
    reason = "nodes = 6, but the Slurm job 77 has 2 in the first of its 2 groups, which launchers use"
    with pytest.raises(BadInput, match=reason):
        launch("openmpi5", 24, nodes=6, ppn=4, allocation=job)
    place_processes(
        24,
        nodes=6,
        ppn=4,
        hostfile=None,
        options=["--het-group=0,1"],
        allocation=job,
        cores=FOUR_CORES,
        by_srun=True,
        as_root=False,
    )


def test_more_processes_than_a_jobs_cores_are_oversubscribed_wherever_offbeat_runs() -> None:
    launch_spec = launch("mpich4", 32, nodes=2, ppn=16, allocation=SLURM)
    assert launch_spec.warnings[0].startswith("16 processes share 8 cores on each of the Slurm job's nodes")
    launch_spec = launch("mpich4", 17, allocation=SLURM)
    assert launch_spec.warnings[0].startswith("17 processes share 16 cores on the Slurm job's 2 nodes")


@pytest.mark.parametrize("name", ["openmpi4", "openmpi5"])
def test_root_may_launch_open_mpi(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert words(name, 2) == "--allow-run-as-root -np 2 --bind-to core"


@pytest.mark.parametrize("name", ["mpich4", "mpich5", "intelmpi"])
def test_other_launchers_need_nothing_for_root(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = launch(name, 2).argv
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert launch(name, 2).argv == before


@pytest.mark.parametrize(
    ("name", "golden"),
    [
        ("openmpi4", "--mpi=pmix --cpu-bind=cores"),
        ("openmpi5", "--mpi=pmix --cpu-bind=cores"),
        ("mpich4", "--mpi=pmi2 --cpu-bind=cores"),
        ("mpich5", "--mpi=pmi2 --cpu-bind=cores"),
        ("intelmpi", "--mpi=pmi2 --cpu-bind=cores"),
    ],
)
def test_srun_places_binds_and_starts_with_the_familys_plugin(name: str, golden: str, tmp_path: Path) -> None:
    srun = script(tmp_path / "srun", "exit 0\n")
    environ = {**ENVIRON, "PATH": str(tmp_path)}
    launch_spec = launch(name, 16, nodes=2, ppn=8, launcher="srun", allocation=SLURM, environ=environ)
    assert " ".join(launch_spec.argv) == (
        f"{srun} --ntasks 16 --nodes 2 --ntasks-per-node 8 {golden}"
        f" --kill-on-bad-exit=1 --export=ALL {DRIVER}"
    )


def test_srun_forwards_variables_in_its_environment(tmp_path: Path) -> None:
    script(tmp_path / "srun", "exit 0\n")
    environ = {**ENVIRON, "PATH": str(tmp_path)}
    more = {"launcher": "srun", "allocation": SLURM, "environ": environ, "environment": {"LIST": "a,b"}}
    assert launch("openmpi5", 16, nodes=2, ppn=8, **more).changes == {"LIST": "a,b"}
    oversubscribed = launch("mpich5", 32, nodes=2, ppn=16, **more)
    assert "--overcommit" in oversubscribed.argv
    assert "--cpu-bind=none" in oversubscribed.argv
    assert oversubscribed.environment["OFFBEAT_YIELD"] == "1"
    assert oversubscribed.environment["MPIR_CVAR_DEVICE_COLLECTIVES"] == "none"


def test_srun_uses_the_plugin_that_site_or_user_chose(tmp_path: Path) -> None:
    script(tmp_path / "srun", "exit 0\n")
    by_site = launch(
        "intelmpi", 4, launcher="srun", environ={"PATH": str(tmp_path), "SLURM_MPI_TYPE": "cray_shasta"}
    )
    assert not any(word.startswith("--mpi") for word in by_site.argv)
    by_user = launch("mpich4", 4, launcher="srun", environ={"PATH": str(tmp_path)}, options=["--mpi=pmix"])
    assert [word for word in by_user.argv if word.startswith("--mpi")] == ["--mpi=pmix"]


def test_srun_refuses_a_hostfile_and_a_machine_without_slurm(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no srun on PATH"):
        launch("openmpi4", 2, launcher="srun", environ={"PATH": str(tmp_path)})
    script(tmp_path / "srun", "exit 0\n")
    with pytest.raises(BadInput, match="srun takes its nodes from Slurm"):
        launch("openmpi4", 2, launcher="srun", environ={"PATH": str(tmp_path)}, hostfile=hostfile(tmp_path))


def test_mpiexec_is_used_where_the_installation_has_it(tmp_path: Path) -> None:
    installation = described("mpich", 4, 0, 2, prefix=str(tmp_path), mpirun="mpirun.mpich")
    with pytest.raises(BadInput, match=r"launcher = mpiexec, but mpich-4\.0\.2 has no .*/bin/mpiexec\.mpich"):
        command(installation, DRIVER, 2, launcher="mpiexec", cores=FOUR_CORES)
    program = script(tmp_path / "bin/mpiexec.mpich", "exit 0\n")
    assert command(installation, DRIVER, 2, launcher="mpiexec", cores=FOUR_CORES).argv[0] == str(program)
    with pytest.raises(BadInput, match="known are auto, mpirun, mpiexec and srun"):
        command(installation, DRIVER, 2, launcher="aprun", cores=FOUR_CORES)


def test_intel_mpi_finds_its_own_root_programs_and_fabric() -> None:
    launch_spec = launch("intelmpi", 2)
    assert launch_spec.changes == {
        "I_MPI_ROOT": "/opt/mpi",
        "I_MPI_FABRICS": "shm",
        "I_MPI_PIN": "1",
        "I_MPI_PIN_DOMAIN": "core",
        "PATH": "/opt/mpi/bin:/usr/bin",
    }
    assert launch("intelmpi", 6).environment["I_MPI_PIN"] == "0"


def test_intel_mpi_on_several_nodes_keeps_its_fabric_and_the_requested_placement() -> None:
    launch_spec = launch("intelmpi", 16, nodes=2, ppn=8, allocation=SLURM)
    assert "I_MPI_FABRICS" not in launch_spec.environment
    assert launch_spec.environment["I_MPI_JOB_RESPECT_PROCESS_PLACEMENT"] == "0"


def test_settings_of_the_user_for_intel_mpi_are_not_changed() -> None:
    environ = {**ENVIRON, "I_MPI_FABRICS": "ofi", "I_MPI_PIN_PROCESSOR_LIST": "1,3"}
    launch_spec = launch("intelmpi", 2, environ=environ)
    assert launch_spec.environment["I_MPI_FABRICS"] == "ofi"
    assert "I_MPI_PIN_DOMAIN" not in launch_spec.environment


def test_options_of_the_user_replace_offbeats_and_come_last(tmp_path: Path) -> None:
    assert words("openmpi5", 4, options=["--bind-to", "numa"]) == "-np 4 --bind-to numa"
    forced = "-genv MPIR_CVAR_DEVICE_COLLECTIVES none"
    assert words("mpich4", 4, options=["-bind-to", "socket"]) == f"-np 4 {forced} -bind-to socket"
    mapped = words("openmpi4", 4, nodes=2, ppn=2, options=["--host", "a:2,b:2", "--map-by", "node"])
    assert mapped == "-np 4 --bind-to core --host a:2,b:2 --map-by node"


def test_variables_of_the_user_reach_remote_processes() -> None:
    variables = {"COLOUR": "dark blue", "OMPI_MCA_btl": "tcp,self"}
    launch_spec = launch("openmpi4", 2, environment=variables)
    assert launch_spec.argv[4:] == ["core", "-x", "COLOUR=dark blue", "--mca", "btl", "tcp,self", str(DRIVER)]
    assert launch_spec.environment["COLOUR"] == "dark blue"
    assert launch("mpich4", 2, environment=variables).argv[5:8] == ["-genv", "COLOUR", "dark blue"]


def test_a_users_setting_overrides_the_forced_one(tmp_path: Path) -> None:
    wished = {"MPIR_CVAR_DEVICE_COLLECTIVES": "all"}
    assert words("mpich5", 2, environment=wished).endswith("-genv MPIR_CVAR_DEVICE_COLLECTIVES all")


def test_a_launch_as_shipped_changes_no_setting_of_the_library(tmp_path: Path) -> None:
    assert words("mpich5", 2, steerable=False) == "-np 2 -bind-to core"
    several = words("openmpi5", 4, nodes=2, ppn=2, hostfile=hostfile(tmp_path), steerable=False)
    assert "coll_han_priority" not in several


def test_the_driver_may_have_arguments() -> None:
    launch_spec = command(FAMILIES["mpich4"], [str(DRIVER), "--check"], 2, cores=FOUR_CORES, environ=ENVIRON)
    assert launch_spec.argv[-2:] == [str(DRIVER), "--check"]


@pytest.mark.parametrize(
    ("p", "more", "sentence"),
    [
        (0, {}, "0 processes cannot be launched"),
        (4, {"nodes": 2}, "nodes = 2 and ppn = 0: give both"),
        (5, {"nodes": 2, "ppn": 2}, "2 nodes × 2 processes per node are 4 processes, not 5"),
        (4, {"nodes": 2, "ppn": 2}, "nodes = 2, but their names are unknown: give a hostfile"),
        (24, {"nodes": 3, "ppn": 8, "allocation": SLURM}, "nodes = 3, but the Slurm job 77 has 2"),
        (2, {"hostfile": Path("/nowhere/hosts")}, "the hostfile /nowhere/hosts cannot be read"),
    ],
)
def test_contradictions_are_refused_before_anything_is_launched(
    p: int, more: dict[str, object], sentence: str
) -> None:
    with pytest.raises(BadInput, match=sentence):
        launch("openmpi4", p, **more)


def test_a_hostfile_with_too_few_or_no_hosts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"nodes = 3, but the hostfile .* names 2"):
        launch("mpich4", 6, nodes=3, ppn=2, hostfile=hostfile(tmp_path))
    (tmp_path / "empty").write_text("# nobody\n", encoding="utf-8")
    with pytest.raises(BadInput, match="names no host"):
        launch("mpich4", 6, hostfile=tmp_path / "empty")


def test_a_launch_has_a_home_folder_even_if_offbeat_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open MPI 5 does not start without a home folder."""
    monkeypatch.delenv("HOME", raising=False)
    homeless = {name: value for name, value in ENVIRON.items() if name != "HOME"}
    assert Path(launch("openmpi4", 2, environ=homeless).environment["HOME"]).is_absolute()
    assert launch("openmpi4", 2, environ={**homeless, "HOME": "/h"}).environment["HOME"] == "/h"


def test_variables_of_an_enclosing_launch_are_removed() -> None:
    left = {
        "OMPI_COMM_WORLD_RANK": "0",
        "OMPI_MCA_ess_base_jobid": "1",
        "OMPI_MCA_orte_hnp_uri": "x",
        "PMIX_RANK": "0",
        "PMI_FD": "7",
        "HYDI_CONTROL_FD": "8",
        "MPI_LOCALRANKID": "0",
        "I_MPI_INFO_NP": "2",
        "PRTE_LAUNCHED": "1",
        "OPAL_PREFIX": "/another/mpi",
    }
    made_by_people = {"OMPI_MCA_btl": "tcp,self", "PMIX_MCA_gds": "hash", "I_MPI_HYDRA_BOOTSTRAP": "ssh"}
    launch_spec = launch("openmpi4", 2, environ={**ENVIRON, **left, **made_by_people})
    assert not set(left) & set(launch_spec.environment)
    assert launch_spec.environment.items() >= made_by_people.items()
    assert launch_spec.changes == dict.fromkeys(left)


def test_the_shell_line_is_exactly_what_runs() -> None:
    environ = {**ENVIRON, "PMI_FD": "7"}
    line = shell_line(launch("intelmpi", 2, environ=environ, environment={"WORD": "it's"}))
    assert line == (
        "env -u PMI_FD I_MPI_FABRICS=shm I_MPI_PIN=1 I_MPI_PIN_DOMAIN=core I_MPI_ROOT=/opt/mpi"
        """ PATH=/opt/mpi/bin:"$PATH" WORD='it'"'"'s' /opt/mpi/bin/mpirun -np 2"""
        """ -genv WORD 'it'"'"'s' /cache/offbeat-driver"""
    )
    assert shlex.split(shell_line(launch("openmpi4", 2))) == launch("openmpi4", 2).argv


def test_the_shell_line_of_a_real_launch_runs(mpi_installation: Installation, mpi_driver: Path) -> None:
    launch_spec = command(mpi_installation, [str(mpi_driver), "--check"], 2)
    done = subprocess.run(
        ["sh", "-c", shell_line(launch_spec)],
        capture_output=True,
        text=True,
        timeout=100,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert '"p":2' in done.stdout
