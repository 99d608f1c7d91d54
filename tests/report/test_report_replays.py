"""Replays in the report: a row of the tables, and the arrivals with their spread over the calls."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import study_factory as factory

from offbeat.measurement.results.blocks import Samples
from offbeat.measurement.results.read import Results, read_study
from offbeat.measurement.results.store import Store
from offbeat.model.study.case import Case
from offbeat.presentation.study_report import figures, plot_data
from offbeat.presentation.study_report.grids import grids

CALLS = np.array([[0.0, 1e-5, 3e-5], [2e-5, 0.0, 1e-5], [0.0, 0.0, 8e-5], [0.0, 1e-5, 0.0]])
FACTS = {"engine": "mpi", "library": "made", "skew_s": 8e-5, "status": "measured", "proof": "proved"}


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """A study of two algorithms with no_delay, a scenario, and a replay of the same calls."""
    kinds = [
        ("no_delay", "shape", "none", ""),
        ("mean", "scenario", "file", "x"),
        ("ft", "replay", "replay", "x"),
    ]
    with Store.create(tmp_path / "results", study_toml='name = "made"\n', provenance={}) as store:
        for algorithm, took_s in (("a", 1e-5), ("b", 2e-5)):
            for pattern, kind, policy, source in kinds:
                case = Case(
                    collective="alltoall",
                    algorithm=algorithm,
                    bytes=8,
                    pattern=pattern,
                    shape=pattern,
                    skew_policy=policy,
                    skew_factor=1.0,
                    p=3,
                    nodes=0,
                    ppn=0,
                )
                late = np.random.default_rng(3).random((12, 1)) * 1e-6  # of every rank, in each repetition
                arrivals = np.tile(CALLS, (3, 1)) + late
                calls = np.tile(np.arange(4), 3) if kind == "replay" else None
                exits = np.repeat(arrivals.max(axis=1, keepdims=True) + took_s, 3, axis=1)
                samples = Samples(
                    arrivals_s=arrivals, exits_s=exits, valid=np.ones(12, dtype=bool), calls=calls
                )
                store.append(case, FACTS | {"pattern_kind": kind, "source": source}, samples)
    return read_study(tmp_path / "results")


def test_a_replay_is_drawn_by_each_rank_s_mean_with_the_band_of_its_calls(results: Results) -> None:
    drawn, _ = plot_data.pattern_plots(results)
    assert [one.label for one in drawn] == ["no_delay", "mean", "ft"]
    replay = drawn[-1]
    assert replay.delays == pytest.approx(CALLS.mean(axis=0))
    assert replay.band is not None
    low, high = np.quantile(np.tile(CALLS, (3, 1)), (0.05, 0.95), axis=0)
    assert replay.band[0] == pytest.approx(low)
    assert replay.band[1] == pytest.approx(high)
    assert "of the calls" in replay.remark
    assert all(one.band is None for one in drawn[:-1])


@pytest.mark.parametrize("p", [1, 3, 64, 65, 1000])
def test_the_picture_of_a_replay_holds_any_number_of_ranks(p: int) -> None:
    chance = np.random.default_rng(p).exponential(1, (5, p))
    band = (np.quantile(chance, 0.05, axis=0), np.quantile(chance, 0.95, axis=0))
    one = figures.PatternPlot(label="ft", remark="", delays=chance.mean(axis=0), band=band)
    figure = figures.pattern_figure([one], "x")
    figure.canvas.draw()
    assert figure.axes[0].get_ylim()[1] > 1


def test_a_replay_without_delays_is_drawn() -> None:
    nothing = np.zeros(4)
    one = figures.PatternPlot(label="ft", remark="", delays=nothing, band=(nothing, nothing))
    figures.pattern_figure([one], "x").canvas.draw()


def test_the_tables_have_a_row_for_a_replay_with_its_meaning(results: Results) -> None:
    (view,) = factory.shown(results)
    grid, *_, relative = grids(view, 0.05)
    assert [row.heading.name for row in grid.rows] == ["no_delay", "mean", "ft"]
    assert grid.rows[-1].heading.remark == "s = 80 µs at most"
    assert "of replays the mean over their calls" in grid.caption
    assert [row.heading.name for row in relative.rows if row.summary] == [
        "average without scenarios",
        "average with scenarios",
    ]
    assert "averaged once: not mean (ft is)" in relative.caption


def test_an_incomplete_replay_is_marked_and_the_mark_explained(results: Results) -> None:
    partial = (pl.col("pattern") == "ft") & (pl.col("algorithm") == "a")
    results.cases = results.cases.with_columns(
        status=pl.when(partial).then(pl.lit("incomplete")).otherwise("status")
    )
    (view,) = factory.shown(results)
    grid = grids(view, 0.05)[0]
    assert "*" in grid.rows[-1].squares[0].text
    assert "means over some of a replay's calls" in grid.caption
