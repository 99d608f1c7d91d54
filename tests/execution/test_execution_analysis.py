"""What is computed from the table: lockstep, skew, idle waves, which ranks are alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ring_traces import POST_NS, SUM_NS, TRANSFER_NS, US, Ring, computing

from offbeat.programs.iterations.report import Report, analyse
from offbeat.programs.iterations.similarity import clusters, components, correlations, silhouette
from offbeat.programs.iterations.summary import sentences
from offbeat.programs.simulation.summary import skews
from offbeat.trace.files.trace_folder import open_trace


def report_of(ring: Ring, folder: Path, **options: int) -> Report:
    return analyse(open_trace(ring.write(folder)), **options)  # type: ignore[arg-type]


def test_in_lockstep_the_longest_computation_and_communication_of_any_rank_are_added(tmp_path: Path) -> None:
    ring = Ring(computing(40, 8, noise_us=150), allreduce_every=4)
    found = report_of(ring, tmp_path / "t").performance
    assert found is not None
    natural_ns = 4 * POST_NS + TRANSFER_NS + SUM_NS / 4
    assert found.work_s == pytest.approx(ring.computed_ns.mean() / 1e9, rel=1e-4)
    assert found.balanced_s == pytest.approx((ring.computed_ns.mean() + natural_ns) / 1e9, rel=1e-4)
    lockstep_ns = ring.computed_ns.max(axis=1).mean() + natural_ns
    assert found.lockstep_s == pytest.approx(lockstep_ns / 1e9, rel=1e-4)
    measured_ns = (ring.end_ns[-1].max() - ring.begin_ns[0].max()) / 40
    assert found.measured_s == pytest.approx(measured_ns / 1e9, rel=1e-6)
    assert found.balanced_s <= found.measured_s <= found.lockstep_s
    assert found.communication_ratio == pytest.approx(natural_ns / ring.computed_ns.mean(), rel=1e-3)
    assert found.headroom == pytest.approx(measured_ns / ring.computed_ns.mean() - 1, rel=1e-3)


def test_a_program_in_step_is_as_fast_as_in_lockstep(tmp_path: Path) -> None:
    report = report_of(Ring(computing(40, 8)), tmp_path / "t")
    assert report.performance is not None
    assert report.performance.measured_s == pytest.approx(report.performance.lockstep_s, rel=1e-4)
    assert sentences(report)[0].startswith("An iteration is as fast (+0.0 to +0.0%) as in lockstep")
    assert report.performance.whole.skew_s == 0


def test_noise_without_collectives_lets_ranks_part_within_domains_less_than_over_all(tmp_path: Path) -> None:
    ring = Ring(computing(200, 16, noise_us=100))
    report = report_of(ring, tmp_path / "t", domain_size=4)
    assert report.skews is not None
    ends = ring.end_ns / 1e9
    assert report.skews.across_s == pytest.approx(np.ptp(ends, axis=1))
    inside = np.stack([np.ptp(ends[:, one : one + 4], axis=1) for one in range(0, 16, 4)])
    assert report.skews.inside_s == pytest.approx(inside.mean(axis=0))


@given(st.integers(1, 30), st.integers(1, 12), st.integers(1, 5), st.integers(0, 2**31))
def test_skew_within_domains_is_never_larger_than_over_all_ranks(
    rows: int, p: int, domains: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    inside, across = skews(random.uniform(0, 1, (rows, p)), random.integers(0, domains, p).astype(np.int32))
    assert (inside <= across + 1e-12).all()
    assert (inside >= 0).all()


@pytest.mark.parametrize("delay_us", [1500, 6000])
def test_a_delay_propagates_by_a_rank_in_each_iteration_in_both_directions(
    tmp_path: Path, delay_us: int
) -> None:
    computed = computing(60, 24, noise_us=1)
    computed[20, 7] += delay_us * US
    report = report_of(Ring(computed), tmp_path / "t")
    up, down = sorted(report.waves, key=lambda wave: -wave.direction)
    assert (up.direction, down.direction) == (1, -1)
    for wave in (up, down):
        assert (wave.rank, wave.iteration) == (7, 21)
        assert wave.ranks >= 11
        assert wave.fit > 0.999
        assert wave.delay_s == pytest.approx(delay_us * 1e-6, rel=0.05)
        assert wave.first_s == pytest.approx(delay_us * 1e-6, rel=0.05)
        assert wave.per_iteration == pytest.approx(1.0, rel=0.02)
    assert "idle waves: delays propagate at" in sentences(report)[-1]


@pytest.mark.parametrize(
    ("iterations", "p", "every", "delay_us"),
    [
        pytest.param(60, 24, 0, 0, id="no delay"),
        pytest.param(60, 24, 1, 2000, id="an allreduce in every iteration"),
        pytest.param(2, 24, 0, 2000, id="two iterations"),
        pytest.param(60, 2, 0, 2000, id="two ranks"),
    ],
)
def test_without_a_delay_that_reaches_one_rank_after_the_other_there_is_no_idle_wave(
    tmp_path: Path, iterations: int, p: int, every: int, delay_us: int
) -> None:
    computed = computing(iterations, p, noise_us=1)
    computed[iterations // 3, p // 3] += delay_us * US
    assert report_of(Ring(computed, allreduce_every=every), tmp_path / "t").waves == []


# --- similarity ---


def two_groups(p: int = 12, rows: int = 300, noise: float = 0.1) -> np.ndarray:
    """Times in MPI of ranks whose halves wait in turn."""
    random = np.random.default_rng(2)
    course = random.uniform(1, 2, rows)
    times = np.empty((rows, p))
    times[:, : p // 2], times[:, p // 2 :] = course[:, None], 3 - course[:, None]
    return (times + noise * random.standard_normal((rows, p))).astype(np.float32)


def test_ranks_that_wait_together_are_correlated_and_those_that_wait_in_turn_inversely() -> None:
    matrix, each = correlations(two_groups())
    assert each == 1
    assert matrix[:6, :6].min() > 0.8
    assert matrix[:6, 6:].max() < -0.8
    wide, each = correlations(np.random.default_rng(1).uniform(size=(20, 1000)).astype(np.float32))
    assert (wide.shape, each) == ((250, 250), 4)


def test_two_groups_of_ranks_are_two_clusters_along_the_first_component() -> None:
    found = components(two_groups())
    assert found is not None
    assert found.explained[0] > 0.7
    assert found.explained.sum() <= 1 + 1e-9
    domain = np.repeat([0, 1], 6).astype(np.int32)
    grouped = clusters(found, domain)
    assert grouped is not None
    assert grouped.of_rank.tolist() == domain.tolist()
    assert grouped.silhouette > 0.7
    assert grouped.agreement == 1
    across = clusters(found, np.tile([0, 1], 6).astype(np.int32))
    assert across is not None and across.agreement < 0.6


def test_components_of_many_ranks_are_those_of_the_whole_decomposition() -> None:
    times = two_groups(p=300, rows=260)
    found = components(times)
    assert found is not None
    z = ((times.T - times.mean(axis=1)) / times.std(axis=1)).astype(np.float64)
    values = np.linalg.svd(z, compute_uv=False)
    assert found.explained == pytest.approx(values[:2] ** 2 / (values**2).sum(), rel=1e-3)


@pytest.mark.parametrize(
    "times", [np.ones((10, 8)), np.ones((10, 2)), np.random.default_rng(1).uniform(size=(1, 8))]
)
def test_times_that_do_not_vary_or_are_too_few_have_no_components(times: np.ndarray) -> None:
    assert components(times.astype(np.float32)) is None


def test_there_are_no_clusters_with_one_domain_or_with_a_rank_in_each() -> None:
    found = components(two_groups())
    assert found is not None
    assert clusters(found, np.zeros(12, np.int32)) is None
    assert clusters(found, np.arange(12, dtype=np.int32)) is None


@given(st.integers(2, 40), st.integers(1, 5), st.integers(0, 2**31))
def test_the_silhouette_is_that_of_its_definition(n: int, k: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    points = random.uniform(size=(n, 2))
    of = np.unique(random.integers(0, k, n), return_inverse=True)[1].reshape(-1)
    distances = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    values = []
    for i in range(n):
        own = (of == of[i]) & (np.arange(n) != i)
        others = [distances[i, of == j].mean() for j in range(of.max() + 1) if j != of[i]]
        if not own.any() or not others:
            values.append(0.0)
            continue
        a, b = distances[i, own].mean(), min(others)
        values.append((b - a) / max(a, b))
    assert silhouette(points, of) == pytest.approx(float(np.mean(values)), abs=1e-6)
