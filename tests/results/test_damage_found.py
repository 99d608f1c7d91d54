"""Damaged records are named and excluded, moved away by the next run, and measured again."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sample_cases import FACTS, STUDY, make_case, make_samples

import offbeat
from offbeat.base.campaign.append_file import encode_lines
from offbeat.base.errors import BadInput
from offbeat.measurement.results import layout
from offbeat.measurement.results.import_csv import import_csv
from offbeat.measurement.results.read import read_study
from offbeat.measurement.results.records import encode_record
from offbeat.measurement.results.store import Store
from offbeat.model.study.algorithm import Algorithm, Verdict

pytestmark = pytest.mark.slow

COUNT = 5
KINDS = ["stream", "rank stream", "repetitions", "ranks", "cases", "verdicts"]
IDS = [make_case(number).id for number in range(COUNT)]
VERDICTS = [
    Verdict(collective="reduce", algorithm=f"chain(fanout={number})", p=3, bytes=1024, status="proved")
    for number in range(COUNT)
]

ALGORITHMS = [Algorithm(collective="reduce", name=one.algorithm, settings={"a": "1"}) for one in VERDICTS]


def study_directory(directory: Path) -> Path:
    """Five cases with verdicts, a record for each, as a killed writer leaves them."""
    with Store.create(directory, study_toml=STUDY, provenance={"host": "here"}) as store:
        store.add_algorithms(ALGORITHMS)
        store.add_verdicts(VERDICTS)
        store.set_plan(make_case(number) for number in range(COUNT))
        for number in range(COUNT):
            store.append(make_case(number), FACTS, make_samples(number))
        return Path(shutil.copytree(directory, directory.with_name("killed")))


@pytest.fixture(scope="module")
def streams(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return study_directory(tmp_path_factory.mktemp("study_directory") / "results")


@pytest.fixture(scope="module")
def parts(streams: Path) -> Path:
    return streams.with_name("results")


def goes_on(directory: Path) -> set[str]:
    """Resumes the study, checks that it is complete, and returns the cases that were measured again."""
    with Store.open(directory) as store:
        store.add_algorithms(ALGORITHMS)
        store.add_verdicts(VERDICTS)
        todo = set(IDS) - store.done
        for number in range(COUNT):
            if make_case(number).id in todo:
                store.append(make_case(number), FACTS, make_samples(number))
    results = read_study(directory)
    ranks = results.ranks()
    assert set(results.cases["case"]) == set(IDS)
    assert results.repetitions.height == 4 * COUNT
    assert ranks.height == 12 * COUNT
    assert results.notes == []
    return todo


def flip(path: Path, place: float, bit: int = 4) -> None:
    data = bytearray(path.read_bytes())
    data[int(place * (len(data) - 1))] ^= 1 << bit
    path.write_bytes(data)


def insert(path: Path, place: float) -> None:
    data = path.read_bytes()
    at = int(place * (len(data) - 1))
    path.write_bytes(data[:at] + b"x" + data[at:])


def test_a_changed_digit_in_a_line_is_detected_named_excluded_and_measured_again(
    parts: Path, tmp_path: Path
) -> None:
    """A flipped bit that once changed the winner: 2.4685e-6 became 0.4685e-6."""
    left = Path(shutil.copytree(parts, tmp_path / "left"))
    path = left / layout.CASES
    lines = path.read_text().splitlines(keepends=True)
    lines[2] = re.sub(r'("last_delay_s":)[^,]+', r"\g<1>0.4685e-6", lines[2])
    path.write_text("".join(lines))
    results = read_study(left)
    assert results.cases["case"].to_list() == [*IDS[:2], *IDS[3:]]
    (note,) = results.notes
    assert "1 damaged record " in note
    assert "cases.jsonl:3, reduce chain(fanout=2), p = 3, 1024 B, ascending×1.5" in note
    assert "checksum" in note
    with Store.open(left) as store:
        assert [str(one).split(",")[0] for one in store.damaged] == ["cases.jsonl:3"]
    assert (left / layout.DAMAGED / layout.CASES).read_text() == lines[2]
    assert goes_on(left) == {IDS[2]}


@pytest.mark.parametrize("damage", [flip, insert])
@settings(max_examples=25)
@given(
    place=st.floats(0, 1),
    kind=st.sampled_from(KINDS),
)
@example(place=1.0, kind="cases")
def test_damage_anywhere_is_detected_and_repaired_by_resuming(
    streams: Path,
    parts: Path,
    tmp_path_factory: pytest.TempPathFactory,
    damage: Callable[[Path, float], None],
    place: float,
    kind: str,
) -> None:
    left = Path(
        shutil.copytree(streams if "stream" in kind else parts, tmp_path_factory.mktemp("one") / "left")
    )
    (path,) = {
        "stream": lambda: list((left / layout.REPETITIONS).iterdir()),
        "rank stream": lambda: list((left / layout.RANKS).iterdir()),
        "repetitions": lambda: list((left / layout.REPETITIONS).iterdir()),
        "ranks": lambda: list((left / layout.RANKS).iterdir()),
        "cases": lambda: [left / layout.CASES],
        "verdicts": lambda: [left / layout.VERDICTS],
    }[kind]()
    whole = read_study(parts).cases.to_dicts()
    damage(path, place)
    results = read_study(left)
    rows = results.cases.to_dicts()
    assert all(row in whole for row in rows)
    ranks = results.ranks()
    if len(rows) < COUNT:
        # A record whose line end is lost looks like the last one of a killed writer: it is measured again.
        has_lost_end = kind == "cases" and not path.read_bytes().endswith(b"\n")
        assert results.notes or has_lost_end
    elif ranks.height < 12 * COUNT:
        assert "do not fit their checksum" in results.notes[-1] or "damaged" in results.notes[-1]
    goes_on(left)


def test_rows_of_a_case_that_is_measured_again_count_once(parts: Path, tmp_path: Path) -> None:
    """The samples of a case with a damaged line are still on disk and must be removed before it is measured
    again."""
    left = Path(shutil.copytree(parts, tmp_path / "left"))
    flip(left / layout.CASES, 0.01)
    assert goes_on(left) == {IDS[0]}
    assert list((left / layout.DAMAGED).glob("repetitions-session-0001.records*"))


def test_a_file_with_more_rows_than_all_cases_have_is_not_read(
    parts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("offbeat.measurement.results.recorded.SPARE_ROWS", 0)
    left = Path(shutil.copytree(parts, tmp_path / "left"))
    (path,) = (left / layout.REPETITIONS).iterdir()
    path.write_bytes(path.read_bytes() * 3)
    results = read_study(left)
    assert results.cases.is_empty()
    assert any("it has 60 rows, and all cases together have 20 at most" in note for note in results.notes)
    assert goes_on(left) == set(IDS)


def test_a_record_with_other_columns_is_damaged(parts: Path, tmp_path: Path) -> None:
    left = Path(shutil.copytree(parts, tmp_path / "left"))
    table = io.BytesIO()
    pl.DataFrame({"case": [IDS[0]], "repetition": [0]}).write_ipc_stream(table)
    for content in (table.getvalue(), b"", b"no table"):
        for folder in (layout.REPETITIONS, layout.RANKS):
            with (left / folder / "session-0001.records").open("ab") as file:
                file.write(encode_record(content))
    results = read_study(left)
    assert results.cases["case"].to_list() == IDS
    assert "3 damaged records" in results.notes[0]
    assert goes_on(left) == set()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"last_delay_s": 4.8e304}, "last_delay_s is 4.8e+304 s, longer than ten days"),
        ({"last_delay_s": 1e-9}, "is outside of its interval"),
        ({"last_delay_s": -1.0}, "negative"),
        ({"repetitions": -1}, "repetitions is -1"),
        ({"status": "splendid"}, "none of measured, unfinished, incomplete, quarantined"),
    ],
)
def test_implausible_numbers_are_excluded(
    parts: Path, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    left = Path(shutil.copytree(parts, tmp_path / "left"))
    rows = [json.loads(line) for line in (left / layout.CASES).read_text().splitlines()]
    rows = [{name: value for name, value in row.items() if name != "checksum"} for row in rows]
    rows[1] |= change
    (left / layout.CASES).write_bytes(encode_lines(rows))
    results = read_study(left)
    assert len(results.cases) == COUNT - 1
    assert "cases.jsonl:2, reduce chain(fanout=1)" in results.notes[0]
    assert message in results.notes[0]


def test_a_case_whose_verdict_is_damaged_is_left_out_and_an_algorithm_is_judged_again(
    parts: Path, tmp_path: Path
) -> None:
    """The damaged line held the operations for which it is wrong."""
    left = Path(shutil.copytree(parts, tmp_path / "left"))
    for name in (layout.VERDICTS, layout.ALGORITHMS):
        path = left / name
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join([lines[0][:9] + b"#" + lines[0][10:], *lines[1:]]))
        results = read_study(left)
    assert IDS[0] not in results.cases["case"].to_list()
    assert "verdicts.jsonl:1" in results.notes[0]
    assert "algorithms.jsonl:1" in results.notes[0]
    shutil.copy(parts / layout.VERDICTS, left / layout.VERDICTS)
    with Store.open(left) as store:
        assert store.verdict("reduce", "chain(fanout=0)", 3, 1024) is None
        assert store.verdict("reduce", "chain(fanout=1)", 3, 1024) is not None


@pytest.mark.parametrize("name", [layout.PROVENANCE, layout.PLAN])
def test_a_changed_document_is_refused(parts: Path, tmp_path: Path, name: str) -> None:
    left = Path(shutil.copytree(parts, tmp_path / "left"))
    text = (left / name).read_text()
    (left / name).write_text(text.replace('"here"', '"there"').replace('"total": 5', '"total": 4'))
    with pytest.raises(BadInput, match=rf"{name} is damaged \(its checksum does not match\)"):
        offbeat.read_study(left)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("reduce,lin,4,8,no_delay,4.8e300,1,1,9", "last_delay is 4.8e.*longer than ten days"),
        ("reduce,lin,4,8,no_delay,5,6,7,9", "outside of its interval"),
    ],
)
def test_an_import_refuses_implausible_numbers_with_their_line(
    tmp_path: Path, row: str, message: str
) -> None:
    csv = tmp_path / "odd.csv"
    names = (
        "collective,algorithm,p,bytes,pattern,last_delay_us,last_delay_low_us,last_delay_high_us,repetitions"
    )
    csv.write_text(f"{names}\nreduce,ring,4,8,no_delay,5,4,6,9\n{row}\n", encoding="utf-8")
    with pytest.raises(BadInput, match=rf"odd\.csv:3: .*{message}"):
        import_csv(csv, tmp_path / "odd")
    assert not (tmp_path / "odd").exists()


@pytest.mark.parametrize("name", [layout.ALGORITHMS, layout.VERDICTS])
@pytest.mark.parametrize("kept", [0, 2])
def test_lost_lines_of_algorithms_and_verdicts_are_noticed(
    parts: Path, tmp_path: Path, name: str, kept: int
) -> None:
    """Whole lines are missing at the end, as after a copy that ended too early: no checksum shows that."""
    left = Path(shutil.copytree(parts, tmp_path / "left"))
    lines = (left / name).read_bytes().splitlines(keepends=True)
    (left / name).write_bytes(b"".join(lines[:kept]))
    results = read_study(left)
    assert sorted(results.cases["case"].to_list()) == sorted(IDS[:kept])
    (note,) = results.notes
    assert "missing" in note
