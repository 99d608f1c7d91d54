"""The text of an entry: it holds all facts, only the weight may be edited, and damage is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from site_factory import entry, library, rows, study

from offbeat.base.errors import BadInput
from offbeat.model.study.algorithm import WrongCall
from offbeat.tuning.site.collect import collect
from offbeat.tuning.site.entry import (
    AlgorithmFact,
    Entry,
    LaunchFact,
    Origin,
    ShareFact,
    TimeFact,
    VerdictFact,
    in_order,
    parse,
    text,
)
from offbeat.tuning.site.tables import configuration_count

PATH = Path("site/openmpi-5.0.11/a.jsonl")
WORDS = st.text(min_size=1, max_size=12)
SIZES = st.integers(0, 2**40)
COLLECTIVES = st.sampled_from(["reduce", "alltoall", "barrier"])
DELAYS = st.none() | st.floats(-1e-3, 1e3)


def times(draw: Any) -> TimeFact:
    low, middle, high = (draw(DELAYS) for _ in range(3))
    return TimeFact(
        collective=draw(COLLECTIVES),
        algorithm=draw(WORDS),
        bytes=draw(SIZES),
        pattern=draw(WORDS),
        shape=draw(WORDS),
        skew_policy=draw(st.sampled_from(["none", "replay", "mean"])),
        skew_factor=draw(st.floats(0, 100)),
        p=draw(st.integers(1, 10**6)),
        nodes=draw(st.integers(0, 99)),
        ppn=draw(st.integers(0, 99)),
        source=draw(st.text(max_size=9)),
        status=draw(st.sampled_from(["measured", "quarantined"])),
        last_delay_s=middle,
        last_delay_low_s=low,
        last_delay_high_s=high,
    )


@st.composite
def entries(draw: Any) -> Entry:
    wrong = WrongCall(kind="roots", p=3, call=draw(WORDS), result=draw(WORDS))
    verdict = VerdictFact(
        collective=draw(COLLECTIVES),
        algorithm=draw(WORDS),
        p=4,
        bytes=draw(SIZES),
        status="proved",
        evidence=draw(WORDS),
        wrong_calls=draw(st.sampled_from([[], [wrong]])),
    )
    return Entry(
        origin=Origin(
            name="a",
            program=draw(st.text(max_size=30)),
            host=draw(WORDS),
            path=draw(WORDS),
            measured="2026-11-01T10:00:00+00:00",
            offbeat_version="0.1.0",
            study="0",
            repetitions=draw(st.integers(0, 9999)),
            warnings=draw(st.lists(WORDS, max_size=2)),
        ),
        weight=draw(st.floats(0, 1e12)),
        library=library(),
        launch=LaunchFact(mpi={"environment": {"A": draw(WORDS)}}, hang_after_s=60.0),
        shares=[ShareFact(collective="reduce", p=4, bytes=draw(SIZES), share=draw(st.floats(0, 1)))],
        algorithms=[
            AlgorithmFact(collective=draw(COLLECTIVES), name=draw(WORDS), settings={"a": draw(WORDS)})
        ],
        verdicts=[verdict],
        times=[times(draw) for _ in range(draw(st.integers(0, 4)))],
    )


@given(entries())
def test_a_text_that_is_read_is_the_entry_that_was_written(written: Entry) -> None:
    assert parse(text(in_order(written)), PATH) == in_order(written)


@given(entries(), st.randoms())
def test_the_order_of_measurement_does_not_change_the_text(written: Entry, order: Any) -> None:
    shuffled = list(written.times)
    order.shuffle(shuffled)
    keys = {
        (one.collective, one.p, one.nodes, one.ppn, one.bytes, one.pattern, one.algorithm) for one in shuffled
    }
    if len(keys) == len(shuffled):
        other = msgspec.structs.replace(written, times=shuffled)
        assert text(in_order(other)) == text(in_order(written))


@pytest.fixture
def lines(tmp_path: Path) -> list[bytes]:
    return text(entry(tmp_path, "a", {"default": 2.0, "way1": 1.0}, weight=7.0)).splitlines()


def parsed(lines: list[bytes]) -> Entry:
    return parse(b"\n".join(lines) + b"\n", PATH)


def test_each_line_is_one_fact_and_the_weight_can_be_edited(lines: list[bytes]) -> None:
    assert lines[1] == b'{"fact":"weight","weight":7.0}'
    assert sum(line.startswith(b'{"fact":"time"') for line in lines) == 2
    lines[1] = b'{"fact": "weight", "weight": 12000}'
    assert parsed(lines).weight == 12000


def test_line_ends_of_another_system_are_read(lines: list[bytes]) -> None:
    assert parse(b"\r\n".join(lines) + b"\r\n", PATH) == parsed(lines)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (b"<<<<<<< HEAD", "a.jsonl:2: this line is not a fact"),
        (b'{"fact":"weight","weight":-1}', "a.jsonl:2: this line is not a fact .*>= 0"),
        (b'{"fact":"weight","weight":"much"}', "a.jsonl:2: this line is not a fact"),
        (b'{"fact":"weight","weight":1e999}', "a.jsonl:2: this line is not a fact"),
        (b'{"fact":"colour"}', "a.jsonl:2: this line is not a fact"),
        (b"\xff\xfe", "a.jsonl:2: this line is not a fact"),
        (b"", "a.jsonl:2: this line is not a fact"),
        (b"[" * 5000, "a.jsonl:2: this line is not a fact"),
        (b'{"fact":"launch","mpi":{},"hang_after_s":1}', 'it has no lines \'"fact":"weight"\', not one'),
    ],
)
def test_a_damaged_line_is_named(lines: list[bytes], damage: bytes, message: str) -> None:
    lines[1] = damage
    with pytest.raises(BadInput, match=message):
        parsed(lines)


def test_a_changed_a_lost_and_a_doubled_measurement_are_found(lines: list[bytes]) -> None:
    changed = [line.replace(b'"last_delay_s":1e-6', b'"last_delay_s":9e-6') for line in lines]
    assert changed != lines
    for damaged in (changed, lines[:-1], [*lines, lines[-1]]):
        with pytest.raises(BadInput, match=r"do not match the digest in its first line.* put the file back"):
            parsed(damaged)


def test_an_empty_file_is_no_entry() -> None:
    with pytest.raises(BadInput, match="it has no lines"):
        parse(b"", PATH)


def test_rows_and_columns_of_a_grid_are_two_configurations(tmp_path: Path) -> None:
    delays = {"default": 2.0, "way1": 1.0}
    cases = [case for stride in (1, 2) for case in rows(delays, communicators=2, stride=stride)]
    written = collect(study(tmp_path / "grid", cases), "grid").entry
    assert configuration_count(written) == 2
    assert {(one.communicators, one.stride) for one in parse(text(written), tmp_path).times} == {
        (2, 1),
        (2, 2),
    }
