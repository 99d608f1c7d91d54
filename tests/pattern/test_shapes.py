import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.base.errors import BadInput
from offbeat.model.pattern.shapes import SHAPES, delays, describe

P = st.integers(2, 300)
SKEW_S = st.floats(1e-12, 86400.0)
SEED = st.integers(0, 2**64)


@pytest.mark.parametrize("shape", [name for name in SHAPES if name != "no_delay"])
@given(p=P, skew_s=SKEW_S, seed=SEED)
def test_every_shape_spans_exactly_zero_to_the_skew(shape, p, skew_s, seed):
    drawn = delays(shape, p, skew_s, seed=seed, ppn=max(p // 3, 1))
    assert drawn.shape == (p,)
    assert drawn.min() == 0.0
    assert drawn.max() == skew_s


@pytest.mark.parametrize("shape", SHAPES)
@given(skew_s=st.floats(0, 86400.0), seed=SEED)
def test_one_process_is_never_delayed(shape, skew_s, seed):
    assert delays(shape, 1, skew_s, seed=seed, ppn=1).tolist() == [0.0]


@pytest.mark.parametrize("shape", SHAPES)
@given(p=P)
def test_a_skew_of_zero_delays_nobody(shape, p):
    assert not delays(shape, p, 0.0, ppn=1).any()


@given(p=P, skew_s=SKEW_S)
def test_descending_is_ascending_reversed(p, skew_s):
    assert np.array_equal(delays("descending", p, skew_s), delays("ascending", p, skew_s)[::-1])


@given(p=P, skew_s=SKEW_S)
def test_ascending_rises_from_rank_to_rank(p, skew_s):
    assert (np.diff(delays("ascending", p, skew_s)) > 0).all()


@given(p=P, seed=SEED)
def test_random_is_the_same_for_the_same_seed(p, seed):
    assert np.array_equal(delays("random", p, 1.0, seed=seed), delays("random", p, 1.0, seed=seed))


def test_random_with_a_seed_is_what_it_was_in_every_release():
    known = [0.4559843109515284, 1.0, 0.0, 0.9977499193845367, 0.20795112253545495]
    assert delays("random", 5, 1.0, seed=1) == pytest.approx(known, rel=1e-12)


@pytest.mark.parametrize("shape", ["random", "noise"])
def test_other_seeds_draw_other_patterns(shape):
    assert not np.array_equal(delays(shape, 9, 1.0, seed=1), delays(shape, 9, 1.0, seed=2))


def test_noise_is_normally_distributed():
    drawn = delays("noise", 20_000, 1.0)
    inside = np.abs(drawn - drawn.mean()) < drawn.std()
    assert inside.mean() == pytest.approx(0.683, abs=0.01)


@pytest.mark.parametrize(
    ("shape", "p", "late"),
    [
        ("first_delayed", 4, [0]),
        ("last_delayed", 4, [3]),
        ("mid_delayed", 4, [2]),
        ("mid_delayed", 5, [2]),
        ("half_delayed", 4, [2, 3]),
        ("half_delayed", 5, [3, 4]),
        ("no_delay", 5, []),
    ],
)
def test_the_named_ranks_are_late(shape, p, late):
    assert np.flatnonzero(delays(shape, p, 2.5)).tolist() == late


@given(p=P)
def test_the_bell_rises_to_the_middle_and_falls_after_it(p):
    drawn = delays("bell", p, 1.0)
    steps = np.diff(drawn)
    assert drawn.argmax() == p // 2
    assert (steps[: p // 2] > 0).all()
    assert (steps[p // 2 :] < 0).all()


@pytest.mark.parametrize(
    ("p", "ppn", "late"), [(8, 4, [4, 5, 6, 7]), (9, 4, [8]), (4, 1, [3]), (6, 4, [4, 5])]
)
def test_node_delayed_delays_the_ranks_of_the_last_node(p, ppn, late):
    assert np.flatnonzero(delays("node_delayed", p, 1.0, ppn=ppn)).tolist() == late


def test_every_shape_has_a_description():
    assert all(describe(shape).endswith(".") for shape in SHAPES)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("sideways", 4, 1.0), "no shape 'sideways'; the shapes are no_delay"),
        (("bell", 0, 1.0), "p = 0"),
        (("bell", 10**12, 1.0), "p = 1000000000000"),
        (("bell", 4, -1.0), "not -1.0 s"),
        (("bell", 4, float("nan")), "not nan s"),
        (("bell", 4, float("inf")), "not inf s"),
        (("bell", 4, 86401.0), "one day"),
        (("node_delayed", 4, 1.0), "--ppn"),
    ],
)
def test_a_pattern_that_cannot_be_drawn_is_refused_with_a_sentence(arguments, sentence):
    with pytest.raises(BadInput, match=sentence):
        delays(*arguments)


def test_node_delayed_on_one_node_is_refused_because_it_would_delay_nobody():
    with pytest.raises(BadInput, match="two nodes"):
        delays("node_delayed", 4, 1.0, ppn=4)


def test_a_negative_seed_is_refused():
    with pytest.raises(BadInput, match="seed"):
        delays("random", 4, 1.0, seed=-1)
