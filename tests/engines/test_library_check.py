"""``offbeat doctor --legal-calls``: which legal calls a library and its algorithms get wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import scripted_library
from fake_launches import SOUND
from scripted_library import number_of

from offbeat.cli import app
from offbeat.libraries.installations import find
from offbeat.measurement.engines import engine_choice
from offbeat.measurement.legal_calls.library_check import check_library


def answer(where, forced, verb, values):
    """The library is wrong in place, and the algorithm ``chain`` with null arguments as well."""
    is_chain = number_of(forced) == "2"
    is_wrong = values.get("in_place") or (is_chain and values.get("nulls"))
    return SOUND | {"wrong": 3} if verb == "call" and is_wrong else SOUND


def test_faults_of_the_library_do_not_count_against_its_algorithms(tmp_path: Path) -> None:
    engine = scripted_library.engine(tmp_path, "openmpi", answer)
    check = check_library(engine, ["reduce"], draws=80, has_algorithms=True)
    kinds = {one.algorithm: {call.kind for call in one.calls} for one in check.wrong}
    assert kinds == {"default": {"in-place"}, "chain": {"null-arguments"}}
    assert check.seed == 1 and check.algorithms == 3 and check.tried > 2 * 70


def test_an_algorithm_that_does_not_work_on_these_processes_is_not_called_wrong(tmp_path: Path) -> None:
    def refuses(where, forced, verb, values):
        is_chain = number_of(forced) == "2"
        return SOUND | {"error": "MPI_ERR_UNSUPPORTED"} if verb == "call" and is_chain else SOUND

    check = check_library(
        scripted_library.engine(tmp_path, "openmpi", refuses), ["reduce"], draws=8, has_algorithms=True
    )
    assert check.wrong == [] and check.algorithms == 2
    assert check.unusable == ["reduce chain: it returns the error MPI_ERR_UNSUPPORTED"]


@pytest.mark.parametrize("is_wrong", [False, True])
def test_the_command_ends_with_status_1_if_a_call_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_wrong: bool
) -> None:
    engine = scripted_library.engine(tmp_path, "openmpi", answer if is_wrong else lambda *_: SOUND)
    monkeypatch.setattr(find, "choose", lambda _: engine.installation)

    def check(installation, collectives, *, p, draws, seed, has_algorithms, report):
        return check_library(engine, collectives, p=p, draws=draws, seed=seed, has_algorithms=has_algorithms)

    monkeypatch.setattr(engine_choice, "check_legal_calls", check)
    document = tmp_path / "check.json"
    words = ["doctor", "--legal-calls", "--collective", "reduce", "--draws", "40", "--json", str(document)]
    monkeypatch.setattr(sys, "argv", ["offbeat", *words])
    with pytest.raises(SystemExit) as ended:
        app.main()
    printed = capsys.readouterr().out
    assert ended.value.code == (1 if is_wrong else 0)
    assert ("call collective=reduce" in printed) == is_wrong
    assert ("legal calls tried on 4 processes, seed 1: none wrong." in printed) == (not is_wrong)
    assert bool(json.loads(document.read_text(encoding="utf-8"))["wrong"]) == is_wrong


def test_a_collective_that_there_is_not_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(find, "choose", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["offbeat", "doctor", "--legal-calls", "--collective", "alreduce"])
    with pytest.raises(SystemExit) as ended:
        app.main()
    assert ended.value.code == 2 and "--collective alreduce: known are" in capsys.readouterr().err
