"""``offbeat compare`` on results and trials whose differences are known."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from subprocess import CompletedProcess

import results_factory
from captured_command import execute

from offbeat.tuning.trial.trial import Journal, Run, Setting, Settings

Delays = results_factory.Delays
STEADY: Delays = {
    "no_delay": {"linear": (40, 39, 41), "pairwise": (60, 59, 61), "default": (50, 49, 51)},
    "bell": {"linear": (44, 43, 45), "pairwise": (60, 59, 61), "default": (50, 49, 51)},
}


def compare(*arguments: object) -> CompletedProcess[str]:
    return execute([sys.executable, "-m", "offbeat", "compare", *arguments])


def study(folder: Path, delays: Delays, **more: object) -> Path:
    rows = results_factory.rows(delays, blocks=5, repetitions=50, **more)
    results_factory.results(folder, rows)
    return folder


def test_equal_studies_have_no_differences(tmp_path: Path) -> None:
    done = compare(study(tmp_path / "a", STEADY), study(tmp_path / "b", STEADY), "--fail-above", "1%")
    assert done.returncode == 0, done.stderr
    assert "0 of 6 cases differ significantly" in done.stdout
    assert "for 0 of 1 configurations" in done.stdout


def test_a_slower_algorithm_is_found_with_its_change_and_the_other_choice(tmp_path: Path) -> None:
    slower = {name: row | {"linear": (80.0, 79.0, 81.0)} for name, row in STEADY.items()}
    before, after = study(tmp_path / "a", STEADY), study(tmp_path / "b", slower)
    done = compare(before, after, "--json", tmp_path / "out.json")
    assert done.returncode == 0, done.stderr
    assert "2 of 6 cases differ significantly: 2 slower, 0 faster." in done.stdout
    assert "+100.0%" in done.stdout
    assert "linear → pairwise" in done.stdout
    document = json.loads((tmp_path / "out.json").read_text())
    assert len(document["cases"]) == 6
    failed = compare(before, after, "--fail-above", "5%")
    assert failed.returncode == 1
    assert "2 of 6 cases are significantly slower by more than 5%" in failed.stderr
    assert compare(after, before, "--fail-above", "5%").returncode == 0
    assert compare(before, after, "--fail-above", "150%").returncode == 0


def test_noise_is_no_difference(tmp_path: Path) -> None:
    noisy: Delays = {"no_delay": {"linear": (40.0, 20.0, 80.0)}}
    other: Delays = {"no_delay": {"linear": (50.0, 25.0, 100.0)}}
    done = compare(study(tmp_path / "a", noisy), study(tmp_path / "b", other), "--fail-above", "5%")
    assert done.returncode == 0, done.stderr
    assert "0 of 1 cases differ significantly" in done.stdout


def test_another_choice_without_a_significant_difference_is_called_so(tmp_path: Path) -> None:
    before: Delays = {"no_delay": {"linear": (40.0, 20.0, 80.0), "pairwise": (41.0, 20.0, 80.0)}}
    after: Delays = {"no_delay": {"linear": (41.0, 20.0, 80.0), "pairwise": (40.0, 20.0, 80.0)}}
    done = compare(study(tmp_path / "a", before), study(tmp_path / "b", after))
    assert "linear → pairwise (none of its cases differs significantly)" in done.stdout
    clear: Delays = {"no_delay": {"linear": (400.0, 399.0, 401.0), "pairwise": (40.0, 20.0, 80.0)}}
    steady: Delays = {"no_delay": {"linear": (40.0, 39.9, 40.1), "pairwise": (41.0, 20.0, 80.0)}}
    done = compare(study(tmp_path / "c", steady), study(tmp_path / "d", clear))
    assert "linear → pairwise\n" in done.stdout


def test_cases_with_other_skews_are_not_compared(tmp_path: Path) -> None:
    done = compare(study(tmp_path / "a", STEADY), study(tmp_path / "b", STEADY, skew_s=1.0))
    assert done.returncode == 2
    assert "no measured case in common" in done.stderr


def test_skews_that_follow_from_run_times_widen_the_interval(tmp_path: Path) -> None:
    """As 'offbeat init' writes it: the skew is the mean run time, which differs between runs."""
    before, after = study(tmp_path / "a", STEADY, skew_s=20e-6), study(tmp_path / "b", STEADY, skew_s=25e-6)
    done = compare(before, after, "--fail-above", "5%")
    assert done.returncode == 0, done.stderr
    assert "0 of 6 cases differ significantly" in done.stdout
    slower = {name: row | {"linear": (80.0, 79.0, 81.0)} for name, row in STEADY.items()}
    failed = compare(before, study(tmp_path / "c", slower, skew_s=25e-6), "--fail-above", "5%")
    assert failed.returncode == 1
    assert "2 of 6 cases are significantly slower" in failed.stderr


def test_a_comparison_of_few_cases_fails_and_says_what_was_left_out(tmp_path: Path) -> None:
    before, after = study(tmp_path / "a", STEADY), study(tmp_path / "b", STEADY)
    cases = after / "cases.jsonl"
    lines = cases.read_text().splitlines(keepends=True)
    cases.write_text("".join([lines[0].replace("0.0000", "0.0001"), *lines[1:]]))
    done = compare(before, after, "--fail-above", "5%")
    assert done.returncode == 1
    assert "only 5 of the 6 cases before were compared, less than 90%" in done.stderr
    assert f"{after}: " in done.stdout
    assert compare(before, after, "--fail-above", "5%", "--compared-at-least", "80%").returncode == 0
    assert compare(before, after).returncode == 0


def trial(folder: Path, times_s: dict[str, list[float]]) -> Path:
    settings = Settings(
        command=["mpirun", "./app"],
        library="x",
        folder="/",
        time="",
        seed=1,
        choices=[Setting(name=name, same_as="", rules=[]) for name in times_s],
    )
    with Journal(folder, settings) as journal:
        for name, values in times_s.items():
            for number, time_s in enumerate(values):
                facts = {"number": 1, "round": number, "choice": name, "status": 0, "wall_s": 1.0}
                run = Run(time_s=time_s, began="", output="", **facts)
                journal.append(run)
    return folder


def test_two_trials_are_compared_by_choice(tmp_path: Path) -> None:
    before = trial(tmp_path / "a", {"default": [1.0, 1.01, 0.99, 1.0], "tuned": [0.9, 0.91, 0.89, 0.9]})
    after = trial(tmp_path / "b", {"default": [1.0, 1.01, 1.0, 0.99], "tuned": [1.2, 1.21, 1.19, 1.2]})
    done = compare(before, after, "--fail-above", "5%")
    assert done.returncode == 1
    assert "1 of 2 choices differ significantly: 1 slower, 0 faster." in done.stdout
    assert "most of all tuned: +33." in done.stderr


def test_a_trial_and_a_study_are_not_compared(tmp_path: Path) -> None:
    done = compare(study(tmp_path / "a", STEADY), trial(tmp_path / "b", {"default": [1.0]}))
    assert done.returncode == 2
    assert "one is a trial" in done.stderr


def test_a_share_that_is_none_is_refused(tmp_path: Path) -> None:
    done = compare(tmp_path, tmp_path, "--fail-above", "much")
    assert done.returncode == 2
    assert "--fail-above 'much' is not a share" in done.stderr
