"""``offbeat report`` writes the page and the pictures to the given paths, and refuses invalid ones."""

from __future__ import annotations

from pathlib import Path

import pytest
import study_factory as factory
import typer
from typer.testing import CliRunner, Result

from offbeat.base.errors import BadInput
from offbeat.cli import report

pytestmark = pytest.mark.slow

KINDS = (".png", ".pdf", ".svg")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """The paper's figure 8a, imported."""
    factory.imported("hydra-ft-scenario", tmp_path / "ft")
    return tmp_path / "ft"


def offbeat_report(*arguments: object) -> Result:
    app = typer.Typer()
    app.command()(report.command)
    return CliRunner().invoke(app, [str(word) for word in arguments])


def test_page_and_pictures_are_in_the_result_directory(directory: Path) -> None:
    done = offbeat_report(directory)
    assert done.exit_code == 0, done.output
    assert f"report: {directory}/report.html" in done.output
    assert f"pictures: {directory}/pictures" in done.output
    names = {"patterns", "alltoall-cost"} | {
        f"alltoall-p1024-32x32-32768B-{kind}" for kind in ("last-delay", "robustness", "normalised")
    }
    assert {path.name for path in (directory / "pictures").iterdir()} == {
        f"{name}{kind}" for name in names for kind in KINDS
    }


def test_output_and_pictures_are_written_to_the_given_paths(directory: Path, tmp_path: Path) -> None:
    done = offbeat_report(
        directory, "--output", tmp_path / "new" / "x.html", "--pictures", tmp_path / "drawn"
    )
    assert done.exit_code == 0, done.output
    page = (tmp_path / "new" / "x.html").read_text(encoding="utf-8")
    assert 'href="../drawn/patterns.pdf"' in page
    assert not (directory / "report.html").exists()


def test_without_pictures_only_the_page_is_written(directory: Path) -> None:
    before = set(directory.iterdir())
    done = offbeat_report(directory, "--no-pictures")
    assert done.exit_code == 0, done.output
    assert set(directory.iterdir()) - before == {directory / "report.html"}
    assert "pictures:" not in done.output


def test_a_relative_directory_gives_links_that_work(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(directory.parent)
    assert offbeat_report("ft").exit_code == 0
    assert 'href="pictures/patterns.svg"' in Path("ft/report.html").read_text(encoding="utf-8")


def test_the_report_may_be_written_again(directory: Path) -> None:
    assert offbeat_report(directory, "--no-pictures").exit_code == 0
    first = (directory / "report.html").read_bytes()
    assert offbeat_report(directory, "--no-pictures").exit_code == 0
    assert (directory / "report.html").read_bytes() == first


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--rule", "best"], "rule 'best' is unknown"),
        (["--rule", "scenario:nowhere"], "scenario 'nowhere' was not measured"),
        (["--pictures", "x", "--no-pictures"], "contradict each other"),
    ],
)
def test_invalid_options_are_refused(directory: Path, arguments: list[str], sentence: str) -> None:
    done = offbeat_report(directory, *arguments)
    assert isinstance(done.exception, BadInput)
    assert sentence in str(done.exception)
    assert not (directory / "report.html").exists()


def test_a_directory_that_holds_no_results_is_refused(tmp_path: Path) -> None:
    done = offbeat_report(tmp_path)
    assert isinstance(done.exception, BadInput)
    assert str(tmp_path) in str(done.exception)


def test_an_unwritable_page_gives_one_sentence(directory: Path) -> None:
    done = offbeat_report(directory, "--no-pictures", "--output", directory / "study.toml" / "x.html")
    assert isinstance(done.exception, BadInput)
    assert "give another --output" in str(done.exception)
