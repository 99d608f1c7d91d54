"""A damaged or foreign result directory is reported with the file and a remedy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sample_cases import STUDY

from offbeat.base.errors import BadInput
from offbeat.measurement.results import layout
from offbeat.measurement.results.import_csv import import_csv
from offbeat.measurement.results.read import read_study
from offbeat.measurement.results.store import Store

HEADER = "collective,algorithm,p,bytes,pattern,last_delay_us\n"


@pytest.fixture
def imported(tmp_path: Path) -> Path:
    """A directory with the samples of an import."""
    csv = tmp_path / "made.csv"
    csv.write_text(HEADER + "reduce,lin,4,8,no_delay,1\nreduce,lin,4,8,no_delay,2\n", encoding="utf-8")
    import_csv(csv, tmp_path / "made")
    return tmp_path / "made"


def test_foreign_files_among_the_tables_are_ignored(imported: Path) -> None:
    (imported / layout.REPETITIONS / "session-0001 (copy).records").write_bytes(b"x")
    (imported / layout.REPETITIONS / "session-copy.records").write_bytes(b"x")
    assert len(read_study(imported).repetitions) == 2


def _without(path: Path) -> None:
    path.unlink()


def _latin(path: Path) -> None:
    path.write_bytes(b'name = "\xfc"')


@pytest.mark.parametrize("damage", [_without, _latin])
@pytest.mark.parametrize("opened", [read_study, Store.open])
def test_a_study_that_cannot_be_read_beside_its_results_is_named(
    imported: Path, damage: Callable[[Path], None], opened: Callable[[Path], object]
) -> None:
    damage(imported / layout.STUDY)
    with pytest.raises(BadInput, match=r"study\.toml.*put it back from a copy"):
        opened(imported)


def test_a_file_in_place_of_a_directory_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(STUDY, encoding="utf-8")
    with pytest.raises(BadInput, match="is a file; give the directory that 'offbeat run'"):
        read_study(path)


def test_a_folder_without_results_is_reported_with_the_command_that_creates_results(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="give the directory that 'offbeat run'"):
        read_study(tmp_path)


def test_a_file_where_a_folder_of_results_should_be_is_named(imported: Path) -> None:
    (imported / layout.LOGS).rmdir()
    (imported / layout.LOGS).write_bytes(b"")
    with pytest.raises(BadInput, match=rf"File exists \({imported / layout.LOGS}\)"):
        Store.open(imported)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("reduce,lin,4,99999999999999999999,no_delay,1", "column bytes: .* more than any memory holds"),
        ("reduce,lin,1000000000000,8,no_delay,1", "p = 1000000000000 is more than"),
        ("reduce,l\x1b[31mn,4,8,no_delay,1", "column algorithm: .* cannot be shown in a table"),
        ("reduce,l\x00n,4,8,no_delay,1", "column algorithm: .* cannot be shown in a table"),
    ],
    ids=["bytes", "p", "escape", "NUL"],
)
def test_an_import_refuses_values_that_results_cannot_hold(tmp_path: Path, row: str, message: str) -> None:
    csv = tmp_path / "odd.csv"
    csv.write_text(HEADER + row + "\n", encoding="utf-8")
    with pytest.raises(BadInput, match=rf"odd\.csv:2: {message}"):
        import_csv(csv, tmp_path / "odd")
    assert not (tmp_path / "odd").exists()


def test_braces_without_a_column_name_are_reported(tmp_path: Path) -> None:
    csv = tmp_path / "made.csv"
    csv.write_text(HEADER + "reduce,lin,4,8,no_delay,1\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"--setting: braces that name no column .* as in \{algorithm\}"):
        import_csv(csv, tmp_path / "made", settings={"X": "{"})
