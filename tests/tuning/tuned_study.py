"""A measured study of each real library, with tuning files for choices that the test defines."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from offbeat.libraries.installations.installation import Installation
from offbeat.measurement.results.read import Results, read_study
from offbeat.selection.choices.choose import Choice, choose
from offbeat.selection.tuning_files.export import plan_for, write
from offbeat.selection.tuning_files.manifest import TuningFiles, write_manifest
from offbeat.selection.tuning_files.tuning_plan import TuningPlan

STUDY = """\
[processes]
p = [3]
[[collective]]
names = ["reduce"]
sizes = [64, 2048]
algorithms = {reduce}
[[collective]]
names = ["allgather"]
sizes = [64]
algorithms = {allgather}
[patterns]
shapes = ["no_delay", "last_delayed"]
[repetitions]
minimum = 2
maximum = 2
time_cap = "100 ms"
[start]
tolerance = "1 s"
"""

FEW = {
    "openmpi": {"reduce": ["linear", "in_order_binary"], "allgather": ["ring", "bruck"]},
    "mpich": {"reduce": ["binomial", "reduce_scatter_gather"], "allgather": ["ring", "brucks"]},
    "intelmpi": {"reduce": ["preset_1", "preset_7"], "allgather": ["preset_3", "preset_1"]},
}
"""Two algorithms each that run different code and are right for every legal call; the first of
allgather is not the default on 3 processes."""


class Tuned(msgspec.Struct, frozen=True, kw_only=True):
    """A study with its tuning files: reduce by the first of ``FEW`` at 64 B and by the second at 2048 B,
    allgather by the first."""

    results: Path
    folder: Path
    plan: TuningPlan
    files: TuningFiles
    installation: Installation

    def tamper(self, plan: TuningPlan, scratch: Path) -> None:
        """Replace the exported files by those of another plan."""
        other = write(plan, self.installation, scratch)
        for path in self.files.files:
            shutil.copyfile(scratch / path.name, path)
        assert {path.name for path in other.files} == {path.name for path in self.files.files}


def offbeat(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "offbeat", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=240,
        env=os.environ | {"COLUMNS": "200"},
        check=False,
    )


@pytest.fixture(scope="session")
def tuned(mpi_installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Tuned:
    """On an oversubscribed machine the fastest algorithm is random; whether a file is obeyed is not."""
    folder = tmp_path_factory.mktemp(mpi_installation.family)
    words = {name: json.dumps(value) for name, value in FEW[mpi_installation.family].items()}
    (folder / "study.toml").write_text(STUDY.format(**words), encoding="utf-8")
    ran = offbeat("run", folder / "study.toml", "--mpi", mpi_installation.mpirun)
    assert ran.returncode == 0, ran.stderr
    results = read_study(folder / "study-results")
    few = FEW[mpi_installation.family]
    expected = {
        ("reduce", 64): few["reduce"][0],
        ("reduce", 2048): few["reduce"][1],
        ("allgather", 64): few["allgather"][0],
    }
    choices = [
        chosen(choice, results, expected[choice.configuration.collective, choice.configuration.bytes])
        for choice in choose(results, bootstrap=0)
    ]
    assert len(choices) == len(expected)
    plan, installation = plan_for(results, choices, extension=1.0)
    tuning = results.directory / "tuning"
    files = write(plan, installation, tuning)
    write_manifest(files, "average", installation, tuning)
    return Tuned(results=results.directory, folder=tuning, plan=plan, files=files, installation=installation)


def chosen(choice: Choice, results: Results, word: str) -> Choice:
    """The choice of another algorithm; a preset of Intel MPI is known by its number."""
    number = word.removeprefix("preset_")
    name = next(
        algorithm.name
        for algorithm in results.algorithms
        if algorithm.collective == choice.configuration.collective
        and (algorithm.name == word or number in algorithm.settings.values())
    )
    return msgspec.structs.replace(choice, algorithm=name, cost_of_default=None)
