from pathlib import Path

import polars as pl
import pytest
from captured_command import invoke
from hypothesis import given
from hypothesis import strategies as st
from sample_cases import FACTS, make_case, make_samples

import offbeat
from offbeat.base.errors import BadInput
from offbeat.cli.results import app
from offbeat.measurement.results.export import export_file
from offbeat.measurement.results.import_csv import import_csv
from offbeat.measurement.results.schema import CASES, polars_schema

REFERENCE = Path(__file__).parent.parent / "reference"
HEADER = "machine,nodes,processes_per_node,collective,message_bytes,pattern,algorithm,last_delay_us"


def written(tmp_path, *rows, header=HEADER):
    path = tmp_path / "theirs.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def imported(tmp_path, *rows, header=HEADER, **options):
    done = import_csv(written(tmp_path, *rows, header=header), tmp_path / "out", **options)
    return done, offbeat.read_study(tmp_path / "out")


def delay_of(cases, **cell):
    return cases.filter(*(pl.col(name) == value for name, value in cell.items()))["last_delay_s"].to_list()


def test_the_published_scenario_table_comes_in_whole(tmp_path):
    done = import_csv(REFERENCE / "hydra-ft-scenario.csv", tmp_path / "out")
    results = offbeat.read_study(tmp_path / "out")
    assert (done.cases, done.measurements) == (32, 32)
    assert "8 rows were left out: averages of other rows" in done.remarks
    assert results.cases.schema == pl.Schema(polars_schema(CASES))
    assert results.cases["p"].unique().to_list() == [1024]
    assert results.cases["library"].unique().to_list() == ["hydra"]
    assert delay_of(results.cases, pattern="no_delay", algorithm="M-Bruck") == [0.509]
    assert delay_of(results.cases, pattern="ft_scenario", algorithm="Pair") == [0.475]
    kinds = results.cases.select("pattern", "pattern_kind").unique()
    assert kinds.filter(pl.col("pattern_kind") == "scenario")["pattern"].to_list() == ["ft_scenario"]
    assert len(kinds) == 8


def test_the_published_micro_benchmark_comes_in_without_its_averages_of_other_tables(tmp_path):
    done = import_csv(REFERENCE / "hydra-32x32-micro-benchmark.csv", tmp_path / "out")
    results = offbeat.read_study(tmp_path / "out")
    assert (done.cases, done.measurements) == (231, 231)
    assert "24 rows were left out: averages of other rows" in done.remarks
    assert results.cases.group_by("collective").len().sort("collective").rows() == [
        ("alltoall", 84),
        ("reduce", 147),
    ]
    cell = {"collective": "reduce", "bytes": 1024, "pattern": "first_delayed", "algorithm": "Lin"}
    assert delay_of(results.cases, **cell) == [1.004e-3]
    cell = {"collective": "alltoall", "bytes": 2**20, "pattern": "no_delay", "algorithm": "Pair"}
    assert len(delay_of(results.cases, **cell)) == 1


def test_one_value_is_one_repetition_and_its_own_interval(tmp_path):
    done, results = imported(tmp_path, "m,2,4,reduce,8,ascending,lin,12.5")
    row = results.cases.row(0, named=True)
    assert (row["repetitions"], row["invalid"], row["status"], row["proof"]) == (1, 0, "measured", "proved")
    assert row["last_delay_s"] == row["last_delay_low_s"] == row["last_delay_high_s"] == 12.5e-6
    assert row["total_delay_s"] is None
    assert results.repetitions["last_delay_s"].to_list() == [12.5e-6]
    assert len(results.ranks()) == 0
    assert any("its confidence is unknown" in remark for remark in done.remarks)


def test_several_rows_of_a_case_are_its_repetitions(tmp_path):
    rows = [f"m,2,4,reduce,8,ascending,lin,{delay}" for delay in (3, 1, 2)]
    done, results = imported(tmp_path, *rows, "m,2,4,reduce,8,ascending,bin,9")
    assert (done.cases, done.measurements) == (2, 4)
    row = results.cases.row(0, named=True)
    assert (row["repetitions"], row["last_delay_s"]) == (3, 2e-6)
    assert (row["last_delay_low_s"], row["last_delay_high_s"]) == (1e-6, 3e-6)
    lin = results.repetitions.filter(pl.col("case") == row["case"])
    assert lin["last_delay_s"].to_list() == [3e-6, 1e-6, 2e-6]
    assert lin["repetition"].to_list() == [0, 1, 2]


@pytest.mark.parametrize(
    ("unit", "delay_s"), [("s", 12.5), ("ms", 12.5e-3), ("us", 12.5e-6), ("ns", 12.5e-9)]
)
def test_the_unit_is_the_one_the_column_names(tmp_path, unit, delay_s):
    header = HEADER.replace("last_delay_us", f"last_delay_{unit}")
    _, results = imported(tmp_path, "m,2,4,reduce,8,ascending,lin,12.5", header=header)
    assert results.cases["last_delay_s"].to_list() == [delay_s]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_semicolons_and_tabs_separate_as_well(tmp_path, delimiter):
    header = HEADER.replace(",", delimiter)
    _, results = imported(tmp_path, "m,2,4,reduce,8,x,lin,1.5".replace(",", delimiter), header=header)
    assert results.cases["last_delay_s"].to_list() == [1.5e-6]


def test_a_file_of_excel_comes_in(tmp_path):
    path = tmp_path / "theirs.csv"
    path.write_bytes(f"\ufeff{HEADER}\r\n\r\nm,2,4,reduce,8,ascending,lin,1\r\n,,,,,,,\r\n".encode())
    assert import_csv(path, tmp_path / "out").cases == 1


def test_other_names_of_columns_are_given_with_an_option(tmp_path):
    header = "np,operation,size,shape_name,alg,time"
    column_names = {
        "p": "np",
        "collective": "operation",
        "bytes": "size",
        "pattern": "shape_name",
        "algorithm": "alg",
        "last_delay_ms": "time",
    }
    _, results = imported(tmp_path, "6,MPI_Reduce,64 KiB,No-delay,lin,2", header=header, columns=column_names)
    row = results.cases.row(0, named=True)
    assert (row["p"], row["nodes"], row["ppn"]) == (6, 0, 0)
    assert (row["collective"], row["bytes"], row["last_delay_s"]) == ("reduce", 65536, 2e-3)
    assert (row["pattern"], row["skew_policy"], row["skew_s"]) == ("no_delay", "none", 0.0)
    assert row["library"] == "theirs"


def test_two_machines_in_one_file_stay_apart(tmp_path):
    rows = [f"{machine},2,4,reduce,8,ascending,lin,{delay}" for machine, delay in (("a", 1), ("b", 2))]
    _, results = imported(tmp_path, *rows)
    assert results.cases["case"].n_unique() == 2
    assert delay_of(results.cases, library="b") == [2e-6]


def test_a_delay_of_zero_is_kept_with_a_note(tmp_path):
    done, results = imported(tmp_path, "m,2,4,reduce,8,ascending,lin,0", "m,2,4,reduce,8,ascending,bin,1")
    assert results.cases["last_delay_s"].to_list() == [0.0, 1e-6]
    assert any("1 last delay is 0" in remark for remark in done.remarks)


def test_rows_without_a_delay_are_left_out_and_counted(tmp_path):
    done, results = imported(tmp_path, "m,2,4,reduce,8,ascending,lin,1", "m,2,4,reduce,8,ascending,bin,")
    assert results.cases["algorithm"].to_list() == ["lin"]
    assert "1 row was left out: without a last delay" in done.remarks
    assert results.provenance["left_out"] == {"without a last delay": 1}


def test_settings_of_the_library_are_filled_in_from_the_row(tmp_path):
    done, results = imported(
        tmp_path,
        "m,2,4,reduce,8,ascending,lin,1,7",
        "m,2,4,reduce,8,ascending,default,1,0",
        header=HEADER + ",id",
        settings={"coll_tuned_{collective}_algorithm": "{id}"},
    )
    assert done.cases == 2
    assert {algorithm.name: algorithm.settings for algorithm in results.algorithms} == {
        "lin": {"coll_tuned_reduce_algorithm": "7"},
        "default": {},
    }


def test_a_setting_that_names_no_column_is_refused(tmp_path):
    with pytest.raises(BadInput, match="'id' is no column of"):
        imported(tmp_path, "m,2,4,reduce,8,ascending,lin,1", settings={"X": "{id}"})


def test_an_algorithm_with_two_settings_is_refused(tmp_path):
    rows = [f"m,2,4,reduce,8,{pattern},lin,1,{number}" for pattern, number in (("ascending", 1), ("bell", 2))]
    with pytest.raises(BadInput, match=r"theirs\.csv:3: reduce lin has other settings"):
        imported(tmp_path, *rows, header=HEADER + ",id", settings={"X": "{id}"})


GOOD = "m,2,4,reduce,8,ascending,lin,1"


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            ["m,2,4,reduce,8,ascending,lin,fast"],
            r"theirs\.csv:3: column last_delay_us: 'fast us' is not a time",
        ),
        (["m,2,4,reduce,8,ascending,lin,-1"], r"theirs\.csv:3: column last_delay_us: '-1 us' is negative"),
        (["m,2,4,reduce,8,ascending,lin,nan"], r":3: column last_delay_us: 'nan us' is not a time"),
        (["m,2,4,reduce,8.5,ascending,lin,1"], r":3: column message_bytes: '8.5' is not a whole number"),
        (["m,two,4,reduce,8,ascending,lin,1"], r":3: column nodes: 'two' is not a whole number"),
        (["m,-2,4,reduce,8,ascending,lin,1"], r":3: column nodes: '-2' is not a whole number"),
        (["m,0,4,reduce,8,ascending,lin,1"], r":3: the row has p = 0 processes"),
        (["m,2,4,redcue,8,ascending,lin,1"], r":3: there is no collective 'redcue'; did you mean reduce\?"),
        (["m,2,4,,8,ascending,lin,1"], r":3: the row does not state the collective"),
        (["m,2,4,reduce,8,ascending,lin"], r":3: the row has 7 fields, the header 8"),
        (['m,2,4,reduce,8,"ascending,lin,1'], r":3: .*not a CSV table"),
    ],
)
def test_an_invalid_row_is_refused_with_its_line_and_nothing_is_created(tmp_path, rows, sentence):
    with pytest.raises(BadInput, match=sentence):
        imported(tmp_path, GOOD, *rows)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "the file is empty"),
        (b"\n\n", "the file is empty"),
        (HEADER.encode() + b"\n", "no row is a measurement"),
        (
            HEADER.replace("collective", "call").encode() + b"\n",
            r":1: no column says the collective.*--column coll",
        ),
        (
            HEADER.replace("_delay_us", "").encode() + b"\n",
            r":1: no column says the last delay.*last_delay_ms=COL",
        ),
        (HEADER.replace("nodes", "n").encode() + b"\n", r":1: no column says the number of processes"),
        (HEADER.encode() + b",last_delay_s\n", r"last_delay_s and last_delay_us both say the last_delay"),
        (HEADER.encode() + b",nodes\n", r"there are 2 columns named 'nodes'"),
        (HEADER.encode() + b"\nm,2,4,reduce,8,b\xe4r,lin,1\n", r"theirs\.csv:2: the byte 0xe4 is not UTF-8"),
        (b"\x00\x01\x02", "no column says"),
    ],
)
def test_a_file_that_is_no_table_of_measurements_is_refused(tmp_path, content, sentence):
    path = tmp_path / "theirs.csv"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=sentence):
        import_csv(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(BadInput, match="No such file"):
        import_csv(tmp_path / "no.csv", tmp_path / "out")


def test_an_existing_directory_is_left_alone(tmp_path):
    imported(tmp_path, GOOD)
    with pytest.raises(BadInput, match="holds the results of a study already"):
        import_csv(tmp_path / "theirs.csv", tmp_path / "out")


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"last_delay": "time"}, "there is no column last_delay to give; did you mean last_delay_"),
        ({"bytes": "size"}, "has no column 'size'; it has machine"),
    ],
)
def test_a_column_that_cannot_be_given_is_refused(tmp_path, columns, sentence):
    with pytest.raises(BadInput, match=sentence):
        imported(tmp_path, GOOD, columns=columns)


def test_an_export_is_imported_unchanged(store, directory, tmp_path):
    store.append(make_case(0), FACTS, make_samples(0, repetitions=20))
    store.append(make_case(1), FACTS | {"proof": "unproved", "skew_s": 0.0}, make_samples(1, repetitions=9))
    failed = FACTS | {"status": "quarantined", "reason": "it hung, and was killed"}
    store.append(make_case(2), failed, make_samples(2, repetitions=0))
    exported = offbeat.read_study(directory)
    export_file(exported, tmp_path / "ours.csv")
    done = import_csv(tmp_path / "ours.csv", tmp_path / "out")
    imported = offbeat.read_study(tmp_path / "out")
    assert done.cases == 3
    columns = [name for name in CASES if name not in ("case", "engine", "evidence")]
    assert imported.cases.select(columns).equals(exported.cases.select(columns))
    assert [verdict.status for verdict in imported.verdicts] == ["quarantined", "proved", "unproved"]


def test_a_duplicate_summary_is_refused(store, directory, tmp_path):
    store.append(make_case(0), FACTS, make_samples(0))
    path = tmp_path / "ours.csv"
    export_file(offbeat.read_study(directory), path)
    path.write_text(path.read_text() + path.read_text().splitlines()[1] + "\n")
    with pytest.raises(BadInput, match=r"ours\.csv:3: this case was summarised already on line 2"):
        import_csv(path, tmp_path / "out")


@given(
    delays=st.lists(
        st.decimals(0, 1000, places=3, allow_nan=False, allow_infinity=False), min_size=1, max_size=12
    )
)
def test_milliseconds_become_the_nearest_seconds(tmp_path_factory, delays):
    folder = tmp_path_factory.mktemp("import")
    rows = [f"m,2,4,reduce,8,bell,lin,{delay}" for delay in delays]
    _, results = imported(folder, *rows, header=HEADER.replace("_us", "_ms"))
    assert results.repetitions["last_delay_s"].to_list() == [float(delay / 1000) for delay in delays]


def run(*arguments):
    return invoke(app, *arguments).stdout


def test_the_command_counts_imported_and_ignored_rows(tmp_path):
    text = run("import", REFERENCE / "hydra-ft-scenario.csv", "--output", tmp_path / "out")
    assert "32 cases from 32 measurements" in text
    assert "note: 8 rows were left out" in text


def test_the_command_takes_names_of_columns(tmp_path):
    path = written(tmp_path, GOOD, header=HEADER.replace("last_delay_us", "t"))
    run("import", path, "--output", tmp_path / "out", "--column", "last_delay_ns=t")
    assert offbeat.read_cases(tmp_path / "out")["last_delay_s"].to_list() == [1e-9]


@pytest.mark.parametrize("options", [["--column", "p"], ["--column", "p=a", "--column", "p=b"]])
def test_the_command_refuses_pairs_of_another_form(tmp_path, options):
    with pytest.raises(BadInput, match=r"write NAME=VALUE|given twice"):
        run("import", written(tmp_path, GOOD), "--output", tmp_path / "out", *options)
