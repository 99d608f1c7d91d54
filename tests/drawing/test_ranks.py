"""Delays by rank keep their largest values, however many ranks there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

from offbeat.presentation.drawing.rank_delays import FEW, draw_delays, maxima_by_group
from offbeat.presentation.drawing.sheet import shortened, width_of


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=300), st.integers(1, 80))
def test_a_group_shows_the_latest_of_its_ranks(delays: list[float], columns: int) -> None:
    latest, each = maxima_by_group(np.array(delays), columns)
    assert len(latest) <= columns
    assert latest.tolist() == [max(delays[i : i + each]) for i in range(0, len(delays), each)]


@pytest.mark.parametrize("ranks", [1, 4, FEW, FEW + 1, 4000])
@pytest.mark.parametrize("has_band", [False, True])
def test_one_late_rank_is_visible_among_4_and_4000(ranks: int, has_band: bool) -> None:
    delays = np.eye(1, ranks, ranks // 2)[0]
    axes = Figure().subplots()
    each = draw_delays(axes, delays, (delays / 2, delays * 2) if has_band else None)
    assert -(-ranks // each) <= max(200, FEW)
    heights = [
        patch.get_data().values.max() if isinstance(patch, StepPatch) else patch.get_height()
        for patch in axes.patches
    ]
    assert 1.0 in heights


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=60), st.floats(0.3, 4))
def test_a_shortened_line_fits_and_says_that_it_was_cut(text: str, width: float) -> None:
    line = shortened(text, 8, width)
    assert width_of(line, 8) <= width
    assert line == text or (line.endswith("…") and text.startswith(line[:-1]))
