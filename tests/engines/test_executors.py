"""Where a simulated study is computed: cores, MPI processes or a Dask cluster, with the same results."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from pathlib import Path

import pytest
from real_libraries import real_installation

from offbeat.base.errors import BadInput, RunFailed
from offbeat.measurement.engines import executors
from offbeat.measurement.results.read import read_study

pytestmark = pytest.mark.slow

STUDY = """
name = "spread"
engine = "sim"
[[collective]]
names = ["reduce", "alltoall"]
sizes = [8, 4096]
[processes]
p = [16, 40]
[patterns]
shapes = ["no_delay", "ascending", "random"]
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = tmp_path_factory.mktemp("spread") / "study.toml"
    path.write_text(STUDY)
    return path


@pytest.fixture(scope="module")
def local(study):
    directory = study.parent / "local"
    run([sys.executable, "-m", "offbeat", "run", str(study), "--output", str(directory)])
    return read_study(directory)


def run(words, environment=None):
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        timeout=180,
        env=environment,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def assert_same(directory: Path, local):
    results = read_study(directory)
    assert results.cases.equals(local.cases)
    assert results.ranks().equals(local.ranks())


def mpi_environment(installation):
    library = next(path for path in sorted(installation.library.parent.glob("libmpi.so.*")))
    return {
        **os.environ,
        "MPI4PY_LIBMPI": str(library),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }


def test_two_mpi_processes_give_what_this_machines_cores_give(study, local):
    installation = real_installation("openmpi5")
    directory = study.parent / "mpi4py"
    offbeat = [sys.executable, "-m", "mpi4py.futures", "-m", "offbeat", "run", str(study)]
    run(
        [str(installation.mpirun), "-n", "3", *offbeat, "-o", str(directory), "--executor", "mpi4py"],
        mpi_environment(installation),
    )
    assert_same(directory, local)


@pytest.fixture
def dask_cluster():
    """A scheduler and two worker processes, as a person would start them."""
    programs = []

    def start(*arguments):
        programs.append(
            subprocess.Popen(
                [sys.executable, "-m", *arguments],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return programs[-1]

    scheduler = start(
        "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1"
    )
    address = next(line.split()[-1] for line in scheduler.stderr if "tcp://127.0.0.1" in line)
    workers = [
        start("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard")
        for _ in range(2)
    ]
    yield address, workers
    for program in reversed(programs):
        program.terminate()
        program.communicate(timeout=30)


def test_two_dask_workers_give_what_this_machines_cores_give(study, local, dask_cluster):
    address, _ = dask_cluster
    directory = study.parent / "dask"
    arguments = [
        sys.executable,
        "-m",
        "offbeat",
        "run",
        str(study),
        "-o",
        str(directory),
        "--executor",
        "dask",
    ]
    run(arguments, {**os.environ, "DASK_SCHEDULER_ADDRESS": address})
    assert_same(directory, local)


def test_the_study_can_name_the_executor(study, local, dask_cluster):
    address, _ = dask_cluster
    path = study.with_name("own.toml")
    path.write_text(STUDY + '[simulator]\nexecutor = "dask"\n')
    directory = study.parent / "own"
    arguments = [sys.executable, "-m", "offbeat", "run", str(path), "-o", str(directory)]
    run(arguments, {**os.environ, "DASK_SCHEDULER_ADDRESS": address})
    assert_same(directory, local)


def test_if_all_workers_die_the_run_ends_with_a_sentence_and_resumes_locally(
    study, local, dask_cluster, tmp_path
):
    address, workers = dask_cluster
    path = tmp_path / "long.toml"
    path.write_text(STUDY.replace("[8, 4096]", "[8, 4096, 65536]").replace("[16, 40]", "[256]"))
    directory = tmp_path / "results"
    arguments = [
        sys.executable,
        "-m",
        "offbeat",
        "run",
        str(path),
        "-o",
        str(directory),
        "--executor",
        "dask",
    ]
    environment = {
        **os.environ,
        "DASK_SCHEDULER_ADDRESS": address,
        "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0",
    }
    program = subprocess.Popen(
        arguments, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    cases = directory / "cases.jsonl"
    patience = time.monotonic() + 60
    while program.poll() is None and time.monotonic() < patience:
        if cases.exists() and cases.stat().st_size:
            break
        time.sleep(0.01)
    for worker in workers:
        worker.send_signal(signal.SIGKILL)
    time.sleep(0.5)
    program.send_signal(signal.SIGTERM)  # without workers, Dask waits for new ones
    program.communicate(timeout=60)
    run([sys.executable, "-m", "offbeat", "run", str(path), "-o", str(directory)])
    alone = tmp_path / "alone"
    run([sys.executable, "-m", "offbeat", "run", str(path), "-o", str(alone)])
    assert read_study(directory).cases.equals(read_study(alone).cases)


def test_mpi4py_without_its_workers_is_refused_with_the_line_to_type(study, tmp_path):
    installation = real_installation("openmpi5")
    arguments = [sys.executable, "-m", "offbeat", "run", str(study), "--executor", "mpi4py", "-o"]
    done = subprocess.run(
        [*arguments, str(tmp_path / "results")],
        capture_output=True,
        text=True,
        timeout=120,
        env=mpi_environment(installation),
        check=False,
    )
    assert done.returncode == 2
    assert executors.MPI_LINE in done.stderr
    assert not (tmp_path / "results").exists()


def test_a_missing_package_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(BadInput, match=r"no distributed; install it with pip install 'offbeat\[dask\]'"):
        executors.check("dask")


def test_a_missing_scheduler_is_reported(monkeypatch):
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", "tcp://127.0.0.1:9")
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "1s")
    with pytest.raises(RunFailed, match=r"no workers of Dask at tcp://127\.0\.0\.1:9"):
        executors.open_workers("dask")


class KilledWorker(Exception):
    """As Dask calls it."""


def test_a_lost_worker_is_reported_and_an_error_of_the_work_is_passed_on():
    class Executor:
        def __init__(self, error):
            self.error = error

        def submit(self, work, argument):
            future: Future = Future()
            future.set_exception(self.error)
            return future

    for error, expected in ((KilledWorker("w"), RunFailed), (KeyError("k"), KeyError)):
        workers = executors.Workers(executor=Executor(error), count=1, end=lambda: None)
        with pytest.raises(expected):
            executors.submit(workers, print, 1).result()
