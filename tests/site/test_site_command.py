"""``offbeat site``: from results to one tuning file, or to an error."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import trace_factory
from site_factory import library, rows, study

from offbeat.base.campaign.directory import CampaignDirectory
from offbeat.cli import app
from offbeat.libraries.installations import find
from offbeat.libraries.installations.installation import Installation
from offbeat.measurement.results.store import Store
from offbeat.model.study.algorithm import Verdict, WrongCall
from offbeat.model.study.case import Case
from offbeat.selection.tuning_files.manifest import read_manifest
from offbeat.tuning.pipeline.directory import FORMAT, TuneSettings

PLACE = Path("/nowhere")


def installation(*version: int) -> Installation:
    text = ".".join(map(str, version))
    return Installation(
        name=f"openmpi-{text}",
        family="openmpi",
        version=version,
        version_text=text,
        prefix=PLACE,
        source="made up",
        library=PLACE / "libmpi.so",
        include=PLACE,
        mpicc=None,
        mpirun=PLACE / "mpirun",
        identity=text,
    )


HERE = {one.name: one for one in (installation(5, 0, 11), installation(4, 1, 4), installation(5, 0, 6))}
FOR_A = {"default": 4.0, "way1": 2.0, "way2": 3.0}
FOR_B = {"default": 4.0, "way1": 3.8, "way2": 2.0}


@pytest.fixture(autouse=True)
def made_up_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, and three made-up installations."""
    real = find.choose
    monkeypatch.setattr(
        find, "choose", lambda name="auto", *rest: HERE[name] if name in HERE else real(name, *rest)
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OFFBEAT_SITE", raising=False)
    monkeypatch.setenv("COLUMNS", "160")


def site(*arguments: object, status: int = 0) -> None:
    saved = sys.argv
    sys.argv = ["offbeat", "site", *map(str, arguments)]
    try:
        with pytest.raises(SystemExit) as ended:
            app.main()
    finally:
        sys.argv = saved
    assert int(ended.value.code or 0) == status


def two_entries(weight_a: float = 10.0, weight_b: float = 1.0) -> None:
    study(Path("a-results"), rows(FOR_A))
    study(Path("b-results"), rows(FOR_B))
    site("add", "a-results", "--weight", weight_a)
    site("add", "b-results", "--weight", weight_b)


def exported(folder: str = "offbeat-site/openmpi-5.0.11/tuning") -> dict[int, str]:
    return {rule.bytes: rule.algorithm.name for rule in read_manifest(Path(folder)).tuning.rules}


def test_one_tuning_file_from_two_entries_with_the_conflict_shown(capsys: pytest.CaptureFixture[str]) -> None:
    two_entries()
    capsys.readouterr()
    site("export")
    out = capsys.readouterr().out
    assert exported() == {64: "way1"}
    assert "1 rule, written for openmpi-5.0.11 from a, b:" in out
    lines = [line.split() for line in out.splitlines()]
    assert ["reduce", "of", "64", "B", "on", "p=4", "a", "10", "way1", "–"] in lines
    assert ["→", "way1", "b", "1", "way2", "+34.5%"] in lines
    assert "1 conflict. What is used has the smallest time" in out
    assert "Next: offbeat verify offbeat-site/openmpi-5.0.11" in out
    text = Path("offbeat-site/openmpi-5.0.11/tuning/openmpi.rules").read_text(encoding="utf-8")
    assert "# Written by offbeat from measurements with Open MPI 5.0.11 of a, b." in text


def test_the_other_weight_gives_the_other_rule() -> None:
    two_entries(1.0, 10.0)
    site("export", "-o", "out")
    assert exported("out") == {64: "way2"}


def test_sizes_of_several_entries_give_neighbouring_rules(capsys: pytest.CaptureFixture[str]) -> None:
    study(Path("a-results"), rows(FOR_A))
    study(Path("b-results"), rows(FOR_B, bytes=256))
    site("add", "a-results")
    site("add", "b-results")
    site("export")
    assert exported() == {64: "way1", 256: "way2"}
    assert "No calls were measured by several entries." in capsys.readouterr().out


def test_list_shows_the_entries(capsys: pytest.CaptureFixture[str]) -> None:
    two_entries()
    capsys.readouterr()
    site("list")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1] == ["a", "openmpi-5.0.11", "1", "10", "2026-11-01", "a-results"]
    site("list", "--json", "-")
    document = json.loads(capsys.readouterr().out)
    assert [(one["name"], one["weight"]) for one in document["entries"]] == [("a", 10.0), ("b", 1.0)]


def test_show_says_what_each_rule_rests_on_and_why_the_library_decides(
    capsys: pytest.CaptureFixture[str],
) -> None:
    study(Path("a-results"), [*rows(FOR_A), *rows({"default": 4.0, "way1": 4.1}, bytes=1024)])
    study(Path("b-results"), rows(FOR_B, bytes=256))
    site("add", "a-results", "--weight", 12000)
    site("add", "b-results")
    capsys.readouterr()
    site("show")
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "reduce of 64 B on p=4 way1 -50.0% ±0.7% a -50.0% (12,000)" in lines
    assert "reduce of 256 B on p=4 way2 -50.0% ±0.7% b -50.0% (1)" in lines
    assert "reduce of 1 KiB on p=4 a way1: 2.5% slower than the default for a" in lines
    site("show", "b")
    out = capsys.readouterr().out
    assert "reduce of 256 B" in out and "reduce of 64 B" not in out


def test_the_recorded_arrivals_of_a_program_count_more_than_shapes() -> None:
    recorded = {"pattern": "calls", "shape": "calls", "pattern_kind": "replay", "skew_policy": "replay"}
    study(Path("a-results"), [*rows(FOR_A), *rows(FOR_B, **recorded)])
    site("add", "a-results")
    site("export")
    assert exported() == {64: "way2"}
    site("export", "--rule", "average")
    assert exported() == {64: "way1"}


def test_entries_of_other_versions_are_shown_and_not_merged(capsys: pytest.CaptureFixture[str]) -> None:
    study(Path("a-results"), rows(FOR_A))
    study(Path("b-results"), rows(FOR_B), library=library((4, 1, 4)))
    site("add", "a-results", "--weight", 1)
    site("add", "b-results", "--weight", 1000)
    capsys.readouterr()
    site("export", status=2)
    assert "has entries of openmpi-4.1.4, openmpi-5.0.11, and a tuning file is for one" in errors(capsys)
    site("export", "--mpi", "openmpi-5.0.11")
    assert exported() == {64: "way1"}
    assert "for one version of one library: openmpi-4.1.4/b." in capsys.readouterr().out
    site("export", "--mpi", "openmpi-5.0.6", status=2)
    assert "has no entry of openmpi-5.0.6; it has entries of openmpi-4.1.4, openmpi-5.0.11" in errors(capsys)


def errors(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().err.split())


def test_entries_with_other_variables_are_not_merged(capsys: pytest.CaptureFixture[str]) -> None:
    two_entries(10, 1)
    variables = 'name = "c"\n[mpi]\nenvironment = { UCX_TLS = "tcp" }\n'
    study(Path("c-results"), rows(FOR_B), text=variables)
    site("add", "c-results", "--weight", 5)
    site("export")
    assert exported() == {64: "way1"}
    assert (
        "c is not merged: it was measured with UCX_TLS=tcp, the others with none." in capsys.readouterr().out
    )


def test_an_algorithm_that_one_entry_found_wrong_for_a_legal_call_is_replaced(
    capsys: pytest.CaptureFixture[str],
) -> None:
    wrong = WrongCall(kind="noncommutative", p=4, call="MPI_Reduce", result="64 elements are wrong")
    verdict = Verdict(
        collective="reduce",
        algorithm="way1",
        p=4,
        bytes=64,
        status="proved",
        wrong_calls=[wrong],
        legal_calls=5,
    )
    two_entries(10, 1)
    study(Path("c-results"), rows(FOR_B, bytes=512), verdicts=[verdict])
    site("add", "c-results")
    site("export")
    assert exported() == {64: "way2", 512: "way2"}
    assert (
        "reduce by way1 is not exported: it is wrong for operations that are not" in capsys.readouterr().out
    )
    site("export", "--allow-wrong-results", "noncommutative")
    assert exported() == {64: "way1", 512: "way2"}


def test_nothing_faster_is_a_failure_and_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    study(Path("a-results"), rows({"default": 1.0, "way1": 2.0}))
    site("add", "a-results")
    site("export", status=1)
    assert "no algorithm is shown to be faster than the library's own decisions" in errors(capsys)
    assert not Path("offbeat-site/openmpi-5.0.11/tuning").exists()
    site("show")
    assert "100.0% slower than the default for a" in capsys.readouterr().out


def test_results_without_the_default_cannot_be_compared(capsys: pytest.CaptureFixture[str]) -> None:
    study(Path("a-results"), rows({"way1": 2.0, "way2": 1.0}))
    site("add", "a-results")
    capsys.readouterr()
    site("show")
    assert "a: reduce of 64 B on p=4 is left out: under the patterns of the rule, the library's" in (
        " ".join(capsys.readouterr().out.split())
    )


def tuned(folder: Path, *, trace: bool = True) -> Path:
    """The directory of a tuned program: 4 processes call MPI_Reduce for 30% of the time."""
    settings = TuneSettings(
        command=["mpirun", "-n", "4", "./lulesh", "-s", "30"],
        library="",
        folder="",
        trace="",
        share=0.95,
        time="",
        seed=1,
    )
    with CampaignDirectory(FORMAT, folder, settings):
        pass
    study(folder / "results", rows(FOR_A))
    if trace:
        files = trace_factory.files(4)
        for one in files:
            one.header["ended_ns"] = 10_000_000
            one.call(1_000_000, 4_000_000, sequence=0, function="MPI_Reduce", root=0, bytes=64)
        trace_factory.write(folder / "trace", files)
    return folder


def test_a_tuned_program_weighs_by_the_share_of_its_run_time(capsys: pytest.CaptureFixture[str]) -> None:
    site("add", tuned(Path("offbeat-tune")), "--weight", 1000, "--name", "lulesh")
    site("export", "--json", "out.json")
    (decision,) = json.loads(Path("out.json").read_text())["decisions"]
    (vote,) = decision["votes"]
    assert (vote["entry"], decision["algorithm"]) == ("lulesh", "way1")
    assert vote["weight"] == pytest.approx(300, rel=0.01)
    capsys.readouterr()
    site("list")
    assert "mpirun -n 4 lulesh -s 30" in capsys.readouterr().out
    site("show", "lulesh")
    out = capsys.readouterr().out
    assert "Program: mpirun -n 4 ./lulesh -s 30" in out
    assert "Share: 30.0% of the run time in reduce of 64 B on p=4" in out


def test_the_name_of_a_tuned_program_has_its_processes() -> None:
    site("add", tuned(Path("offbeat-tune")))
    (path,) = Path("offbeat-site/openmpi-5.0.11").glob("*.jsonl")
    assert path.stem.endswith("-p4")


def test_a_program_whose_trace_is_gone_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    site("add", tuned(Path("offbeat-tune"), trace=False), status=2)
    assert "trace" in errors(capsys)
    assert not Path("offbeat-site").exists()


def test_export_works_without_the_results(tmp_path: Path) -> None:
    two_entries()
    for name in ("a-results", "b-results"):
        Path(name).rename(tmp_path / f"{name}-gone")
    site("export")
    assert exported() == {64: "way1"}


def test_the_environment_names_the_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OFFBEAT_SITE", "centre")
    two_entries()
    assert sorted(path.name for path in Path("centre/openmpi-5.0.11").iterdir()) == ["a.jsonl", "b.jsonl"]
    assert not Path("offbeat-site").exists()
    site("add", "a-results", "--site", "other")
    assert Path("other/openmpi-5.0.11/a.jsonl").exists()


def test_an_entry_is_removed_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    two_entries()
    site("remove", "b")
    assert not Path("offbeat-site/openmpi-5.0.11/b.jsonl").exists()
    site("remove", "b", status=2)
    assert "offbeat-site has no entry 'b'; its entries are a" in errors(capsys)


@pytest.mark.parametrize("weight", ["-1", "nan", "inf", "much"])
def test_weights_that_are_none_are_refused(weight: str, capsys: pytest.CaptureFixture[str]) -> None:
    study(Path("a-results"), rows(FOR_A))
    site("add", "a-results", "--weight", weight, status=2)
    assert "--weight" in errors(capsys)
    assert not Path("offbeat-site").exists()


@pytest.mark.parametrize("name", ["../x", "a/b", ".git", "x" * 81, "a b"])
def test_names_that_are_no_file_names_are_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    study(Path("a-results"), rows(FOR_A))
    site("add", "a-results", "--name", name, status=2)
    assert "cannot be the name of an entry" in errors(capsys)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"library": {"simulated": True, "family": "openmpi", "name": "sim"}}, "was simulated"),
        ({"library": "hydra"}, "does not say which version of which MPI library was measured"),
        ({"library": {"family": "cray", "version": [8]}}, "does not say which version of which MPI library"),
    ],
)
def test_results_that_no_tuning_file_can_be_for_are_refused(
    facts: dict[str, Any], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    study(Path("a-results"), rows(FOR_A), **facts)
    site("add", "a-results", status=2)
    assert message in errors(capsys)
    assert not Path("offbeat-site").exists()


def test_only_complete_configurations_are_added(capsys: pytest.CaptureFixture[str]) -> None:
    study(Path("a-results"), [*rows(FOR_A), *rows(FOR_B, bytes=4096)[:2]])
    names = Case.__struct_fields__
    planned = [*rows(FOR_A), *rows(FOR_B, bytes=4096)]
    with Store.open(Path("a-results")) as store:
        store.set_plan([Case(**{name: one[name] for name in names}) for one in planned])
    site("add", "a-results")
    out = capsys.readouterr().out
    assert "added, 1 configuration" in out
    assert "Only complete configurations are added; add the results again when it is finished" in out


def test_an_empty_and_a_missing_knowledge_base_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("list", "show", "export"):
        site(command, status=2)
        assert "there is no directory offbeat-site; 'offbeat site add' creates one" in errors(capsys)
    two_entries()
    site("remove", "a")
    site("remove", "b")
    capsys.readouterr()
    site("list")
    assert "has no entries; 'offbeat site add RESULTS' adds one" in capsys.readouterr().out
    site("export", status=2)
    assert "has no entries" in errors(capsys)
