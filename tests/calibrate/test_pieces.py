"""Piecewise lines through times: their number, their boundaries, and none for noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from offbeat.libraries.calibration.fit import fit_pieces
from offbeat.libraries.calibration.measurement_plan import between_bends, first_sizes, first_waiting

SIZES = np.array(first_sizes(2**22), dtype=np.float64)


def test_one_line_is_one_piece() -> None:
    (piece,) = fit_pieces(SIZES, 1e-6 + SIZES / 1e9)
    assert piece.from_bytes == 0
    assert piece.start_s == pytest.approx(1e-6) and piece.per_byte_s == pytest.approx(1e-9)


def test_a_second_piece_begins_at_a_jump() -> None:
    times_s = np.where(SIZES < 4096, 1e-6 + SIZES / 1e9, 3e-6 + SIZES / 4e9)
    first, second = fit_pieces(SIZES, times_s)
    assert (second.after_bytes, second.from_bytes) == (3072, 4096)
    assert first.start_s == pytest.approx(1e-6) and second.start_s == pytest.approx(3e-6)
    assert second.per_byte_s == pytest.approx(0.25e-9)


def test_noise_makes_no_pieces() -> None:
    noise = 1 + 0.02 * np.random.default_rng(1).standard_normal(len(SIZES))
    assert len(fit_pieces(SIZES, (1e-6 + SIZES / 1e9) * noise)) == 1


def test_no_piece_starts_below_the_floor_or_has_no_slope() -> None:
    pieces = fit_pieces(SIZES, np.full(len(SIZES), 1e-6), floor_s=0.5e-6)
    assert all(piece.start_s >= 0.5e-6 and piece.per_byte_s > 0 for piece in pieces)


@given(
    starts=st.lists(st.floats(1e-7, 1e-4), min_size=1, max_size=3),
    slopes=st.lists(st.floats(1e-11, 1e-7), min_size=3, max_size=3),
)
@settings(deadline=None, max_examples=30)
def test_piecewise_linear_times_are_fitted_exactly(starts: list[float], slopes: list[float]) -> None:
    steps = [0, 2**8, 2**15][: len(starts)]
    which = np.searchsorted(steps, SIZES, side="right") - 1
    times_s = np.array(starts)[which] + np.array(slopes[: len(starts)])[which] * SIZES
    pieces = fit_pieces(SIZES, times_s)
    begins = [piece.from_bytes for piece in pieces]
    part = np.searchsorted(begins, SIZES, side="right") - 1
    fitted_s = np.array([piece.start_s for piece in pieces])[part]
    fitted_s += np.array([piece.per_byte_s for piece in pieces])[part] * SIZES
    assert np.median(np.abs(fitted_s / times_s - 1)) < 0.01
    assert np.abs(fitted_s / times_s - 1).max() < 0.15


def test_there_are_two_sizes_per_octave_up_to_the_largest() -> None:
    assert first_sizes(16) == [1, 2, 3, 4, 6, 8, 12, 16]
    assert first_sizes(20) == [1, 2, 3, 4, 6, 8, 12, 16, 20]


def test_sizes_are_added_between_two_pieces_until_the_gap_is_small() -> None:
    def times_s(sizes: np.ndarray) -> np.ndarray:
        return np.where(sizes < 4096, 1e-6, 3e-6) + sizes / 1e10

    (more,) = between_bends(fit_pieces(SIZES, times_s(SIZES)))
    assert 3072 < more < 4096
    sizes = np.sort(np.append(SIZES, [4000.0]))
    assert between_bends(fit_pieces(sizes, times_s(sizes))) == []


@given(limit=st.integers(1, 5000), largest=st.sampled_from([1024, 4096, 5000]))
def test_the_first_size_that_waits_is_found_to_the_byte(limit: int, largest: int) -> None:
    asked: list[int] = []

    def is_eager(size: int) -> bool:
        asked.append(size)
        return size < limit

    assert first_waiting(is_eager, largest) == (limit if limit <= largest else 0)
    assert len(asked) < 25 and max(asked) <= largest
