"""The code on the page about your own algorithms does what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from offbeat.cli.algorithm import app

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "own-algorithm.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "two_levels.py").write_text(blocks("python")[0])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("block", blocks("console"))
def test_the_commands_print_what_the_page_shows(folder: Path, block: str) -> None:
    command, *expected_lines = block.splitlines()
    words = command.removeprefix("$ offbeat algorithm ").split()
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0
    printed = [line.rstrip() for line in result.stdout.splitlines()]
    assert printed[: len(expected_lines)] == expected_lines


def test_the_mistake_that_the_page_describes_is_found(folder: Path) -> None:
    path = folder / "two_levels.py"
    path.write_text(path.read_text().replace("rank.recv(peer, other)", "rank.irecv(peer, other)"))
    result = CliRunner().invoke(app, ["check", f"{path.name}:reduce", "--collective", "reduce", "--p", "2"])
    assert result.exit_code == 1
    assert " ".join(blocks("text")[0].split()) in " ".join(result.stdout.split())


def test_the_lines_of_python_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exec("\n".join(blocks("python")), {})
    checked, sources, *simulated = capsys.readouterr().out.splitlines()
    assert (checked, sources) == ("right", "[1 4 7 2 5 8 3 6]")
    assert [line.split()[0] for line in simulated] == ["two_levels.py:reduce", "reduce/binomial"]
    assert all(float(line.split()[1]) > 0 for line in simulated)
