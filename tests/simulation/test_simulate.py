"""offbeat.simulate: arrivals in, exits out, for one pattern or many."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from offbeat import simulate
from offbeat.base.errors import BadInput, RunFailed
from offbeat.model.pattern.shapes import SHAPES, delays
from offbeat.model.platform.machine import load
from offbeat.model.study.algorithm import Algorithm
from offbeat.simulation.calls import catalogue
from offbeat.simulation.calls.schedule_cache import LruCache, MemoryBudget

P = 48


def patterns(p=P, skew_s=20e-6):
    return np.stack([delays(shape, p, skew_s, ppn=32) for shape in SHAPES])


def test_one_pattern_gives_one_row_and_several_give_several():
    arrivals = patterns()
    many = simulate("paper", "reduce/binomial", P, 64, arrivals)
    assert many.shape == arrivals.shape
    for row, exits in zip(arrivals, many, strict=True):
        one = simulate("paper", "reduce/binomial", P, 64, row)
        assert one.shape == (P,)
        assert one.tolist() == exits.tolist()


@settings(max_examples=20)
@example(algorithm="alltoall/pairwise", bytes=64, skew_s=0.0003100213283842715, later_s=1.0)
@example(algorithm="alltoall/pairwise", bytes=64, skew_s=0.00019, later_s=1.0)
@given(
    algorithm=st.sampled_from(["reduce/binomial", "allreduce/recursive_doubling", "alltoall/pairwise"]),
    bytes=st.sampled_from([1, 64, 4096, 100_000]),
    skew_s=st.floats(0, 1e-3),
    later_s=st.floats(0, 1.0),
)
def test_nobody_leaves_before_arriving_and_later_arrivals_are_later_exits(algorithm, bytes, skew_s, later_s):
    arrivals = patterns(skew_s=skew_s)
    exits = simulate("paper", algorithm, P, bytes, arrivals)
    assert (exits >= arrivals).all()
    assert simulate("paper", algorithm, P, bytes, arrivals + later_s) == pytest.approx(
        exits + later_s, abs=1e-9
    )


def test_an_algorithm_can_be_named_with_parameters_or_given_as_one():
    arrivals = patterns()
    text = simulate("paper", "bcast/chain(fanout=2, segment=1024)", P, 8192, arrivals)
    given_one = Algorithm(collective="bcast", name="chain(fanout=2, segment=1024)")
    assert simulate(load("paper"), given_one, P, 8192, arrivals).tolist() == text.tolist()
    assert simulate("paper", "bcast/chain", P, 8192, arrivals).tolist() != text.tolist()


OWN_ALGORITHM = """
def chain(rank):
    if rank.id > 0:
        rank.recv(rank.id - 1, rank.output)
    if rank.id < rank.p - 1:
        rank.send(rank.id + 1, rank.output)

def for_two(rank):
    if rank.p != 2:
        raise NotImplementedError("only for two ranks")

def faulty(rank):
    return [][rank.id]
"""


def test_an_own_algorithm_is_simulated_from_its_file_and_as_a_function(tmp_path, monkeypatch):
    """A chain without segments is Open MPI's pipeline with one segment."""
    (tmp_path / "own.py").write_text(OWN_ALGORITHM)
    monkeypatch.syspath_prepend(tmp_path)
    arrivals = patterns(skew_s=5e-6)
    known = simulate("islands", "bcast/pipeline(segment=0)", P, 4096, arrivals)
    for own in (f"{tmp_path}/own.py:chain", importlib.import_module("own").chain):
        answer = simulate("islands", own, P, 4096, arrivals, collective="bcast")
        assert answer == pytest.approx(known, rel=1e-12)


@pytest.mark.parametrize(
    ("function", "changes", "sentence"),
    [
        ("chain", {}, "'' is no collective that can be simulated; write collective=..., one of allgather"),
        ("chain", {"collective": "bcats"}, "'bcats' is no collective"),
        ("chains", {"collective": "bcast"}, "has no function 'chains'; did you mean 'chain'"),
        ("for_two", {"collective": "bcast"}, "only for two ranks"),
        ("chain", {"collective": "bcast", "p": 24, "communicators": 2}, "write communicators=1"),
    ],
)
def test_an_own_algorithm_that_cannot_be_simulated_gives_a_sentence(tmp_path, function, changes, sentence):
    (tmp_path / "own.py").write_text(OWN_ALGORITHM)
    call = {"p": P, "bytes": 8, "arrivals": np.zeros(P)} | changes
    with pytest.raises(BadInput, match=re.escape(sentence)):
        simulate("paper", f"{tmp_path}/own.py:{function}", **call)


def test_an_error_in_an_own_algorithm_has_its_line(tmp_path):
    (tmp_path / "own.py").write_text(OWN_ALGORITHM)
    with pytest.raises(RunFailed, match=r"own.py:13: IndexError"):
        simulate("paper", f"{tmp_path}/own.py:faulty", P, 8, np.zeros(P), collective="bcast")


def test_rows_on_nodes_of_their_own_are_as_fast_as_one_alone():
    arrivals = patterns(64)
    both = simulate("paper", "allreduce/ring", 32, 4096, arrivals, communicators=2)
    for row in (slice(0, 32), slice(32, 64)):
        alone = simulate("paper", "allreduce/ring", 32, 4096, arrivals[:, row])
        assert both[:, row] == pytest.approx(alone, rel=1e-9)


def test_columns_share_the_links_between_nodes():
    arrivals = np.zeros(64)
    columns = simulate("paper", "allreduce/ring", 2, 10**6, arrivals, communicators=32, stride=32)
    one_alone = simulate("paper", "allreduce/ring", 2, 10**6, arrivals[:2])
    assert columns.shape == (64,)
    assert columns.min() > 2 * one_alone.max()


@pytest.mark.parametrize(
    ("layout", "sentence"),
    [
        ({"p": 24}, "arrivals have the shape (48,); it must be (24,) or (patterns, 24)"),
        ({"p": 24, "communicators": 3}, "it must be (72,) or (patterns, 72)"),
        ({"p": 24, "communicators": 0}, "communicators = 0: write 1 or more of each"),
        ({"p": 0}, "p = 0, communicators = 1: write 1 or more of each"),
        ({"p": 12, "communicators": 4, "stride": 3}, "stride 3 does not divide 4 communicators"),
        ({"p": 12, "communicators": 4, "stride": 0}, "stride 0 does not divide 4 communicators"),
    ],
)
def test_a_layout_that_does_not_fit_gives_a_sentence(layout, sentence):
    with pytest.raises(BadInput, match=re.escape(sentence)):
        simulate("paper", "allreduce/ring", bytes=8, arrivals=np.zeros(P), **layout)


def test_all_sizes_of_an_algorithm_that_scales_agree_with_its_own_schedule():
    known = catalogue.find("alltoall", "openmpi", "linear")
    assert known is not None and known.scales
    arrivals = patterns()
    times = [simulate("paper", "alltoall/linear", P, size, arrivals).max() for size in (8, 1024, 65536)]
    assert times == sorted(times)
    as_doubles = simulate("paper", "alltoall/linear", P, 1024, arrivals, element_bytes=8)
    assert as_doubles.tolist() == simulate("paper", "alltoall/linear", P, 1024, arrivals).tolist()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("paper", "binomial", P, 8, np.zeros(P)), "names no collective; write it like 'reduce/binomial'"),
        (("paper", "reduce/binomal", P, 8, np.zeros(P)), "did you mean 'binomial'"),
        (("paper", "alltoallv/linear", P, 8, np.zeros(P)), "no algorithms for alltoallv of openmpi"),
        (("paper", "reduce/chain(fanout=x)", P, 8, np.zeros(P)), "takes whole numbers"),
        (("paper", "reduce/chain(depth=2)", P, 8, np.zeros(P)), "they are: .*fanout"),
        (("paper", "reduce/binomial", P, 8, np.zeros(3)), r"must be \(48,\) or \(patterns, 48\)"),
        (("paper", "reduce/binomial", P, 8, np.full(P, np.nan)), "not finite"),
        (("paper", "reduce/binomial", P, -8, np.zeros(P)), "not a whole number of elements"),
        (("papers", "reduce/binomial", P, 8, np.zeros(P)), "did you mean 'paper'"),
        (("paper", "alltoall/two_proc", P, 8, np.zeros(P)), "alltoall/two_proc at p = 48"),
        (("paper", "reduce/binomial", 2000, 8, np.zeros(2000)), "2000 ranks, but 32 nodes × 32 cores"),
    ],
)
def test_contradicting_arguments_give_a_sentence(arguments, sentence):
    with pytest.raises(BadInput, match=sentence):
        simulate(*arguments)


def test_a_root_that_is_no_rank_is_refused():
    with pytest.raises(BadInput, match="root 48 is no rank of p = 48"):
        simulate("paper", "reduce/binomial", P, 8, np.zeros(P), root=P)


def test_threads_that_simulate_the_same_get_the_same():
    arrivals = patterns(96)
    with ThreadPoolExecutor(4) as pool:
        futures = [
            pool.submit(simulate, "paper", "allreduce/ring", 96, size, arrivals) for size in [768, 1536] * 8
        ]
    answers = [future.result().tolist() for future in futures]
    assert all(answer == answers[0] for answer in answers[::2])
    assert all(answer == answers[1] for answer in answers[1::2])


def test_importing_offbeat_loads_nothing_of_the_simulator():
    code = "import sys, offbeat; print([n for n in sys.modules if 'numpy' in n or '_simulator' in n])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class Sized:
    def __init__(self, memory_bytes):
        self.memory_bytes = memory_bytes


def test_a_cached_value_is_computed_once_for_all_threads():
    cache: LruCache[Sized] = LruCache(100)
    collected = []
    barrier = threading.Barrier(8)

    def make():
        collected.append(1)
        return Sized(10)

    def ask():
        barrier.wait()
        return cache.get("key", make)

    with ThreadPoolExecutor(8) as pool:
        things = {id(future.result()) for future in [pool.submit(ask) for _ in range(8)]}
    assert len(things) == len(collected) == 1


def test_the_least_recently_used_is_dropped_and_the_last_one_never():
    cache: LruCache[Sized] = LruCache(100)
    collected = []

    def ask(key, size):
        cache.get(key, lambda: collected.append(key) or Sized(size))

    for key in ("a", "b", "a", "c", "a", "b"):
        ask(key, 45)
    assert collected == ["a", "b", "c", "b"]
    ask("large", 1000)
    ask("large", 1000)
    ask("a", 45)
    assert collected[4:] == ["large", "a"]


def test_a_failed_computation_is_raised_in_every_thread_and_repeated():
    cache: LruCache[Sized] = LruCache(100)
    with pytest.raises(ValueError, match="no"):
        cache.get("key", lambda: (_ for _ in ()).throw(ValueError("no")))
    assert cache.get("key", lambda: Sized(1)).memory_bytes == 1


def test_threads_wait_for_memory_and_one_that_needs_too_much_runs_alone():
    budget = MemoryBudget(100)
    together, most = [], []

    def work(size):
        with budget.reserve(size):
            together.append(size)
            most.append(sum(together))
            threading.Event().wait(0.005)
            together.remove(size)

    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(work, size) for size in [40, 60, 500, 30, 50, 100, 20, 10]]:
            future.result()
    assert max(most) == 500
    assert all(total <= 100 or total == 500 for total in most)
