"""A loaded study has every key, can be stored beside its results, and shows what was changed."""

from __future__ import annotations

import hashlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from study_strategies import studies

from offbeat.base.errors import BadInput
from offbeat.model.study.schema import DEFAULT_SHAPES, Study
from offbeat.model.study.study_file import (
    changed_keys,
    check_algorithms,
    load,
    loads,
    read_resolved,
    resolved_toml,
)

TEXT = """name = "nightly"
[[collective]]
names = ["reduce", "allreduce"]
sizes = ["8 B", 1024, "1.5 KiB"]
algorithms = ["binomial",
  "linear"]
[processes]
p = [4, 8]
[skew]
policy = "fixed"
times = ["100 us", 2e-3]
[repetitions]
time_cap = "500 ms"
[start]
tolerance = "20 us"
"""


def test_sizes_become_bytes_and_times_seconds():
    study = loads(TEXT, "study.toml").study
    assert study.collective[0].sizes == [8, 1024, 1536]
    assert study.skew.times == [1e-4, 2e-3]
    assert study.repetitions.time_cap == 0.5
    assert study.start.tolerance == 2e-5


def test_missing_keys_have_their_defaults():
    study = loads(TEXT, "study.toml").study
    assert study.patterns.shapes == list(DEFAULT_SHAPES)
    assert (study.collective[0].op, study.collective[0].datatype) == ("sum", "double")
    assert (study.mpi.prefix, study.engine, study.seed) == ("auto", "mpi", "auto")


def test_the_line_of_a_key_is_found():
    loaded = loads(TEXT, "study.toml")
    assert loaded.line(("collective", 0, "algorithms", 1)) == 6
    assert loaded.line(("collective", 0, "op")) == 2


def test_pattern_and_host_files_are_relative_to_the_study_file(tmp_path, monkeypatch):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "app.txt").write_text("0\n1e-6\n2e-6\n3e-6\n")
    (tmp_path / "in" / "hosts").write_text("node1\n")
    text = '[[collective]]\nnames = ["barrier"]\n[processes]\np = [4]\n[patterns]\nfiles = ["app.txt"]\n'
    (tmp_path / "in" / "study.toml").write_text(text + '[mpi]\nhostfile = "hosts"\n')
    monkeypatch.chdir(tmp_path)
    loaded = load("in/study.toml")
    assert loaded.pattern_paths()["app"].read_text().startswith("0")
    assert loaded.file_digests()["mpi.hostfile"] == hashlib.sha256(b"node1\n").hexdigest()
    assert set(loaded.file_digests()) == {"app.txt", "mpi.hostfile"}


# --- the resolved study


@given(studies())
def test_a_resolved_study_loads_back_to_an_equal_one(study: Study):
    text = resolved_toml(study)
    assert loads(text, "study.toml").study == study
    assert read_resolved(text) == study


def test_a_resolved_study_names_every_key_that_counts():
    text = resolved_toml(loads(TEXT, "study.toml").study)
    for key in (
        "seed",
        "op",
        "datatype",
        "root",
        "shapes",
        "scale_files",
        "confidence_width",
        "hang_after",
        "prefix",
    ):
        assert f"\n{key} = " in text
    assert "sizes = [8, 1024, 1536]" in text
    assert "factors" not in text  # fixed takes none


def test_a_resolved_study_is_read_without_its_files():
    text = TEXT + '[patterns]\nfiles = ["gone.txt"]\n[mpi]\nhostfile = "gone"\n'
    resolved = text.replace('["8 B", 1024, "1.5 KiB"]', "[8]").replace('"100 us"', "1e-4")
    resolved = resolved.replace('"500 ms"', "0.5").replace('"20 us"', "2e-5")
    assert read_resolved(resolved).patterns.files == ["gone.txt"]


@pytest.mark.parametrize("text", ["", "a = ", "[processes]\np = [4]", "collective = 3\n[processes]"])
def test_something_else_in_place_of_a_resolved_study_is_refused(text):
    with pytest.raises(BadInput, match="not a study as offbeat stores it"):
        read_resolved(text)


# --- changes


def changed(**replacements: str) -> list[str]:
    text = TEXT
    for old, new in replacements.values():
        text = text.replace(old, new)
    return changed_keys(loads(TEXT, "a").study, loads(text, "b").study)


@pytest.mark.parametrize(
    ("old", "new", "keys"),
    [
        ('"nightly"', '"weekly"', []),
        ('"8 B"', "8", []),
        ('"8 B"', '"16 B"', ["collective[0].sizes"]),
        ("p = [4, 8]", "nodes = [2]\nppn = [2]", ["processes.p", "processes.nodes", "processes.ppn"]),
        ('"500 ms"', '"1 s"', ["repetitions.time_cap"]),
        ('"20 us"', '"auto"', ["start.tolerance"]),
        ("[start]", '[mpi.environment]\nA = "1"\n[start]', ["mpi.environment.A"]),
        ("[processes]", '[[collective]]\nnames = ["barrier"]\n[processes]', ["collective"]),
        ("[start]", "[patterns]\nseed = 2\n[start]", ["patterns.seed"]),
    ],
)
def test_keys_that_differ_are_named(old, new, keys):
    assert changed(only=(old, new)) == keys


@given(studies(), studies())
def test_a_study_differs_from_another_one_exactly_when_more_than_its_name_does(one: Study, other: Study):
    assert changed_keys(one, msgspec.structs.replace(one, name="another")) == []
    same = msgspec.structs.replace(one, name="") == msgspec.structs.replace(other, name="")
    assert bool(changed_keys(one, other)) == (not same)


@given(studies(), st.data())
def test_every_changed_section_is_named(study: Study, data):
    section = data.draw(st.sampled_from(["patterns", "repetitions", "skew", "start", "processes"]))
    other = data.draw(studies())
    mixed = msgspec.structs.replace(study, **{section: getattr(other, section)})
    keys = changed_keys(study, mixed)
    assert all(key.startswith(section) for key in keys)
    assert bool(keys) == (getattr(study, section) != getattr(other, section))


# --- algorithm names


KNOWN = {"reduce": ["default", "linear", "binomial"], "allreduce": ["default", "linear", "ring"]}


def test_algorithms_that_the_library_lacks_are_reported_with_their_line():
    with pytest.raises(BadInput) as error:
        check_algorithms(loads(TEXT, "study.toml"), KNOWN)
    assert str(error.value) == (
        "study.toml:5: collective[0].algorithms: this library has no 'binomial' for allreduce."
        " Known: default, linear, ring"
    )


def test_a_misspelt_algorithm_gets_the_nearest_name():
    with pytest.raises(BadInput, match="no 'linaer' for reduce; did you mean 'linear'"):
        check_algorithms(loads(TEXT.replace('"linear"', '"linaer"'), "study.toml"), KNOWN)


def test_known_algorithms_and_all_are_accepted():
    check_algorithms(loads(TEXT.replace('"binomial"', '"default"'), "study.toml"), KNOWN)
    check_algorithms(loads(TEXT.replace('"binomial",\n  "linear"', '"all"'), "study.toml"), {})


def test_a_library_without_a_collective_has_none_of_its_algorithms():
    with pytest.raises(BadInput, match="no 'linear' for allreduce"):
        check_algorithms(loads(TEXT, "study.toml"), {"reduce": KNOWN["reduce"]})


def test_a_known_algorithm_with_unknown_parameters_is_reported_as_such():
    with pytest.raises(BadInput, match="'linear' is there, but not with these parameters"):
        check_algorithms(loads(TEXT.replace('"linear"', '"linear(fanout=x)"'), "study.toml"), KNOWN)
