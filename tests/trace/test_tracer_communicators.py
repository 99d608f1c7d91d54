"""Communicators in trace files: distinguished without communication, with members, parents and names."""

from __future__ import annotations

import pytest
from traced_program import Communicator, RankTrace, Traced

pytestmark = pytest.mark.slow

MADE_BY_ALL = (
    *("MPI_Comm_dup", "MPI_Comm_idup", "MPI_Cart_create"),
    *("MPI_Intercomm_create", "MPI_Intercomm_merge"),
)


@pytest.fixture
def ranks(traced: Traced) -> list[RankTrace]:
    """A run of programs/communicators.c, on each library."""
    return traced.trace(traced.compile_c("communicators.c"), 4)


def constructor(trace: RankTrace, maker: str) -> list[Communicator]:
    return [one for one in trace.communicators.values() if one.maker == maker]


def test_identities_are_the_same_at_all_members_and_differ_otherwise(ranks: list[RankTrace]) -> None:
    for trace in ranks:
        identities = [one.identity for one in trace.communicators.values()]
        assert len(set(identities)) == len(identities)
    for maker in (
        "MPI_Comm_dup",
        "MPI_Cart_create",
        "MPI_Intercomm_create",
        "MPI_Intercomm_merge",
        "MPI_Comm_idup",
    ):
        at_each = [[one.identity for one in constructor(trace, maker)] for trace in ranks]
        assert at_each[0]
        assert at_each == [at_each[0]] * 4, maker


def test_members_are_written_once_by_the_first_of_them(ranks: list[RankTrace]) -> None:
    halves = [constructor(trace, "MPI_Comm_split")[0] for trace in ranks]
    assert [half.members for half in halves] == [(0, 1), (), (2, 3), ()]
    assert [half.rank for half in halves] == [0, 1, 0, 1]
    rows = [constructor(trace, "MPI_Cart_sub")[0] for trace in ranks]
    assert [row.members for row in rows] == [(0, 2), (1, 3), (), ()]
    assert all(row.topology == 1 for row in rows)
    world = ranks[0].communicators[1]
    assert (world.members, world.size, world.maker) == ((0, 1, 2, 3), 4, "")
    assert ranks[0].communicators[2].members == (0,)


def test_parents_and_names_are_known(ranks: list[RankTrace]) -> None:
    for trace in ranks:
        first, second, third = constructor(trace, "MPI_Comm_dup")
        assert (first.name, second.name) == ("first", "second")
        assert first.parent == 1
        assert trace.communicators[second.parent].name == "first"
        assert third.parent == 1


def test_a_reused_handle_is_another_communicator(ranks: list[RankTrace]) -> None:
    for trace in ranks:
        barriers = [
            trace.communicators[int(record["communicator"])].identity
            for name, record in zip(trace.names, trace.records, strict=True)
            if name == "MPI_Barrier"
        ]
        _, second, third = (one.identity for one in constructor(trace, "MPI_Comm_dup"))
        assert barriers.count(second) == 1
        assert barriers.count(third) == 1
        assert constructor(trace, "MPI_Comm_dup")[1].calls == 2


def test_the_record_of_an_intercommunicator_has_both_groups_and_its_roots(ranks: list[RankTrace]) -> None:
    between = [constructor(trace, "MPI_Intercomm_create")[0] for trace in ranks]
    assert [(one.size, one.remote_size) for one in between] == [(2, 2)] * 4
    assert (between[0].members, between[0].remote_members) == ((0, 1), (2, 3))
    assert (between[2].members, between[2].remote_members) == ((2, 3), (0, 1))
    roots = [int(trace.records["root"][trace.names.index("MPI_Bcast")]) for trace in ranks]
    assert roots == [-2, -3, 1, 1]


def test_only_the_members_of_a_group_create_its_communicator(ranks: list[RankTrace]) -> None:
    assert [trace.names.count("MPI_Comm_create_group") for trace in ranks] == [0, 1, 0, 1]
    communicators = [constructor(trace, "MPI_Comm_create_group") for trace in ranks]
    assert communicators[1][0].members == (1, 3)
    assert communicators[1][0].identity == communicators[3][0].identity
    record = ranks[1].records[ranks[1].names.index("MPI_Comm_create_group")]
    assert record["sequence"] == 0
    assert ranks[1].communicators[int(record["communicator"])] == communicators[1][0]
    ends = [int(trace.records["sequence"][trace.records["communicator"] == 1].max()) for trace in ranks]
    assert ends == [ends[0]] * 4
