"""``offbeat program list|init|show|simulate|schema``."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from offbeat.base.errors import BadInput
from offbeat.cli.program import app
from offbeat.cli.trace import app as trace_app

pytestmark = pytest.mark.slow


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), catch_exceptions=True)


def test_list_names_the_programs() -> None:
    assert "\nmst " in run("list").stdout


def test_init_writes_files_that_can_be_shown_and_simulated(tmp_path: Path) -> None:
    path = tmp_path / "program.toml"
    assert run("init", str(path)).exit_code == 0
    assert "2 nonblocking sends of 1 MB on a ring" in run("show", str(path)).stdout
    assert isinstance(run("init", str(path)).exception, BadInput)  # it exists
    assert run("init", str(path), "--force", "--from", "mst").exit_code == 0
    simulated = run("simulate", str(path), "--platform", "fritz", "-n", "20", "-p", "72")
    assert simulated.exit_code == 0, simulated.output


def test_show_says_how_long_each_phase_takes_alone() -> None:
    output = run("show", "mst", "--platform", "fritz").stdout
    assert "29.6 ms" in output and "4.9 ms" in output and "ratio 0.165" in output
    assert max(map(len, output.splitlines())) <= 80


def test_simulate_prints_the_speed_and_its_assumptions() -> None:
    output = run("simulate", "mst", "--platform", "fritz", "-n", "50").stdout
    assert "360 ranks, 50 iterations" in output
    assert "0.08045" in output and "0.09375" in output
    assert "messages inside a node share 7.35 GB/s" in " ".join(output.split())
    assert max(map(len, output.splitlines())) <= 80


def test_simulate_writes_json_iterations_and_a_picture(tmp_path: Path) -> None:
    table, picture = tmp_path / "iterations.parquet", tmp_path / "picture.png"
    result = run(
        *("simulate", "mst", "--platform", "fritz", "-n", "30", "-p", "36", "--json", "-"),
        *("-o", str(table), "--picture", str(picture)),
    )
    summary = json.loads(result.stdout)
    frame = pl.read_parquet(table)
    assert frame.height == 30 * 36 and frame.columns == ["iteration", "rank", "end_s", "communication_s"]
    mean = frame.filter(pl.col("iteration") == 30)["end_s"].mean()
    assert mean == pytest.approx(30 * summary["run"]["iteration_s"])
    assert picture.stat().st_size > 10_000


def test_simulate_writes_a_trace_that_trace_summary_reads(tmp_path: Path) -> None:
    folder = str(tmp_path / "trace")
    options = ("-n", "30", "-p", "36", "--trace", folder, "--trace-iterations", "11-20")
    result = run("simulate", "mst", "--platform", "fritz", *options)
    assert result.exit_code == 0 and "iterations 11-20, 7.08 MB" in result.output
    summary = CliRunner().invoke(trace_app, ["summary", folder])
    assert summary.exit_code == 0
    assert "36 processes on node0; simulation on fritz" in " ".join(summary.stdout.split())


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("phase", "sentence"),
    [
        ('kind = "work"\ntime = "1 ms"\nevery = 100', "The iterations take no time"),
        ('kind = "exchange"\nbytes = [8]', "The program has no work"),
        ('kind = "work"\nmemory = 1', "An iteration is as fast as in lockstep"),
        (
            'kind = "work"\ntime = "1 ms"\n[[phase]]\nkind = "work"\ntime = "1 s"\nevery = 100',
            "An iteration is as fast as in lockstep",
        ),
    ],
)
def test_programs_without_time_or_work_get_a_sentence(tmp_path: Path, phase: str, sentence: str) -> None:
    path = tmp_path / "program.toml"
    path.write_text(f"[[phase]]\n{phase}\n")
    drawn = ("--picture", str(tmp_path / "picture.png"))
    result = run("simulate", str(path), "--platform", "fritz", "-p", "4", "-n", "10", *drawn)
    assert result.exit_code == 0 and sentence in result.stdout and "inf%" not in result.stdout


@pytest.mark.parametrize("option", ["--output", "--picture", "--json"])
def test_a_file_that_cannot_be_written_is_refused_before_the_simulation(tmp_path: Path, option: str) -> None:
    path = tmp_path / "none" / "file.png"
    result = run("simulate", "mst", "--platform", "fritz", option, str(path))
    assert isinstance(result.exception, BadInput) and f"there is no folder {path.parent}" in str(
        result.exception
    )
    assert result.output == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "none"),
        ("show", "mst", "--platform", "none"),
        ("simulate", "mst", "--platform", "paper"),
        ("simulate", "mst", "--platform", "fritz", "--picture", "x.gif"),
        ("simulate", "mst", "--platform", "fritz", "--trace-iterations", "1-5"),
        ("simulate", "mst", "--platform", "fritz", "--trace", "/dev/null/trace"),
        ("simulate", "mst", "--platform", "fritz", "--trace", "trace"),  # 10,000 iterations are too many
        ("simulate", "mst", "--platform", "fritz", "-p", "100000"),
        ("simulate", "mst", "--platform", "fritz", "-n", "1000000000"),
        ("init", "--from", "none"),
    ],
)
def test_what_does_not_exist_or_fit_is_bad_input(arguments: tuple[str, ...]) -> None:
    assert isinstance(run(*arguments).exception, BadInput)
