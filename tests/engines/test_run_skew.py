"""The skew of a case: a factor × the mean or own runtime, a fixed time, or the delays of a file."""

from __future__ import annotations

import debug_run
import numpy as np
import pytest
from debug_engine import DebugEngine, Script
from debug_run import SMALL
from hypothesis import given, settings
from hypothesis import strategies as st

from offbeat.measurement.runs.session import NoDelayRuntimes
from offbeat.model.study.case import Case
from offbeat.model.study.skew_policy import UnknownSkew

RUNTIMES = {"default": 50e-6, "fast": 10e-6, "slow": 30e-6, "odd": 20e-6}
SKEW_OF = {
    "mean": '[skew]\npolicy = "mean"\nfactors = [0.5, 1.5]\n',
    "median": '[skew]\npolicy = "median"\nfactors = [1.5]\n',
    "fastest": '[skew]\npolicy = "fastest"\nfactors = [1.5]\n',
    "own": '[skew]\npolicy = "own"\nfactors = [1.5]\n',
    "fixed": '[skew]\npolicy = "fixed"\ntimes = ["100 us"]\n',
}


def applied(tmp_path, text, script=None):
    """(algorithm, pattern) → the delays that the engine was given, for the smaller size."""
    engine = DebugEngine(script or Script(runtimes_s=RUNTIMES))
    debug_run.go(debug_run.study(tmp_path, text), tmp_path / "results", engine)
    return {
        (case.algorithm, case.pattern): engine.delays[case.id] for case in engine.measured if case.bytes == 8
    }


def noted(tmp_path):
    rows = debug_run.cases(tmp_path / "results").iter_rows(named=True)
    return {(row["algorithm"], row["pattern"]): row["skew_s"] for row in rows if row["bytes"] == 8}


def test_the_mean_is_taken_over_the_librarys_algorithms_without_its_own_choice(tmp_path):
    delays = applied(tmp_path, SMALL + SKEW_OF["mean"])
    mean_s = 20e-6 + 1e-9  # the debug engine's repetitions last 0, 1 and 2 ns longer
    for algorithm in RUNTIMES:
        assert delays[algorithm, "ascending×0.5"] == pytest.approx(np.array([0, 0.5, 1]) * 0.5 * mean_s)
        assert delays[algorithm, "last_delayed×1.5"] == pytest.approx(np.array([0, 0, 1]) * 1.5 * mean_s)
        assert delays[algorithm, "no_delay"] == pytest.approx(np.zeros(3))


@pytest.mark.parametrize(("policy", "runtime_s"), [("median", 2e-6), ("fastest", 2e-6), ("mean", 502e-6)])
def test_one_very_slow_algorithm_dominates_only_the_mean(policy, runtime_s):
    runtimes = NoDelayRuntimes(
        (case(algorithm, "none"), time_s)
        for algorithm, time_s in {"a": 1e-6, "b": 2e-6, "c": 3e-6, "slow": 2.002e-3, "default": 9.0}.items()
    )
    if policy == "median":
        runtime_s = 2.5e-6  # between b and c
    assert runtimes.skew_s(case("a", policy, 2.0)) == pytest.approx(2 * runtime_s)


def test_skews_depend_neither_on_the_python_version_nor_on_the_order_of_algorithms():
    """Ten times 0.1 s: sum() gives 0.9999999999999999 before Python 3.12, and 1.0 from then on."""
    names = [f"a{number}" for number in range(10)]
    tenths = NoDelayRuntimes((case(name, "none"), 0.1) for name in names)
    assert tenths.skew_s(case("a0", "mean")) == 0.1
    times_s = [1e-5, 3.3e-6, 7.7e-4, 1.9e-7, 2.2e-5, 0.1, 0.7]
    stored = float.fromhex("0x1.d495eab24d636p-4")
    for order in (times_s, times_s[::-1], sorted(times_s)):
        runtimes = NoDelayRuntimes((case(str(time_s), "none"), time_s) for time_s in order)
        assert runtimes.skew_s(case("0.1", "mean")) == stored


def test_the_policy_own_multiplies_each_algorithms_own_runtime(tmp_path):
    delays = applied(tmp_path, SMALL + SKEW_OF["own"])
    for algorithm, runtime_s in RUNTIMES.items():
        assert delays[algorithm, "ascending"].max() == pytest.approx(1.5 * (runtime_s + 1e-9))


def test_the_policy_fixed_is_the_time_of_the_study(tmp_path):
    delays = applied(tmp_path, SMALL + SKEW_OF["fixed"])
    for algorithm in RUNTIMES:
        assert delays[algorithm, "ascending"].max() == 100e-6


@pytest.mark.parametrize("policy", SKEW_OF)
def test_the_applied_skew_is_stored_with_the_case(tmp_path, policy):
    delays = applied(tmp_path, SMALL + SKEW_OF[policy])
    assert noted(tmp_path) == {key: applied_s.max() for key, applied_s in delays.items()}


@pytest.mark.parametrize("policy", SKEW_OF)
def test_an_unscaled_file_keeps_its_delays_under_every_policy(tmp_path, policy):
    (tmp_path / "trace.txt").write_text("7e-6\n2e-6\n0\n")
    text = SMALL.replace('["no_delay", "ascending", "last_delayed"]', '[]\nfiles = ["trace.txt"]')
    delays = applied(tmp_path, text + SKEW_OF[policy])
    for algorithm in RUNTIMES:
        assert delays[algorithm, "trace"].tolist() == [7e-6, 2e-6, 0]
    assert {noted(tmp_path)[algorithm, "trace"] for algorithm in RUNTIMES} == {7e-6}
    assert set(debug_run.cases(tmp_path / "results")["status"]) == {"measured"}


def test_a_scaled_file_gets_the_policys_skew(tmp_path):
    (tmp_path / "trace.txt").write_text("7e-6\n3.5e-6\n0\n")
    shapes = '["no_delay"]\nfiles = ["trace.txt"]\nscale_files = true'
    text = SMALL.replace('["no_delay", "ascending", "last_delayed"]', shapes)
    delays = applied(tmp_path, text + SKEW_OF["fixed"])
    assert delays["fast", "trace"] == pytest.approx(np.array([100e-6, 50e-6, 0]))


def test_a_lost_no_delay_case_is_left_out_of_the_mean(tmp_path):
    script = Script(runtimes_s=RUNTIMES, failures={("slow", "no_delay"): "crashed"})
    delays = applied(tmp_path, SMALL, script)
    assert delays["fast", "ascending"].max() == pytest.approx(1.5 * (15e-6 + 1e-9))


def test_the_policy_own_without_a_no_delay_runtime_quarantines_the_case(tmp_path):
    script = Script(runtimes_s=RUNTIMES, failures={("slow", "no_delay"): "crashed"})
    delays = applied(tmp_path, SMALL + SKEW_OF["own"], script)
    assert ("slow", "ascending") not in delays
    status, reason = debug_run.status_of(tmp_path / "results")["slow", 8, "ascending"]
    assert status == "quarantined"
    assert reason == "its skew is unknown: slow has no no-delay runtime, on which its skew depends"


def test_without_any_no_delay_case_no_skew_is_known(tmp_path):
    failures = {(name, "no_delay"): "crashed" for name in RUNTIMES}
    delays = applied(tmp_path, SMALL, Script(runtimes_s=RUNTIMES, failures=failures))
    assert {pattern for _, pattern in delays} == {"no_delay"}
    _, reason = debug_run.status_of(tmp_path / "results")["fast", 8, "ascending"]
    assert reason == "its skew is unknown: no algorithm has a no-delay runtime, on which the skew depends"


def case(algorithm="fast", policy="mean", factor=1.0, **other):
    values = {"collective": "reduce", "bytes": 8, "pattern": "x", "shape": "x", "p": 4, "nodes": 0, "ppn": 0}
    return Case(algorithm=algorithm, skew_policy=policy, skew_factor=factor, **(values | other))


@settings(max_examples=50)
@given(
    st.dictionaries(st.sampled_from(["default", "a", "b", "c"]), st.floats(1e-7, 1.0), min_size=1),
    st.floats(0.01, 100.0),
)
def test_every_policy_is_its_formula(runtimes, factor):
    known = NoDelayRuntimes((case(name, "none"), runtime_s) for name, runtime_s in runtimes.items())
    others = [runtime_s for name, runtime_s in runtimes.items() if name != "default"]
    mean_s = np.mean(others or [runtimes["default"]])
    for name, runtime_s in runtimes.items():
        assert known.skew_s(case(name, "mean", factor)) == pytest.approx(factor * mean_s)
        assert known.skew_s(case(name, "own", factor)) == pytest.approx(factor * runtime_s)
        assert known.skew_s(case(name, "fixed", factor)) == factor
        assert known.skew_s(case(name, "none", factor)) == 0.0
        assert known.skew_s(case(name, "file", 1.0)) == 0.0


@pytest.mark.parametrize(
    "other",
    [{"bytes": 16}, {"collective": "bcast"}, {"p": 5}, {"nodes": 2}, {"op": "max"}, {"root": 1}],
)
def test_runtimes_of_another_group_do_not_count(other):
    known = NoDelayRuntimes([(case("fast", "none"), 1e-6)])
    for policy in ("mean", "own"):
        with pytest.raises(UnknownSkew, match="no-delay runtime"):
            known.skew_s(case("fast", policy, **other))


def test_delayed_cases_are_not_used_as_runtimes():
    known = NoDelayRuntimes([(case("fast", "mean"), 1e-6)])
    with pytest.raises(UnknownSkew):
        known.skew_s(case("fast", "own"))
