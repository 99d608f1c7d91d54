import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.base.errors import BadInput
from offbeat.model.pattern.pattern_file import shape_pattern
from offbeat.model.pattern.shapes import SHAPES
from offbeat.presentation.drawing import terminal_bars
from offbeat.presentation.pictures.pattern import picture

MAGIC = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@given(
    shape=st.sampled_from([name for name in SHAPES if name != "node_delayed"]),
    p=st.integers(1, 5000),
    width=st.integers(30, 200),
    blocks=st.booleans(),
)
def test_a_drawing_fits_the_terminal(shape, p, width, blocks):
    lines = terminal_bars.bars(shape_pattern(shape, p, 1e-4), width=width, blocks=blocks)
    drawing = [line for line in lines if any(edge in line for edge in "│└|+")]
    assert drawing
    assert max(map(len, drawing)) <= width
    if not blocks:
        assert all(line.isascii() for line in lines)


@pytest.mark.parametrize("p", [4, 80, 4000])
@pytest.mark.parametrize("shape", ["first_delayed", "mid_delayed", "last_delayed"])
def test_one_late_rank_is_visible_among_any_number(p, shape):
    lines = terminal_bars.bars(shape_pattern(shape, p, 1e-4), width=80)
    assert "█" in lines[1]


def test_binning_is_stated():
    assert (
        "a column is 55 ranks and shows the latest of them"
        in terminal_bars.bars(shape_pattern("bell", 4000, 1.0))[-1]
    )
    assert "column" not in "".join(terminal_bars.bars(shape_pattern("bell", 64, 1.0)))


@given(p=st.integers(1, 3000), columns=st.integers(1, 100))
def test_bins_keep_every_latest_rank(p, columns):
    delays_s = shape_pattern("random", p, 1.0).delays_s
    latest_s, ranks_each = terminal_bars.maxima_by_group(delays_s, columns)
    assert len(latest_s) == math.ceil(p / ranks_each) <= columns
    expected = [delays_s[start : start + ranks_each].max() for start in range(0, p, ranks_each)]
    assert np.array_equal(latest_s, expected)


@pytest.mark.parametrize(
    ("largest_s", "unit"), [(2.0, "s"), (0.5, "ms"), (1e-3, "ms"), (1e-4, "µs"), (2e-9, "ns"), (1e-12, "ns")]
)
def test_the_unit_suits_the_largest_delay(largest_s, unit):
    assert terminal_bars.time_unit(largest_s)[1] == unit


def test_the_drawing_names_pattern_processes_and_skew():
    assert terminal_bars.bars(shape_pattern("mid_delayed", 5, 1e-4))[0] == (
        "mid_delayed: p = 5, skew 100 µs, mean delay 20 µs, 1 of 5 ranks late"
    )


@pytest.mark.parametrize("suffix", MAGIC)
def test_the_suffix_determines_the_format_of_a_picture(tmp_path, suffix):
    path = tmp_path / f"patterns.{suffix}"
    picture([shape_pattern(shape, 16, 1e-4, ppn=4) for shape in SHAPES], path)
    assert path.read_bytes().startswith(MAGIC[suffix])


def test_a_picture_labels_its_axes_with_units(tmp_path):
    path = tmp_path / "patterns.svg"
    picture(
        [
            shape_pattern("bell", 4000, 2e-4),
            shape_pattern("no_delay", 4, 1.0),
            shape_pattern("random", 1, 1.0),
        ],
        path,
    )
    words = path.read_text()
    for label in ("delay [µs]", "rank (20 a bar; light: the latest, dark: their mean)", "no rank is late"):
        assert f"<!-- {label} -->" in words


def test_a_picture_of_another_kind_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"\.png, \.pdf, \.svg"):
        picture([shape_pattern("bell", 4, 1.0)], tmp_path / "bell.bmp")


def test_a_picture_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(BadInput, match="No such file"):
        picture([shape_pattern("bell", 4, 1.0)], tmp_path / "no" / "bell.png")
