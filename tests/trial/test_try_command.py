"""``offbeat try`` with a fake launcher, for which the run time of each choice is known."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import fake_mpirun
import pytest
import results_factory
from run_factory import alltoalls

from offbeat.cli import app
from offbeat.cli.trial import _traced
from offbeat.measurement.results.read import read_study
from offbeat.model.study.algorithm import Algorithm
from offbeat.selection.tuning_files import export
from offbeat.tuning.prediction.prediction import by_choice
from offbeat.tuning.trial import wording
from offbeat.tuning.trial.comparison import compare

pytestmark = pytest.mark.slow

WORDS = ["--", "./mpirun", "-n", "4", "./app"]


class World:
    """The folder, and the command in it."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.folder, self._patch, self._capsys = folder, monkeypatch, capsys
        self.out = self.err = ""
        fake_mpirun.patch(folder, monkeypatch.setattr)
        monkeypatch.chdir(folder)
        monkeypatch.setenv("COLUMNS", "160")

    def run(self, *options: object, words: list[str] | None = None) -> int:
        """Run the command; its exit status."""
        argv = ["offbeat", "try", *map(str, options), *(WORDS if words is None else words)]
        self._patch.setattr(sys, "argv", argv)
        with pytest.raises(SystemExit) as ended:
            app.main()
        self.out, self.err = self._capsys.readouterr()
        return int(ended.value.code or 0)

    def runs(self, folder: str = "offbeat-try") -> list[dict[str, object]]:
        """The content of the journal."""
        text = (self.folder / folder / "runs.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> World:
    return World(fake_mpirun.make(tmp_path / "w"), monkeypatch, capsys)


def test_every_choice_runs_once_a_round_and_the_fastest_is_named(world: World) -> None:
    assert world.run("--results", "results", "--rounds", 3, "--time", r"time: ([\d.]+) s") == 0
    assert Counter(fake_mpirun.started(world.folder)) == {"default": 3, "no_delay": 3, "average": 3}
    assert {(run["round"], run["choice"]) for run in world.runs()} == {
        (number, name) for number in range(3) for name in fake_mpirun.SECONDS
    }
    assert "no_delay: alltoall of 32 KiB on p=4: linear" in world.out
    assert "average: alltoall of 32 KiB on p=4: pairwise" in world.out
    assert re.search(r"default +3 +30 ms +30 ms – 30 ms +–", world.out)
    assert re.search(r"average +3 +20 ms .* -33%", world.out)
    assert "The choice average was the fastest: default takes 50.0% longer" in world.out
    assert "no_delay takes 2.5 times as long" in world.out
    assert "offbeat verify results --tuning" in world.out


def test_without_a_regular_expression_the_wall_time_counts(world: World) -> None:
    fake_mpirun.behave(world.folder, {}, {"no_delay": 0.3})
    assert world.run("--rounds", 1) == 0  # and the only result directory here is used
    for run in world.runs():
        assert run["time_s"] == run["wall_s"]
        assert float(str(run["wall_s"])) > (0.3 if run["choice"] == "no_delay" else 0.0)
    assert "Significance needs several rounds" in world.out


def test_the_order_differs_between_rounds_and_is_the_same_for_the_same_seed(world: World) -> None:
    assert world.run("--rounds", 6) == 0
    first = fake_mpirun.started(world.folder)
    assert len({tuple(first[at : at + 3]) for at in range(0, 18, 3)}) > 1
    (world.folder / "started.txt").unlink()
    assert world.run("--rounds", 6, "-o", "again") == 0
    assert fake_mpirun.started(world.folder) == first


def test_more_rounds_resume_the_trial_without_repeating_runs(world: World) -> None:
    assert world.run("--rounds", 1) == 0
    assert world.run("--rounds", 2) == 0
    assert len(fake_mpirun.started(world.folder)) == 6
    assert world.run("--rounds", 2) == 0
    assert len(fake_mpirun.started(world.folder)) == 6


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda one: one.name)
def test_a_killed_trial_loses_no_run_and_repeats_none(world: World, number: signal.Signals) -> None:
    arguments = [sys.executable, fake_mpirun.__file__, str(world.folder), "--rounds", "3"]
    slow = [*WORDS, "0.4"]
    process = subprocess.Popen(
        [*arguments, *slow],
        cwd=world.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # nohup may ignore it
    )
    until = time.monotonic() + 60
    while len(fake_mpirun.started(world.folder)) < 4 and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(number)
    _, output = process.communicate(timeout=60)
    assert process.returncode in (-signal.SIGKILL, 128 + number)
    assert "Traceback" not in output
    runs = world.runs()
    begun = len(fake_mpirun.started(world.folder))
    assert len(runs) in (begun - 1, begun)  # on a busy machine the run may end before the signal
    assert not [path for path in Path("/proc").glob("[0-9]*/cwd") if _is_app(path, world.folder)]

    done = subprocess.run([*arguments, *slow], cwd=world.folder, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert world.runs()[: len(runs)] == runs
    assert len(world.runs()) == 9
    assert len({(run["round"], run["choice"]) for run in world.runs()}) == 9
    assert len(fake_mpirun.started(world.folder)) == begun + 9 - len(runs)
    outputs = [world.folder / "offbeat-try" / str(run["output"]) for run in world.runs()]
    assert len(set(outputs)) == 9
    assert all("warm-up" in path.read_text(encoding="utf-8") for path in outputs)


def _is_app(link: Path, folder: Path) -> bool:
    """Whether a process is a program that was started in a folder and still runs.

    A fatal signal that the kernel has sent is a SIGKILL until the process handles it.
    """
    try:
        words = (link.parent / "cmdline").read_bytes()
        status = (link.parent / "status").read_text(encoding="utf-8")
        is_here = link.readlink() == folder and b"./app" in words
    except OSError:
        return False
    waiting = [int(mask, 16) for mask in re.findall(r"^(?:SigPnd|ShdPnd):\t(\w+)$", status, re.MULTILINE)]
    return is_here and not any(mask >> signal.SIGKILL - 1 & 1 for mask in waiting)


def test_a_failed_run_ends_the_trial_with_its_status_and_output(world: World) -> None:
    fake_mpirun.behave(world.folder, {"no_delay": 3})
    assert world.run("--rounds", 1) == 1
    assert "with no_delay: the program ended with status 3 after printing: " in world.err
    assert "it went wrong" in world.err
    assert [run["status"] for run in world.runs() if run["choice"] == "no_delay"] == [3]
    fake_mpirun.behave(world.folder, {})
    assert world.run("--rounds", 1) == 0  # the failed run is repeated, and its output is still there
    failed = [run for run in world.runs() if run["status"]]
    assert len(failed) == 1
    assert "it went wrong" in (world.folder / "offbeat-try" / str(failed[0]["output"])).read_text()


def test_a_time_that_is_not_in_the_output_fails(world: World) -> None:
    assert world.run("--rounds", 1, "--time", "elapsed ([0-9]+)") == 1
    assert "no match in the output of the program" in world.err
    assert world.run("--rounds", 1, "--time", "(time): ", "-o", "b") == 1
    assert "matched 'time' in" in world.err


def test_choices_with_equal_rules_run_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(fake_mpirun.make(tmp_path / "w", same=True), monkeypatch, capsys)
    assert world.run("--rounds", 2) == 0
    assert Counter(fake_mpirun.started(world.folder)) == {"default": 2, "no_delay": 2}
    assert "average: has the same rules as no_delay, which runs for both" in world.out
    assert "no_delay = average" in world.out


def test_if_all_is_left_to_the_library_there_is_nothing_to_compare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(fake_mpirun.make(tmp_path / "w"), monkeypatch, capsys)
    cases = results_factory.rows(
        {"no_delay": {"linear": 40, "default": 10}, "bell": {"linear": 40, "default": 10}}
    )
    results_factory.results(world.folder / "best", cases)
    assert world.run("--results", "best", "--rounds", 1) == 0
    assert fake_mpirun.started(world.folder) == ["default"]
    assert "All choices have the same rules: there is nothing to compare." in world.out


def test_with_a_trace_the_error_of_the_prediction_is_printed(world: World) -> None:
    alltoalls(world.folder / "trace", [[0, 10, 30, 0]] * 5)
    options = ("--rounds", 2, "--time", r"time: ([\d.]+) s", "--trace", "trace", "--pictures", "pictures")
    assert world.run(*options) == 0
    # one second minus 5 × 70 µs, plus 5 × 40 µs (no_delay), 5 × 470 µs (average of linear) or 5 × 60 µs
    assert re.search(r"no_delay +999\.8 ms +1\.002 s +50 ms", world.out)
    assert re.search(r"average +\S+ m?s +\S+ m?s +20 ms", world.out)
    assert (world.folder / "pictures" / "expected-and-measured-run-time.png").stat().st_size > 10_000


def test_the_expected_fastest_by_the_replay_is_tried_first(world: World) -> None:
    alltoalls(world.folder / "trace", [[0, 10, 30, 0]] * 5)
    delays: results_factory.Delays = {
        "no_delay": {"linear": 40, "pairwise": 60, "bruck": 90, "default": 60},
        "bell": {"linear": 900, "pairwise": 60, "bruck": 90, "default": 60},
        "alltoall-32KiB-calls": {"linear": 900, "pairwise": 60, "bruck": 20, "default": 60},
    }
    cases = results_factory.rows(delays, {"alltoall-32KiB-calls": "replay"})
    results_factory.results(world.folder / "with-replay", cases)
    fake_mpirun.behave(world.folder, {}, {"replay": 0.01})
    options = ("--results", "with-replay", "--trace", "trace", "--time", r"time: ([\d.]+) s")
    assert world.run("--rounds", 2, *options) == 0
    assert Counter(fake_mpirun.started(world.folder))["replay"] == 2
    assert world.out.index("replay: alltoall of 32 KiB on p=4: bruck") < world.out.index("no_delay: alltoall")
    assert "replay affects 5 of 5 collective calls, 100.0% of the time in collectives" in world.out
    assert "The choice replay was the fastest" in world.out


def test_a_choice_that_covers_no_call_is_not_called_the_fastest(world: World) -> None:
    alltoalls(world.folder / "trace", [[0, 10, 30, 0]] * 5, size=2**20)
    assert world.run("--rounds", 3, "--trace", "trace", "--time", r"time: ([\d.]+) s") == 0
    assert "average affects none of the 5 collective calls of the trace: it cannot change" in world.out
    assert "no prediction from the trace: MPI_Alltoall of 1 MiB" in world.out
    assert "no measured size covers this call" in world.out
    assert "average had the smallest mean, but its file affects none of the program's calls" in world.out
    assert "was the fastest" not in world.out


def test_a_choice_has_one_change_against_the_default_in_all_tables(world: World) -> None:
    """Medians and means of these rounds would differ in their sign."""
    alltoalls(world.folder / "trace", [[0, 10, 30, 0]] * 5)
    times = {"default": [0.010, 0.011, 0.050], "no_delay": [0.012, 0.012, 0.013], "average": [0.02] * 3}
    rows = wording.time_table(times, {}).rows
    traced = _traced(world.folder / "trace", read_study(world.folder / "results"))
    assert traced.run is not None
    chosen = {name: ["linear"] for name in times}
    below = wording.expectation_table(by_choice(traced.run, traced.parts, chosen), times).rows
    assert [row[-1] for row in rows] == [row[-1] for row in below]
    assert [row[2] for row in rows] == [row[3] for row in below]
    verdict = compare(times)
    assert verdict is not None
    assert verdict.fastest == "no_delay"
    assert rows[1][-1] == "-30%"


@pytest.mark.parametrize(
    ("options", "words", "sentence"),
    [
        (["--time", "("], WORDS, "not a regular expression"),
        (["--results", "nothing"], WORDS, "there is no directory nothing"),
        (["--trace", "nothing"], WORDS, "the trace nothing cannot be read"),
        (["--pictures", "p"], WORDS, "give a trace with --trace"),
        (["-o", "results"], WORDS, "is not empty and does not hold a trial"),
        (["--rule", "best"], WORDS, "rule 'best' is unknown"),
        ([], ["--", "./nothing"], "cannot start ./nothing: No such file"),
    ],
)
def test_invalid_input_gives_a_sentence_and_runs_nothing(
    world: World, options: list[str], words: list[str], sentence: str
) -> None:
    assert world.run("--rounds", 1, *options, words=words) == 2
    messages = [line for line in world.err.splitlines() if line != "3 of 3 runs to do"]
    assert len(messages) == 1 and sentence in messages[0]
    assert fake_mpirun.started(world.folder) == []


def test_choices_for_more_processes_than_are_started_are_refused(world: World) -> None:
    assert world.run("--rounds", 1, words=["--", "./mpirun", "-n", "2", "./app"]) == 2
    assert "the command starts 2 processes, and the rules of all choices are for p = 4" in world.err
    assert fake_mpirun.started(world.folder) == []


def test_simulated_choices_are_reported_to_be_simulated(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"coll_tuned_alltoall_algorithm": "1"}
    known = [Algorithm(collective="alltoall", name="linear", settings=settings)]
    monkeypatch.setattr(export, "find_algorithms", lambda installation, names: known)
    delays: results_factory.Delays = {"no_delay": {"linear": 40, "pairwise": 60}}
    library = {"name": "sim-openmpi on paper", "family": "openmpi", "simulated": True}
    results_factory.results(world.folder / "simulated", results_factory.rows(delays), library)
    assert world.run("--rounds", 1, "--results", "simulated") == 0
    assert "note: These choices were simulated (sim-openmpi on paper), not measured." in world.out
    assert "offbeat verify" not in world.out


def test_the_trial_as_json_has_every_run_and_the_verdict(world: World) -> None:
    assert world.run("--rounds", 2, "--json", "-") == 0
    document = json.loads(world.out)
    assert {len(times) for times in document["times_s"].values()} == {2}
    assert document["verdict"]["fastest"] in document["times_s"]
    assert document["settings"]["choices"][0]["name"] == "default"


def test_another_trial_in_the_same_folder_is_refused(world: World) -> None:
    assert world.run("--rounds", 1) == 0
    assert world.run("--rounds", 1, words=[*WORDS, "0.1"]) == 2
    assert "(command: ./mpirun -n 4 ./app there, ./mpirun -n 4 ./app 0.1 here)" in world.err
    assert world.run("--rounds", 1, "--seed", 2) == 2
    assert "(seed: 1 there, 2 here)" in world.err
    cases = results_factory.rows(
        {"no_delay": {"linear": 80, "pairwise": 60}, "bell": {"linear": 900, "pairwise": 60}}
    )
    results_factory.results(world.folder / "other", cases)
    rules = (world.folder / "offbeat-try" / "tuning" / "no_delay" / "openmpi.rules").read_text()
    assert world.run("--rounds", 1, "--results", "other") == 2
    assert "(the choices by the results)" in world.err
    assert (world.folder / "offbeat-try" / "tuning" / "no_delay" / "openmpi.rules").read_text() == rules


def test_no_or_several_result_directories_must_be_distinguished(world: World) -> None:
    results_factory.results(world.folder / "second", results_factory.rows({"no_delay": {"linear": 1}}))
    assert world.run() == 2
    assert "there are several result directories in this folder (results, second)" in world.err
