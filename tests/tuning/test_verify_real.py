"""The whole way on each real library: study, tuning files, and the proof that the library obeys them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from offbeat.mpi.installation import Installation
from offbeat.results.append import encode_lines, read_sealed
from offbeat.results.recorded import CASE_LINE
from offbeat.tuning.proofs import Proofs, read_proofs
from offbeat.tuning.verify import DIFFERS, DISOBEYED, OBEYED

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
    "openmpi": {"reduce": ["binomial", "in_order_binary"], "allgather": ["bruck", "ring"]},
    "mpich": {"reduce": ["binomial", "reduce_scatter_gather"], "allgather": ["brucks", "ring"]},
    "intelmpi": {"reduce": ["preset_1", "preset_7"], "allgather": ["preset_1", "preset_2"]},
}
"""Two algorithms each that run different code: enough to see whether a file is obeyed."""


def offbeat(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "offbeat", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=240,
        env=os.environ | {"COLUMNS": "200"},
        check=False,
    )


@pytest.fixture(scope="module")
def tuned(mpi_installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A measured study with its tuning files; the library's own decision is kept from winning cells."""
    folder = tmp_path_factory.mktemp(mpi_installation.family)
    words = {name: json.dumps(value) for name, value in FEW[mpi_installation.family].items()}
    (folder / "study.toml").write_text(STUDY.format(**words), encoding="utf-8")
    ran = offbeat("run", folder / "study.toml", "--mpi", mpi_installation.mpirun)
    assert ran.returncode == 0, ran.stderr
    results = folder / "study-results"
    slow_default(results / "cases.jsonl")
    exported = offbeat("export", results)
    assert exported.returncode == 0, exported.stderr
    return results


def slow_default(cases: Path) -> None:
    """Which of two algorithms is faster on a crowded machine is chance; whether the file is obeyed is not."""
    lines = read_sealed(cases, CASE_LINE).items
    for line in lines:
        if line["algorithm"] == "default":
            line |= {"last_delay_s": 10.0, "last_delay_low_s": 10.0, "last_delay_high_s": 10.0}
    cases.write_bytes(encode_lines(lines))


def proofs_of(results: Path) -> Proofs:
    proofs = read_proofs(results / "tuning")
    assert proofs is not None
    return proofs


def test_every_library_obeys_the_files_written_for_it(tuned: Path) -> None:
    ran = offbeat("verify", tuned)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    proofs = proofs_of(tuned).proofs
    assert {proof.outcome for proof in proofs} <= {OBEYED, DIFFERS}
    changed = [proof for proof in proofs if proof.expected != "default"]
    assert len(changed) == 3 and all(proof.outcome == OBEYED for proof in changed)


def test_files_that_say_something_else_are_found_out(tuned: Path, mpi_installation: Installation) -> None:
    manifest = tuned / "tuning" / "tuning.json"
    said = json.loads(manifest.read_text(encoding="utf-8"))
    kept = {
        path: path.read_text(encoding="utf-8") for path in [manifest, *map(Path, said["tuning"]["files"])]
    }
    swap_reduce(said, mpi_installation.family)
    manifest.write_text(json.dumps(said), encoding="utf-8")
    ran = offbeat("verify", tuned)
    for path, text in kept.items():
        path.write_text(text, encoding="utf-8")
    assert ran.returncode == 1, ran.stdout
    assert "was not shown to obey" in ran.stderr
    wrong = [proof.case.collective for proof in proofs_of(tuned).proofs if proof.outcome == DISOBEYED]
    assert "reduce" in wrong


def swap_reduce(said: dict[str, dict[str, object]], family: str) -> None:
    """Make the library use the other of the two reduce algorithms than the manifest says."""
    if family == "intelmpi":
        for entry in said["tuning"]["by_processes"]:  # type: ignore[attr-defined]
            variable = entry["environment"]["I_MPI_ADJUST_REDUCE"]
            swapped = {"1": "7", "7": "1", "0": "0"}
            parts = [part.split(":") for part in variable.split(";")]
            entry["environment"]["I_MPI_ADJUST_REDUCE"] = ";".join(f"{swapped[a]}:{b}" for a, b in parts)
        return
    for name in map(Path, said["tuning"]["files"]):  # type: ignore[arg-type]
        text = name.read_text(encoding="utf-8")
        if family == "openmpi":
            text = re.sub(
                r"^(\d+) ([56])( .* # (?:binomial|in_order_binary))$",
                lambda m: f"{m[1]} {11 - int(m[2])}{m[3]}",
                text,
                flags=re.MULTILINE,
            )
        else:
            text = swap_words(text, "MPIR_Reduce_intra_binomial", "MPIR_Reduce_intra_reduce_scatter_gather")
        name.write_text(text, encoding="utf-8")


def swap_words(text: str, one: str, other: str) -> str:
    return text.replace(one, "\0").replace(other, one).replace("\0", other)


def test_missing_files_are_named(tuned: Path, tmp_path: Path) -> None:
    ran = offbeat("verify", tuned, "--tuning", tmp_path)
    assert ran.returncode == 2
    assert "holds no tuning files" in ran.stderr and "offbeat export" in ran.stderr
