"""``offbeat script`` writes job scripts that run unchanged, stop in time and resume when submitted again."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from offbeat.base.errors import BadInput
from offbeat.cli import script as script_verb
from offbeat.model.study.job_script import (
    SCHEDULERS,
    JobOptions,
    job_end_s,
    job_name,
    job_of,
    job_of_command,
    job_size,
    parse_time_limit,
    pbs_script,
    slurm_script,
)
from offbeat.model.study.study_file import loads

GOLDEN = Path(__file__).parent / "golden"

CELLS = """name = "nightly tuning"
[[collective]]
names = ["reduce"]
sizes = ["8 B"]
"""
NODES = CELLS + "[processes]\nnodes = [2, 4]\nppn = [16, 32]\n"
FREE = CELLS + "[processes]\np = [16, 100]\n"
NAMED = JobOptions(time_limit_s=5400, account="proj-7", partition="batch")


def script(write, text, options=JobOptions()):
    return write(job_of(loaded(text), options), options)


def loaded(text: str, path: str = "/home/ada/my studies/study.toml"):
    return loads(text, path, other_machine=True)


@pytest.mark.parametrize(
    ("golden", "write", "text", "options"),
    [
        ("slurm-nodes.sh", slurm_script, NODES, NAMED),
        ("slurm-p.sh", slurm_script, FREE, JobOptions()),
        ("pbs-nodes.sh", pbs_script, NODES, NAMED),
        ("pbs-p.sh", pbs_script, FREE, JobOptions()),
    ],
)
def test_job_scripts_are_the_golden_ones(golden, write, text, options):
    assert write(job_of(loaded(text), options), options) == (GOLDEN / golden).read_text(encoding="utf-8")


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_job_scripts_are_valid_shell(scheduler):
    text = SCHEDULERS[scheduler](job_of(loaded(NODES, "/tmp/o'brien $(date)/st;udy.toml"), NAMED), NAMED)
    assert subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True, check=True).stderr == ""


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_job_script_runs_the_study_where_it_is_and_says_when_to_stop(tmp_path, scheduler):
    folder = tmp_path / "o'brien $(date)"
    folder.mkdir()
    spy = tmp_path / "bin" / "offbeat"
    spy.parent.mkdir()
    spy.write_text('#!/bin/bash\necho "$PWD|$*|${OFFBEAT_JOB_END:+known}"\n')
    spy.chmod(0o755)
    text = SCHEDULERS[scheduler](job_of(loaded(NODES, str(folder / "st udy.toml")), NAMED), NAMED)
    path = {"PATH": f"{spy.parent}:/usr/bin:/bin"}
    output = subprocess.run(["bash"], input=text, text=True, capture_output=True, check=True, env=path).stdout
    known = "known" if scheduler == "pbs" else ""  # Slurm reports the remaining time
    assert output == f"{folder}|run st udy.toml --stop-before-limit 5 --stopped-status 0|{known}\n"


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_job_without_offbeat_says_what_is_missing(scheduler):
    text = SCHEDULERS[scheduler](job_of(loaded(NODES), NAMED), NAMED)
    done = subprocess.run(["/bin/bash"], input=text, text=True, capture_output=True, env={"PATH": "/nowhere"})
    assert done.returncode == 2
    assert "offbeat is not on the PATH" in done.stderr


def size(text: str, nodes: int = 0, ppn: int = 0) -> tuple[int, int, int]:
    job = job_size(loaded(text).study, nodes, ppn)
    return (job.p, job.nodes, job.ppn)


def test_a_job_holds_the_largest_placement_of_the_study():
    assert size(NODES) == (128, 4, 32)
    assert size(FREE) == (100, 0, 0)


def test_a_job_may_be_given_more_than_the_study_needs():
    assert size(NODES, nodes=8) == (128, 8, 32)
    assert size(FREE, nodes=4) == (100, 4, 25)
    assert size(FREE, ppn=32) == (100, 4, 32)


@pytest.mark.parametrize(
    ("text", "nodes", "ppn", "message"),
    [
        (NODES, 3, 0, "--nodes 3: the study goes up to nodes = 4; give --nodes 4"),
        (NODES, 0, 16, "--ppn 16: the study goes up to ppn = 32"),
        (FREE, 3, 32, "3 nodes × 32 hold 96 processes, but launches have up to 100; give --nodes 4"),
        (FREE, -1, 0, "--nodes -1: it must be 1 or more"),
    ],
)
def test_a_study_that_does_not_fit_into_the_job_is_refused(text, nodes, ppn, message):
    with pytest.raises(BadInput) as error:
        size(text, nodes, ppn)
    assert message in str(error.value)


@given(st.integers(2, 5000), st.integers(0, 64), st.integers(0, 128))
def test_a_job_always_holds_all_processes(p, nodes, ppn):
    try:
        job = job_size(loaded(f"{CELLS}[processes]\np = [{p}]\n").study, nodes, ppn)
    except BadInput:
        assert nodes * ppn < p
    else:
        assert (job.nodes, job.ppn) == (0, 0) or job.nodes * job.ppn >= p


@pytest.mark.parametrize(
    ("text", "limit_s"), [("01:00:00", 3600), ("1-00:00:00", 86400), ("00:05:01", 301), ("100:00:00", 360000)]
)
def test_time_limits_are_read(text, limit_s):
    assert parse_time_limit(text) == limit_s


@pytest.mark.parametrize("text", ["", "60", "1h", "01:00", "01:60:00", "-01:00:00", "01:00:00\n#SBATCH --x"])
def test_other_time_limits_are_refused(text):
    with pytest.raises(BadInput, match="HH:MM:SS"):
        parse_time_limit(text)


def test_a_limit_too_short_to_measure_anything_is_refused():
    with pytest.raises(BadInput, match="would measure nothing"):
        parse_time_limit("00:05:00")


def test_days_become_hours_in_the_script():
    text = script(slurm_script, NODES, JobOptions(time_limit_s=2 * 86400 + 61))
    assert "#SBATCH --time=48:01:01\n" in text


@pytest.mark.parametrize("name", ["a b", "x\n#SBATCH --y", "-x", "$(date)"])
def test_names_that_would_alter_the_script_are_refused(name):
    for option in ("account", "partition", "qos", "constraint"):
        with pytest.raises(BadInput, match=f"--{option}.* write one word"):
            JobOptions(**{option: name})
    with pytest.raises(BadInput, match="--mem"):
        JobOptions(memory=name)


def test_quality_of_service_features_and_memory_are_requested():
    options = JobOptions(qos="debug", constraint="cascade", memory="16G")
    slurm = script(slurm_script, NODES, options)
    assert "#SBATCH --qos=debug\n#SBATCH --constraint=cascade\n#SBATCH --mem=16G\n" in slurm
    assert ":mem=16gb:cascade=True\n" in script(pbs_script, NODES, options)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("nightly tuning", "nightly-tuning"), ("7", "offbeat-7"), ("µ/$", "offbeat"), ("a" * 40, "a" * 15)],
)
def test_job_names_are_what_schedulers_accept(name, expected):
    text = NODES.replace('"nightly tuning"', f'"{name}"')
    assert job_name(loaded(text).study.name) == expected


@pytest.mark.parametrize("engine", ["sim", "smpi"])
def test_a_simulated_study_requests_one_task_for_any_p(engine):
    text = f"engine = '{engine}'\n" + CELLS + "[processes]\np = [1024]\n"
    slurm, pbs = script(slurm_script, text), script(pbs_script, text)
    assert "#SBATCH --ntasks=1\n" in slurm
    assert "select=1:ncpus=1" in pbs
    assert "1024" not in slurm + pbs
    assert "ncpus=48" in script(pbs_script, text, JobOptions(ppn=48))
    with pytest.raises(BadInput, match="simulated on the cores of one node"):
        script(slurm_script, text, JobOptions(nodes=4))


def test_the_end_of_a_job_is_read_from_its_environment():
    assert job_end_s({"OFFBEAT_JOB_END": "1700000000"}) == 1.7e9
    assert job_end_s({}) is None
    for text in ("soon", "abc", "-1", "1.5", "9" * 400):
        with pytest.raises(BadInput, match=r"OFFBEAT_JOB_END=.*whole seconds since 1970"):
            job_end_s({"OFFBEAT_JOB_END": text})


# --- the command


def run(*arguments: str):
    app = typer.Typer()
    app.command()(script_verb.command)
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture
def study(tmp_path):
    (tmp_path / "study.toml").write_text(NODES)
    return tmp_path / "study.toml"


def test_the_script_is_printed_or_written(study, tmp_path):
    printed = run(str(study), "--scheduler", "pbs", "--queue", "long", "--time", "02:00:00")
    assert printed.exit_code == 0
    assert "#PBS -q long\n" in printed.stdout
    assert "#PBS -l walltime=02:00:00\n" in printed.stdout
    wrote = run(str(study), "--output", str(tmp_path / "job.sh"))
    assert "submit it with 'sbatch" in wrote.stdout
    assert (tmp_path / "job.sh").read_text() == run(str(study)).stdout


def test_an_edited_script_is_not_overwritten_unless_forced(study, tmp_path):
    (tmp_path / "job.sh").write_text("mine")
    refused = run(str(study), "--output", str(tmp_path / "job.sh"))
    assert isinstance(refused.exception, BadInput)
    assert (tmp_path / "job.sh").read_text() == "mine"
    assert run(str(study), "--output", str(tmp_path / "job.sh"), "--force").exit_code == 0


def test_bad_options_write_nothing(study, tmp_path):
    for words in (["--nodes", "1"], ["--time", "soon"], ["--account", "a b"], ["--scheduler", "lsf"]):
        refused = run(str(study), "--output", str(tmp_path / "job.sh"), *words)
        assert refused.exit_code != 0
        assert not (tmp_path / "job.sh").exists()


def test_a_faulty_study_gets_no_script(study):
    study.write_text(NODES.replace("reduce", "reducee"))
    assert isinstance(run(str(study)).exception, BadInput)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_set_up_lines_come_before_offbeat_is_looked_for(scheduler):
    text = script(
        SCHEDULERS[scheduler], NODES, JobOptions(setup=["module load openmpi", "source v/bin/activate"])
    )
    assert text.index("module load openmpi\nsource v/bin/activate\n") < text.index("command -v offbeat")
    assert "Nothing is loaded automatically" not in text


def test_a_job_can_run_another_command_of_offbeat():
    options = JobOptions(nodes=2)
    words = ["tune", "--budget", "20 min", "--", "mpirun", "-n", "64", "./app"]
    text = slurm_script(job_of_command(words, Path("/home/ada/my app"), 64, options), options)
    assert "#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=32\n" in text
    assert text.endswith(
        "cd '/home/ada/my app' || exit 2\noffbeat tune --budget '20 min' -- mpirun -n 64 ./app\n"
    )
    with pytest.raises(BadInput, match="hold 8 processes"):
        job_of_command(words, Path("/"), 64, JobOptions(nodes=2, ppn=4))
