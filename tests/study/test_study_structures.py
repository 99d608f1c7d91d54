"""Studies and platforms from Python: the same checks as files, and messages that name the key."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from study_strategies import studies

from offbeat.base.errors import BadInput
from offbeat.base.toml.structure import stated_keys
from offbeat.base.toml.write import round_numbers, toml_text, values_text
from offbeat.model.platform import machine
from offbeat.model.study.schema import ProcessesSection, SkewSection, Study
from offbeat.model.study.study_file import check, from_structure, from_values, loads

FAULTY = {
    "name": st.sampled_from(["", "\t"]),
    "engine": st.sampled_from(["simm", "mpi4"]),
    "seed": st.sampled_from([-1, 2**63]),
    "processes": st.builds(ProcessesSection, p=st.lists(st.sampled_from([0, 1, 2, 2**25]), max_size=3)),
    "skew": st.builds(
        SkewSection,
        policy=st.sampled_from(["middle", "mean", "fixed", "rate"]),
        factors=st.sampled_from([[], [0.0], [1.0, 1.0], [1.5], [2.0]]),
        times=st.sampled_from([[], [1e-4], [1e9], [-1.0]]),
    ),
}
"""Values that are often faulty, alone or beside each other, by their keys."""


@given(studies())
@settings(max_examples=20)
def test_a_study_without_fault_is_the_one_that_was_made(study: Study) -> None:
    assert check(study, Path()) == []
    assert from_structure(study, "study.toml").study == study


@given(studies(), st.fixed_dictionaries({}, optional=FAULTY))
@settings(max_examples=40)
def test_a_study_from_python_has_the_faults_of_its_file(study: Study, faulty: dict[str, object]) -> None:
    study = structs.replace(study, **faulty)
    in_file = refusal(lambda: loads(values_text(stated_keys(study)), "study.toml"))
    assert all(re.match(r"study\.toml:\d+: ", line) for line in in_file)
    without_position = sorted(re.sub(r"^study\.toml:\d+: ", "", line) for line in in_file)
    assert sorted(refusal(lambda: from_structure(study, "study.toml"))) == without_position


def refusal(build: object) -> list[str]:
    try:
        build()  # type: ignore[operator]
    except BadInput as error:
        return str(error).splitlines()
    return []


VALUES = {"collective": [{"names": ["reduce"], "sizes": ["8 B"]}], "processes": {"p": [4]}}


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("engine", "simm", "engine: 'simm' is not known here; did you mean 'sim'"),
        ("seed", None, "seed: None is no value, but this must be a whole number"),
        ("name", 7, "name: 7 is a whole number, but this must be text in quotation marks"),
        ("repetitions", {"time_cap": object()}, "of type object is no value of a study"),
    ],
)
def test_a_faulty_value_from_python_is_refused_by_its_key(key: str, value: object, sentence: str) -> None:
    with pytest.raises(BadInput, match=re.escape(sentence)):
        from_values(VALUES | {key: value}, "study.toml")


def test_numbers_of_numpy_tuples_and_paths_are_values_of_a_study(tmp_path: Path) -> None:
    (tmp_path / "late.txt").write_text("0\n1e-6\n0\n0\n")
    given_values = {
        "collective": [{"names": ("reduce",), "sizes": np.array([8, 16])}],
        "processes": {"p": [np.int64(4)]},
        "patterns": {"shapes": ["no_delay"], "files": [Path("late.txt")]},
    }
    loaded = from_values(given_values, tmp_path / "study.toml")
    assert loaded.study.collective[0].sizes == [8, 16]
    assert loads(loaded.text, tmp_path / "study.toml").study == loaded.study


@given(st.floats(1e-9, 1e-3), st.floats(1e6, 1e12), st.sampled_from(["fritz", "paper"]))
@settings(max_examples=40)
def test_a_rounded_platform_is_the_one_that_its_text_describes(
    latency_s: float, bandwidth: float, preset: str
) -> None:
    file = machine.load(preset).file
    link = structs.replace(file.link, latency=latency_s, bandwidth=bandwidth)
    file = structs.replace(file, link=link)
    assert machine.loads(toml_text(file), "x.toml").file == round_numbers(file)
    assert machine.check(round_numbers(file)) == []


def test_a_faulty_platform_from_python_is_refused_by_its_key() -> None:
    file = machine.load("paper").file
    faulty = structs.replace(file, link=structs.replace(file.link, bandwidth=0.0))
    with pytest.raises(BadInput, match=r"^link\.bandwidth: a bandwidth of 0 moves nothing"):
        machine.from_structure(faulty, "a platform")
