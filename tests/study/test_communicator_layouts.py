"""Layouts of communicators: their members, the delay of a repetition, and layouts that studies refuse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.base.errors import BadInput
from offbeat.measurement.results.blocks import Samples, delays
from offbeat.model.study.case import Case
from offbeat.model.study.case_expansion import cases, groups
from offbeat.model.study.communicators import CommunicatorLayout, layout_of_members
from offbeat.model.study.study_file import load

layouts = st.builds(
    lambda p, stride, blocks: CommunicatorLayout(p=p, communicators=stride * blocks, stride=stride),
    st.integers(2, 7),
    st.integers(1, 6),
    st.integers(1, 4),
)


@given(layouts)
def test_every_process_is_one_member_of_one_communicator(layout: CommunicatorLayout) -> None:
    ranks = layout.ranks
    assert sorted(ranks.ravel()) == list(range(layout.total))
    assert (layout.members[ranks] == np.arange(layout.p)).all()
    assert (np.diff(ranks, axis=1) == layout.stride).all()


@given(layouts, st.data())
def test_a_layout_is_recognised_from_any_of_its_communicators(
    layout: CommunicatorLayout, data: st.DataObject
) -> None:
    one = data.draw(st.integers(0, layout.communicators - 1))
    found = layout_of_members(layout.ranks[one], layout.total)
    assert found == (layout if layout.communicators > 1 else None)


@pytest.mark.parametrize(
    ("members", "size"),
    [([0, 1, 3], 12), ([2, 1, 0], 12), ([1, 2], 4), ([0, 3], 6 + 1), ([0], 4), ([0, 2], 6)],
)
def test_other_communicators_have_no_layout(members: list[int], size: int) -> None:
    assert layout_of_members(np.array(members), size) is None


def test_rows_and_columns_of_a_grid() -> None:
    rows = CommunicatorLayout(p=4, communicators=3, stride=1)
    columns = CommunicatorLayout(p=3, communicators=4, stride=4)
    assert rows.ranks.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert columns.ranks.tolist() == [[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]]
    assert rows.placement(3, 4) == (1, 4)
    assert columns.placement(3, 4) == (3, 1)
    assert rows.placement(2, 6) == (2, 0)
    assert columns.placement(0, 0) == (0, 0)


@given(layouts, st.integers(1, 5), st.integers(0, 2**31))
def test_the_delay_of_a_repetition_is_the_mean_over_communicators(
    layout: CommunicatorLayout, repetitions: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    arrivals = random.random((repetitions, layout.total))
    exits = arrivals + random.random(arrivals.shape)
    valid = np.ones(repetitions, dtype=bool)
    last_s, total_s = delays(Samples(arrivals_s=arrivals, exits_s=exits, valid=valid, layout=layout))
    alone = [
        delays(Samples(arrivals_s=arrivals[:, ranks], exits_s=exits[:, ranks], valid=valid))
        for ranks in layout.ranks
    ]
    assert last_s == pytest.approx(np.mean([last for last, _ in alone], axis=0))
    assert total_s == pytest.approx(np.mean([total for _, total in alone], axis=0))


STUDY = """
[[collective]]
names = ["allreduce"]
sizes = ["8 B"]
communicators = {communicators}
stride = {stride}
[processes]
p = [12]
"""


def study(folder: Path, communicators: object, stride: object, more: str = "") -> Path:
    path = folder / "study.toml"
    path.write_text(STUDY.format(communicators=communicators, stride=stride) + more)
    return path


def test_p_is_that_of_a_communicator_and_a_launch_has_all_processes(tmp_path: Path) -> None:
    loaded = load(study(tmp_path, 4, 2))
    (group,) = groups(loaded.study)
    (case, *_) = cases(group, ["ring"], loaded.study)
    assert (case.p, case.communicators, case.stride, case.processes) == (3, 4, 2, 12)


@pytest.mark.parametrize(
    ("communicators", "stride", "more", "message"),
    [
        (5, 1, "", "12 processes cannot be divided into 5 communicators of two or more"),
        (12, 1, "", "12 processes cannot be divided into 12 communicators of two or more"),
        (4, 3, "", "stride 3 does not divide the 4 communicators"),
        (0, 1, "", "communicators"),
        (4, -1, "", "stride"),
        (10**12, 1, "", "communicators"),
        (
            4,
            2,
            "[patterns]\nshapes = ['node_delayed']\n",
            "each of several communicators has the same delays",
        ),
        ("'two'", 1, "", "communicators"),
    ],
)
def test_impossible_layouts_are_refused(
    tmp_path: Path, communicators: object, stride: object, more: str, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        load(study(tmp_path, communicators, stride, more))


def test_a_pattern_file_has_a_delay_for_each_member(tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("0\n1e-6\n2e-6\n")
    load(study(tmp_path, 4, 2, "[patterns]\nfiles = ['own.txt']\n"))
    with pytest.raises(BadInput, match="the pattern has 3 delays, but p = 6 processes need 6"):
        load(study(tmp_path, 2, 1, "[patterns]\nfiles = ['own.txt']\n"))


def test_a_case_of_one_communicator_has_the_name_that_it_always_had() -> None:
    plain = {
        "collective": "bcast",
        "algorithm": "ring",
        "bytes": 8,
        "pattern": "no_delay",
        "shape": "no_delay",
    }
    case = Case(**plain, skew_policy="none", skew_factor=0.0, p=4, nodes=0, ppn=0)  # type: ignore[arg-type]
    assert case.id == "47209df7cd5428f0"
