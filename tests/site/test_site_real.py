"""Two real studies with different outcomes give one tuning file, which the library is proved to obey."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from captured_command import execute
from decided_results import decide
from real_libraries import real_installation

from offbeat.libraries.installations.installation import Installation
from offbeat.selection.tuning_files.manifest import read_manifest

pytestmark = pytest.mark.slow

STUDY = """\
name = "{name}"
[processes]
p = [3]
[[collective]]
names = ["reduce"]
sizes = [64]
algorithms = ["linear", "binomial", "in_order_binary"]
[[collective]]
names = ["allgather"]
sizes = [{size}]
algorithms = ["ring", "bruck"]
[patterns]
shapes = ["no_delay", "last_delayed"]
[repetitions]
blocks = 1
minimum = 2
maximum = 2
time_cap = "100 ms"
[start]
tolerance = "1 s"
"""
FASTER = {
    "chemistry": {"binomial": 0.5, "in_order_binary": 0.6, "ring": 0.5},
    "weather": {"binomial": 1.3, "in_order_binary": 0.7, "bruck": 0.5},
}
"""The time of algorithms relative to the default; of the others it is twice that of the default."""


def offbeat(folder: Path, *arguments: object) -> str:
    words = [sys.executable, "-m", "offbeat", *arguments]
    done = execute(words, os.environ | {"COLUMNS": "160", "OFFBEAT_SITE": str(folder / "site")})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def seconds(name: str, line: dict[str, Any]) -> float:
    times = FASTER[name] | {"default": 1.0}
    return 1e-5 * times.get(line["algorithm"], 2.0)


@pytest.fixture(scope="module")
def library() -> Installation:
    return real_installation("openmpi4")


def test_two_studies_become_one_file_that_the_library_obeys(library: Installation, tmp_path: Path) -> None:
    for name, size, weight in (("chemistry", 64, 9000), ("weather", 4096, 1000)):
        path = tmp_path / f"{name}.toml"
        path.write_text(STUDY.format(name=name, size=size), encoding="utf-8")
        offbeat(tmp_path, "run", path, "--mpi", library.mpirun)
        results = tmp_path / f"{name}-results"
        decide(results, lambda line, name=name: seconds(name, line))  # type: ignore[misc]
        offbeat(tmp_path, "site", "add", results, "--weight", weight)
        results.rename(tmp_path / f"{name}-gone")
    out = offbeat(tmp_path, "site", "export")
    assert "1 conflict." in out
    assert "30.0% slower than the default for weather" in out
    folder = tmp_path / "site" / "openmpi-{}.{}.{}".format(*library.version)
    rules = read_manifest(folder / "tuning").tuning.rules
    assert [(rule.collective, rule.bytes, rule.algorithm.name) for rule in rules] == [
        ("allgather", 64, "ring"),
        ("allgather", 4096, "bruck"),
        ("reduce", 64, "in_order_binary"),
    ]
    out = offbeat(tmp_path, "verify", folder)
    assert "3 of 3 rules verified" in out
    assert "broken by the files." in out
