"""``offbeat reproduce async-figure``: the triad with delays, simulated."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from offbeat.base.errors import BadInput
from offbeat.cli.reproduce import app
from offbeat.presentation.reproduction.triad_figures import reproduce, runs


@pytest.mark.parametrize(("figure", "claims"), [("2", 6), ("3", 2)])
def test_a_figure_has_a_picture_and_all_its_claims_hold_but_that_ranks_go_back_to_synchrony(
    tmp_path: Path, figure: str, claims: int
) -> None:
    outcome = reproduce(figure, tmp_path, 1200)
    assert [path.suffix for path in outcome.pictures] == [".png", ".pdf", ".svg"]
    assert all(path.stat().st_size > 10_000 for path in outcome.pictures)
    assert len(outcome.claims) == claims
    for claim in outcome.claims:
        assert claim.endswith(": holds.") != ("back to synchrony" in claim), claim


def test_the_command_prints_the_claims(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["async-figure", "2", "-o", str(tmp_path), "-n", "800"])
    assert result.exit_code == 0
    assert result.stdout.count("- ") >= 6 and "async-figure2.png" in result.stdout


def test_delays_begin_and_end_with_their_quarter() -> None:
    of = runs(800)
    assert [(noise.every, noise.first, noise.last) for noise in of.growing.program.file.noise] == [
        (100, 201, 400),
        (20, 401, 600),
        (5, 601, 800),
    ]


@pytest.mark.parametrize(
    ("figure", "iterations"), [("4", 1000), ("2", 400), ("2", 0), ("2", -1), ("2", 10**12)]
)
def test_other_figures_and_impossible_numbers_are_refused(
    tmp_path: Path, figure: str, iterations: int
) -> None:
    with pytest.raises(BadInput, match="figure"):
        reproduce(figure, tmp_path, iterations)
