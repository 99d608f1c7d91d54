"""Rules that can change the bits of floating-point results are named, and --same-bits leaves them out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_factory import algorithms, choice, installation

from offbeat.errors import RunFailed
from offbeat.study.algorithm import DEFAULT
from offbeat.study.collectives import COLLECTIVES, REDUCING
from offbeat.tuning.plan import plan
from offbeat.tuning.same_bits import bits_notes, with_same_bits
from offbeat.tuning.write import write


def _choice(collective: str):
    return choice(collective, 4, 1024, "way1")


@given(st.sets(st.sampled_from(COLLECTIVES), min_size=1))
def test_same_bits_keeps_exactly_the_rules_of_collectives_without_an_operation(names):
    choices = [_choice(name) for name in sorted(names)]
    if names <= set(REDUCING):
        with pytest.raises(RunFailed, match="--same-bits: there is nothing to export"):
            with_same_bits(choices)
        return
    kept = {one.configuration.collective for one in with_same_bits(choices) if one.algorithm != DEFAULT}
    assert kept == names - set(REDUCING)
    assert bits_notes(kept) == []


@pytest.mark.parametrize(("family", "version"), [("openmpi", (5, 0, 11)), ("intelmpi", (2021, 18, 1))])
def test_a_tuning_file_with_rules_of_reductions_says_that_bits_can_change(family, version, tmp_path):
    texts = {}
    for collective in ("allreduce", "alltoall"):
        made = plan([_choice(collective)], algorithms(family, collective), library={"family": family})
        files = write(made, installation(family, version), tmp_path / collective)
        texts[collective] = files.files[0].read_text()
        assert any("--same-bits" in note for note in files.notes) == (collective == "allreduce")
    assert "# The rules of allreduce can change the last bits of floating-point results" in texts["allreduce"]
    assert "bits" not in texts["alltoall"]
