"""Replay files are read back exactly, and invalid ones are refused with their line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from offbeat.base.errors import BadInput
from offbeat.model.pattern import replay_file
from offbeat.model.pattern.replay_file import Replay, mean_pattern

CALLS = arrays.arrays(
    np.float64, arrays.array_shapes(min_dims=2, max_dims=2, max_side=12), elements=st.floats(0, 86400.0)
)
KEYS = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True).filter(
    lambda key: key not in ("p", "length", "unit")
)
VALUES = st.text(st.characters(codec="utf-8", categories=("L", "N", "P")), max_size=20)


@given(calls=CALLS, firsts=st.lists(st.integers(0, 11), min_size=12), header=st.dictionaries(KEYS, VALUES))
def test_a_replay_comes_back_from_its_file_to_the_last_bit(tmp_path_factory, calls, firsts, header):
    for call, first in zip(calls, firsts, strict=False):
        call[first % len(call)] = 0.0
    path = tmp_path_factory.mktemp("replay") / "site.replay"
    replay = Replay(name="site", delays_s=calls, header=header)
    replay_file.write(path, replay)
    assert replay_file.read(path) == replay
    assert replay_file.read(path, replay.p) == replay


def written(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "theirs.replay"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "content",
    [
        "0 1e-3 .5\n0 0 0\n",
        "0\t1e-3\t.5\r\n0 0 0\r\n",
        "0,1e-3,.5\n0,0,0",
        "0; 1e-3; .5;\n0; 0; 0;",
        "\ufeff# by hand\n\n 0 +0.001 5e-1 # the first\n0 -0.0 0",
        "# unit: ms\n# p: 3\n# length: 2\n0 1 500\n0 0 0\n",
    ],
)
def test_lines_of_numbers_from_any_tool_are_a_replay(tmp_path, content):
    replay = replay_file.read(written(tmp_path, content), 3)
    assert replay.delays_s == pytest.approx(np.array([[0, 1e-3, 0.5], [0, 0, 0]]), rel=1e-15)
    assert (replay.name, replay.calls, replay.p, replay.shifted) == ("theirs", 2, 3, 0)


def test_delays_are_relative_to_the_first_rank_of_their_own_call(tmp_path):
    replay = replay_file.read(written(tmp_path, "0.5 0.25\n0 1\n2 2\n"))
    assert replay.delays_s.tolist() == [[0.25, 0], [0, 1], [0, 0]]
    assert replay.shifted == 2
    assert replay.skews_s.tolist() == [0.25, 1, 0]


def test_the_mean_over_calls_is_each_ranks_own(tmp_path):
    assert mean_pattern(replay_file.read(written(tmp_path, "0 1\n3 0\n"))).delays_s.tolist() == [1.5, 0.5]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("0 1\n0 -1e-9\n", r"theirs\.replay:2: the delay -1e-9 is negative"),
        ("0 nan\n", r"theirs\.replay:1: nan is not a delay"),
        ("0 1\n\n-inf 0\n", r"theirs\.replay:3: -inf is not a delay"),
        ("", "the replay file holds no calls"),
        ("# only: comments\n", "holds no calls"),
        ("0 late\n", r"theirs\.replay:1: 'late' is not a number"),
        ("0 1_000\n", "'1_000' is not a number"),
        ("0 1e\n", "'1e' is not a number"),
        ("0 --1\n", "'--1' is not a number"),
        ("0 100us\n", "'100us' is not a number"),
        ("0 86401\n", "the delay 86401 is longer than one day"),
        ("0 1e999\n", "longer than one day"),
        ("0 1\n0 1 2\n", r"theirs\.replay:2: this call has 3 delays, but the first call has 2"),
        ("# p: 3\n0 1\n", "this call has 2 delays, but the header says p = 3"),
        (";;\n", "';;' is not a number"),
        ("# length: 3\n0 1\n0 1\n", r"length = 3, but 2 calls follow; is the file cut off\?"),
        ("# length: 2\n0 1\n", "but 1 call follows"),
        ("# unit: fortnight\n0 1\n", "the unit 'fortnight'"),
        (b"0 1\n\xff\xfe1\n", r"theirs\.replay:2: the byte 0xff is not UTF-8"),
    ],
)
def test_a_file_that_is_no_replay_is_refused_with_its_line(tmp_path, content, sentence):
    with pytest.raises(BadInput, match=sentence):
        replay_file.read(written(tmp_path, content))


@pytest.mark.timeout(30)  # quadratic time would be hours
@pytest.mark.parametrize(
    ("content", "refusal"),
    [
        ("0 " + "1" * 10**6 + "x 1\n", "is not a number"),
        ("# unit" + " " * 10**6 + "x\n0 1\n", ""),
        ("# unit: s" + " " * 10**6 + "x\n0 1\n", "names the unit"),
    ],
    ids=["digits", "spaces in a key", "spaces in a value"],
)
def test_a_line_of_a_megabyte_is_read_in_linear_time(tmp_path, content, refusal):
    path = tmp_path / "long.replay"
    path.write_text(content)
    if not refusal:
        assert replay_file.read(path).calls == 1
        return
    with pytest.raises(BadInput, match=refusal) as raised:
        replay_file.read(path)
    assert len(str(raised.value)) < 1000


def test_a_replay_of_another_p_is_refused_with_both_numbers(tmp_path):
    with pytest.raises(BadInput, match=r"calls are of 3 processes, but p = 4; record a run with 4 processes"):
        replay_file.read(written(tmp_path, "0 1 2\n"), 4)


def test_a_pattern_file_is_refused_as_a_replay_with_its_kind(tmp_path):
    with pytest.raises(BadInput, match="need 3 a line; a file with one line a rank is a pattern file"):
        replay_file.read(written(tmp_path, "0\n1\n2\n"), 3)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"cannot read the replay file .*nowhere\.replay: No such file"):
        replay_file.read(tmp_path / "nowhere.replay")


def test_an_unwritable_place_is_refused(tmp_path):
    with pytest.raises(BadInput, match="cannot write the replay file"):
        replay_file.write(tmp_path / "no" / "folder", Replay(name="x", delays_s=np.zeros((1, 2))))
