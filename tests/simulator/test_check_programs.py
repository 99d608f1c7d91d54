"""Algorithms written in Python: pieces, and errors that are reported while programs are written."""

from __future__ import annotations

import pytest
from small_programs import checked, flat_reduce

from offbeat import _simulator


def spans(action: object) -> None:
    """Runs an action on a span of ten elements, within a program."""
    _simulator.Programs("allgather", lambda rank: action(rank.input), 1, count=10)  # type: ignore[operator]


def test_a_piece_is_sliced_like_a_list() -> None:
    def look(span: _simulator.Span) -> None:
        assert len(span) == 10
        part = span[3:7]
        assert (part.buffer, part.offset, part.length) == (0, 3, 4)
        assert (span[-2:].offset, len(span[:])) == (8, 10)
        assert span[2:8][1:3].offset == 3
        assert repr(span[3:7]) == "<input 3:7>"

    spans(look)


@pytest.mark.parametrize("selection", [slice(0, 11), slice(-11, None), slice(7, 3)])
def test_slices_beyond_a_piece_are_errors(selection: slice) -> None:
    with pytest.raises(IndexError, match="of a piece of 10"):
        spans(lambda span: span[selection])


def test_a_piece_has_no_gaps() -> None:
    with pytest.raises(ValueError, match="no step"):
        spans(lambda span: span[::2])


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda rank: rank.send(4, rank.input), "rank 0: a message to a rank that does not exist"),
        (lambda rank: rank.copy(rank.output, rank.input[:1]), "rank 0: a local operation on pieces of diff"),
        (lambda rank: rank.vertex_after([]), "rank 0: a vertex that waits for nothing"),
        (lambda rank: rank.node(9), "rank 0: there is no rank 9"),
    ],
)
def test_error_message_names_the_rank(action: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        checked("allreduce", action)  # type: ignore[arg-type]


def test_exception_of_the_program_is_passed_on() -> None:
    def write(rank: _simulator.Rank) -> None:
        raise KeyError(rank.id)

    with pytest.raises(KeyError, match="0"):
        checked("allreduce", write)


def test_rank_is_invalid_after_its_program_is_finished() -> None:
    stored_ranks: list[_simulator.Rank] = []
    _simulator.Programs("barrier", stored_ranks.append, 1)
    with pytest.raises(ValueError, match="finished"):
        stored_ranks[0].wait_all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"p": 0}, "at least 1 process"),
        ({"p": 4, "root": 4}, "the root is rank 4 of 4"),
        ({"p": 4, "count": -1}, "the count is -1"),
        ({"p": 4, "element_bytes": 0}, "an element has 0 bytes"),
        ({"p": 4, "node_of_rank": [0, 1]}, "nodes for 2 ranks of 4"),
        ({"p": 2, "node_of_rank": [0, -1]}, "there is no node -1"),
    ],
)
def test_invalid_calls_are_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _simulator.Programs("reduce", flat_reduce, **options)
    with pytest.raises(ValueError, match=message):
        _simulator.check("alltoall", "openmpi", "pairwise", {}, **options)


@pytest.mark.parametrize(
    ("collective", "family", "name", "message"),
    [
        ("reduse", "openmpi", "binomial", "there is no collective 'reduse'"),
        ("alltoall", "openmpi", "pairwize", "there is no algorithm 'pairwize' of openmpi for alltoall"),
    ],
)
def test_unknown_names_are_refused(collective: str, family: str, name: str, message: str) -> None:
    for ask in (_simulator.check, _simulator.messages):
        with pytest.raises(ValueError, match=message):
            ask(collective, family, name, {}, 4)


def test_parameters_that_an_algorithm_does_not_take_are_refused() -> None:
    with pytest.raises(ValueError, match="there is no parameter 'fanout'"):
        _simulator.check("alltoall", "openmpi", "pairwise", {"fanout": 2}, 4)


def test_a_rank_knows_the_arguments_of_its_call() -> None:
    observed = []

    def write(rank: _simulator.Rank) -> None:
        observed.append((rank.id, rank.p, rank.root, rank.count, rank.element_bytes, rank.commutative))
        assert [rank.node(other) for other in range(rank.p)] == [0, 0, 1]
        assert len(rank.input) == (6 if rank.id == 1 else 0)
        assert len(rank.output) == 2
        assert len(rank.scratch(7)) == 7

    _simulator.Programs("scatter", write, 3, 1, 2, 8, [0, 0, 1], False)
    assert observed == [(rank, 3, 1, 2, 8, False) for rank in range(3)]
