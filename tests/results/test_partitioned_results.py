"""Results of partitioned sends: times for each rank and partition; those of collectives stay as they were."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from captured_command import invoke
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from sample_cases import FACTS, STUDY, make_case, make_samples

from offbeat.base.campaign.append_file import encode_lines
from offbeat.base.errors import BadInput
from offbeat.cli.partitioned import app
from offbeat.measurement.results import layout
from offbeat.measurement.results.blocks import Samples
from offbeat.measurement.results.export import export_file
from offbeat.measurement.results.import_csv import import_csv
from offbeat.measurement.results.read import read_study
from offbeat.measurement.results.records import encode_record
from offbeat.measurement.results.sample_files import read_tables
from offbeat.measurement.results.store import Store
from offbeat.model.study.case import PARTITIONED_SEND, Case
from offbeat.selection.choices.choose import select


def partitioned(number: int, p: int, partitions: int) -> Case:
    changes = {"op": "", "shape": "late", "skew_policy": "file", "skew_factor": 1.0}
    return make_case(number, p, collective=PARTITIONED_SEND, partitions=partitions, **changes)


def samples_of(case: Case, repetitions: int, seed: int) -> Samples:
    """Random times; the exits are not before the arrivals."""
    generator = np.random.default_rng(seed)
    shape = (repetitions, case.p, case.partitions)[: 2 if case.partitions == 1 else 3]
    arrivals_s = generator.random(shape) * 1e-4
    exits_s = arrivals_s + generator.random(shape) * 1e-4
    return Samples(arrivals_s=arrivals_s, exits_s=exits_s, valid=np.ones(repetitions, dtype=np.bool_))


def write(directory: Path, written: list[tuple[Case, Samples]], close: bool = True) -> Store:
    store = Store.create(directory, study_toml=STUDY, provenance={"library": "L"})
    store.set_plan([case for case, _ in written])
    for case, samples in written:
        store.append(case, FACTS, samples)
    if close:
        store.close()
    return store


SHAPES = st.lists(
    st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 6)), min_size=1, max_size=4
)  # p, partitions, repetitions


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(shapes=SHAPES, seed=st.integers(0, 2**31), is_closed=st.booleans(), with_collective=st.booleans())
def test_every_time_of_a_partitioned_send_comes_back(
    tmp_path_factory: pytest.TempPathFactory,
    shapes: list[tuple[int, int, int]],
    seed: int,
    is_closed: bool,
    with_collective: bool,
) -> None:
    directory = tmp_path_factory.mktemp("results") / "r"
    written = []
    for number, (p, partitions, repetitions) in enumerate(shapes):
        case = partitioned(number, p, partitions)
        written.append((case, samples_of(case, repetitions, seed + number)))
    if with_collective:  # no engine does this, but nothing may be lost
        written.insert(seed % 2, (make_case(9), make_samples(seed)))
    store = write(directory, written, close=is_closed)
    results = read_study(directory)
    ranks = results.ranks()
    assert results.notes == []
    for (case, samples), row in zip(written, results.cases.iter_rows(named=True), strict=True):
        assert Case(**{name: row[name] for name in Case.__struct_fields__}) == case
        own = ranks.filter(pl.col("case") == case.id).sort("repetition", "rank", "partition")
        shape = (len(samples.valid), case.p, case.partitions)
        assert (
            own["arrival_s"].to_numpy().reshape(shape).tolist() == samples.arrivals_s.reshape(shape).tolist()
        )
        assert own["exit_s"].to_numpy().reshape(shape).tolist() == samples.exits_s.reshape(shape).tolist()
        assert own["partition"].to_list()[: case.partitions] == list(range(case.partitions))
        if case.collective == PARTITIONED_SEND:
            last_s = samples.exits_s.reshape(shape).max(axis=(1, 2)) - samples.arrivals_s.reshape(shape).max(
                axis=(1, 2)
            )
            assert row["last_delay_s"] == np.median(last_s)
    if not is_closed:
        store._lock.release()
        Store.open(directory).close()  # as after a kill
        assert read_study(directory).ranks().equals(ranks)


def test_partitioned_sends_do_not_change_the_files_of_a_collective(tmp_path: Path) -> None:
    """The texts and checksums are those of offbeat before results had partitions."""
    case = make_case(2, p=2)
    samples = Samples(
        arrivals_s=np.array([[0.0, 0.25], [0.5, 0.0], [0.0, 1.0]]),
        exits_s=np.array([[1.0, 1.25], [1.5, 1.0], [2.0, 2.0]]),
        valid=np.ones(3, dtype=np.bool_),
    )
    write(tmp_path / "r", [(case, samples)])
    (line,) = (tmp_path / "r" / layout.CASES).read_text().splitlines()
    assert line.startswith('{"case":"3a66cbef26582c1b","engine":"mpi",')
    assert line.endswith('"samples":"b5f95d6742c42205-25e92ec1d235d36c","checksum":"94ed0c8a108fea09"}')
    assert json.loads((tmp_path / "r" / layout.PLAN).read_text())["checksum"] == "850ce5a75c69080f"
    assert read_study(tmp_path / "r").ranks()["partition"].to_list() == [0] * 6
    assert read_study(tmp_path / "r").cases["partitions"].to_list() == [1]


def test_a_changed_partition_is_found(tmp_path: Path) -> None:
    """A record that is valid by itself, with the times of two partitions exchanged."""
    case = partitioned(0, 2, 4)
    write(tmp_path / "r", [(case, samples_of(case, 3, 1))])
    (path,) = (tmp_path / "r" / layout.RANKS).iterdir()
    (table,) = read_tables(path, layout.RANKS, [])
    stream = io.BytesIO()
    table.with_columns(pl.col("arrivals_s").list.reverse()).write_ipc_stream(stream)
    path.write_bytes(encode_record(stream.getvalue()))
    results = read_study(tmp_path / "r")
    assert results.ranks().height == 0
    assert "the times of its ranks do not match their checksum" in results.notes[0]


def test_what_is_fitted_to_damaged_results_comes_with_a_note(tmp_path: Path) -> None:
    """A message whose times are damaged is left out."""
    directory, platform = tmp_path / "r", tmp_path / "platform.toml"
    cases = [
        replace(partitioned(number, 2, 4), algorithm="single", bytes=4**number) for number in range(5, 11)
    ]
    write(directory, [(case, samples_of(case, 20, number)) for number, case in enumerate(cases)])
    path = directory / layout.CASES
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0].replace('"last_delay_s":', '"last_delay_s":1', 1), *lines[1:]]))
    for words in (["fit", directory, "-o", platform], ["advise", directory, "--size", "64 KiB"]):
        done = " ".join(invoke(app, *words).output.split())
        assert "note: 1 damaged record" in done and "cases.jsonl:1" in done


def test_a_collective_with_partitions_is_damaged(tmp_path: Path) -> None:
    case = partitioned(0, 2, 4)
    write(tmp_path / "r", [(case, samples_of(case, 3, 1))])
    path = tmp_path / "r" / layout.CASES
    row = json.loads(path.read_text())
    path.write_bytes(
        encode_lines([{k: v for k, v in row.items() if k != "checksum"} | {"collective": "bcast"}])
    )
    results = read_study(tmp_path / "r")
    assert results.cases.height == 0
    assert "it has 4 partitions, but only a partitioned_send has several" in results.notes[0]


@pytest.mark.parametrize("partitions", [1, 8])
def test_samples_of_other_partitions_are_refused(tmp_path: Path, partitions: int) -> None:
    case = partitioned(0, 2, 4)
    with (
        Store.create(tmp_path / "r", study_toml=STUDY, provenance={"library": "L"}) as store,
        pytest.raises(ValueError, match=r"should both be \(3, 2, 4\)"),
    ):
        store.append(case, FACTS, samples_of(partitioned(0, 2, partitions), 3, 1))


def test_an_exported_table_of_partitioned_sends_can_be_imported(tmp_path: Path) -> None:
    written = [
        (partitioned(n, 2, count), samples_of(partitioned(n, 2, count), 6, n))
        for n, count in enumerate((1, 4))
    ]
    write(tmp_path / "r", written)
    before = read_study(tmp_path / "r")
    export_file(before, tmp_path / "t.csv")
    import_csv(tmp_path / "t.csv", tmp_path / "again")
    after = read_study(tmp_path / "again").cases
    columns = ["collective", "algorithm", "bytes", "p", "partitions", "last_delay_s", "repetitions"]
    assert after.select(columns).equals(before.cases.select(columns))


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("reduce,2", "reduce with 2 partitions: the number of partitions should be 1"),
        ("partitioned_send,0", "the number of partitions should be a number above 0"),
    ],
)
def test_an_unknown_imported_operation_is_refused(tmp_path: Path, row: str, sentence: str) -> None:
    (tmp_path / "t.csv").write_text(
        f"collective,partitions,algorithm,bytes,pattern,p,last_delay_us\n{row},many,8,late,2,1\n"
    )
    with pytest.raises(BadInput, match=rf"t\.csv:2: .*{sentence}"):
        import_csv(tmp_path / "t.csv", tmp_path / "r")


def test_a_choice_is_for_a_number_of_partitions(tmp_path: Path) -> None:
    written = [(partitioned(n, 2, 4), samples_of(partitioned(n, 2, 4), 6, n)) for n in range(2)]
    write(tmp_path / "r", written)
    configurations = [choice.configuration for choice in select(read_study(tmp_path / "r")).choices]
    assert {one.division for one in configurations} == {"4 partitions, 1 thread"}
