"""Every key of a TOML text is found on the line where a reader sees it."""

from __future__ import annotations

import tomllib

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from offbeat.base.toml.lines import dotted_name, key_lines, line_of

TEXT = """# a comment with [brackets] and a = sign
a = 1
"b.c".d = [1, 2, # a comment
  3,
  [4, "#]"],
]
[[col]]
names = ["x"] # [y]
 [col.sub]
 t = 1979-05-27 07:32:00.5
[[col]]
s = \"\"\"one
two\\\"\"\"
\"\"\"
q = {a = 1, b.c = [ {x = 1}, {y = 2.5e-3} ]}
z = '''
'a''''
last = 1
"""


@pytest.mark.parametrize(
    ("key", "line"),
    [
        (("a",), 2),
        (("b.c", "d"), 3),
        (("b.c", "d", 1), 3),
        (("b.c", "d", 2), 4),
        (("b.c", "d", 3, 1), 5),
        (("col", 0), 7),
        (("col", 0, "names", 0), 8),
        (("col", 0, "sub", "t"), 10),
        (("col", 1), 11),
        (("col", 1, "s"), 12),
        (("col", 1, "q", "b", "c", 1, "y"), 15),
        (("col", 1, "z"), 16),
        (("col", 1, "last"), 18),
    ],
)
def test_keys_are_found_in_tables_arrays_and_around_long_strings(key, line):
    assert key_lines(TEXT)[key] == line


def test_a_missing_key_is_located_at_its_table():
    assert line_of(key_lines(TEXT), ("col", 1, "missing", 3)) == 11
    assert line_of(key_lines(TEXT), ("nowhere",)) == 1


def test_windows_line_ends_count_as_one_line():
    assert key_lines(TEXT.replace("\n", "\r\n")) == key_lines(TEXT)


def test_locations_are_written_in_toml_notation():
    assert dotted_name(("collective", 0, "names", 1)) == "collective[0].names"
    assert dotted_name(("collective", 0)) == "collective[0]"
    assert dotted_name(("skew", "policy")) == "skew.policy"


SCALARS = st.one_of(st.integers(), st.booleans(), st.floats(allow_nan=False), st.text(max_size=6))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
)


def places(value, key=()):
    """Every place in a parsed document."""
    if key:
        yield key
    entries = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for name, entry in entries:
        yield from places(entry, (*key, name))


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=5))
def test_every_place_of_any_document_has_a_line(values):
    text = tomlkit.dumps(values)
    document = tomllib.loads(text)
    lines = key_lines(text)
    assert set(lines) == set(places(document))
    assert all(1 <= line <= len(text.split("\n")) for line in lines.values())


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 3)), unique_by=lambda entry: entry[0]))
def test_blank_lines_and_comments_move_a_key_down_by_as_many_lines(entries):
    text = "".join("# [x] = \n" * gap + f"{name} = 1\n" for name, gap in entries)
    lines, expected = key_lines(text), 0
    for name, gap in entries:
        expected += gap + 1
        assert lines[(name,)] == expected
