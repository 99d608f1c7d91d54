"""Exports of synthetic traces follow the rules of their formats and contain every number."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import polars as pl
import pytest
import trace_factory as factory

from offbeat.base.errors import BadInput
from offbeat.trace.exports.exports import export
from offbeat.trace.files import format as form
from offbeat.trace.files.trace_folder import Trace, open_trace

EVENT: dict[str, Any] = {
    "type": "object",
    "required": ["ph", "name", "pid", "tid"],
    "properties": {
        "ph": {"enum": ["X", "M", "b", "e", "s", "f", "i"]},
        "name": {"type": "string", "minLength": 1},
        "cat": {"type": "string"},
        "pid": {"type": "integer"},
        "tid": {"type": "integer"},
        "ts": {"type": "number"},
        "dur": {"type": "number", "minimum": 0},
        "id": {"type": ["string", "integer"]},
        "args": {"type": "object"},
    },
    "allOf": [
        {"if": {"properties": {"ph": {"const": "X"}}}, "then": {"required": ["ts", "dur"]}},
        {
            "if": {"properties": {"ph": {"enum": ["b", "e", "s", "f"]}}},
            "then": {"required": ["ts", "id", "cat"]},
        },
        {
            "if": {"properties": {"ph": {"const": "M"}}},
            "then": {
                "required": ["args"],
                "properties": {"name": {"enum": ["process_name", "process_sort_index", "thread_name"]}},
            },
        },
    ],
}
"""The part of Chrome's Trace Event Format that is used here."""

FORMAT = {
    "type": "object",
    "required": ["traceEvents"],
    "properties": {
        "traceEvents": {"type": "array", "items": EVENT},
        "displayTimeUnit": {"enum": ["ms", "ns"]},
        "otherData": {"type": "object"},
    },
    "additionalProperties": False,
}


def strictly_read(path: Path) -> list[dict[str, Any]]:
    """The events of a file, which must be strict JSON in this format."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    document = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    jsonschema.validate(document, FORMAT)
    return list(document["traceEvents"])


def nested(events: list[dict[str, Any]]) -> bool:
    """Whether any two events of a thread are nested or do not overlap; to 1 ns."""
    spans = [(round(1000 * one["ts"]), round(1000 * (one["ts"] + one["dur"]))) for one in events]
    inner: list[int] = []
    for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        while inner and inner[-1] <= begin:
            inner.pop()
        if inner and end > inner[-1]:
            return False
        inner.append(end)
    return True


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    ranks = factory.files(2)
    for one in ranks:
        one.definitions.append(factory.communicator(3, [0, 1], one.rank, ordinal=1, parent=1))
        one.definitions.append(factory.name(3, 'a "name", with comma'))
        late = 500 * one.rank
        one.call(1001 + late, 2001, bytes=64, flags=form.IN_PLACE)
        one.call(3001, 3101, sequence=0, communicator=3, function="MPI_Iallreduce", flags=form.ISSUE)
        one.call(3201, 3301, sequence=1, communicator=3, function="MPI_Iallreduce", flags=form.ISSUE)
        for sequence in (0, 1):
            flags = form.COMPLETION | 2 << form.BY_SHIFT
            one.call(4001, 5001, sequence=sequence, communicator=3, function="MPI_Iallreduce", flags=flags)
        one.call(6001, 7001, sequence=1, function="MPI_Bcast", root=1, lane=1)
    return open_trace(factory.write(tmp_path / "t", ranks))


def test_perfetto_is_valid_and_has_every_call(trace: Trace, tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    export(trace, path, "perfetto")
    events = strictly_read(path)
    calls = [event for event in events if event["ph"] == "X"]
    assert len(calls) == 12
    first = next(event for event in calls if event["pid"] == 1)
    assert (first["ts"], first["dur"], first["args"]["bytes"]) == (1.5, 0.5, 64)
    begun = [event["id"] for event in events if event["ph"] == "b"]
    assert sorted(begun) == sorted(event["id"] for event in events if event["ph"] == "e")
    assert len(set(begun)) == 4
    assert {event["tid"] for event in calls} == {0, 1}


def test_perfetto_events_follow_the_rules_of_the_format(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    ranks = factory.files(3)
    for one in ranks:
        one.definitions.append(factory.communicator(3, range(3), one.rank, ordinal=1, parent=1))
        at = 1000 + 100 * one.rank
        for sequence in range(300):
            gap, length = (int(value) for value in rng.integers(1, 90_000, 2))
            if sequence % 3:
                one.call(at + gap, at + gap + length, sequence=sequence)
            else:
                chosen: dict[str, Any] = {"function": "MPI_Iallreduce", "communicator": 3}
                chosen["sequence"] = sequence // 3
                one.call(at + gap, at + gap + length, flags=form.ISSUE, **chosen)
                wait = at + gap + length + 500
                one.call(wait, wait + 900, flags=form.COMPLETION | 1 << form.BY_SHIFT, **chosen)
                at += 1400
            at += gap + length
    export(open_trace(factory.write(tmp_path / "t", ranks)), tmp_path / "out.json", "perfetto")
    events = strictly_read(tmp_path / "out.json")
    by_thread: dict[tuple[int, int], list[dict[str, Any]]] = {}
    pairs: dict[tuple[int, str], list[tuple[str, float]]] = {}
    for event in events:
        if event["ph"] == "X":
            by_thread.setdefault((event["pid"], event["tid"]), []).append(event)
        elif event["ph"] in "be":
            pairs.setdefault((event["pid"], event["id"]), []).append((event["ph"], event["ts"]))
    assert len(by_thread) == 3
    for one_thread in by_thread.values():
        ends = [event["ts"] + event["dur"] for event in one_thread]
        assert ends == sorted(ends)
        assert min(event["ts"] for event in one_thread) >= 0
        assert nested(one_thread)
    assert len(pairs) == 300
    assert all(kinds == ("b", "e") and begin <= end for kinds, (begin, end) in map(unzipped, pairs.values()))


def unzipped(pair: list[tuple[str, float]]) -> tuple[tuple[str, ...], tuple[float, ...]]:
    return tuple(kind for kind, _ in pair), tuple(at for _, at in pair)


def test_perfetto_of_some_ranks_has_only_those(trace: Trace, tmp_path: Path) -> None:
    export(trace, tmp_path / "out.json", "perfetto", ranks=[1])
    events = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["traceEvents"]
    assert {event["pid"] for event in events} == {1}


def test_csv_and_parquet_hold_the_same_table(trace: Trace, tmp_path: Path) -> None:
    export(trace, tmp_path / "out.csv", "csv")
    export(trace, tmp_path / "out.parquet", "parquet")
    table = pl.read_parquet(tmp_path / "out.parquet")
    text = pl.read_csv(tmp_path / "out.csv", schema=table.schema).with_columns(
        pl.col(pl.String).fill_null("")
    )
    assert table.equals(text)
    assert table.height == 12
    row = table.row(6, named=True)
    assert (row["rank"], row["enter_ns"], row["exit_ns"], row["bytes"]) == (1, 1500, 2000, 64)
    assert row["in_place"]
    assert row["site"] == "app+0x1010"
    assert table["communicator"].to_list()[1] == 'a "name", with comma'
    assert table["completed_by"].to_list()[3] == "waitall"


def test_an_empty_trace_is_an_empty_table(tmp_path: Path) -> None:
    trace = open_trace(factory.write(tmp_path / "t", factory.files(2)))
    export(trace, tmp_path / "out.parquet", "parquet")
    export(trace, tmp_path / "out.csv", "csv")
    assert pl.read_parquet(tmp_path / "out.parquet").height == 0
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").startswith("rank,host,lane,function")


def test_an_unwritable_file_is_reported(trace: Trace, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"cannot write .*No such file"):
        export(trace, tmp_path / "nowhere" / "out.csv", "csv")


def test_otf2_is_read_back_by_its_own_library(trace: Trace, tmp_path: Path) -> None:
    otf2 = pytest.importorskip("otf2")
    export(trace, tmp_path / "archive", "otf2")
    observed: list[tuple[str, int, str]] = []
    with otf2.reader.open(str(tmp_path / "archive" / "traces.otf2")) as archive:
        assert archive.timer_resolution == 10**9
        assert {comm.name for comm in archive.definitions.comms} == {"MPI_COMM_WORLD", 'a "name", with comma'}
        for location, event in archive.events:
            observed.append((location.group.name, event.time, type(event).__name__))
    assert [entry for entry in observed if entry[0] == "rank 1"][:4] == [
        ("rank 1", 1500, "Enter"),
        ("rank 1", 1500, "MpiCollectiveBegin"),
        ("rank 1", 2000, "MpiCollectiveEnd"),
        ("rank 1", 2000, "Leave"),
    ]
    names = [entry[2] for entry in observed]
    assert names.count("NonBlockingCollectiveRequest") == names.count("NonBlockingCollectiveComplete") == 4
    assert names.count("Enter") == names.count("Leave") == 12


def test_otf2s_own_program_finds_nothing_wrong_with_an_archive(trace: Trace, tmp_path: Path) -> None:
    pytest.importorskip("otf2")
    program = shutil.which("otf2-print")
    if program is None:
        pytest.skip("missing: Debian's package otf2-tools")
    export(trace, tmp_path / "archive", "otf2")
    done = subprocess.run(
        [program, "--show-all", tmp_path / "archive" / "traces.otf2"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert done.stdout.count("NON_BLOCKING_COLLECTIVE_COMPLETE") == 4
    assert done.stdout.count('Operation: BCAST, Communicator: "MPI_COMM_WORLD" <0>, Root: 1') == 2
    assert "Date: 2001-09-09" in done.stdout  # when the run began, not when it was exported


def test_an_archive_that_cannot_be_finished_is_not_left_behind(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    otf2, errors = pytest.importorskip("otf2"), pytest.importorskip("_otf2")

    def fails(writer: Any) -> None:
        raise errors.Error(errors.ErrorCodes.ERROR_ENOSPC)

    monkeypatch.setattr(otf2.writer.Writer, "_close_event_writers", fails)
    with pytest.raises(BadInput, match=r"cannot write .*archive.*No space left on device.*is the disk full"):
        export(trace, tmp_path / "archive", "otf2")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t"]


def test_without_the_library_otf2_says_what_to_do(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "otf2", None)
    with pytest.raises(BadInput, match="pip install otf2"):
        export(trace, tmp_path / "archive", "otf2")
    assert not (tmp_path / "archive").exists()


def with_messages(folder: Path) -> Trace:
    """A collective, a blocking message from rank 0 to rank 1, one by requests back, a poll and a mark."""
    ranks = factory.files(2)
    for one in ranks:
        one.call(1000, 2000)
    ranks[0].message(3000, 4000, peer=1, tag=7, bytes=80)
    ranks[1].message(2500, 4500, peer=0, tag=7, bytes=80, kind=form.RECEIVE, function="MPI_Recv")
    done = form.COMPLETION | 1 << form.BY_SHIFT
    isend = {"peer": 0, "tag": 9, "request": 1, "function": "MPI_Isend"}
    irecv = {"peer": 1, "tag": 9, "request": 1, "function": "MPI_Irecv", "kind": form.RECEIVE}
    for number, values in ((0, irecv), (1, isend)):
        ranks[number].message(5000, 5100, flags=form.ISSUE, **values)
        ranks[number].message(6000, 7000, flags=done, **values)
    nothing = {"communicator": 0, "peer": -1, "tag": -1, "bytes": 300, "partition": 5}
    ranks[0].message(8000, 9000, kind=form.POLL, function="MPI_Test", **nothing)
    ranks[0].message(9100, 9200, kind=form.MARK, function="MPI_Pcontrol", **(nothing | {"tag": 2}))
    return open_trace(factory.write(folder, ranks))


def test_perfetto_has_calls_marks_and_an_arrow_for_each_message(tmp_path: Path) -> None:
    trace = with_messages(tmp_path / "t")
    (path,) = export(trace, tmp_path / "t.json", "perfetto")
    events = strictly_read(path)
    calls = [(one["pid"], one["name"]) for one in events if one.get("cat") == "message" and one["ph"] == "X"]
    assert calls == [
        *((0, "MPI_Send"), (0, "MPI_Irecv"), (0, "MPI_Wait"), (0, "MPI_Test (found nothing)")),
        *((1, "MPI_Recv"), (1, "MPI_Isend"), (1, "MPI_Wait")),
    ]
    assert [one["name"] for one in events if one["ph"] == "i"] == ["MPI_Pcontrol(2)"]
    ends = {phase: {one["id"]: one for one in events if one["ph"] == phase} for phase in "sf"}
    arrows = [(ends["s"][number], ends["f"][number]) for number in sorted(ends["s"])]
    assert ends["s"].keys() == ends["f"].keys()
    assert sorted((a["pid"], b["pid"], round(b["ts"] - a["ts"], 3)) for a, b in arrows) == [
        (0, 1, 1.5),
        (1, 0, 2.0),
    ]


@pytest.mark.parametrize("to", ["parquet", "csv"])
def test_tables_of_messages_are_a_second_file(tmp_path: Path, to: str) -> None:
    trace = with_messages(tmp_path / "t")
    path, beside = export(trace, tmp_path / f"t.{to}", to)
    assert beside.name == f"t-messages.{to}"
    read = pl.read_parquet if to == "parquet" else pl.read_csv
    assert read(path).height == 2
    table = read(beside)
    assert table["spent_ns"].sum() == 1000 + 2000 + 2 * 1100 + 300 + 100
    assert table.filter(pl.col("kind") == "poll")["calls"].to_list() == [5]


def test_otf2_has_the_messages_of_both_ranks(tmp_path: Path) -> None:
    otf2 = pytest.importorskip("otf2")
    export(with_messages(tmp_path / "t"), tmp_path / "archive", "otf2")
    with otf2.reader.open(str(tmp_path / "archive" / "traces.otf2")) as trace:
        names = [type(event).__name__ for _, event in trace.events]
    for name in ("MpiSend", "MpiRecv", "MpiIsend", "MpiIsendComplete", "MpiIrecvRequest", "MpiIrecv"):
        assert names.count(name) == 1, names
    assert names.count("MpiCollectiveEnd") == 2
