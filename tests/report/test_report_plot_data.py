"""The plot's data are the repetitions, thinned to a limited size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import study_factory as factory
from hypothesis import given
from hypothesis import strategies as st

from offbeat.presentation.study_report import plot_data


def test_the_plot_shows_every_valid_repetition_in_the_unit_of_the_table(tmp_path: Path) -> None:
    study = factory.results(
        tmp_path, factory.table({"no_delay": {"a": 10.0, "b": None}, "random": {"a": 20.0, "b": 5.0}})
    )
    data = plot_data.distributions(factory.shown(study), study.repetitions)
    (configuration,) = data["configurations"]
    assert configuration["unit"] == "µs"
    assert (configuration["patterns"], configuration["algorithms"]) == (["no_delay", "random"], ["a", "b"])
    assert configuration["values"][0][1] == []
    case = factory.row("a", "no_delay", 10e-6)["case"]
    repetitions = study.repetitions.filter(case=case)
    expected = (1e6 * repetitions["last_delay_s"]).to_list()
    assert configuration["values"][0][0] == pytest.approx(expected, rel=1e-3)
    assert data["thinned"] == 0


def test_imports_without_repetitions_show_their_median(tmp_path: Path) -> None:
    study = factory.imported("hydra-ft-scenario", tmp_path / "hydra")
    data = plot_data.distributions(factory.shown(study), study.repetitions)
    assert data["configurations"][0]["values"][0] == [[109.0], [113.0], [509.0], [109.0]]
    assert data["repeated"] is False


def test_a_study_with_many_repetitions_is_thinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plot_data, "MAXIMUM_VALUES", 100)
    study = factory.results(tmp_path, factory.case_frame(["a", "b"], factory.SHAPES))
    data = plot_data.distributions(factory.shown(study), study.repetitions)
    lengths = {len(values) for row in data["configurations"][0]["values"] for values in row}
    assert lengths == {7}
    assert data["thinned"] == 7


@given(
    values=st.lists(st.floats(0, 1e3), min_size=1, max_size=300),
    most=st.integers(plot_data.MINIMUM_PER_CASE, 50),
)
def test_thinning_keeps_both_ends_and_about_the_quartiles(values: list[float], most: int) -> None:
    original = np.array(values)
    thinned = plot_data.thinned(original, most)
    assert len(thinned) == min(len(original), most)
    assert (thinned.min(), thinned.max()) == (original.min(), original.max())
    low, high = (np.quantile(original, share, method="inverted_cdf") for share in (0.2, 0.8))
    assert low - 1e-9 <= np.median(thinned) <= high + 1e-9 or len(original) < 3
