"""The Python API from a study to tuning files, on a simulated machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest
from captured_command import execute

import offbeat

STUDY = """name = "small"
engine = "sim"
[[collective]]
names = ["reduce"]
sizes = ["64 B", "64 KiB"]
[processes]
p = [16]
[patterns]
shapes = ["no_delay", "last_delayed", "ascending"]
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> offbeat.Results:
    return offbeat.Study.from_text(STUDY).run(tmp_path_factory.mktemp("api") / "results")


def test_a_study_is_the_same_from_a_file_a_text_and_keywords(tmp_path: Path) -> None:
    made = offbeat.Study.of(
        "reduce",
        ["64 B", 65536],
        16,
        shapes=["no_delay", "last_delayed", "ascending"],
        platform="paper",
        name="small",
    )
    saved = offbeat.Study.from_text(STUDY).save(tmp_path / "small.toml")
    frames = [
        study.run(tmp_path / str(number)).cases.sort("case").drop("case")
        for number, study in enumerate((made, offbeat.Study.load(saved), offbeat.Study.from_text(STUDY)))
    ]
    assert frames[0].equals(frames[1])
    assert frames[0].equals(frames[2])
    assert offbeat.Study.load(saved).directory == tmp_path / "small-results"
    assert made.name == "small"
    assert "42 cases at most" in made.dry_run()


def test_tables_of_keywords_are_added_to_those_of_the_arguments() -> None:
    study = offbeat.Study.of(
        ["reduce"], [64], shapes=["random"], platform="paper", processes={"p": [8]}, patterns={"seed": 7}
    )
    assert '[patterns]\nshapes = ["random"]\nseed = 7' in study.text


def test_options_replace_values_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(STUDY, encoding="utf-8")
    algorithms = offbeat.Study.load(file, family="mpich").run(tmp_path / "r").cases["library"].unique()
    assert algorithms.to_list() == ["sim-mpich on paper"]
    with pytest.raises(offbeat.BadInput, match="--platform is for simulated studies"):
        offbeat.Study.load(file, engine="mpi", platform="paper")


def test_every_fault_of_a_study_is_named_at_once() -> None:
    with pytest.raises(offbeat.BadInput) as refused:
        offbeat.Study.of("reduc", 5, 0, shapes="ascending", nonsense=1)
    lines = str(refused.value).splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "nonsense",
        "collective[0].names",
        "processes.p",
        "collective[0].sizes",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rule": "best"}, "rule"),
        ({"within": "a lot"}, "not a share"),
        ({"within": -1.0}, "0 or more"),
        ({"bootstrap": -1}, "--bootstrap"),
        ({"bootstrap": 10**12}, "--bootstrap"),
        ({"seed": -1}, "--seed"),
        ({"collectives": "bcast"}, "was not measured"),
    ],
)
def test_a_selection_refuses_what_the_command_refuses(
    results: offbeat.Results, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(offbeat.BadInput, match=message):
        results.select(**arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"beyond": 0.5}, "--beyond"),
        ({"format_version": 3}, "--format"),
        ({"allow_wrong_results": ["all"]}, "--allow-wrong-results all: known are absolute-addresses"),
    ],
)
def test_an_export_refuses_what_the_command_refuses(
    results: offbeat.Results, tmp_path: Path, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(offbeat.BadInput, match=message):
        results.select(bootstrap=0).export(tmp_path / "out", **arguments)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    for opened in (offbeat.Results.open, offbeat.Trace.open, offbeat.TuningFiles.open, offbeat.Study.load):
        with pytest.raises(offbeat.BadInput):
            opened(tmp_path / "missing")
    with pytest.raises(offbeat.BadInput, match="no result directory is given"):
        offbeat.Results.open()


def test_objects_say_what_the_commands_print(results: offbeat.Results) -> None:
    selection = results.select("worst")
    environment = dict(os.environ) | {"COLUMNS": "110"}
    done = execute(
        [sys.executable, "-m", "offbeat", "select", results.directory, "--rule", "worst"], environment
    )
    assert done.returncode == 0, done.stderr
    assert str(selection).split() == done.stdout.split()


def test_frames_hold_the_choices_and_the_delays(results: offbeat.Results) -> None:
    selection = results.select("worst")
    table, delays = selection.table(), selection.delays()
    assert table.select("collective", "p", "bytes").rows() == [("reduce", 16, 64), ("reduce", 16, 65536)]
    assert (table["score"] >= 1).all()
    measured = results.cases.join(delays, on=["collective", "p", "bytes", "pattern", "algorithm"])
    assert measured.height == results.cases.height
    assert measured["last_delay_s"].equals(measured["last_delay_s_right"], null_equal=True)
    assert results.table("ranks").height == results.ranks().height
    with pytest.raises(offbeat.BadInput, match="the tables are cases, repetitions, ranks"):
        results.table("rows")


def test_frames_of_several_studies_can_be_concatenated(results: offbeat.Results) -> None:
    only = offbeat.Study.of("bcast", 64, 16, algorithms="binomial", platform="paper", shapes="ascending")
    alone = only.run(results.directory.parent / "bcast").select().table()
    assert alone["same_choice"].to_list() == [None]  # there was nothing to compare with
    assert pl.concat([alone, results.select().table()]).height == 3


def test_a_finished_study_measures_nothing_again(
    results: offbeat.Results, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (results.directory / "cases.jsonl").read_bytes()
    with ThreadPoolExecutor(1) as pool:
        again = pool.submit(offbeat.Study.from_text(STUDY).run, results.directory).result()
    assert again.cases.equals(results.cases)
    assert (results.directory / "cases.jsonl").read_bytes() == lines
    assert capsys.readouterr().out == ""


LONG = """
import offbeat, sys
study = offbeat.Study.of("alltoall", ["8 B", "64 KiB"], [256, 384, 512], platform="paper")
try:
    study.run(sys.argv[1])
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.slow
def test_an_interrupted_study_is_resumed(tmp_path: Path) -> None:
    words = [sys.executable, "-c", LONG, str(tmp_path / "r")]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    cases = tmp_path / "r" / "cases.jsonl"
    sizes: set[int] = set()
    while process.poll() is None and len(sizes) < 3:  # the last ones may be being written, and are not kept
        sizes |= {cases.stat().st_size} - {0} if cases.exists() else set()
        time.sleep(0.002)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate(timeout=60)
    assert printed == "interrupted\n"
    assert process.returncode == 0
    kept = cases.read_bytes()
    assert kept
    done = execute([sys.executable, "-c", LONG, tmp_path / "r"])
    assert done.returncode == 0, done.stderr
    assert cases.read_bytes().startswith(kept.rpartition(b"\n")[0])
    results = offbeat.Results.open(tmp_path / "r")
    assert results.plan is not None
    assert results.cases.height == results.plan.total


def test_texts_of_a_study_are_escaped_in_its_html() -> None:
    study = offbeat.Study.of(
        "reduce", 64, 8, platform="paper", name="<script>alert(1)</script>", shapes="ascending"
    )
    shown = "<p>before</p>" + study._repr_html_()
    assert shown.startswith("<p>before</p><div")
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown


def test_importing_offbeat_loads_no_library() -> None:
    program = "import sys, offbeat; print(len([n for n in sys.modules if n.startswith('offbeat')]), {heavy})"
    heavy = "'numpy' in sys.modules or 'polars' in sys.modules or 'rich' in sys.modules"
    done = execute([sys.executable, "-c", program.replace("{heavy}", heavy)])
    assert done.stdout.split() == ["3", "False"]


def test_every_name_of_the_api_can_be_imported() -> None:
    assert all(hasattr(offbeat, name) for name in offbeat.__all__)
    assert offbeat.read_study.__module__ == "offbeat.api.results"
