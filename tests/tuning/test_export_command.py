"""``offbeat export``: from a result directory to tuning files, or to an error."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import trace_factory as factory
from case_verdicts import case_verdicts
from plan_factory import algorithms, installation

from offbeat.cli import app
from offbeat.libraries.installations import find
from offbeat.libraries.installations.installation import Installation
from offbeat.measurement.results.import_csv import import_csv
from offbeat.measurement.results.store import Store
from offbeat.model.study.algorithm import Algorithm
from offbeat.model.study.case import PARTITIONED_SEND, Case
from offbeat.model.study.template import TEMPLATE
from offbeat.selection.tuning_files.manifest import read_manifest
from offbeat.selection.verification import verification
from offbeat.selection.verification.legal_calls import TriedCalls
from offbeat.selection.verification.proofs import Proofs

REFERENCE = Path(__file__).parents[1] / "reference"
HERE = {
    entry.name: entry
    for entry in (installation("openmpi", (5, 0, 11)), installation("intelmpi", (2021, 18, 1)))
}


def row(algorithm: str, size: int, last_delay_s: float) -> dict[str, Any]:
    """A measured case of reduce on p=4."""
    case = Case(
        collective="reduce",
        algorithm=algorithm,
        bytes=size,
        pattern="no_delay",
        shape="no_delay",
        skew_policy="none",
        skew_factor=0.0,
        p=4,
        nodes=0,
        ppn=0,
        op="sum",
        datatype="double",
    )
    facts: dict[str, Any] = {"case": case.id, "engine": "mpi", "library": "openmpi-5.0.11"}
    for name in Case.__struct_fields__:
        facts[name] = getattr(case, name)
    return facts | {
        "pattern_kind": "shape",
        "source": "",
        "skew_s": 0.0,
        "status": "measured",
        "reason": "",
        "proof": "proved",
        "evidence": "",
        "blocks": 0,
        "repetitions": 0,
        "invalid": 0,
        "last_delay_s": last_delay_s,
        "last_delay_low_s": last_delay_s,
        "last_delay_high_s": last_delay_s,
        "total_delay_s": last_delay_s,
        "overshoot_s": 0.0,
        "clock_bound_s": 0.0,
    }


def study(directory: Path, rows: list[dict[str, Any]], known: list[Algorithm] | None = None) -> Path:
    """A result directory of a study with Open MPI 5.0.11."""
    library = {
        "name": "openmpi-5.0.11",
        "family": "openmpi",
        "version": [5, 0, 11],
        "mpirun": "/nowhere/mpirun",
    }
    with Store.create(directory, study_toml=TEMPLATE, provenance={"library": library}) as store:
        store.add_algorithms(known or algorithms("openmpi", "reduce"))
        store.add_verdicts(case_verdicts(rows))
        store.append_rows(rows, (b"", b""))
    return directory


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    rows = [row("way1", 64, 1e-6), row("way2", 64, 2e-6), row("way1", 1024, 4e-6), row("way2", 1024, 3e-6)]
    return study(tmp_path / "results", rows)


@pytest.fixture(autouse=True)
def libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two made-up installations, known by name."""
    real = find.choose

    def choose(algorithm: str = "auto", *rest: Any) -> Installation:
        return HERE[algorithm] if algorithm in HERE else real(algorithm, *rest)

    monkeypatch.setattr(find, "choose", choose)


def export(*arguments: object, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run the command; its exit status."""
    monkeypatch.setattr(sys, "argv", ["offbeat", "export", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        app.main()
    return int(ended.value.code or 0)


def test_export_writes_the_files_of_the_measured_library_and_prints_their_use(
    measured: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(measured, "--rule", "no_delay", monkeypatch=monkeypatch) == 0
    path = measured.absolute() / "tuning" / "openmpi.rules"
    assert "46 1 4 0 # way1\n256 2 4 0 # way2\n1449 0 0 0" in path.read_text(encoding="utf-8")
    out = capsys.readouterr().out
    assert "2 rules for reduce, written for openmpi-5.0.11:" in out
    assert f"--mca coll_tuned_dynamic_rules_filename {path} -n P ./application" in out


def test_the_range_of_the_end_sizes_can_be_chosen_and_is_in_the_file(
    measured: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = measured / "tuning" / "openmpi.rules"
    for factor, lines, extent in (
        ("1", "64 1 4 0 # way1\n256 2 4 0 # way2\n1025 0 0 0", "from the first size to the last"),
        (
            "2",
            "32 1 4 0 # way1\n256 2 4 0 # way2\n2049 0 0 0",
            "divided by 2; the last ends at its size times 2",
        ),
    ):
        assert export(measured, "--rule", "no_delay", "--beyond", factor, monkeypatch=monkeypatch) == 0
        text = path.read_text(encoding="utf-8")
        assert lines in text
        assert extent in text
    assert export(measured, "--rule", "no_delay", "--beyond", "0.5", monkeypatch=monkeypatch) == 2
    assert "--beyond" in capsys.readouterr().err


def test_with_a_trace_export_prints_which_calls_the_file_affects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = study(tmp_path / "results", [row("way1", 1536 * 1024, 1e-6), row("way2", 1536 * 1024, 2e-6)])
    calls = [(2**21, "MPI_Reduce"), (2**22, "MPI_Reduce"), (2**21, "MPI_Bcast")]
    files = factory.files(4)
    for one in files:
        for sequence, (size, function) in enumerate(calls):
            begin = 1 + 1000 * sequence
            one.call(begin, begin + 500, sequence=sequence, function=function, root=0, bytes=size)
    factory.write(tmp_path / "t", files)
    words = (measured, "--rule", "no_delay", "--trace", tmp_path / "t")
    assert export(*words, monkeypatch=monkeypatch) == 0
    out = capsys.readouterr().out
    assert (
        "The file affects 1 of 3 collective calls, 33.3% of the time in collectives: MPI_Reduce of 2 MiB"
        in out
    )
    assert export(*words, "--beyond", "1", monkeypatch=monkeypatch) == 0
    assert "The file affects none of the 3 collective calls of the trace: it cannot change the run time" in (
        capsys.readouterr().out
    )


def test_verify_also_prints_which_calls_of_a_trace_the_file_affects(
    measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = factory.files(4)
    for one in files:
        one.call(1, 501, function="MPI_Reduce", root=0, bytes=100)
    factory.write(tmp_path / "t", files)
    assert export(measured, "--rule", "no_delay", monkeypatch=monkeypatch) == 0
    proved = (
        Proofs(library="openmpi-5.0.11", proofs=[]),
        TriedCalls(library="openmpi-5.0.11", seed=2, tried=0, calls=[]),
    )
    monkeypatch.setattr(verification, "prove_files", lambda *_: proved)  # other tests launch the library
    monkeypatch.setattr(sys, "argv", ["offbeat", "verify", str(measured), "--trace", str(tmp_path / "t")])
    with pytest.raises(SystemExit) as ended:
        app.main()
    assert not ended.value.code
    assert "The file affects 1 of 1 collective call" in capsys.readouterr().out


def test_if_the_winner_is_overtaken_the_last_size_covers_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        row("way1", 512, 1e-6),
        row("way2", 512, 2e-6),
        row("way1", 1024, 2e-6),
        row("way2", 1024, 2.1e-6),
    ]
    directory = study(tmp_path / "results", rows)
    assert export(directory, "--rule", "no_delay", monkeypatch=monkeypatch) == 0
    text = (directory / "tuning" / "openmpi.rules").read_text(encoding="utf-8")
    assert "363 1 4 0 # way1\n1025 0 0 0" in text


def test_the_folder_and_the_format_can_be_chosen(
    measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = [measured, "--rule", "no_delay", "--output", tmp_path / "out", "--format", "2"]
    assert export(*arguments, monkeypatch=monkeypatch) == 0
    assert (
        (tmp_path / "out" / "openmpi.rules").read_text(encoding="utf-8").startswith("rule-file-version-2\n")
    )


def test_another_family_than_the_measured_one_is_refused(
    measured: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(measured, "--rule", "no_delay", "--mpi", "intelmpi-2021.18.1", monkeypatch=monkeypatch) == 2
    assert (
        "were measured with Open MPI 5.0.11: tuning of one library does not apply" in capsys.readouterr().err
    )
    assert not (measured / "tuning").exists()


def test_the_replacement_of_a_removed_library_must_be_named(
    measured: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(HERE, "openmpi-5.0.11", HERE["intelmpi-2021.18.1"])
    assert export(measured, "--rule", "no_delay", monkeypatch=monkeypatch) == 2
    assert (
        "was not found on this machine; name an installation of it with --mpi PREFIX"
        in capsys.readouterr().err
    )


def test_an_empty_selection_is_a_failure_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = study(tmp_path / "results", [row("default", 64, 1e-6)])
    assert export(directory, "--rule", "no_delay", monkeypatch=monkeypatch) == 1
    assert "nothing was selected" in capsys.readouterr().err
    assert not (directory / "tuning").exists()


def test_partitioned_sends_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    send = row("many", 64, 1e-6) | {"collective": PARTITIONED_SEND, "partitions": 4, "op": ""}
    directory = study(tmp_path / "results", [send], [Algorithm(collective=PARTITIONED_SEND, name="many")])
    assert export(directory, monkeypatch=monkeypatch) == 2
    assert "the results hold 1 case of partitioned_send" in " ".join(capsys.readouterr().err.split())
    assert not (directory / "tuning").exists()


def test_imported_measurements_without_settings_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import_csv(REFERENCE / "hydra-ft-scenario.csv", tmp_path / "imported")
    assert export(tmp_path / "imported", monkeypatch=monkeypatch) == 2
    assert "were imported without settings" in capsys.readouterr().err
    assert not (tmp_path / "imported" / "tuning").exists()


@pytest.mark.parametrize("arguments", [["--rule", "best"], ["--format", "3"], ["--rule", "scenario:none"]])
def test_invalid_options_are_refused_and_nothing_is_written(
    measured: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    assert export(measured, *arguments, monkeypatch=monkeypatch) == 2
    assert not (measured / "tuning").exists()


def test_another_version_than_the_measured_one_gets_a_note(
    measured: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(HERE, "openmpi-4.1.4", installation("openmpi", (4, 1, 4)))
    assert export(measured, "--rule", "no_delay", "--mpi", "openmpi-4.1.4", monkeypatch=monkeypatch) == 0
    assert "Open MPI 5.0.11 was measured, but the files are for openmpi-4.1.4" in capsys.readouterr().out


def test_empty_files_are_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    limited = Algorithm(
        collective="reduce",
        name="way1",
        settings={"coll_tuned_reduce_algorithm": "1", "coll_tuned_reduce_algorithm_max_requests": "2"},
    )
    directory = study(tmp_path / "results", [row("way1", 64, 1e-6)], [limited])
    assert export(directory, "--rule", "no_delay", monkeypatch=monkeypatch) == 1
    assert (
        "the tuning files of openmpi-5.0.11 cannot express any choice of the selection"
        in capsys.readouterr().err
    )
    assert not list((directory / "tuning").iterdir())


def test_several_studies_give_one_tuning_file(
    measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = study(tmp_path / "other", [row("way1", 65536, 4e-6), row("way2", 65536, 3e-6)])
    assert export(measured, other, "-o", tmp_path / "both", monkeypatch=monkeypatch) == 0
    rules = read_manifest(tmp_path / "both").tuning.rules
    assert [(rule.bytes, rule.algorithm.name) for rule in rules] == [
        (64, "way1"),
        (1024, "way2"),
        (65536, "way2"),
    ]
    assert "3 rules for reduce" in capsys.readouterr().out


def test_studies_that_measured_the_same_are_not_combined(
    measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = study(tmp_path / "other", [row("way1", 64, 4e-6), row("way2", 64, 3e-6)])
    assert export(measured, other, monkeypatch=monkeypatch) == 2
    assert "both measured reduce of 64 B on p = 4" in capsys.readouterr().err


def test_studies_of_two_libraries_are_not_combined(
    measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Store.create(
        tmp_path / "other", study_toml=TEMPLATE, provenance={"library": {"name": "mpich-5.0.2"}}
    ) as store:
        store.append_rows([row("way1", 4096, 1e-6)], (b"", b""))
    assert export(measured, tmp_path / "other", monkeypatch=monkeypatch) == 2
    assert "different libraries, openmpi-5.0.11" in capsys.readouterr().err
