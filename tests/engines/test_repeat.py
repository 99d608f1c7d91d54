"""A case is repeated until its median is known well enough, with a simulated clock and driver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.measurement.results.blocks import Samples
from offbeat.measurement.results.statistics import median_interval
from offbeat.measurement.runs.repetition import (
    ATTEMPTS_PER_REPETITION,
    TIME_CAP_MULTIPLE,
    is_enough,
    join,
    last_delays_s,
    no_samples,
    read_samples,
    repeat,
    sample_bytes,
)
from offbeat.model.study.schema import RepetitionsSection

P = 2


def write(path, arrivals_ns, exits_ns, overshoots_ns, bounds_ns, valid):
    """The sample file in the driver's layout: rank by rank, repetition by repetition, then the flags."""
    with path.open("wb") as file:
        for rank in range(arrivals_ns.shape[1]):
            columns = [values[:, rank] for values in (arrivals_ns, exits_ns, overshoots_ns, bounds_ns)]
            file.write(np.stack(columns, axis=1).astype("=i8").tobytes())
        file.write(np.asarray(valid).astype("=i8").tobytes())


class Bench:
    """Answers batches; delay and lateness depend on the number of the attempt, which takes ``cost_s`` of fake
    time."""

    def __init__(self, path, delay_ns=lambda n: 1000, is_late=lambda n: False, cost_s=0.001, per_batch=None):
        self.path, self.delay_ns, self.is_late, self.cost_s = path, delay_ns, is_late, cost_s
        self.per_batch = per_batch
        self.now_s = 100.0
        self.batches: list[tuple[int, int]] = []
        self.tried = 0

    def clock(self):
        return self.now_s

    def __call__(self, repetitions, attempts):
        self.batches.append((repetitions, attempts))
        delays, valid = [], []
        while sum(valid) < repetitions and len(valid) < min(attempts, self.per_batch or attempts):
            delays.append(self.delay_ns(self.tried))
            valid.append(not self.is_late(self.tried))
            self.tried += 1
            self.now_s += self.cost_s
        exits = np.tile(np.array(delays, dtype=np.int64)[:, None], (1, P))
        nothing = np.zeros_like(exits)
        write(self.path, nothing, exits, nothing, nothing, valid)
        return ""


def rule(**values):
    return RepetitionsSection(**{"minimum": 10, "maximum": 100, "time_cap": 2.0} | values)


def measured(bench, **values):
    return repeat(bench, bench.path, P, rule(**values), bench.clock)


@given(data=st.data())
def test_a_sample_file_is_read_as_it_was_written(tmp_path_factory, data):
    p, count = data.draw(st.integers(1, 5)), data.draw(st.integers(0, 6))
    path = tmp_path_factory.mktemp("samples") / "samples.bin"
    numbers = st.lists(st.integers(-(10**12), 10**12), min_size=p * count, max_size=p * count)
    arrivals, exits, overshoots, bounds = (
        np.array(data.draw(numbers), dtype=np.int64).reshape(count, p) for _ in range(4)
    )
    valid = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)), dtype=bool)
    write(path, arrivals, exits, overshoots, bounds, valid)
    read = read_samples(path, p)
    assert np.array_equal(read.arrivals_s, arrivals * 1e-9)
    assert np.array_equal(read.exits_s, exits * 1e-9)
    assert np.array_equal(read.valid, valid)
    assert read.overshoot_s == pytest.approx(max(0, overshoots[valid].max(initial=0)) * 1e-9)
    assert read.clock_bound_s == pytest.approx(max(0, bounds.max(initial=0)) * 1e-9)
    assert read.failure == ""
    assert path.stat().st_size == sample_bytes(count, p)


def test_a_late_start_counts_only_where_it_was_accepted(tmp_path):
    path = tmp_path / "samples.bin"
    zero = np.zeros((2, 1), dtype=np.int64)
    write(path, zero, zero, np.array([[5], [900]]), zero, [True, False])
    assert read_samples(path, 1).overshoot_s == pytest.approx(5e-9)


@pytest.mark.parametrize("cut", [1, 8, 16, 40])
def test_a_truncated_sample_file_gives_no_samples(tmp_path, cut):
    path = tmp_path / "samples.bin"
    zero = np.zeros((4, 2), dtype=np.int64)
    write(path, zero, zero, zero, zero, [True] * 4)
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(ValueError, match=r"samples\.bin holds \d+ numbers, which is not a multiple of those"):
        read_samples(path, 2)


def test_last_delay_is_from_the_last_arrival_to_the_last_exit():
    samples = Samples(
        arrivals_s=np.array([[0.0, 1.0], [0.0, 2.0], [5.0, 5.0]]),
        exits_s=np.array([[3.0, 2.0], [2.5, 2.5], [9.0, 9.0]]),
        valid=np.array([True, True, False]),
    )
    assert last_delays_s(samples).tolist() == [2.0, 0.5]


def test_joining_keeps_order_worst_bounds_and_the_first_failure():
    def some(delay, bound, failure=""):
        return Samples(
            arrivals_s=np.zeros((1, 2)),
            exits_s=np.full((1, 2), delay),
            valid=np.ones(1, dtype=bool),
            overshoot_s=bound,
            clock_bound_s=bound,
            failure=failure,
        )

    both = join(some(1.0, 0.1), some(2.0, 0.3))
    assert both.exits_s[:, 0].tolist() == [1.0, 2.0]
    assert (both.overshoot_s, both.clock_bound_s, both.failure) == (0.3, 0.3, "")
    assert join(some(1, 0, "a"), some(1, 0, "b")).failure == "a"
    assert join(no_samples(2), some(1, 0)).valid.tolist() == [True]


def test_measuring_stops_as_soon_as_the_interval_is_narrow_enough(tmp_path):
    bench = Bench(tmp_path / "s", delay_ns=lambda n: 1000 + n % 3)
    samples = measured(bench)
    assert len(samples.valid) == 10
    assert bench.batches == [(10, 10 * ATTEMPTS_PER_REPETITION)]


def test_measuring_continues_while_the_interval_is_wide(tmp_path):
    def settling(n):
        return (1000, 3000)[n % 2] if n < 20 else 2000

    bench = Bench(tmp_path / "s", delay_ns=settling)
    samples = measured(bench)
    low, high = median_interval(last_delays_s(samples))
    assert (high - low) / 2 <= 0.05 * np.median(last_delays_s(samples))
    assert 20 < len(samples.valid) < 100
    expected = [repetitions for repetitions, _ in bench.batches]
    assert expected[0] == 10
    assert expected[1:] == sorted(expected[1:])


def test_measuring_stops_at_the_maximum_however_wide_the_interval_is(tmp_path):
    bench = Bench(tmp_path / "s", delay_ns=lambda n: (1000, 9000)[n % 2])
    assert len(measured(bench).valid) == 100


def test_equal_minimum_and_maximum_give_exactly_that_many_repetitions(tmp_path):
    bench = Bench(tmp_path / "s", delay_ns=lambda n: (1000, 9000)[n % 2])
    assert len(measured(bench, minimum=3, maximum=3).valid) == 3
    assert len(bench.batches) == 1


def test_measuring_stops_at_the_time_cap_once_the_minimum_is_reached(tmp_path):
    bench = Bench(tmp_path / "s", delay_ns=lambda n: (1000, 9000)[n % 2], cost_s=0.1)
    samples = measured(bench)
    assert 10 <= len(samples.valid) < 100
    assert 2.0 <= bench.now_s - 100.0 < 2.0 + 0.1 * len(samples.valid)


def test_slow_repetitions_reach_the_minimum_beyond_the_time_cap(tmp_path):
    bench = Bench(tmp_path / "s", cost_s=5.0, per_batch=1)
    samples = measured(bench)
    assert samples.valid.sum() == 10
    assert bench.now_s - 100.0 > 2.0 * TIME_CAP_MULTIPLE


def test_a_time_cap_of_0_means_the_minimum(tmp_path):
    bench = Bench(tmp_path / "s", delay_ns=lambda n: (1000, 9000)[n % 2])
    assert len(measured(bench, time_cap=0.0).valid) == 10


def test_missed_starts_are_repeated_and_stored_as_invalid(tmp_path):
    bench = Bench(tmp_path / "s", is_late=lambda n: n % 3 == 0)
    samples = measured(bench, minimum=10, maximum=10)
    assert samples.valid.sum() == 10
    assert (~samples.valid).sum() == 5
    assert last_delays_s(samples).size == 10


def test_a_case_whose_starts_are_always_missed_ends_at_its_time_limit(tmp_path):
    bench = Bench(tmp_path / "s", is_late=lambda n: True)
    samples = measured(bench)
    assert samples.valid.sum() == 0
    assert samples.failure == ""
    spent_s = bench.now_s - 100.0
    assert (
        2.0 * TIME_CAP_MULTIPLE
        <= spent_s
        < 2.0 * TIME_CAP_MULTIPLE + 10 * ATTEMPTS_PER_REPETITION * bench.cost_s * 2
    )


def test_a_failed_batch_ends_the_case_with_the_repetitions_before_it(tmp_path):
    bench = Bench(tmp_path / "s", delay_ns=lambda n: (1000, 9000)[n % 2])

    def failing(repetitions, attempts):
        return "the launch was killed by signal 9" if bench.tried else bench(repetitions, attempts)

    samples = repeat(failing, bench.path, P, rule(), bench.clock)
    assert samples.failure == "the launch was killed by signal 9"
    assert samples.valid.sum() == 10


def test_a_failed_first_batch_leaves_nothing(tmp_path):
    (tmp_path / "s").write_bytes(b"of the case before")
    samples = repeat(lambda *_: "hung", tmp_path / "s", P, rule())
    assert (samples.failure, samples.arrivals_s.shape, samples.valid.size) == ("hung", (0, P), 0)


@given(
    st.lists(st.integers(1, 10**6), min_size=1, max_size=40),
    st.integers(1, 20),
    st.integers(0, 20),
    st.floats(0.01, 0.5),
    st.floats(0.5, 0.999),
)
def test_enough_is_the_minimum_and_a_narrow_interval_or_the_maximum(
    delays_ns, minimum, more, width, confidence
):
    delays_s = np.array(delays_ns) * 1e-9
    samples = Samples(
        arrivals_s=np.zeros((len(delays_s), 1)),
        exits_s=delays_s[:, None],
        valid=np.ones(len(delays_s), dtype=bool),
    )
    low, high = median_interval(delays_s, confidence)
    narrow = (high - low) / 2 <= width * np.median(delays_s)
    expected = len(delays_s) >= minimum and (len(delays_s) >= minimum + more or bool(narrow))
    limits = rule(minimum=minimum, maximum=minimum + more, confidence_width=width, confidence=confidence)
    assert is_enough(samples, limits) == expected


@given(st.integers(1, 15), st.integers(0, 30), st.integers(0, 3), st.floats(1e-4, 1.0), st.integers(0, 2**32))
def test_a_case_never_has_more_repetitions_than_the_maximum(
    tmp_path_factory, minimum, more, late, cost_s, seed
):
    chance = np.random.default_rng(seed)
    bench = Bench(
        tmp_path_factory.mktemp("bench") / "s",
        delay_ns=lambda n: int(chance.integers(1000, 9000)),
        is_late=lambda n: chance.integers(4) < late,
        cost_s=cost_s,
    )
    samples = measured(bench, minimum=minimum, maximum=minimum + more)
    assert samples.valid.sum() <= minimum + more
    assert samples.valid.size == bench.tried
    assert all(attempts == ATTEMPTS_PER_REPETITION * expected for expected, attempts in bench.batches)


def replayed(bench, calls, **values):
    return repeat(bench, bench.path, P, rule(**values), bench.clock, calls=calls)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "samples.bin"


def test_a_replay_is_measured_in_whole_rounds(path):
    assert replayed(Bench(path), 7).calls.tolist() == list(range(7)) * 3


def test_the_maximum_of_a_replay_is_for_each_of_its_calls(path):
    noise = np.random.default_rng(1).integers(100, 10000, 400)
    samples = replayed(Bench(path, delay_ns=lambda n: noise[n]), 20, minimum=1, maximum=4)
    assert samples.calls.tolist() == list(range(20)) * 4
    assert len(replayed(Bench(path), 20, minimum=1, maximum=1).calls) == 20


def test_a_slow_replay_is_measured_three_times_within_its_time_limit(path):
    samples = replayed(Bench(path, cost_s=0.01, delay_ns=lambda n: 1000 * (n % 7)), 300)
    assert samples.calls.tolist() == list(range(300)) * 3
    samples = replayed(Bench(path, cost_s=0.021, per_batch=100), 300)
    assert samples.calls.tolist() == [*range(300), *range(200)]


def test_an_invalid_repetition_of_a_replay_is_of_the_call_that_is_repeated(path):
    samples = replayed(Bench(path, is_late=lambda n: n in (0, 1, 5)), 4, minimum=4)
    assert samples.calls.tolist()[:7] == [0, 0, 0, 1, 2, 3, 3]
    assert samples.valid.tolist()[:7] == [False, False, True, True, True, False, True]


@given(calls=st.integers(1, 30), maximum=st.integers(1, 9), late=st.integers(2, 9), seed=st.integers(0, 99))
def test_every_call_of_a_replay_is_measured_equally_often(tmp_path_factory, calls, maximum, late, seed):
    noise = np.random.default_rng(seed).integers(500, 5000, 4000)
    path = tmp_path_factory.mktemp("samples") / "samples.bin"
    bench = Bench(path, delay_ns=lambda n: noise[n], is_late=lambda n: n % late == 0, cost_s=0.0)
    samples = replayed(bench, calls, maximum=maximum)
    counts = np.bincount(samples.calls[samples.valid], minlength=calls)
    assert counts.min() == counts.max()
    assert rule().minimum <= samples.valid.sum()
    assert counts[0] <= max(maximum, np.ceil(rule().minimum / calls))


def test_a_replay_continues_where_the_time_limit_ended_a_batch(path):
    samples = replayed(Bench(path, cost_s=0.1, per_batch=9), 25)
    assert samples.calls[:25].tolist() == list(range(25))
    assert len(samples.calls) >= 25


def test_the_calls_of_a_long_replay_that_time_allowed_are_stored(path):
    """With one second per call, a round is abandoned after five times the cap and four times the minimum."""
    samples = replayed(Bench(path, cost_s=1.0, per_batch=2), 1000)
    assert samples.calls.tolist() == list(range(40))
    assert samples.failure == ""


def test_a_replay_that_fails_keeps_the_calls_that_were_measured(path):
    bench = Bench(path, per_batch=6)

    def batch(repetitions, attempts):
        return "it crashed" if len(bench.batches) == 2 else bench(repetitions, attempts)

    samples = repeat(batch, path, P, rule(), bench.clock, calls=20)
    assert (samples.failure, samples.calls.tolist()) == ("it crashed", list(range(12)))


def test_differing_calls_alone_are_no_reason_to_measure_more(path):
    samples = replayed(Bench(path, delay_ns=lambda n: 1000 * 10 ** (n % 5)), 5)
    assert len(samples.valid) == 15
