"""``offbeat platform list|show|init|schema``."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from offbeat.base.errors import BadInput
from offbeat.cli.platform import app
from offbeat.model.platform import bundled_platforms, machine, template

pytestmark = pytest.mark.slow


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), catch_exceptions=True)


def test_list_names_every_built_in_platform() -> None:
    output = run("list").stdout
    assert all(f"\n{name}" in output for name in bundled_platforms.PRESETS.names())


@pytest.mark.parametrize("name", bundled_platforms.PRESETS.names())
def test_show_prints_the_properties_of_a_platform(name: str) -> None:
    output = run("show", name).stdout
    assert f"{name}\n" in output and "inside a node" in output and "over 2 links" in output
    assert "1 MiB" in output


def test_show_gives_the_figures_of_the_papers_cluster() -> None:
    output = run("show", "paper").stdout
    assert "over 2 links (2 µs)" in output
    assert "4.05 µs" in output  # one byte: 2 µs × 2.01467 + 17 B at 0.812084 × 1.25 GB/s


def test_show_lists_the_links_of_a_route() -> None:
    output = run("show", "islands", "--route", "0", "100").stdout
    assert "From node 0 to node 100: 780 ns" in output
    assert output.count("\nlink ") == 5  # the heading, and four links
    assert isinstance(run("show", "islands", "--route", "0", "600").exception, BadInput)


@pytest.mark.parametrize("name", ["paper", "islands", "groups"])
@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_show_draws_a_picture(tmp_path: Path, name: str, suffix: str) -> None:
    path = tmp_path / f"picture{suffix}"
    assert run("show", name, "--picture", str(path)).exit_code == 0
    assert path.stat().st_size > 1000


def test_a_picture_of_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    refused = run("show", "paper", "--picture", str(tmp_path / "x.gif")).exception
    assert isinstance(refused, BadInput) and ".png, .pdf, .svg" in str(refused)


def test_init_writes_a_file_that_can_be_shown(tmp_path: Path) -> None:
    path = tmp_path / "cluster.toml"
    assert "offbeat platform show" in run("init", str(path)).stdout
    assert path.read_text(encoding="utf-8") == template.template()
    assert run("show", str(path)).exit_code == 0
    assert "exists already" in str(run("init", str(path)).exception)


def test_init_copies_a_built_in_platform(tmp_path: Path) -> None:
    path = tmp_path / "cluster.toml"
    run("init", str(path), "--from", "griffon")
    assert machine.load(path).file == machine.load("griffon").file
    assert "is not a platform" in str(run("init", str(path), "--from", "grifon").exception)


def test_schema_is_printed_and_written(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    run("schema", "-o", str(path))
    assert path.read_text(encoding="utf-8") == run("schema").stdout
