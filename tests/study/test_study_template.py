"""``offbeat init`` and ``offbeat schema`` write files that are valid unchanged."""

from __future__ import annotations

import copy
import json
import os
import re
import tomllib
from pathlib import Path

import jsonschema
import pytest
import typer
from faulty_studies import CASES, CELLS, FORM, PLACES
from hypothesis import given
from study_strategies import studies
from typer.testing import CliRunner

from offbeat.base.atomic_write import check_new
from offbeat.base.errors import BadInput
from offbeat.cli import init, schema
from offbeat.model.study.study_file import FORM as STUDY_FORM
from offbeat.model.study.study_file import load, loads, resolved_toml
from offbeat.model.study.template import TEMPLATE, schema_text

PUBLISHED = Path(__file__).parents[2] / "docs" / "reference" / "study.schema.json"


def run(command, *arguments: str):
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, list(arguments), catch_exceptions=True)


def test_the_template_is_a_small_valid_study():
    study = loads(TEMPLATE, "study.toml").study
    assert study.collective[0].names == ["reduce", "allreduce", "alltoall"]
    assert study.processes.p == [4]


def test_the_template_explains_every_key_of_every_section():
    template = TEMPLATE.replace("\n#[[", "\n[[")
    for title, keys in STUDY_FORM.sections().items():
        section = template.split(f"\n{title}\n")[-1].split("\n[")[0] if title.startswith("[") else template
        for key in keys:
            if f"[{key}]" not in template and f"[[{key}]]" not in template:
                assert re.search(rf"^# .+\n#?{key} = ", section, re.MULTILINE), (title, key)


BEFORE, PARTITIONED, AFTER = re.split(r"(?s)(^#\[\[partitioned\]\].*?\n\n)", TEMPLATE, flags=re.MULTILINE)
"""The template around the section of which no key is set."""


def uncommented(key: str) -> str:
    return re.sub(rf"^#({key} = )", r"\1", BEFORE + AFTER, count=1, flags=re.MULTILINE)


COMMENTED = re.findall(r"^#(\w+) = ", BEFORE + AFTER, re.MULTILINE)
NEEDS_MORE = {"nodes", "ppn", "files", "replays", "times", "rates", "hostfile"}


@pytest.mark.parametrize("key", sorted(set(COMMENTED) - NEEDS_MORE))
def test_each_commented_key_can_be_switched_on(key):
    loads(uncommented(key), "study.toml")


def test_commented_keys_that_need_another_change_are_right_after_it(tmp_path):
    rising = "".join(f"{rank}\n" for rank in range(4))
    for name in ("application", "reduce"):
        (tmp_path / f"{name}.txt").write_text(rising)
    for name in ("calls", "reduce-calls"):
        (tmp_path / f"{name}.replay").write_text("0 1 2 3\n")
    (tmp_path / "hosts.txt").write_text("node1\n")
    text = TEMPLATE.replace("#files", "files").replace("#hostfile", "hostfile")
    text = text.replace("#replays", "replays")
    text = text.replace("#times", "times").replace('"mean"', '"fixed"').replace("factors = [1.5]", "")
    loads(text, tmp_path / "study.toml")
    text = TEMPLATE.replace("#nodes", "nodes").replace("#ppn", "ppn").replace("p = [4]", "")
    loads(text, tmp_path / "study.toml")


def test_messages_in_partitions_can_be_measured_instead_of_collectives():
    before = re.sub(r"(?s)^\[\[collective\]\].*", "", BEFORE, flags=re.MULTILINE)
    text = before + re.sub(r"^#", "", PARTITIONED, flags=re.MULTILINE) + AFTER
    text = text.replace("p = [4]", "p = [2]").replace('"mean"', '"rate"').replace("factors = [1.5]", "")
    text = re.sub(r"^ .*\n", "", text.replace("#rates", "rates"), flags=re.MULTILINE)
    study = loads(text, "study.toml").study
    assert study.partitioned[0].partitions == [4, 32] and study.skew.rates == [100, 1000]


def test_init_writes_the_template(tmp_path):
    result = run(init.command, str(tmp_path / "mine.toml"))
    assert result.exit_code == 0
    assert "offbeat run" in result.stdout
    assert load(tmp_path / "mine.toml").text == TEMPLATE


def test_init_never_overwrites_a_file_unless_forced(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text("precious")
    result = run(init.command, str(path))
    assert isinstance(result.exception, BadInput)
    assert "exists already" in str(result.exception)
    assert path.read_text() == "precious"
    assert run(init.command, str(path), "--force").exit_code == 0
    assert path.read_text() == TEMPLATE


@pytest.mark.parametrize(
    ("path", "message"), [(".", "is a directory"), ("no/such/study.toml", "cannot write the study file")]
)
def test_init_names_the_place_that_it_cannot_write(tmp_path, path, message):
    for force in ([], ["--force"]):
        result = run(init.command, str(tmp_path / path), *force)
        assert isinstance(result.exception, BadInput)
        assert message in str(result.exception)


def test_an_unwritable_folder_is_detected_in_advance(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)  # root may write anywhere
    with pytest.raises(BadInput, match="you may not write to the folder"):
        check_new(tmp_path / "new.toml")
    check_new(Path("/dev/stdout"), force=True)


# --- the JSON Schema


SCHEMA = json.loads(schema_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_published_schema_is_the_one_that_offbeat_prints(tmp_path):
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text(), "run: offbeat schema --output " + str(
        PUBLISHED
    )
    result = run(schema.command)
    assert result.stdout == schema_text()
    run(schema.command, "--output", str(tmp_path / "schema.json"))
    assert json.loads((tmp_path / "schema.json").read_text()) == SCHEMA


def test_schema_names_the_place_that_it_cannot_write(tmp_path):
    result = run(schema.command, "--output", str(tmp_path / "no" / "schema.json"))
    assert isinstance(result.exception, BadInput)


def test_the_schema_is_itself_valid_and_free_of_inner_marks():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert "x-unit" not in schema_text()
    assert "x-choice" not in schema_text()


def test_the_template_satisfies_the_schema():
    VALIDATOR.validate(tomllib.loads(TEMPLATE))


@given(studies())
def test_every_valid_study_satisfies_the_schema(study):
    VALIDATOR.validate(tomllib.loads(resolved_toml(study)))


@pytest.mark.parametrize("text", ["8 B", "64 KiB", "1.5 MiB", "2kB", 4096, "4096"])
def test_the_schema_accepts_the_text_forms_of_sizes(text):
    document = tomllib.loads(CELLS + PLACES)
    document["collective"][0]["sizes"] = [text]
    VALIDATOR.validate(document)


@pytest.mark.parametrize("time", ["100 us", "100 µs", "1.5ms", 2, 0.5, "3 s"])
def test_the_schema_accepts_the_text_forms_of_times(time):
    document = tomllib.loads(CELLS + PLACES)
    document |= {"start": {"tolerance": time}, "skew": {"policy": "fixed", "times": [time]}}
    VALIDATOR.validate(document)


MISFORMED = [
    ("collective", [{"names": ["reducee"]}]),
    ("collective", [{"names": ["reduce"], "sizes": ["8 KB"]}]),
    ("collective", [{"names": ["reduce"], "sizes": [1.5]}]),
    ("collective", [{"names": []}]),
    ("collective", [{"names": ["reduce"], "size": [8]}]),
    ("patterns", {"shapes": ["ascendin"]}),
    ("skew", {"factors": [0]}),
    ("skew", {"times": ["5 parsecs"]}),
    ("start", {"tolerance": "audo"}),
    ("repetitions", {"minimum": 0}),
]


@pytest.mark.parametrize(("key", "value"), MISFORMED)
def test_the_schema_refuses_what_the_loader_refuses(key, value):
    document = copy.deepcopy(tomllib.loads(CELLS + PLACES))
    document[key] = value
    assert not VALIDATOR.is_valid(document)


def test_whatever_the_schema_refuses_the_loader_refuses_too():
    refused = [text for text, _, _ in CASES if not VALIDATOR.is_valid(as_json(text))]
    assert len(refused) > len(FORM)
    for text in refused:
        with pytest.raises(BadInput):
            loads(text, "study.toml")


def as_json(text: str):
    """The document as JSON knows it: no dates, no NaN."""
    return json.loads(
        json.dumps(tomllib.loads(text), default=str).replace("NaN", '"nan"').replace("Infinity", '"inf"')
    )
