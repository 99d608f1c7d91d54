"""Program files: what is read, and a sentence with the line for each mistake."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import jsonschema
import pytest
from program_texts import RING, WORK

from offbeat.base.errors import BadInput
from offbeat.programs.description.program_file import PRESETS, load, loads
from offbeat.programs.description.template import schema_text, template

PUBLISHED = Path(__file__).parents[2] / "docs" / "reference" / "program.schema.json"
COLLECTIVE = '[[phase]]\nkind = "collective"\ncollective = "allreduce"\nalgorithm = "ring"\nbytes = [8]\n'
NOISE = '[[noise]]\nphase = "triad"\ntime = "1 ms"\n'


@pytest.mark.parametrize("name", PRESETS.names())
def test_every_program_that_comes_with_offbeat_is_valid(name: str) -> None:
    assert load(name).file.phase


def test_the_template_is_valid_with_every_key_it_shows() -> None:
    file = loads(template(), "program.toml").file
    assert [phase.kind for phase in file.phase] == ["work", "exchange"]
    jsonschema.validate(tomllib.loads(template()), json.loads(schema_text()))


def test_the_published_schema_is_current_and_takes_the_programs() -> None:
    assert PUBLISHED.read_text(encoding="utf-8") == schema_text()
    for name in PRESETS.names():
        jsonschema.validate(tomllib.loads(load(name).text), json.loads(schema_text()))


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("", 1, "the program is empty"),
        ("ranks = 4", 1, "phase: this key is missing"),
        ("phase = []", 1, "the list is empty"),
        ('[[phase]]\nkind = "wait"', 2, "'wait' is not"),
        ('[[phase]]\nkind = "work"', 1, "the work is empty; write memory, flops or time"),
        (WORK + 'bytes = ["1 MB"]', 5, "a phase of kind 'work' has no bytes; exchange and collective have"),
        (WORK + "weights = [0, 0]", 5, "all weights are 0"),
        (WORK + "weights = [-1]", 5, "-1.0 is too small"),
        (WORK + "every = 0", 5, "0 is too small"),
        (WORK + WORK, 7, "another phase is called 'triad', too"),
        ('[[phase]]\nkind = "exchange"', 1, "the list has 0 sizes; write one"),
        (RING + "grid = [2, 4]", 6, "this key needs neighbours = 'grid' or 'box'; here it is 'ring'"),
        (RING + 'edge_bytes = "1 KiB"', 6, "this key needs neighbours = 'box'; here it is 'ring'"),
        (RING.replace("ring", "offsets"), 1, "there are no offsets; write some, such as [-1, 1]"),
        (RING.replace("ring", "offsets") + "offsets = [0]", 6, "a rank sends nothing to itself"),
        (RING.replace("ring", "grid") + "grid = [2, 2, 2, 2]", 6, "at most 3"),
        (
            RING.replace("ring", "grid").replace('["1 MB"]', "[1, 2]"),
            5,
            "the list has 2 sizes; write one, or 3",
        ),
        (RING.replace('"1 MB"', '"1 MBit"'), 5, "MBit"),
        (COLLECTIVE.replace("allreduce", "allredcue"), 3, "did you mean 'allreduce'"),
        (COLLECTIVE.replace('"ring"', '"rin"'), 4, "did you mean 'ring'"),
        (COLLECTIVE + "root = 1", 6, "allreduce has no root"),
        (COLLECTIVE.replace("[8]", "[8, 16]"), 5, "the list has 2 sizes; a collective has one size"),
        (WORK + NOISE.replace("triad", "traid"), 6, "did you mean 'triad'"),
        (WORK + NOISE + "ranks = [1]", 8, "pick is 'random', and ranks are listed, too"),
        (WORK + NOISE + 'pick = "list"', 5, "the ranks to be delayed are missing"),
        (WORK + NOISE + "first = 9\nlast = 3", 9, "iteration 3 is before the first one, 9"),
        (WORK + NOISE + "first = 5000", 8, "the program has only 1000 iterations"),
        ("iterations = 0\n" + WORK, 1, "0 is too small"),
        ("iterations = 1000000000000\n" + WORK, 1, "too large"),
        ('name = "\\n"\n' + WORK, 1, "cannot be shown in a table"),
    ],
)
def test_every_mistake_gets_a_sentence_with_its_line(text: str, line: int, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        loads(text, "program.toml")
    assert sentence in str(caught.value)
    assert f"program.toml:{line}:" in str(caught.value) or not text


def test_a_file_that_is_missing_or_no_text_gets_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="'offbeat program init' writes one"):
        load(tmp_path / "none.toml")
    with pytest.raises(BadInput, match="is not a program; did you mean 'mst'"):
        load("mts")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match=r"binary.toml"):
        load(tmp_path / "binary.toml")


@pytest.mark.parametrize(("ranks", "iterations"), [(-1, 0), (10**12, 0), (0, -1), (0, 10**12)])
def test_impossible_numbers_of_ranks_and_iterations_are_refused(ranks: int, iterations: int) -> None:
    with pytest.raises(BadInput, match="a program has from 1 to"):
        loads(WORK, "program.toml").resized(ranks=ranks, iterations=iterations)


def test_the_example_of_the_how_to_page_is_valid() -> None:
    page = (PUBLISHED.parents[1] / "howto" / "programs.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert [phase.name for phase in loads(blocks[0], "page.toml").file.phase] == ["sweep", "", ""]
