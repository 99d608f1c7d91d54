"""Who sends what to whom in an exchange, and which ranks are delayed when."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from program_texts import RING, WORK, program

from offbeat.base.errors import BadInput
from offbeat.programs.description.neighbours import balanced_sides, messages
from offbeat.programs.description.noise import Delays, delays
from offbeat.programs.description.schema import PhaseSection


def exchange(**keys: object) -> PhaseSection:
    return PhaseSection(kind="exchange", **({"bytes": [100]} | keys))


def pairs(phase: PhaseSection, p: int) -> Counter[tuple[int, int]]:
    sent = messages(phase, p)
    return Counter(zip(sent.source.tolist(), sent.target.tolist(), strict=True))


def test_a_ring_is_closed_and_a_line_is_not() -> None:
    assert pairs(exchange(), 4) == Counter([(0, 1), (1, 2), (2, 3), (3, 0), (1, 0), (2, 1), (3, 2), (0, 3)])
    assert pairs(exchange(neighbours="line"), 3) == Counter([(0, 1), (1, 2), (1, 0), (2, 1)])
    assert pairs(exchange(), 2) == Counter({(0, 1): 2, (1, 0): 2})
    assert not pairs(exchange(), 1)


def test_a_grid_has_neighbours_along_each_dimension_with_sizes_of_their_own() -> None:
    sent = messages(exchange(neighbours="grid", grid=[3, 2], bytes=[10, 20], periodic=False), 6)
    sizes = {(s, t): b for s, t, b in zip(sent.source, sent.target, sent.bytes, strict=True)}
    assert sizes[0, 1] == 20 and sizes[0, 2] == 10 and (0, 3) not in sizes  # ranks vary fastest in the last
    assert len(sizes) == 2 * (2 * 2 + 3 * 1)


def test_a_box_has_26_neighbours_with_sizes_of_faces_edges_and_corners() -> None:
    sent = messages(exchange(neighbours="box", grid=[3, 3, 3], edge_bytes=5, corner_bytes=1), 27)
    assert Counter(sent.bytes[sent.source == 13].tolist()) == {100: 6, 5: 12, 1: 8}
    inner = messages(exchange(neighbours="box", grid=[3, 3, 3], periodic=False), 27)
    counts = np.bincount(inner.source)
    assert counts.min() == 7 and counts.max() == 26  # a corner, and the middle


@given(st.sampled_from(["ring", "line", "grid", "box", "offsets"]), st.integers(1, 40), st.booleans())
def test_whoever_sends_to_a_neighbour_receives_from_it(kind: str, p: int, periodic: bool) -> None:
    sent = pairs(
        exchange(neighbours=kind, periodic=periodic, offsets=[-3, 3] if kind == "offsets" else []), p
    )
    assert all(sent[target, source] == count for (source, target), count in sent.items())
    assert all(source != target for source, target in sent)


@given(st.integers(1, 5000), st.integers(1, 3))
def test_sides_of_a_grid_have_the_product_p(p: int, dimensions: int) -> None:
    assert math.prod(balanced_sides(p, dimensions)) == p


def test_sides_are_of_about_the_same_length() -> None:
    assert balanced_sides(64, 3) == [4, 4, 4]
    assert balanced_sides(1280, 3) == [16, 10, 8]
    assert balanced_sides(7, 3) == [7, 1, 1]


def test_a_grid_of_another_number_of_ranks_is_refused() -> None:
    with pytest.raises(BadInput, match="the grid 3 × 2 has 6 ranks, and the program runs with 8"):
        messages(exchange(neighbours="grid", grid=[3, 2]), 8)


def drawn(*lines: str, p: int = 8, domains: int = 2, iterations: int = 100) -> Delays:
    noise = '[[noise]]\nphase = "triad"\ntime = "2 ms"\n' + "\n".join(lines)
    delayed = program(WORK, RING, noise, ranks=p, iterations=iterations)
    (one,) = delays(delayed, np.arange(p, dtype=np.int32) * domains // p)
    return one


def test_delays_are_in_the_iterations_that_the_file_says() -> None:
    every = drawn("every = 25", "first = 30", "last = 90")
    assert every.iteration.tolist() == [49, 74]  # numbers 50 and 75
    assert drawn("every = 4").iteration.tolist() == list(range(3, 100, 4))
    assert (every.time_s == 2e-3).all()


def test_each_domain_has_a_delayed_rank() -> None:
    one = drawn('pick = "each_domain"', "every = 10")
    assert len(one.rank) == 20
    assert (one.rank.reshape(10, 2) // 4 == [0, 1]).all()
    assert len(set(one.rank)) > 4  # random ones


def test_random_ranks_differ_from_each_other() -> None:
    one = drawn("count = 5")
    assert all(len(set(ranks)) == 5 for ranks in one.rank.reshape(100, 5))


def test_exponential_delays_have_the_mean_of_the_file() -> None:
    one = drawn('distribution = "exponential"', 'pick = "all"', iterations=1000)
    assert one.time_s.mean() == pytest.approx(2e-3, rel=0.05)
    assert one.time_s.std() == pytest.approx(2e-3, rel=0.1)


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["count = 9"], r"noise\[0\].count: 9 ranks are to be delayed, and there are 8"),
        (['pick = "list"', "ranks = [8]"], r"noise\[0\].ranks: there is no rank 8 of 8"),
    ],
)
def test_ranks_that_do_not_exist_are_refused(lines: list[str], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        drawn(*lines)
