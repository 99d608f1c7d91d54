"""The confidence in a choice from resampled studies, and when it is unknown."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from measured import case, matrix, results

from offbeat.selection.choices.choose import choose, select

CLEAR = matrix({"no_delay": {"a": 1.0, "b": 2.0}, "random": {"a": 1.0, "b": 3.0}})
CLOSE = matrix({"no_delay": {"a": 1.0, "b": 1.01}, "random": {"a": 1.02, "b": 1.0}})


def in_blocks(rows, between, within=0.01, blocks=5, each=6, seed=3, shared=0.0):
    """Repetitions of every case in blocks: each block deviates by its own share (``between``) and by one
    that all cases have in common (``shared``), and its repetitions scatter by another (``within``)."""
    chance = np.random.default_rng(seed)
    common = chance.normal(0, shared, blocks) if shared else np.zeros(blocks)
    samples = {}
    for row in rows:
        off = chance.normal(0, between, blocks)
        noise = chance.normal(0, within, (blocks, each))
        logs = (off - off.mean() + common)[:, None] + noise - np.median(noise, axis=1, keepdims=True)
        samples[row["case"]] = (row["last_delay_s"] * np.exp(logs)).ravel().tolist()
    return samples


def certainty(rows, samples, **options):
    (choice,) = choose(results(rows, samples), options.pop("rule", "average"), **options)
    return choice.certainty


def test_a_clear_winner_has_a_high_confidence():
    confidence = certainty(CLEAR, in_blocks(CLEAR, 0.02))
    assert confidence.same_choice == confidence.within_tolerance == 1.0
    assert confidence.expected_loss == confidence.plausible_loss == 0.0
    assert confidence.ties == []


def test_a_lead_within_the_scatter_of_blocks_is_a_tie_with_a_small_loss():
    confidence = certainty(CLOSE, in_blocks(CLOSE, 0.03))
    assert 0.2 < confidence.same_choice < 0.9
    assert 0 < confidence.expected_loss < confidence.plausible_loss < 0.2
    assert confidence.ties == ["b" if choose(results(CLOSE))[0].algorithm == "a" else "a"]
    assert confidence.noise_floor > 0.02


def test_many_repetitions_in_differing_blocks_do_not_raise_the_confidence():
    """A thousand repetitions a block, each block exact, and blocks 3% apart."""
    confidence = certainty(CLOSE, in_blocks(CLOSE, 0.03, within=1e-6, each=200))
    assert confidence.same_choice < 0.9


def test_noise_common_to_all_cases_of_a_launch_does_not_affect_the_comparison():
    rows = matrix({"no_delay": {"a": 1.0, "b": 1.05}})
    assert certainty(rows, in_blocks(rows, 0.005, shared=0.2, within=0.001)).same_choice > 0.95
    assert certainty(rows, in_blocks(rows, 0.2, within=0.001)).same_choice < 0.9


def test_a_larger_tolerance_counts_more_resampled_studies_as_good():
    samples = in_blocks(CLOSE, 0.05)
    confidence = [
        certainty(CLOSE, samples, within=share).within_tolerance for share in (0.0, 0.02, 0.05, 0.5)
    ]
    assert confidence == sorted(confidence)
    assert confidence[0] == certainty(CLOSE, samples).same_choice
    assert confidence[-1] == 1.0


def test_equal_scores_always_give_the_same_choice():
    rows = matrix({"no_delay": {"b": 1.0, "a": 1.0}})
    confidence = certainty(rows, {row["case"]: [1.0, 1.0] for row in rows})
    assert (confidence.same_choice, confidence.plausible_loss) == (1.0, 0.0)


def test_with_one_block_the_confidence_is_unknown_and_a_caveat_is_printed():
    samples = in_blocks(CLEAR, 0.02)
    (choice,) = choose(results(CLEAR, samples, blocks=1))
    assert choice.certainty is None
    assert any("in only one block" in warning for warning in choice.warnings)


def test_repetitions_of_unknown_blocks_make_the_confidence_unknown():
    measured = results(CLEAR, in_blocks(CLEAR, 0.02))
    measured.repetitions = measured.repetitions.with_columns(block=pl.lit(None, dtype=pl.Int64))
    (choice,) = choose(measured)
    assert choice.certainty is None


def test_a_single_case_with_one_repetition_makes_the_confidence_unknown():
    samples = in_blocks(CLEAR, 0.02)
    samples[CLEAR[3]["case"]] = [3.0]
    assert certainty(CLEAR, samples) is None


def test_the_only_compared_algorithm_has_no_confidence():
    rows = [*matrix({"no_delay": {"a": 1.0}}), case("b", "no_delay", 2.0, proof="unproved")]
    (choice,) = choose(results(rows, in_blocks(rows, 0.01)))
    assert choice.certainty is None
    assert any("only algorithm that could be compared" in one for one in choice.warnings)


def test_an_algorithm_that_is_not_compared_needs_no_repetitions():
    rows = [*CLEAR, case("unproved", "no_delay", 0.1, proof="unproved"), case("gappy", "no_delay", 0.1)]
    assert certainty(rows, in_blocks(CLEAR, 0.02)).same_choice == 1.0


def test_without_resamples_the_confidence_is_omitted_without_a_warning():
    (choice,) = choose(results(CLEAR, in_blocks(CLEAR, 0.02)), bootstrap=0)
    assert choice.certainty is None
    assert choice.warnings == []


def test_invalid_repetitions_do_not_count():
    measured = results(CLEAR, in_blocks(CLEAR, 0.02))
    measured.repetitions = measured.repetitions.with_columns(valid=measured.repetitions["block"] == 0)
    (choice,) = choose(measured)
    assert choice.certainty is None


def test_the_same_seed_gives_the_same_confidence_whatever_else_was_measured():
    samples = in_blocks(CLOSE, 0.05)
    alone = certainty(CLOSE, samples, seed=3)
    others = matrix({"no_delay": {"x": 1.0}}, collective="alltoall")
    more = choose(results(others + CLOSE[::-1], in_blocks(others, 0.1) | samples), seed=3)
    assert [choice.certainty for choice in more if choice.configuration.collective == "reduce"] == [alone]
    assert certainty(CLOSE, samples, seed=4) != alone


EQUAL_PATTERNS = {
    "no_delay": 0.0,
    "ascending": 1e-5,
    "last_delayed": 1e-5,
    "first_delayed": 1e-5,
    "descending": 1e-5,
}


def equal_patterns(differ):
    """Configurations at p=2, where each pattern has an equal one with the same delays; the two differ by a
    share of it."""
    rows = []
    for size in (8, 64, 512, 4096):
        for number, name in enumerate("abc"):
            for pattern, skew_s in EQUAL_PATTERNS.items():
                off = differ if pattern in ("last_delayed", "descending") else 0.0
                delay_s = (1 + number) * (1 + off) * 1e-5
                rows.append(case(name, pattern, delay_s, p=2, bytes=size, skew_s=skew_s))
    return rows


@pytest.mark.parametrize(("differ", "is_widened"), [(0.0, False), (0.3, True)])
def test_cases_with_equal_delays_control_the_noise(differ, is_widened):
    rows = equal_patterns(differ)
    samples = {row["case"]: values for row, values in zip(rows, in_blocks(rows, 0.02).values(), strict=True)}
    selection = select(results(rows, samples))
    assert selection.control.pairs == 4 * 3 * 2
    assert selection.control.median == pytest.approx(differ, abs=1e-9)
    assert (selection.control.scatter_factor > 1.5) == is_widened
    without = [row for row in rows if row["pattern"] not in ("last_delayed", "descending")]
    assert select(results(without, samples)).control is None
