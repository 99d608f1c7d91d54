"""Studies with algorithms that the user wrote: FILE.py:FUNCTION."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from offbeat import simulate
from offbeat.base.errors import BadInput, RunFailed
from offbeat.cli.app import load
from offbeat.measurement.results.read import read_cases

FUNCTIONS = """
def linear(rank):
    if rank.id != rank.root:
        rank.send(rank.root, rank.input)
        return
    rank.copy(rank.output, rank.input)
    for peer in range(rank.p):
        if peer != rank.root:
            other = rank.scratch(rank.count)
            rank.recv(peer, other)
            rank.reduce(rank.output, other, other_first=peer < rank.root)

def silent(rank):
    pass

def faulty(rank):
    return [][rank.id]

def for_two(rank):
    if rank.p != 2:
        raise NotImplementedError("only for two ranks")
"""

STUDY = """
engine = "sim"
[[collective]]
names = ["reduce"]
sizes = [64]
algorithms = {algorithms}
[processes]
p = [8]
[patterns]
shapes = ["no_delay", "ascending"]
[skew]
factors = [1.0]
"""


def run(verb: str, *words: str) -> Any:
    return CliRunner().invoke(load(verb), words)


def write_study(folder: Path, *names: str, text: str = STUDY) -> Path:
    (folder / "mine.py").write_text(FUNCTIONS)
    path = folder / "study.toml"
    path.write_text(text.format(algorithms=json.dumps(list(names))))
    return path


def test_an_own_algorithm_is_proved_simulated_and_shown_beside_the_simulators(tmp_path: Path) -> None:
    names = ("linear", "silent", "faulty", "for_two")
    path = write_study(tmp_path, *(f"mine.py:{name}" for name in names), "linear", "binomial")
    results = tmp_path / "results"
    run("run", str(path), "--output", str(results))
    lines = (results / "verdicts.jsonl").read_text().splitlines()
    verdicts = {entry["algorithm"]: entry for entry in map(json.loads, lines)}
    statuses = [verdicts[f"mine.py:{name}"]["status"] for name in names]
    assert statuses == ["proved", "wrong", "quarantined", "refused"]
    assert "mine.py:17: IndexError" in verdicts["mine.py:faulty"]["reason"]
    assert verdicts["mine.py:for_two"]["reason"] == "only for two ranks"
    assert "mine.py:linear" in run("select", str(results), "--details").stdout
    exits = simulate("paper", f"{tmp_path}/mine.py:linear", 8, 64, np.zeros(8), collective="reduce")
    measured = read_cases(results).filter(algorithm="mine.py:linear", shape="no_delay")
    assert measured["last_delay_s"].to_list() == pytest.approx([exits.max()])


def test_results_are_not_continued_with_another_algorithm_in_the_file(tmp_path: Path) -> None:
    path, results = write_study(tmp_path, "mine.py:linear"), tmp_path / "results"
    run("run", str(path), "--output", str(results))
    assert json.loads((results / "provenance.json").read_text())["files"].keys() == {"mine.py"}
    (tmp_path / "mine.py").write_text(FUNCTIONS.replace("rank.root", "(rank.root)"))
    assert "mine.py" in str(run("run", str(path), "--output", str(results)).exception)


@pytest.mark.parametrize(
    ("name", "text", "error", "sentence"),
    [
        (
            "mine.py:linaer",
            STUDY,
            BadInput,
            r"study.toml:6: .* has no function 'linaer'; did you mean",
        ),
        ("my.py:linear", STUDY, BadInput, r"study.toml:6: .*my.py is not a file"),
        ("mine.py:linear", STUDY.replace('"sim"', '"mpi"'), BadInput, "only the engine sim can simulate"),
        ("bad.py:linear", STUDY, RunFailed, r"bad.py:1: ZeroDivisionError"),
    ],
)
def test_an_own_algorithm_that_cannot_be_loaded_is_refused(
    tmp_path: Path, name: str, text: str, error: type[Exception], sentence: str
) -> None:
    (tmp_path / "bad.py").write_text("1 / 0\n")
    refused = run("run", str(write_study(tmp_path, name, text=text)), "--output", str(tmp_path / "results"))
    assert isinstance(refused.exception, error)
    assert re.search(sentence, str(refused.exception))
