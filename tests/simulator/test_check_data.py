"""The checker compares the results of programs with the collective, element by element."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_programs import block, checked, flat_bcast, flat_reduce, pairwise_alltoall

from offbeat import _simulator


def test_undefined_data_is_not_sent() -> None:
    def write(rank: _simulator.Rank) -> None:
        if rank.id == 0:
            rank.send(1, rank.scratch(3))
        else:
            rank.recv(0, rank.output)

    assert checked("bcast", write, 2) == (
        "rank 0: a send to rank 1 reads element 0 of its scratch buffer 0 before anything was written there"
    )


def test_undefined_data_is_not_reduced() -> None:
    def write(rank: _simulator.Rank) -> None:
        rank.copy(rank.output[:2], rank.input[:2])
        rank.reduce(rank.output, rank.input, other_first=True)

    assert (
        checked("reduce", write, 1)
        == "rank 0: a reduction reads element 2 of its output before anything was written there"
    )


def test_a_contribution_counts_once() -> None:
    def write(rank: _simulator.Rank) -> None:
        flat_reduce(rank)
        if rank.id == 0:
            rank.reduce(rank.output[1:2], rank.input[1:2], other_first=False)

    assert checked("reduce", write) == (
        "rank 0 combines, in element 1 of its output: ranks 0 to 3 with rank 0, and so counts rank 0 twice"
    )


def test_missing_contribution_is_reported() -> None:
    def write(rank: _simulator.Rank) -> None:
        if rank.id == 0:
            rank.recv(1, rank.output)
            rank.recv(2, rank.scratch(3))
        else:
            rank.send(0, rank.input)

    assert checked("reduce", write, 3) == (
        "rank 0: element 0 of its output is element 0 of rank 1; it should be element 0 of ranks 0 to 2"
    )


def test_elements_with_different_indices_are_not_combined() -> None:
    def write(rank: _simulator.Rank) -> None:
        if rank.id == 1:
            rank.send(0, [rank.input[1:2], rank.input[0:1]])
            return
        other = rank.scratch(2)
        rank.recv(1, other)
        rank.copy(rank.output, rank.input)
        rank.reduce(rank.output, other, other_first=False)

    assert checked("reduce", write, 2, count=2) == (
        "rank 0 combines, in element 0 of its output: element 0 of rank 0 with element 1 of rank 1"
    )


def reversed_reduce(rank: _simulator.Rank) -> None:
    if rank.id != rank.root:
        rank.send(rank.root, rank.input)
        return
    other = rank.scratch(rank.count)
    rank.copy(rank.output, rank.input)
    for peer in range(1, rank.p):
        rank.recv(peer, other)
        rank.reduce(rank.output, other, other_first=True)


def test_rank_order_is_required_if_guaranteed_or_noncommutative() -> None:
    wrong = "rank 0 combines, in element 0 of its output: rank 1 before rank 0, which is not rank order"
    assert checked("reduce", reversed_reduce, 3) == ""
    assert checked("reduce", reversed_reduce, 3, ordered=True) == wrong
    assert checked("reduce", reversed_reduce, 3, commutative=False) == wrong


def test_unwritten_output_is_reported() -> None:
    def write(rank: _simulator.Rank) -> None:
        if rank.id == 0:
            rank.send(1, rank.output[:2])
        else:
            rank.recv(0, rank.output[:2])

    assert (
        checked("bcast", write, 2)
        == "rank 1: element 2 of its output was never written; it should be element 2 of rank 0"
    )


def test_misplaced_block_is_reported() -> None:
    def write(rank: _simulator.Rank) -> None:
        pairwise_alltoall(rank)
        if rank.id == 2:
            buffer = rank.scratch(rank.count)
            rank.copy(buffer, block(rank.output, rank, 0))
            rank.copy(block(rank.output, rank, 0), block(rank.output, rank, 1))
            rank.copy(block(rank.output, rank, 1), buffer)

    assert checked("alltoall", write) == (
        "rank 2: element 0 of its output is element 6 of rank 1; it should be element 6 of rank 0"
    )


def test_output_of_rank_0_of_an_exscan_is_not_checked() -> None:
    def write(rank: _simulator.Rank) -> None:
        if rank.id > 0:
            rank.recv(rank.id - 1, rank.output)
        if rank.id < rank.p - 1:
            total = rank.scratch(rank.count)
            rank.copy(total, rank.input)
            if rank.id > 0:
                rank.reduce(total, rank.output, other_first=True)
            rank.send(rank.id + 1, total)

    for p in (1, 2, 5):
        assert checked("exscan", write, p, commutative=False) == ""
    assert checked("scan", write, 2) == (
        "rank 0: element 0 of its output was never written; it should be element 0 of rank 0"
    )


@pytest.mark.parametrize("collective", ["bcast", "scan", "allreduce", "reduce_scatter", "scatter", "gather"])
def test_empty_program_is_not_correct(collective: str) -> None:
    assert "was never written" in checked(collective, lambda rank: None)


def test_bcast_root_has_the_data_at_the_start() -> None:
    assert checked("bcast", lambda rank: None, 1) == ""
    assert checked("bcast", flat_bcast, 5, root=3) == ""


Copy = tuple[int, int, int]
"""Into, source and length, in elements of the input followed by the scratch buffer."""


@st.composite
def copies(draw: st.DrawFn) -> tuple[int, int, list[Copy]]:
    """A count, a scratch length, and copies that neither overlap nor read unwritten elements."""
    count = draw(st.integers(1, 8))
    held: list[int | None] = [*range(count), *[None] * draw(st.integers(1, 12))]
    plan = []
    for _ in range(draw(st.integers(0, 15))):
        into = draw(st.integers(count, len(held) - 1))
        length = draw(st.integers(1, len(held) - into))
        source = draw(st.integers(0, len(held) - length))
        moved = held[source : source + length]
        if None not in moved and abs(source - into) >= length and not source < count < source + length:
            held[into : into + length] = moved
            plan.append((into, source, length))
    return count, len(held) - count, plan


@given(copies(), st.data())
def test_copies_equal_an_element_wise_interpreter(
    case: tuple[int, int, list[Copy]], data: st.DataObject
) -> None:
    """Compares with an interpreter that moves single elements: the output is composed of the
    places where each element should be now; one wrong place, and the program is wrong."""
    count, scratch_length, plan = case
    held: list[int | None] = [*range(count), *[None] * scratch_length]
    for into, source, length in plan:
        held[into : into + length] = held[source : source + length]
    places = [
        data.draw(st.sampled_from([i for i, value in enumerate(held) if value == k])) for k in range(count)
    ]

    def write(rank: _simulator.Rank, chosen: list[int]) -> None:
        scratch = rank.scratch(scratch_length)

        def at(place: int, length: int) -> _simulator.Span:
            return rank.input.part(place, length) if place < count else scratch.part(place - count, length)

        for into, source, length in plan:
            rank.copy(at(into, length), at(source, length))
        for k, place in enumerate(chosen):
            rank.copy(rank.output[k : k + 1], at(place, 1))

    assert checked("allgather", lambda rank: write(rank, places), 1, count=count) == ""
    k = data.draw(st.integers(0, count - 1))
    wrong = data.draw(st.sampled_from([i for i, value in enumerate(held) if value != k] or [-1]))
    if wrong >= 0:
        sentence = checked(
            "allgather", lambda rank: write(rank, [*places[:k], wrong, *places[k + 1 :]]), 1, count=count
        )
        if held[wrong] is None:
            assert sentence.endswith("before anything was written there")
        else:
            assert f"element {k} of its output is element {held[wrong]} of rank 0" in sentence


@st.composite
def merges(draw: st.DrawFn) -> tuple[int, list[tuple[int, int]]]:
    """p, and p - 1 merges of two sets each, by the places of the sets: the first takes in the second."""
    p = draw(st.integers(2, 150) | st.sampled_from([63, 64, 65, 128]))
    alive = list(range(p))
    plan = []
    neighbours = draw(st.booleans())
    while len(alive) > 1:
        a = draw(st.integers(0, len(alive) - 2))
        b = a + 1 if neighbours else draw(st.integers(0, len(alive) - 1).filter(lambda i, a=a: i != a))
        plan.append((alive[a], alive[b]))
        del alive[b]
    return p, plan


def merge(rank: _simulator.Rank, plan: list[tuple[int, int]], again: tuple[int, int] | None = None) -> None:
    """Rank 0 receives a buffer from every rank and merges them."""
    if rank.id != 0:
        rank.send(0, rank.input)
        return
    held = [rank.scratch(rank.count) for _ in range(rank.p)]
    rank.copy(held[0], rank.input)
    for peer in range(1, rank.p):
        rank.recv(peer, held[peer])
    for into, other in plan:
        rank.reduce(held[into], held[other], other_first=False)
    if again:
        rank.reduce(held[again[0]], held[again[1]], other_first=False)
    rank.copy(rank.output, held[plan[-1][0]])


@settings(deadline=None, max_examples=60)
@given(merges())
def test_disjoint_sets_combine_and_only_adjacent_ones_keep_order(
    case: tuple[int, list[tuple[int, int]]],
) -> None:
    p, plan = case
    assert checked("reduce", lambda rank: merge(rank, plan), p) == ""
    sets = [[rank] for rank in range(p)]
    in_order = True
    for into, other in plan:
        in_order = in_order and sets[into][-1] + 1 == sets[other][0]
        sets[into] += sets[other]
    sentence = checked("reduce", lambda rank: merge(rank, plan), p, commutative=False)
    assert (sentence == "") == in_order
    assert in_order or sentence.endswith("which is not rank order")


@settings(deadline=None, max_examples=60)
@given(merges(), st.data())
def test_merging_a_set_twice_is_reported(
    case: tuple[int, list[tuple[int, int]]], data: st.DataObject
) -> None:
    p, plan = case
    other = data.draw(st.integers(0, p - 1).filter(lambda i: i != plan[-1][0]))
    sentence = checked("reduce", lambda rank: merge(rank, plan, (plan[-1][0], other)), p)
    assert sentence.endswith("twice")


@pytest.mark.parametrize("p", [3, 63, 64, 65, 66, 127, 128, 129, 200])
@pytest.mark.parametrize("stride", [2, 3, 64])
def test_sets_with_gaps_merge_to_all_ranks(p: int, stride: int) -> None:
    """Every stride-th rank is merged first, and then the sets of different remainders."""
    plan = []
    for start in range(min(stride, p)):
        plan += [(start, other) for other in range(start + stride, p, stride)]
    plan += [(0, start) for start in range(1, min(stride, p))]
    assert checked("reduce", lambda rank: merge(rank, plan), p) == ""
    shorter = checked("reduce", lambda rank: merge(rank, plan[:-1]), p) if p > stride else ""
    assert p <= stride or "should be element 0 of ranks 0 to" in shorter


@pytest.mark.parametrize(("held", "again"), [((0, 1), 1), ((1, 0), 0), ((0, 2), 2), ((2, 0), 0)])
@pytest.mark.parametrize("set_first", [True, False])
def test_a_rank_of_a_set_is_not_merged_with_the_set(
    held: tuple[int, int], again: int, set_first: bool
) -> None:
    def write(rank: _simulator.Rank) -> None:
        if rank.id != 0:
            rank.send(0, rank.input)
            return
        buffers = [rank.scratch(rank.count) for _ in range(rank.p)]
        rank.copy(buffers[0], rank.input)
        for peer in range(1, rank.p):
            rank.recv(peer, buffers[peer])
        rank.reduce(buffers[held[0]], buffers[held[1]], other_first=False)
        rank.reduce(buffers[held[0]], buffers[again], other_first=not set_first)

    assert checked("reduce", write, 4).endswith(f"and so counts rank {again} twice")


def test_sets_of_different_ranks_are_different() -> None:
    """The same number of ranks with the same gaps, a rank further on: neither is the other."""

    def write(rank: _simulator.Rank) -> None:
        half = [other for other in range(rank.p) if other % 2 == rank.id % 2]
        rank.copy(rank.output, rank.input)
        for other in half:
            if other != rank.id:
                rank.isend(other, rank.input)
        for other in half:
            if other != rank.id:
                arrived = rank.scratch(rank.count)
                rank.recv(other, arrived)
                rank.reduce(rank.output, arrived, other_first=False)

    assert "is element 0 of ranks 0, 2 and 4; it" in checked("allreduce", write, 6)
    assert "is element 0 of ranks 0, 2, 4 and others" in checked("allreduce", write, 70)
