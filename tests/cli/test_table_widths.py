"""The tables of verbs fit terminals of 80 and 60 columns, and no quantity in them is broken."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from offbeat.base.campaign.checksum import add_checksum, document_with_checksum
from offbeat.cli.app import build
from offbeat.measurement.results.layout import SCHEMA_VERSION
from offbeat.model.study.case import Case
from offbeat.selection.verification.proofs import table
from offbeat.selection.verification.rule_probes import OBEYED, Proof

LINE = '{{"case":"{0}","engine":"mpi","collective":"{1}","algorithm":"a","p":{2},"bytes":8,"pattern":"bell",'
UNITS = r"(?:ns|µs|ms|s|B|KiB|MiB|GB/s|MB/s|Gbit/s)"


def printed(width: int, *arguments: str) -> str:
    done = CliRunner().invoke(build(), list(arguments), env={"COLUMNS": str(width)})
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout


def assert_whole(text: str, wide: str) -> None:
    """Each quantity of the wide output is on one line with its unit."""
    for quantity in set(re.findall(rf"(?<![\w.])\d[\d.]* {UNITS}(?!\w)", wide)):
        assert quantity in text, quantity
    single_words = re.findall(rf"^\s*{UNITS}\s*$", text, flags=re.MULTILINE)
    assert not single_words


@pytest.mark.parametrize("width", [80, 60])
@pytest.mark.parametrize(
    "arguments",
    [
        ["algorithm", "list"],
        ["algorithm", "list", "alltoall", "--family", "simgrid"],
        ["platform", "list"],
        ["platform", "show", "--route", "0", "1"],
    ],
    ids=" ".join,
)
def test_what_a_verb_prints_fits(width: int, arguments: list[str]) -> None:
    text = printed(width, *arguments)
    assert max(map(len, text.splitlines())) <= width
    assert_whole(text, printed(400, *arguments))


@pytest.mark.parametrize("width", [80, 60])
@pytest.mark.parametrize("p", [4, 4096])
def test_proofs_with_long_names_fit(width: int, p: int) -> None:
    algorithm = "recursive_doubling_with_a_very_long_name(segment=65536, fanout=4)"
    case = Case(
        collective="reduce_scatter_block",
        algorithm=algorithm,
        bytes=2**30,
        pattern="no_delay",
        shape="no_delay",
        skew_policy="none",
        skew_factor=0.0,
        p=p,
        nodes=0,
        ppn=0,
    )
    evidence = "functions:ompi_coll_base_reduce_scatter_block_intra_recursive_doubling"
    proof = Proof(case=case, expected=algorithm, outcome=OBEYED, evidence=evidence, also=["linear"], why="")
    stream = io.StringIO()
    Console(file=stream, width=width, highlight=False, soft_wrap=True).print(table([proof] * 3))
    text = stream.getvalue()
    assert max(map(len, text.splitlines())) <= width
    for whole in (str(p), "1 GiB", "✓ obeyed", "65536"):
        assert whole in text, whole


@pytest.mark.parametrize("width", [80, 60])
def test_the_status_of_a_study_fits(width: int, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "provenance.json").write_bytes(document_with_checksum({"schema_version": SCHEMA_VERSION}))
    rest = '"status":"measured","reason":""}'
    lines = [LINE.format(name, name, 4096) + rest for name in ("reduce_scatter_block", "allgatherv")]
    (folder / "cases.jsonl").write_bytes(b"".join(add_checksum(line.encode()) + b"\n" for line in lines))
    text = printed(width, "status", str(folder))
    table_lines = [
        line for line in text.splitlines() if line.startswith(("collective", "reduce", "allgather"))
    ]
    assert len(table_lines) == 3
    assert max(map(len, table_lines)) <= width
