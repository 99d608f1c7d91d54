"""Cases of partitioned sends: stored and read again, and distinguished by their partitions."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from offbeat.model.study.case import PARTITIONED_SEND, Case
from offbeat.model.study.case_expansion import group_of, order


def case(collective: str = PARTITIONED_SEND, partitions: int = 1, **other: object) -> Case:
    fields: dict[str, object] = {
        "algorithm": "many",
        "bytes": 4096,
        "pattern": "late",
        "shape": "late",
        "skew_policy": "file",
        "skew_factor": 1.0,
        "p": 2,
        "nodes": 0,
        "ppn": 0,
    }
    return Case(collective=collective, partitions=partitions, **(fields | other))  # type: ignore[arg-type]


PARTITIONED = st.builds(
    case,
    partitions=st.integers(1, 2**31),
    algorithm=st.text(min_size=1, max_size=9),
    bytes=st.integers(0, 2**40),
    datatype=st.sampled_from(["", "double"]),
)


@given(PARTITIONED)
def test_a_case_of_a_partitioned_send_comes_back_with_its_id(case: Case) -> None:
    again = msgspec.json.decode(msgspec.json.encode(case), type=Case)
    assert again == case
    assert again.id == case.id


def test_the_number_of_partitions_distinguishes_cases_and_configurations() -> None:
    cases = [case(partitions=count) for count in (1, 2, 32)]
    assert len({one.id for one in cases}) == 3
    assert len({repr(group_of(one)) for one in cases}) == 3
    assert sorted(order(cases, 1), key=lambda one: one.partitions) == cases


def test_the_id_of_a_collective_is_what_it_was_without_partitions() -> None:
    collective = case("reduce", algorithm="chain(fanout=2)", op="sum", datatype="double")
    assert collective.id == "dddb5a81a11ce28d"
