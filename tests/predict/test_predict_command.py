"""``offbeat predict``: its output, files and pictures."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
import results_factory
import trace_factory as factory
from matplotlib.container import BarContainer
from run_factory import RUN_S, US, alltoalls, predicted

from offbeat.cli import app
from offbeat.presentation.pictures.prediction import prediction_figure
from offbeat.tuning.prediction.measured_configuration import Estimate

DELAYS: results_factory.Delays = {
    "no_delay": {"linear": (40, 39, 42), "pairwise": (60, 59, 61), "default": 65},
    "bell": {"linear": 94, "pairwise": 60, "default": 70},
    "alltoall-32KiB-mean": {"linear": (120, 110, 125), "pairwise": (65, 60, 70), "default": 70},
    "alltoall-32KiB-calls": {"linear": 130, "pairwise": 66, "default": 71},
}
KINDS = {"alltoall-32KiB-mean": "scenario", "alltoall-32KiB-calls": "replay"}


class Here:
    """A trace and results in a folder, and the command."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.trace = alltoalls(folder / "trace", [[0, 10, 30, 0]] * 50)
        self.results = results_factory.results(folder / "results", results_factory.rows(DELAYS, KINDS))
        self._patch, self._capsys = patch, capsys
        self.out = self.err = ""
        patch.setenv("COLUMNS", "160")
        patch.chdir(folder)

    def run(self, *options: object) -> int:
        """Run the command; its exit status."""
        argv = ["offbeat", "predict", str(self.trace), str(self.results), *map(str, options)]
        self._patch.setattr(sys, "argv", argv)
        with pytest.raises(SystemExit) as ended:
            app.main()
        self.out, self.err = self._capsys.readouterr()
        return int(ended.value.code or 0)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(tmp_path, monkeypatch, capsys)


def test_the_table_has_every_algorithm_under_every_condition(workspace: Here) -> None:
    assert workspace.run() == 0
    assert "recorded: 1 s, of these 996.5 ms without the operation of" in workspace.out
    assert "50 calls, d̂ 70 µs (0.4%); measured as alltoall of 32 KiB on p=4 (openmpi-5.0.8)" in workspace.out
    for algorithm, delays in (
        ("pairwise", (60, 60, 65, 66)),
        ("linear", (40, 67, 120, 130)),
        ("▸default†", (65, 67.5, 70, 71)),
    ):
        expected = [f"{1e3 * (RUN_S + 50 * (delay - 70) * US):.2f}" for delay in delays]
        numbers = r"(?: ±[\d.]+)? +".join(map(re.escape, expected))
        assert re.search(rf"^{algorithm} +{numbers}", workspace.out, re.MULTILINE), workspace.out
    assert (
        "Expected fastest in the replay: pairwise, 0.0% less than default, assumed to have run:"
        in workspace.out
    )
    assert "about 999.7 ms instead of the recorded 1 s" in workspace.out
    assert "A benchmark without delays would choose linear: +0.3% in the replay." in workspace.out


def test_the_algorithm_that_ran_is_marked_and_compared(workspace: Here) -> None:
    assert workspace.run("--ran", "default") == 0
    assert "▸default†" in workspace.out
    assert "the prediction for default, which ran, differs from the recorded time by" in workspace.out
    assert workspace.run("--ran", "linear") == 0
    assert "pairwise, 0.3% less than linear, which ran: about 996.8 ms" in workspace.out


def test_the_bias_of_the_prediction_is_no_gain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = Here(tmp_path / "h", monkeypatch, capsys)
    delays: results_factory.Delays = {"no_delay": {"linear": 40, "pairwise": 41, "default": 40}}
    workspace.results = results_factory.results(tmp_path / "biased", results_factory.rows(delays))
    workspace.trace = alltoalls(tmp_path / "busy", [[0, 10, 30, 0]] * 50, operation_us=900)
    assert workspace.run("--json", "out.json") == 0
    assert "No measured algorithm is expected to be faster without delays than default" in workspace.out
    assert "differs from the recorded time by -4.3% without delays; this is not a gain" in workspace.out
    document = json.loads(Path("out.json").read_text(encoding="utf-8"))
    by_name = {one["name"]: one for one in document["expected"]}
    assert document["bias"]["no_delay"] == pytest.approx(-50 * 860 * US / RUN_S)
    assert by_name["linear"]["change"]["no_delay"]["time_s"] == pytest.approx(0, abs=1e-12)
    assert by_name["pairwise"]["change"]["no_delay"]["time_s"] == pytest.approx(50 * US / RUN_S)


def test_without_a_prediction_for_the_algorithm_that_ran_no_gain_is_stated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = Here(tmp_path / "h", monkeypatch, capsys)
    workspace.results = results_factory.results(
        tmp_path / "alone", results_factory.rows({"no_delay": {"linear": 10, "pairwise": 60}})
    )
    assert workspace.run() == 0
    assert "Expected fastest without delays: linear with 997 ms. Its gain is unknown" in workspace.out
    assert "less than" not in workspace.out
    assert re.search(r"^linear +997\.0 +– *$", workspace.out, re.MULTILINE), workspace.out


def test_the_document_has_every_number_and_its_interval(workspace: Here) -> None:
    assert workspace.run("--json", "out.json") == 0
    document = json.loads(Path("out.json").read_text(encoding="utf-8"))
    assert workspace.run("--json", "-") == 0
    assert json.loads(workspace.out) == document
    assert document["run_s"] == pytest.approx(RUN_S)
    assert document["computing_s"] == pytest.approx(RUN_S - 50 * 70 * US)
    assert document["conditions"] == ["no_delay", "average", "scenario", "replay"]
    linear = next(one for one in document["expected"] if one["name"] == "linear")
    assert linear["run_s"]["scenario"] == {
        "time_s": pytest.approx(RUN_S + 50 * 50 * US),
        "low_s": pytest.approx(RUN_S + 50 * 40 * US),
        "high_s": pytest.approx(RUN_S + 50 * 55 * US),
    }
    assert [one["excluded"] for one in document["expected"] if one["name"] == "default"]


def test_all_calls_together_compare_choices(workspace: Here) -> None:
    assert workspace.run("--all") == 0
    assert re.search(r"^no_delay: alltoall of 32 KiB on p=4 linear$", workspace.out, re.MULTILINE)
    assert re.search(r"^average: alltoall of 32 KiB on p=4 pairwise$", workspace.out, re.MULTILINE)
    assert re.search(r"^default: .* left to the library$", workspace.out, re.MULTILINE)


def test_a_choice_whose_file_covers_no_call_gets_no_gain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The ranking changes just below the size of the only calls: the file covers the measured size only."""
    workspace = Here(tmp_path / "h", monkeypatch, capsys)
    workspace.trace = alltoalls(tmp_path / "larger", [[0, 10, 30, 0]] * 50, size=40000)
    near: results_factory.Delays = {"no_delay": {"linear": 50, "pairwise": 51, "default": 60}}
    before: results_factory.Delays = {"no_delay": {"linear": 20, "pairwise": 40, "default": 60}}
    cases = [*results_factory.rows(near), *results_factory.rows(before, bytes=16384)]
    workspace.results = results_factory.results(tmp_path / "turning", cases)
    assert workspace.run("--all", "--json", "out.json") == 0
    assert "no_delay affects none of the 50 collective calls of the trace" in workspace.out
    document = json.loads(Path("out.json").read_text(encoding="utf-8"))
    (choice,) = (one for one in document["expected"] if one["name"] == "no_delay")
    assert choice["algorithms"] == ["default"]
    assert choice["change"]["no_delay"]["time_s"] == 0
    assert choice["affected"] == {"affected_calls": 0, "calls": 50, "share": 0}


def test_each_choice_says_which_calls_it_affects(workspace: Here) -> None:
    assert workspace.run("--all") == 0
    words = (
        "average affects 50 of 50 collective calls, 100.0% of the time in collectives: MPI_Alltoall of 32 KiB"
    )
    assert words in workspace.out


def test_calls_of_negligible_time_are_ignored_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = Here(tmp_path / "h", monkeypatch, capsys)
    files = factory.files(4)
    for one in files:
        for sequence in range(40):
            site = max(sequence - 10, 0)
            values = {"address": factory.CODE + 0x10 * (1 + site), "function": "MPI_Alltoall", "bytes": 32768}
            begin = (1 + sequence) * 1_000_000
            one.call(begin, begin + (70_000 if site else 900_000), sequence=sequence, **values)
    workspace.trace = factory.write(tmp_path / "many", files)
    assert workspace.run("--all") == 0
    (note,) = (line for line in workspace.out.splitlines() if "excluded" in line)
    assert "29 rows of calls whose operation takes less than 0.1% of the run each (0.20% together)" in note
    assert workspace.out.count("\n") < 30


@pytest.mark.parametrize("number", [4, 16])
def test_the_picture_has_a_bar_for_every_number(tmp_path: Path, number: int) -> None:
    names = [f"algorithm{place}" for place in range(number)]
    delays: results_factory.Delays = {
        pattern: {name: (20 * place + at, 20 * place, 20 * place + 9) for place, name in enumerate(names)}
        for at, pattern in enumerate(["no_delay", "bell", "mine"], 1)
    }
    results = results_factory.results(tmp_path / "r", results_factory.rows(delays, {"mine": "scenario"}))
    prediction = predicted(alltoalls(tmp_path / "t", [[0, 10, 30, 0]] * 5), results)
    run = Estimate(time_s=1.1, low_s=1.0, high_s=1.2)
    figure = prediction_figure(prediction, {"algorithm0": run})
    (axes,) = figure.axes
    widths = sorted(
        bar.get_width() for bars in axes.containers if isinstance(bars, BarContainer) for bar in bars
    )
    scale = 1.0 if max(widths) < 10 else 1e3
    expected = [time.time_s for one in prediction.expected for time in one.run_s.values()]
    assert widths == pytest.approx(sorted([scale * time for time in [*expected, 1.1]]))
    assert [label.get_text() for label in axes.get_yticklabels()] == [one.name for one in prediction.expected]


def test_the_picture_is_written_as_three_files(workspace: Here) -> None:
    assert workspace.run("--pictures", "pictures") == 0
    assert sorted(path.suffix for path in Path("pictures").iterdir()) == [".pdf", ".png", ".svg"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--collective", "bcast"], "has no such calls; there are: MPI_Alltoall of 32 KiB"),
        (["--size", "some"], "--size: 'some' is not a size"),
        (["--scenario", "his"], "--scenario his was not measured"),
        (["--json", "nowhere/out.json"], "cannot write nowhere/out.json"),
    ],
)
def test_invalid_input_gives_a_sentence(workspace: Here, options: list[str], sentence: str) -> None:
    assert workspace.run(*options) == 2
    assert sentence in workspace.err
    assert "Traceback" not in workspace.err
