"""`offbeat tune` prints at most 25 lines, however many calls and choices there are; the log has all."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from offbeat.base.progress_bar import ProgressBar
from offbeat.cli import tune
from offbeat.libraries.installations.installation import Installation
from offbeat.tuning.pipeline import tune_program
from offbeat.tuning.pipeline.directory import LOG, TuneSettings
from offbeat.tuning.pipeline.tune_program import Request, StagePrinter

MOST_PRINTED = 25

STUDIES: dict[str, dict[str, Any]] = {
    "nothing to tune": {"settings": 0, "calls": 0, "choices": 0},
    "one kind of calls": {"settings": 0, "calls": 1, "choices": 2},
    "many kinds of calls and choices": {"settings": 5, "calls": 30, "choices": 5},
}


def stages(listener: StagePrinter, *, settings: int, calls: int, choices: int) -> None:
    """What the stages report, as often as they may."""
    for number in range(settings):
        listener.say(f"setting {number} is left out")
    listener.begin("trace", "the program runs once")
    listener.note("it took 1 s")
    listener.say("another algorithm can change 5% of the run time")
    for number in range(calls):
        listener.note(f"calls {number}: 3%")
    for number in range(calls):
        listener.begin("measure", f"calls {number}")
        with ProgressBar("measuring") as bar:
            bar.print("40 of 50 blocks")
    if not calls:
        return
    listener.say("measuring ends here")
    listener.begin("choose", "which algorithms")
    for number in range(calls):
        listener.say(f"calls {number}: ring")
    for number in range(2 * calls):
        listener.begin("compare", f"calls {number}")
        listener.note("the fastest is ring")
    listener.say("the fastest in the program: ring")
    for number in range(1, choices):
        listener.begin("verify", f"choice {number}")
        listener.say(f"choice {number} is not used")
    listener.begin("try", "the choices in turn")


def outcome(choices: int) -> Any:
    has_choice = choices > 1
    return SimpleNamespace(
        times_s={f"choice {number}": [1.0, 1.1, 1.2] for number in range(choices)},
        conclusion=SimpleNamespace(sentence="4% faster." if has_choice else "Nothing here is faster."),
        cautions=["The budget did not suffice.", "Runs differ."] if has_choice else [],
        usage=["mpirun -x A=1 ./app", "export A=1; mpirun ./app"] if has_choice else [],
    )


@pytest.mark.parametrize("study", STUDIES)
def test_tune_prints_at_most_25_lines_and_logs_everything(
    study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = STUDIES[study]
    monkeypatch.setattr(tune_program, "tune", lambda tuning: stages(tuning.listener, **counts))
    settings = TuneSettings(
        command=["mpirun", "./app"], library="", folder="", trace="", share=1, time="", seed=1
    )
    requested = Request(
        settings=settings, command=cast("Any", None), installation=cast("Installation", None), budget_s=1.0
    )
    printed = io.StringIO()
    console = Console(file=printed, highlight=False, soft_wrap=True, width=80)
    tune_program.tune_program(requested, tmp_path / "out", StagePrinter(console), lambda *arguments: None)
    tune._report(console, outcome(counts["choices"]))
    lines = printed.getvalue().splitlines()
    assert len(lines) + 1 <= MOST_PRINTED, printed.getvalue()  # and the line that names report and log
    log = (tmp_path / "out" / LOG).read_text(encoding="utf-8")
    assert log.count("40 of 50 blocks") == counts["calls"]
    assert log.count("the fastest is ring") == 2 * counts["calls"]
