"""A study expands to every case that it requests, once, in a reproducible order."""

from __future__ import annotations

import itertools

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from study_strategies import studies

from offbeat.base.errors import BadInput
from offbeat.model.pattern import replay_file, shapes
from offbeat.model.study.case_expansion import cases, delays_s, group_of, groups, order, pattern_rows
from offbeat.model.study.duration_estimate import LAUNCH_S, estimate
from offbeat.model.study.schema import Study
from offbeat.model.study.study_file import loads

pytestmark = pytest.mark.slow

HEAD = """[[collective]]
names = ["reduce", "barrier"]
sizes = [8, 1024]
root = 1
[[collective]]
names = ["alltoall"]
sizes = [64]
datatype = "int"
algorithms = ["linear", "pairwise"]
"""
TEXT = HEAD + "[processes]\np = [2, 4]\n"


def study_of(text: str) -> Study:
    return loads(text, "study.toml").study


def test_groups_are_placements_times_collectives_times_sizes():
    by_group = [(g.p, g.collective, g.bytes) for g in groups(study_of(TEXT))]
    each = [("reduce", 8), ("reduce", 1024), ("barrier", 0), ("alltoall", 64)]
    assert by_group == [(p, *cell) for p in (2, 4) for cell in each]


def test_operation_datatype_and_root_are_empty_where_a_collective_has_none():
    by_group = {g.collective: (g.op, g.datatype, g.root) for g in groups(study_of(TEXT))}
    assert by_group == {"reduce": ("sum", "double", 1), "barrier": ("", "", 0), "alltoall": ("", "int", 0)}


def test_nodes_are_combined_with_processes_per_node():
    text = HEAD + "[processes]\nnodes = [1, 2]\nppn = [2, 4]\n"
    by_group = dict.fromkeys((g.p, g.nodes, g.ppn) for g in groups(study_of(text)))
    assert list(by_group) == [(2, 1, 2), (4, 1, 4), (4, 2, 2), (8, 2, 4)]


def test_a_group_has_its_requested_algorithms():
    by_group = {g.collective: g.algorithms for g in groups(study_of(TEXT))}
    assert by_group["reduce"] == ["all"]
    assert by_group["alltoall"] == ["linear", "pairwise"]


def rows(more: str, tmp_path=None) -> list[tuple[str, str, str, float]]:
    base = tmp_path / "study.toml" if tmp_path else "study.toml"
    study = loads(HEAD + "[processes]\np = [4]\n" + more, base).study
    return [(r.label, r.shape, r.policy.key, r.factor) for r in pattern_rows(study, groups(study)[0])]


def test_one_skew_needs_no_mark_in_the_label():
    assert rows('[patterns]\nshapes = ["ascending", "no_delay"]\n[skew]\nfactors = [0.5]') == [
        ("no_delay", "no_delay", "none", 0.0),
        ("ascending", "ascending", "mean", 0.5),
    ]


def test_several_skews_are_marked_with_their_factor_or_time():
    shapes = '[patterns]\nshapes = ["bell"]\n[skew]\n'
    assert rows(shapes + 'policy = "own"\nfactors = [0.5, 1, 1.5]')[1:] == [
        ("bell×0.5", "bell", "own", 0.5),
        ("bell×1", "bell", "own", 1.0),
        ("bell×1.5", "bell", "own", 1.5),
    ]
    assert rows(shapes + 'policy = "fixed"\ntimes = ["100 us", "1.5 ms"]') == [
        ("bell×100us", "bell", "fixed", 1e-4),
        ("bell×1.5ms", "bell", "fixed", 1.5e-3),
    ]


def test_no_delay_is_measured_where_the_skew_is_a_multiple_of_its_runtime():
    shapes = '[patterns]\nshapes = ["bell"]\n[skew]\n'
    for policy, expected in (("mean", True), ("own", True), ("fixed", False)):
        more = 'times = ["1 ms"]' if policy == "fixed" else ""
        labels = [label for label, *_ in rows(f'{shapes}policy = "{policy}"\n{more}')]
        assert ("no_delay" in labels) == expected


def test_a_replay_is_a_row_of_its_own_that_nothing_scales(tmp_path):
    (tmp_path / "ft.replay").write_text("0 1 2 3\n3 0 1 2\n")
    text = HEAD + "[processes]\np = [4]\n"
    text += '[patterns]\nshapes = []\nreplays = ["ft.replay"]\nscale_files = true\n[skew]\nfactors = [1, 2]'
    loaded = loads(text, tmp_path / "study.toml")
    study = loaded.study
    assert [(row.label, row.policy.key, row.factor) for row in pattern_rows(study, groups(study)[0])] == [
        ("no_delay", "none", 0.0),
        ("ft", "replay", 1.0),
    ]
    case = cases(groups(loaded.study)[0], ["linear"], loaded.study)[1]
    assert delays_s(loaded, case, 0.0).tolist() == [[0, 1, 2, 3], [3, 0, 1, 2]]
    assert list(loaded.file_digests()) == ["ft.replay"]


def test_a_section_has_processes_patterns_and_skews_of_its_own(tmp_path):
    (tmp_path / "row.txt").write_text("0\n1e-3\n")
    (tmp_path / "world.replay").write_text("0 1 2 3\n3 0 1 2\n")
    text = """
[[collective]]
names = ["bcast"]
sizes = [8]
p = [2]
files = ["row.txt"]
skews = ["1 ms", "2 ms"]
[[collective]]
names = ["bcast", "barrier"]
sizes = [8]
p = [4]
replays = ["world.replay"]
[processes]
p = [2, 4]
[patterns]
shapes = ["ascending"]
[skew]
policy = "own"
"""
    study = loads(text, tmp_path / "study.toml").study
    measured = {
        (group.collective, group.p): [
            (row.label, row.policy.key, row.factor) for row in pattern_rows(study, group)
        ]
        for group in groups(study)
    }
    of_world = [("no_delay", "none", 0.0), ("ascending", "own", 1.5), ("world", "replay", 1.0)]
    assert measured == {
        ("bcast", 2): [
            ("ascending×1ms", "fixed", 1e-3),
            ("ascending×2ms", "fixed", 2e-3),
            ("row", "file", 1.0),
        ],
        ("bcast", 4): of_world,
        ("barrier", 4): of_world,
    }


def test_a_replay_is_forecast_by_its_calls():
    study = study_of(
        "[[collective]]\nnames = ['barrier']\n[processes]\np = [2]\n[patterns]\nshapes = ['no_delay']"
    )
    patterns = msgspec.structs.replace(study.patterns, replays=["ft.replay"])
    replayed = msgspec.structs.replace(study, patterns=patterns)
    calls = replay_file.Replay(name="ft", delays_s=np.tile([0.0, 1e-3], (200, 1)))
    alone = estimate(study, {}).low_s
    assert estimate(replayed, {}, replays={"ft": calls}).low_s == pytest.approx(
        alone + 200 * (0.5e-3 + 1e-3 + 1e-5)
    )


def test_pattern_files_are_used_as_they_are_or_scaled(tmp_path):
    (tmp_path / "ft.v2.txt").write_text("0\n1\n4\n2\n")
    files = '[patterns]\nshapes = []\nfiles = ["ft.v2.txt"]\n'
    assert rows(files + "[skew]\nfactors = [1, 2]", tmp_path)[1:] == [("ft.v2", "ft.v2", "file", 1.0)]
    assert rows(files + "scale_files = true\n[skew]\nfactors = [1, 2]", tmp_path)[1:] == [
        ("ft.v2×1", "ft.v2", "mean", 1.0),
        ("ft.v2×2", "ft.v2", "mean", 2.0),
    ]


def test_the_delays_of_a_case_are_its_shape_or_its_file(tmp_path):
    (tmp_path / "ft.txt").write_text("0\n1e-3\n4e-3\n2e-3\n")
    text = '[[collective]]\nnames = ["barrier"]\n[processes]\np = [4]\n'
    for scaled, expected in (("false", [0, 1e-3, 4e-3, 2e-3]), ("true", [0, 1.0, 4.0, 2.0])):
        more = f'[patterns]\nshapes = ["random"]\nseed = 5\nfiles = ["ft.txt"]\nscale_files = {scaled}\n'
        loaded = loads(text + more, tmp_path / "study.toml")
        (group,) = groups(loaded.study)
        by_label = {case.pattern: case for case in cases(group, ["default"], loaded.study)}
        np.testing.assert_allclose(delays_s(loaded, by_label["ft"], 4.0), expected, rtol=1e-12)
        assert delays_s(loaded, by_label["ft"], 4.0).max() in (4e-3, 4.0)
        np.testing.assert_array_equal(delays_s(loaded, by_label["no_delay"], 0.0), np.zeros(4))
        drawn = shapes.delays("random", 4, 2.0, seed=5)
        np.testing.assert_array_equal(delays_s(loaded, by_label["random"], 2.0), drawn)


def test_a_missing_pattern_file_is_reported(tmp_path):
    (tmp_path / "ft.txt").write_text("0\n1e-3\n")
    text = '[[collective]]\nnames = ["barrier"]\n[processes]\np = [2]\n[patterns]\nfiles = ["ft.txt"]\n'
    loaded = loads(text, tmp_path / "study.toml")
    (tmp_path / "ft.txt").unlink()
    case = next(c for c in cases(groups(loaded.study)[0], ["x"], loaded.study) if c.pattern == "ft")
    with pytest.raises(BadInput, match=r"ft\.txt"):
        delays_s(loaded, case, 0.0)


def all_cases(study: Study, names: list[str]) -> list:
    return [case for group in groups(study) for case in cases(group, names, study)]


@given(studies())
def test_every_case_is_requested_once_and_has_its_group(study: Study):
    every_case = all_cases(study, ["default", "linear"])
    assert len({case.id for case in every_case}) == len(every_case)
    assert len(every_case) == len(groups(study)) * 2 * len(pattern_rows(study, groups(study)[0]))
    for group in groups(study)[:5]:
        for case in cases(group, ["a"], study):
            bare = group_of(case)
            assert (bare.collective, bare.bytes, bare.p, bare.op) == (
                group.collective,
                group.bytes,
                group.p,
                group.op,
            )


@given(studies())
def test_labels_of_patterns_are_unique(study: Study):
    labels = [row.label for row in pattern_rows(study, groups(study)[0])]
    assert len(set(labels)) == len(labels)


@given(studies(), st.integers(0, 2**63), st.randoms())
def test_the_order_depends_on_the_cases_and_the_seed_alone(study: Study, seed: int, random):
    asked = all_cases(study, ["default", "linear", "binomial"])[:200]
    shuffled = asked.copy()
    random.shuffle(shuffled)
    ordered = order(asked, seed)
    assert ordered == order(shuffled, seed)
    assert sorted(case.id for case in ordered) == sorted(case.id for case in asked)


@given(studies(), st.integers(0, 100))
def test_each_group_is_measured_contiguously_and_without_delay_first(study: Study, seed: int):
    ordered = order(all_cases(study, ["default", "linear"])[:300], seed)
    runs = [key for key, _ in itertools.groupby(ordered, key=group_key)]
    assert len(runs) == len(set(runs))
    for _, members in itertools.groupby(ordered, key=group_key):
        delayed = [case.skew_policy != "none" for case in members]
        assert delayed == sorted(delayed)
    placements = [(case.p, case.nodes, case.ppn) for case in ordered]
    assert placements == sorted(placements)


@given(studies(), st.integers(0, 100), st.integers(1, 5))
def test_in_later_rounds_a_group_switches_to_each_algorithm_once(study: Study, seed: int, number: int):
    ordered = order(all_cases(study, ["default", "linear", "binomial"])[:300], seed, number)
    runs = [key for key, _ in itertools.groupby(ordered, key=lambda case: (group_key(case), case.algorithm))]
    assert len(runs) == len(set(runs))


def group_key(case) -> tuple:
    return (case.collective, case.bytes, case.p, case.nodes, case.ppn, case.op, case.datatype, case.root)


def test_the_order_is_shuffled_and_another_seed_gives_another_one():
    asked = all_cases(study_of(TEXT), ["a", "b", "c", "d"])
    first, second = order(asked, 1), order(asked, 2)
    assert first != second
    delayed = [c for c in first if group_key(c) == group_key(first[0]) and c.skew_policy != "none"]
    assert [c.algorithm for c in delayed] != sorted(c.algorithm for c in delayed)
    assert [c.pattern for c in delayed] != sorted(c.pattern for c in delayed)


def test_the_order_is_the_same_on_every_machine_and_release():
    asked = all_cases(study_of(TEXT), ["a", "b"])
    beginning = [(c.collective, c.bytes, c.algorithm, c.pattern) for c in order(asked, 1)[:4]]
    assert beginning == [
        ("alltoall", 64, "a", "no_delay"),
        ("alltoall", 64, "b", "no_delay"),
        ("alltoall", 64, "a", "descending"),
        ("alltoall", 64, "a", "first_delayed"),
    ]


# --- the estimate


def test_the_estimate_counts_every_case_and_grows_with_repetitions():
    study = study_of(TEXT)
    counts = {"reduce": 3, "barrier": 2, "alltoall": 9}
    few = estimate(study, counts)
    assert few.cases == 2 * (2 * 3 + 2 + 2) * 7  # alltoall: two algorithms are requested by name
    assert LAUNCH_S * 2 < few.low_s < few.high_s
    many = estimate(study_of(TEXT + "[repetitions]\nminimum = 100\n"), counts)
    assert many.low_s > few.low_s
    assert estimate(study, counts, launches=20).low_s == pytest.approx(few.low_s + 18 * 5 * LAUNCH_S)


def test_processes_that_share_a_core_are_forecast_to_wait_for_each_other():
    text = "[[collective]]\nnames = ['reduce']\nsizes = [8]\n[processes]\np = [5000]\n"
    alone = estimate(study_of(text), {"reduce": 3}, cores=lambda _: 5000)
    sharing = estimate(study_of(text), {"reduce": 3}, cores=lambda _: 2)
    assert "share a" not in alone.how
    assert "up to 2.5e+03 processes share a" in sharing.how
    assert sharing.low_s > 5000 * 0.05 / 2  # starting them once takes that much CPU time
    assert sharing.low_s > 100 * alone.low_s > 0
    assert sharing.high_s > sharing.low_s


def test_the_estimate_never_exceeds_the_time_cap_of_its_cases():
    study = study_of(TEXT + "[repetitions]\nmaximum = 1000000\ntime_cap = 1.0\n")
    estimated = estimate(study, {"reduce": 1, "barrier": 1})
    assert estimated.high_s == pytest.approx(estimated.cases * 1.0 + 2 * 5 * LAUNCH_S)
    assert "repetitions a case" in estimated.how
