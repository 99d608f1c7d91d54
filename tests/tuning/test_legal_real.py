"""Exported files do not break legal calls of the real Open MPI."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from decided_results import decide
from real_libraries import real_installation

from offbeat.libraries.installations.installation import Installation
from offbeat.measurement.legal_calls.algorithm_checks import DRAWS
from offbeat.measurement.results.read import read_study

pytestmark = pytest.mark.slow

STUDY = """\
[processes]
p = [4]
[[collective]]
names = {names}
sizes = [64, 2048]
algorithms = {algorithms}
[patterns]
shapes = ["no_delay"]
[repetitions]
minimum = 2
maximum = 2
time_cap = "100 ms"
[start]
tolerance = "1 s"
"""


def offbeat(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "offbeat", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=240,
        env=os.environ | {"COLUMNS": "200"},
        check=False,
    )


def broken_calls(folder: Path) -> list[dict[str, Any]]:
    """The calls that tuning files break, as 'offbeat verify' stores them."""
    tried = json.loads((folder / "legal-calls.json").read_text(encoding="utf-8"))["calls"]
    return [call for call in tried if call["with_files"] and not call["without"]]


def study(folder: Path, installation: Installation, fastest: dict[str, str], names: list[str]) -> Path:
    """A measured study of some algorithms, with a given fastest algorithm of each collective."""
    algorithms = json.dumps(sorted({*names, *fastest.values()}))
    text = STUDY.format(names=json.dumps(list(fastest)), algorithms=algorithms)
    (folder / "study.toml").write_text(text, encoding="utf-8")
    ran = offbeat("run", folder / "study.toml", "--mpi", installation.mpirun)
    assert ran.returncode == 0, ran.stderr
    results = folder / "study-results"

    def seconds_of(case: dict[str, Any]) -> float:
        if case["algorithm"] == "default":
            return 1.0
        return 1e-6 if case["algorithm"] == fastest[case["collective"]] else 2e-6

    decide(results, seconds_of)
    return results


@pytest.fixture(scope="module")
def binomial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of Open MPI 4 that chooses a reduce that is wrong for operations that are not commutative."""
    folder = tmp_path_factory.mktemp("binomial")
    return study(folder, real_installation("openmpi4"), {"reduce": "binomial"}, ["linear"])


def test_a_choice_that_is_wrong_for_a_legal_call_is_not_exported(binomial: Path) -> None:
    verdicts = {verdict.algorithm: verdict for verdict in read_study(binomial).verdicts}
    assert "noncommutative" in {call.kind for call in verdicts["binomial"].wrong_calls}
    assert not verdicts["linear"].wrong_calls and verdicts["linear"].legal_calls >= DRAWS
    selected = offbeat("select", binomial, "--notes")
    assert "binomial is wrong for operations that are not commutative" in selected.stdout
    exported = offbeat("export", binomial)
    assert exported.returncode == 0, exported.stderr
    assert "reduce by binomial is not exported" in exported.stdout
    assert "linear for reduce of 64 B on p=4, +100.0%" in exported.stdout
    assert "binomial" not in (binomial / "tuning" / "openmpi.rules").read_text(encoding="utf-8")
    verified = offbeat("verify", binomial)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "legal calls (seed 2) are broken by the files" in verified.stdout


def test_a_wrong_choice_exported_on_request_has_a_warning_and_fails_verify(binomial: Path) -> None:
    folder = binomial.parent / "insisted"
    arguments = ["--allow-wrong-results", "noncommutative", "--output", folder]
    exported = offbeat("export", binomial, *arguments)
    assert exported.returncode == 0, exported.stderr
    warning = "WRONG RESULTS: reduce by binomial is wrong for operations that are not commutative"
    assert f"# {warning}" in (folder / "openmpi.rules").read_text(encoding="utf-8")
    assert warning in exported.stdout
    assert warning in (folder / "tuning.json").read_text(encoding="utf-8")
    verified = offbeat("verify", binomial, "--tuning", folder)
    assert verified.returncode == 1
    assert "break" in verified.stderr and "operations that are not commutative" in verified.stderr
    assert "noncommutative" in {call["kind"] for call in broken_calls(folder)}


@pytest.mark.parametrize("name", ["openmpi4", "openmpi5"])
def test_files_for_gather_and_scatter_are_right_in_place_and_with_null_arguments(
    name: str, tmp_path: Path
) -> None:
    """Size-dependent rules would hang or give wrong results for these calls."""
    fastest = {"gather": "binomial", "scatter": "binomial"}
    results = study(tmp_path, real_installation(name), fastest, ["basic_linear"])
    assert offbeat("export", results).returncode == 0
    assert "binomial" in (results / "tuning" / "openmpi.rules").read_text(encoding="utf-8")
    verified = offbeat("verify", results)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert not broken_calls(results / "tuning")


def test_verify_detects_a_gather_rule_that_depends_on_the_size(tmp_path: Path) -> None:
    """The library's behaviour with such a rule: processes that choose differently wait for each other."""
    results = study(tmp_path, real_installation("openmpi4"), {"gather": "binomial"}, ["basic_linear"])
    assert offbeat("export", results).returncode == 0
    rules = results / "tuning" / "openmpi.rules"
    text = rules.read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if line.endswith("# binomial")]
    at_each_size = f"2 # message sizes\n0 1 0 0 # linear\n100 {line.split()[1]} 0 0 # binomial"
    before = f"1 # message sizes\n{line}"
    assert before in text
    rules.write_text(text.replace(before, at_each_size), encoding="utf-8")
    verified = offbeat("verify", results)
    assert verified.returncode == 1
    assert {"in-place", "null-arguments", "types-differ"} & {
        call["kind"] for call in broken_calls(results / "tuning")
    }
