"""Invalid arguments are refused with the option's name; nothing is launched."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from offbeat.base.errors import BadInput
from offbeat.cli import app

STUDY = """[[collective]]
names = ["reduce"]
sizes = [8]
[processes]
p = [2]
"""


def refused(*arguments: str) -> str:
    """The sentence of a refusal; fails if the command succeeds."""
    done = CliRunner().invoke(app.build(), list(arguments))
    if isinstance(done.exception, BadInput):
        return str(done.exception)
    assert done.exit_code == 2, done.output
    return " ".join(done.output.replace("│", " ").split())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["doctor", "--all", "--algorithms"], "--algorithms lists those of one installation"),
        (["doctor", "--mpi", ""], "--mpi is empty; write 'auto'"),
        (["pattern", "make", "bell", "--p", "3", "--skew", "5x"], "--skew: '5x': 'x' is not a unit of time"),
        (["pattern", "check", "x", "--p", "0"], "'--p'"),
        (["select", "x", "--bootstrap", "1000000000"], "'--bootstrap'"),
        (["frobnicate"], "No such command 'frobnicate'"),
        (["run"], "Missing argument 'STUDY'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_invalid_arguments_are_refused(arguments: list[str], sentence: str) -> None:
    assert sentence in refused(*arguments)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


@pytest.mark.parametrize("minutes", ["nan", "-1"])
def test_invalid_minutes_are_refused(study: Path, minutes: str) -> None:
    assert f"--stop-before-limit {minutes}" in refused("run", str(study), "--stop-before-limit", minutes)
    assert not (study.parent / "study-results").exists()


def test_an_empty_name_of_an_installation_is_not_replaced_by_the_studys(study: Path) -> None:
    assert "--mpi is empty" in refused("run", str(study), "--mpi", "")


def test_an_installation_that_a_study_names_wrongly_is_reported_with_its_line(study: Path) -> None:
    study.write_text(STUDY + f'[mpi]\nprefix = "{study.parent}"\n', encoding="utf-8")
    sentence = refused("run", str(study))
    assert sentence.startswith(f"{study}:7: mpi.prefix: {study.parent} is not an MPI prefix")
    assert not (study.parent / "study-results").exists()


def test_the_command_to_copy_is_quoted_where_a_shell_needs_it(tmp_path: Path) -> None:
    single = typer.Typer()
    single.command()(__import__("offbeat.cli.init", fromlist=["command"]).command)
    done = CliRunner().invoke(single, [str(tmp_path / "my study.toml")])
    assert f"offbeat run '{tmp_path}/my study.toml'" in done.output
