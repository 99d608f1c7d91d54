"""Algorithms that divide a collective by nodes: proved, measured, exported and verified on several nodes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from real_libraries import real_installation
from several_nodes import hostfile, offbeat

from offbeat.mpi.installation import Installation
from offbeat.results.read import read_study

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
time_cap = "50 ms"
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
    """The results of a study on two nodes; ``options`` are more words for the launcher."""
    if not (folder / "hosts.txt").exists():
        hostfile(folder)
    words = {"names": names, "algorithms": algorithms, "sizes": sizes}
    text = STUDY.format(**{key: json.dumps(list(value)) for key, value in words.items()})
    (folder / "study.toml").write_text(f"{text}options = {json.dumps(list(options))}\n", encoding="utf-8")
    offbeat(["run", "study.toml", "--mpi", installation.mpirun], folder)
    return folder / "study-results"


def test_it_is_seen_where_han_gives_way_as_processes_are_spread_unevenly(tmp_path: Path) -> None:
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
