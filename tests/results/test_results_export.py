import csv
import io
import json
import subprocess
import sys

import jsonschema
import polars as pl
import pytest
from captured_command import invoke
from sample_cases import FACTS, make_case, make_samples

import offbeat
from offbeat.base.errors import BadInput
from offbeat.cli.results import app
from offbeat.measurement.results.export import export_csv, export_file, export_json, table
from offbeat.measurement.results.layout import SCHEMA_VERSION
from offbeat.measurement.results.schema import CASES, RANKS, REPETITIONS, polars_schema

SCHEMAS = {"cases": CASES, "repetitions": REPETITIONS, "ranks": RANKS}


@pytest.fixture
def results(store, directory):
    store.append(make_case(0, algorithm='odd, "quoted" näme'), FACTS, make_samples(0))
    store.append(make_case(1), FACTS | {"status": "quarantined"}, make_samples(1, repetitions=0))
    store.close()
    return offbeat.read_study(directory)


def run(*arguments):
    return invoke(app, *arguments)


READ = {pl.String: str, pl.Int64: int, pl.Float64: float, pl.Boolean: {"true": True, "false": False}.get}


@pytest.mark.parametrize("name", SCHEMAS)
def test_csv_preserves_every_value(results, name):
    stream = io.BytesIO()
    export_csv(results, stream, name)
    rows = csv.DictReader(io.StringIO(stream.getvalue().decode()))
    kinds = {column: READ[kind] for column, (kind, _) in SCHEMAS[name].items()}
    read = [
        {c: None if row[c] == "" and kinds[c] is not str else kinds[c](row[c]) for c in row} for row in rows
    ]
    assert read == table(results, name).to_dicts()


@pytest.mark.parametrize("name", SCHEMAS)
def test_csv_is_plain_csv_with_a_header(results, name):
    stream = io.BytesIO()
    export_csv(results, stream, name)
    rows = list(csv.reader(io.StringIO(stream.getvalue().decode())))
    assert rows[0] == list(SCHEMAS[name])
    assert all(len(row) == len(rows[0]) for row in rows)
    assert len(rows) == 1 + len(table(results, name))


@pytest.mark.parametrize("name", SCHEMAS)
def test_json_preserves_every_value_with_study_and_provenance(results, name):
    stream = io.BytesIO()
    export_json(results, stream, name)
    content = json.loads(stream.getvalue())
    assert (content["schema_version"], content["table"]) == (SCHEMA_VERSION, name)
    assert content["study"] == {"name": "a study"}
    assert content["provenance"]["host"] == "here"
    frame = pl.DataFrame(content["rows"], schema=polars_schema(SCHEMAS[name]))
    assert frame.equals(table(results, name))
    jsonschema.validate(content, {"type": "object", "properties": {"rows": {"type": "array", "minItems": 1}}})


def test_an_empty_study_exports_its_header(store, directory):
    empty = offbeat.read_study(directory)
    as_csv, as_json = io.BytesIO(), io.BytesIO()
    export_csv(empty, as_csv)
    export_json(empty, as_json)
    assert as_csv.getvalue().decode() == ",".join(CASES) + "\n"
    assert json.loads(as_json.getvalue())["rows"] == []


def test_long_tables_are_exported_whole(results, monkeypatch):
    monkeypatch.setattr("offbeat.measurement.results.export._SLICE_ROWS", 5)
    stream = io.BytesIO()
    export_csv(results, stream, "ranks")
    assert len(stream.getvalue().splitlines()) == 1 + 12
    stream = io.BytesIO()
    export_json(results, stream, "ranks")
    assert len(json.loads(stream.getvalue())["rows"]) == 12


def test_the_command_writes_csv_to_standard_output(results):
    assert run("export", results.directory).stdout.startswith("case,engine,library,")
    assert run("export", results.directory, "--format", "csv", "--table", "ranks").stdout.count("\n") == 13


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_a_reader_that_stops_early_sees_no_traceback(results, kind):
    verb = "from offbeat.cli.results import app; app()"
    command = [sys.executable, "-c", verb, "export", str(results.directory), "--format", kind]
    command += ["--table", "ranks"]
    exporter = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    exporter.stdout.close()
    assert exporter.stderr.read() == b""
    exporter.stderr.close()
    exporter.wait()


def test_the_command_writes_the_file_it_is_given(results, tmp_path):
    path = tmp_path / "out.json"
    assert run("export", results.directory, "--format", "json", "--output", path).stdout == ""
    assert len(json.loads(path.read_text())["rows"]) == 2
    assert [entry.name for entry in tmp_path.iterdir() if entry.is_file()] == ["out.json"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--format", "xml"], "known are csv and json"),
        (["--table", "clocks"], "tables are cases, repetitions, ranks"),
    ],
)
def test_contradicting_options_are_refused(results, options, sentence):
    with pytest.raises(BadInput, match=sentence):
        run("export", results.directory, *options)


def test_an_unwritable_output_is_refused(results, tmp_path):
    with pytest.raises(BadInput, match=r"cannot write .*: No such file or directory"):
        export_file(results, tmp_path / "no" / "out.csv")
    with pytest.raises(BadInput, match=r"there is no table 'clocks'"):
        export_file(results, tmp_path / "out.csv", name="clocks")
    assert not (tmp_path / "out.csv").exists()
    assert not list(tmp_path.glob("*.tmp"))
