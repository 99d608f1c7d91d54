"""Hierarchical algorithms are proved, measured, exported and verified on several nodes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from decided_results import decide
from real_libraries import real_installation
from several_nodes import hostfile, offbeat, the_same_everywhere

from offbeat.libraries.installations.installation import Installation
from offbeat.measurement.results.read import read_study
from offbeat.selection.verification.proofs import read_proofs
from offbeat.selection.verification.rule_probes import OBEYED

pytestmark = pytest.mark.slow

STUDY = """\
[processes]
nodes = [2]
ppn = [2]
[[collective]]
names = {names}
sizes = {sizes}
algorithms = {algorithms}
[patterns]
shapes = ["no_delay"]
[repetitions]
minimum = 2
maximum = 2
time_cap = "2 s"
[start]
tolerance = "1 s"
[mpi]
hostfile = "hosts.txt"
"""


def measured(
    folder: Path,
    installation: Installation,
    names: Sequence[str],
    algorithms: Sequence[str],
    sizes: Sequence[int] = (64,),
    options: Sequence[str] = (),
) -> Path:
    """The results of a study on two nodes; ``options`` are further options of the launcher."""
    if not (folder / "hosts.txt").exists():
        hostfile(folder)
    words = {"names": names, "algorithms": algorithms, "sizes": sizes}
    text = STUDY.format(**{key: json.dumps(list(value)) for key, value in words.items()})
    (folder / "study.toml").write_text(f"{text}options = {json.dumps(list(options))}\n", encoding="utf-8")
    offbeat(["run", "study.toml", "--mpi", installation.mpirun], folder)
    return folder / "study-results"


def tuned_to(results: Path, algorithms: Mapping[tuple[str, int], str], *options: str) -> None:
    """Export files with a given algorithm for each collective and size, because measured winners are random
    here."""

    def seconds(case: dict[str, Any]) -> float:
        return 1e-6 if algorithms.get((case["collective"], case["bytes"])) == case["algorithm"] else 1e-3

    decide(results, seconds)
    offbeat(["export", results, "--beyond", "1", *options], results.parent)


def obeyed(results: Path) -> dict[tuple[str, int, str], str]:
    """Verify the exported files; returns the evidence of each algorithm that they name, at measured sizes."""
    offbeat(["verify", results], results.parent)
    proofs = read_proofs(results / "tuning")
    assert proofs is not None
    named = [proof for proof in proofs.proofs if proof.expected != "default"]
    assert named and all(proof.outcome == OBEYED for proof in named)
    return {
        (proof.case.collective, proof.case.bytes, proof.expected): proof.evidence
        for proof in named
        if proof.at == "measured"
    }


@pytest.fixture(scope="module")
def by_han(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of Open MPI 5 with files for broadcasts, by algorithms of ``han`` and one of ``tuned``."""
    folder = tmp_path_factory.mktemp("han")
    names = ["basic_linear", "han_simple", "han_intra"]
    results = measured(folder, real_installation("openmpi5"), ["bcast"], names, [64, 2048, 65536])
    tuned_to(
        results,
        {("bcast", 64): "han_simple", ("bcast", 2048): "basic_linear", ("bcast", 65536): "han_intra"},
    )
    return results


@pytest.fixture(scope="module")
def by_smp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of MPICH 5 with files for reduce by ``smp``, up to 64 B."""
    folder = tmp_path_factory.mktemp("smp")
    results = measured(folder, real_installation("mpich5"), ["reduce"], ["binomial", "smp"])
    tuned_to(results, {("reduce", 64): "smp"})
    return results


def test_open_mpi_obeys_files_that_name_algorithms_of_han_and_of_tuned(by_han: Path) -> None:
    verdicts = read_study(by_han).verdicts
    assert {one.status for one in verdicts} == {"proved"}
    assert all(one.legal_calls > 0 for one in verdicts)
    assert not any(one.wrong_calls for one in verdicts if one.algorithm != "default")
    observed = obeyed(by_han)
    assert "mca_coll_han_bcast_intra_simple " in observed["bcast", 64, "han_simple"]
    assert "han" not in observed["bcast", 2048, "basic_linear"]
    assert "mca_coll_han_bcast_intra " in observed["bcast", 65536, "han_intra"]
    proofs = read_proofs(by_han / "tuning")
    assert proofs is not None
    outside = [proof for proof in proofs.proofs if proof.expected == "default"]
    assert outside and all("coll_han" in proof.evidence for proof in outside), "han keeps what is not tuned"


def test_mpich_obeys_files_that_name_smp(by_smp: Path) -> None:
    (smp,) = [one for one in read_study(by_smp).verdicts if one.algorithm == "smp"]
    assert smp.status == "proved" and smp.legal_calls > 0 and not smp.wrong_calls
    assert "MPIR_Reduce_intra_smp " in obeyed(by_smp)["reduce", 64, "smp"]


@pytest.mark.parametrize("results", ["by_han", "by_smp"])
def test_proof_measurement_verification_and_use_run_the_same_algorithm_on_two_nodes(
    results: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Compares functions, messages and variables; the last launch uses the line that ``offbeat export``
    prints."""
    executed = the_same_everywhere(request.getfixturevalue(results), tmp_path)
    assert {"by_han": "mca_coll_han_bcast_intra_simple", "by_smp": "MPIR_Reduce_intra_smp"}[results] == (
        executed.use.functions[0]
    )


def test_fallbacks_of_han_on_unevenly_filled_nodes_are_detected(tmp_path: Path) -> None:
    """The study asks for two processes on each node, but its own launcher options put three on the first."""
    (tmp_path / "hosts.txt").write_text("node1 slots=3\nnode2 slots=1\n", encoding="utf-8")
    unevenly = ["--map-by", "slot"]
    results = measured(
        tmp_path,
        real_installation("openmpi5"),
        ["reduce", "barrier"],
        ["linear", "han_simple"],
        options=unevenly,
    )
    verdicts = {(one.collective, one.algorithm): one for one in read_study(results).verdicts}
    fallen = verdicts["reduce", "han_simple"]
    assert fallen.status == "fell_back"
    assert fallen.reason.startswith("ompi_coll_base_reduce_") and fallen.reason.endswith("ran instead")
    assert verdicts["barrier", "han_simple"].status == "proved", "barrier needs no even spread"
