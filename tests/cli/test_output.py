"""``--json`` and ``--notes`` are the same option in every verb."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from offbeat.base.errors import BadInput, RunFailed
from offbeat.base.terminal_table import MAX_NOTES
from offbeat.cli.app import VERBS, build, load
from offbeat.cli.output import print_notes, stdout, write_json
from offbeat.simulation.algorithms.document import CheckDocument

STUDY = """name = "small"
engine = "sim"
[[collective]]
names = ["reduce"]
sizes = ["64 B"]
[processes]
p = [8]
"""


def commands() -> Iterator[tuple[str, Any]]:
    for verb in VERBS:
        command = load(verb)
        inner = getattr(command, "commands", {})
        yield from ((f"{verb} {name}", one) for name, one in inner.items())
        if not inner:
            yield verb, command


def option(command: Any, name: str) -> Any:
    return next((parameter for parameter in command.params if name in parameter.opts), None)


def test_json_is_a_file_everywhere() -> None:
    having = {name for name, command in commands() if option(command, "--json")}
    assert having >= {"status", "verify", "run", "try", "select", "predict", "doctor", "trace summary"}
    for name, command in commands():
        if json_option := option(command, "--json"):
            assert (json_option.metavar, json_option.default) == ("FILE", ""), name
            assert "'-' prints it" in json_option.help, name


def test_notes_is_an_option_of_every_verb_that_prints_notes() -> None:
    having = {name for name, command in commands() if option(command, "--notes")}
    assert having >= {"run", "select", "export", "predict", "try", "trace summary", "clock check"}


def test_a_run_writes_its_outcome_as_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(STUDY, encoding="utf-8")
    done = CliRunner().invoke(build(), ["run", "s.toml", "--json", "-"])
    document = json.loads(done.stdout)
    assert document["done"] == document["total"] == document["measured_now"] > 0
    assert CliRunner().invoke(build(), ["status", "s-results", "--json", "status.json"]).exit_code == 0
    status = json.loads(Path("status.json").read_text(encoding="utf-8"))
    assert (status["done"], status["total"]) == (document["done"], document["total"])
    refused = CliRunner().invoke(build(), ["run", "s.toml", "--json", "-", "--dry-run"])
    assert isinstance(refused.exception, BadInput)


def test_json_that_cannot_be_written_gives_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"cannot write .*nowhere/out\.json"):
        write_json(str(tmp_path / "nowhere" / "out.json"), lambda: CheckDocument(algorithms=[]))
    with pytest.raises(RunFailed, match="free space there"):
        write_json("/dev/full", lambda: CheckDocument(algorithms=[]))


def test_a_document_that_is_not_requested_is_not_created() -> None:
    write_json("", lambda: pytest.fail("it was created"))


def test_ten_notes_are_printed_and_the_others_counted(capsys: pytest.CaptureFixture[str]) -> None:
    notes = [f"number {number}" for number in range(MAX_NOTES + 2)]
    print_notes(stdout(), notes, everything=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:MAX_NOTES] == [f"note: {note}" for note in notes[:MAX_NOTES]]
    assert lines[MAX_NOTES:] == [f"2 more notes: --notes prints all {MAX_NOTES + 2}"]
    print_notes(stdout(), notes, everything=True)
    assert len(capsys.readouterr().out.splitlines()) == len(notes)
