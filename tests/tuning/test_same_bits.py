"""Rules that can change the bits of floating-point results are named, and --same-bits leaves them out."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_factory import algorithms, choice, installation

from offbeat.base.errors import RunFailed
from offbeat.model.study.algorithm import DEFAULT, Verdict
from offbeat.model.study.collectives import COLLECTIVES, REDUCING
from offbeat.selection.tuning_files.export import write
from offbeat.selection.tuning_files.same_bits import (
    bits_notes,
    cases_with_same_bits,
    sum_digests,
    with_same_bits,
)
from offbeat.selection.tuning_files.tuning_plan import plan

PROCESSES = (2, 4, 8)
SIZES = (8, 64, 512, 4096)
DIGESTS = st.dictionaries(
    st.tuples(st.sampled_from(PROCESSES), st.sampled_from(SIZES)),
    st.tuples(st.sampled_from(("", "a", "a", "a", "b")), st.sampled_from(("a", "a", "a", ""))),
    min_size=1,
)
"""(p, size) → the digests of the algorithm and of the default."""


def _choice(collective: str):
    return choice(collective, 4, 1024, "way1")


def verdicts(collective: str, digests: Mapping[tuple[int, int], tuple[str, str]]) -> list[Verdict]:
    return [
        Verdict(collective=collective, algorithm=name, p=p, bytes=size, status="proved", bits=bits)
        for (p, size), pair in digests.items()
        for name, bits in zip(("way1", DEFAULT), pair, strict=True)
    ]


@given(DIGESTS, st.sampled_from(PROCESSES), st.sampled_from(SIZES))
def test_a_rule_keeps_bits_if_the_digests_are_equal_wherever_it_can_apply(digests, p, size) -> None:
    """A rule for p and a size applies to every call that no other measured call lies between."""

    def is_within_reach(other_p: int, other_size: int) -> bool:
        processes = {one for one, _ in digests}
        between_p = {one for one in processes if min(p, other_p) < one < max(p, other_p)}
        sizes = {one for same_p, one in digests if same_p == other_p}
        between = {one for one in sizes if min(size, other_size) < one < max(size, other_size)}
        return not between_p and not between

    pairs = [pair for (other_p, other), pair in digests.items() if is_within_reach(other_p, other)]
    keeps = (p, size) in digests and all(own and own == default for own, default in pairs)
    known = sum_digests(verdicts("allreduce", digests))
    assert known.can_differ("allreduce", "way1", p, size) == (not keeps)
    assert not known.can_differ("allreduce", DEFAULT, p, size)
    chosen = [choice("allreduce", p, size, "way1"), choice("bcast", p, size, "way1")]
    kept = with_same_bits(chosen, verdicts("allreduce", digests))
    assert [one.algorithm for one in kept] == ["way1" if keeps else DEFAULT, "way1"]
    rows = [("allreduce", "way1", p, size), ("allreduce", DEFAULT, p, size), ("bcast", "way1", p, size)]
    cases = pl.DataFrame(rows, schema=["collective", "algorithm", "p", "bytes"], orient="row")
    left = cases_with_same_bits(cases, verdicts("allreduce", digests)).rows()
    assert left == (rows if keeps else rows[1:])


@given(st.sets(st.sampled_from(COLLECTIVES), min_size=1))
def test_without_digests_same_bits_keeps_the_rules_of_collectives_without_an_operation(names):
    choices = [_choice(name) for name in sorted(names)]
    if names <= set(REDUCING):
        with pytest.raises(RunFailed, match="--same-bits: there is nothing to export"):
            with_same_bits(choices, [])
        return
    same = with_same_bits(choices, [])
    kept = {one.configuration.collective for one in same if one.algorithm != DEFAULT}
    assert kept == names - set(REDUCING)
    assert bits_notes(kept) == []


@pytest.mark.parametrize(("family", "version"), [("openmpi", (5, 0, 11)), ("intelmpi", (2021, 18, 1))])
def test_a_tuning_file_says_that_bits_can_change_unless_the_digests_are_equal(family, version, tmp_path):
    texts = {}
    for name, collective, bits in (
        ("unknown", "allreduce", ""),
        ("other", "allreduce", "b"),
        ("equal", "allreduce", "a"),
        ("moved", "alltoall", ""),
    ):
        made = plan(
            [_choice(collective)],
            algorithms(family, collective),
            library={"family": family},
            verdicts=verdicts(collective, {(4, 1024): (bits, "a")}),
        )
        files = write(made, installation(family, version), tmp_path / name)
        texts[name] = files.files[0].read_text()
        assert any("--same-bits" in note for note in files.notes) == (name in ("unknown", "other"))
    for name in ("unknown", "other"):
        assert "# Rules of allreduce can change the last bits of floating-point results" in texts[name]
    assert "bits" not in texts["equal"] and "bits" not in texts["moved"]
