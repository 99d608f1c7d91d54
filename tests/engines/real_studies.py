"""Small studies of real libraries, and the files and processes that they leave."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import psutil

from offbeat.libraries.installations.installation import Installation
from offbeat.measurement.engines.engine_choice import engine_of
from offbeat.measurement.results.read import read_study
from offbeat.measurement.runs.resume import open_store
from offbeat.measurement.runs.run import run
from offbeat.measurement.runs.run_progress import Outcome, RunProgress
from offbeat.model.study.study_file import LoadedStudy, load

TEST_PROCESS = "OFFBEAT_TEST_PROCESS"
os.environ[TEST_PROCESS] = str(os.getpid())  # inherited by every process that these tests launch

TINY = """
name = "tiny"
[[collective]]
names = ["reduce"]
sizes = [64]
[processes]
p = [2]
[patterns]
shapes = ["no_delay", "ascending"]
[repetitions]
blocks = 1
minimum = 3
maximum = 3
hang_after = 30
[start]
tolerance = "50 ms"
"""
"""The tolerance suits a machine with other load."""


def study(folder: Path, text: str = TINY) -> LoadedStudy:
    """Write a study file and load it."""
    (folder / "study.toml").write_text(text)
    return load(folder / "study.toml")


def measure(loaded: LoadedStudy, directory: Path, installation: Installation) -> Outcome:
    """Run a study with a library, as ``offbeat run`` does."""
    with open_store(loaded, directory) as store:
        engine = engine_of(loaded, directory, installation)
        try:
            with RunProgress() as progress:
                return run(loaded, store, engine, progress)
        finally:
            engine.close()


def cases(directory: Path) -> pl.DataFrame:
    return read_study(directory).cases


def verdicts(directory: Path) -> dict[str, str]:
    """Algorithm → status."""
    return {verdict.algorithm: verdict.status for verdict in read_study(directory).verdicts}


def running(driver: Path) -> list[int]:
    """The processes of this driver that these tests launched, without those of other tests."""
    drivers = [one for one in psutil.process_iter(["exe"]) if one.info["exe"] == str(driver)]
    return [process.pid for process in drivers if _is_ours(process)]


def _is_ours(process: psutil.Process) -> bool:
    try:
        environment = process.environ()  # a zombie has none
    except psutil.Error:
        return False
    return environment.get(TEST_PROCESS) == os.environ[TEST_PROCESS]
