import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.base.errors import BadInput
from offbeat.model.pattern import pattern_file
from offbeat.model.pattern.pattern_file import Pattern, shape_pattern
from offbeat.model.pattern.shapes import SHAPES

DELAYS = st.lists(st.floats(0, 86400.0), min_size=1, max_size=40).map(lambda drawn: [*drawn, 0.0])
KEYS = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True).filter(
    lambda key: key not in ("p", "unit", "partitions")
)
VALUES = st.text(st.characters(codec="utf-8", categories=("L", "N", "P")), max_size=20)


@given(delays=DELAYS, header=st.dictionaries(KEYS, VALUES, max_size=4))
def test_a_pattern_comes_back_from_its_file_to_the_last_bit(tmp_path_factory, delays, header):
    path = tmp_path_factory.mktemp("pattern") / "scenario.txt"
    pattern = Pattern(name="scenario", delays_s=np.array(delays), header=header)
    pattern_file.write(path, pattern)
    assert pattern_file.read(path) == pattern


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_read_back_with_its_parameters(tmp_path, shape):
    pattern = shape_pattern(shape, 12, 1e-4, seed=7, ppn=4)
    path = tmp_path / f"{shape}.txt"
    pattern_file.write(path, pattern)
    again = pattern_file.read(path, 12)
    assert again == pattern
    assert again.header["shape"] == shape
    assert again.header["seed"] == "7"


def test_the_file_has_p_lines_after_its_header():
    lines = pattern_file.text(shape_pattern("ascending", 3, 1.0)).splitlines()
    assert [line for line in lines if not line.startswith("#")] == ["0.0", "0.5", "1.0"]
    assert "# unit: s" in lines
    assert "# p: 3" in lines
    assert lines.index("0.0") == len(lines) - 3


def written(tmp_path, content):
    path = tmp_path / "theirs.dat"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "content",
    [
        "0\n1e-3\n.5\n",
        "0\r\n1e-3\r\n.5\r\n",
        "0\r1e-3\r.5",
        "\ufeff0\n1e-3\n.5\n",
        "\n# made by hand\n  0  \n\n+0.001 # the second\n# more\n5e-1",
        "-0.0\n0.001\n0.5\n\n\n",
        "# unit: ms\n0\n1\n500\n",
        "# unit: us\n# p: 3\n0\n1000\n5E5\n",
    ],
)
def test_a_bare_column_of_numbers_from_any_tool_is_a_pattern(tmp_path, content):
    pattern = pattern_file.read(written(tmp_path, content), 3)
    assert pattern.delays_s == pytest.approx([0, 1e-3, 0.5], rel=1e-15)
    assert pattern.name == "theirs"
    assert pattern.shifted_by_s == 0


def test_a_file_whose_smallest_delay_is_not_zero_is_shifted_and_says_so(tmp_path):
    pattern = pattern_file.read(written(tmp_path, "0.5\n0.25\n1\n"))
    assert pattern.delays_s.tolist() == [0.25, 0.0, 0.75]
    assert pattern.shifted_by_s == 0.25


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("0\n-1e-9\n", r"theirs\.dat:2: the delay -1e-9 is negative"),
        ("0\nnan\n", r"theirs\.dat:2: nan is not a delay"),
        ("0\n-Infinity\n", r"theirs\.dat:2: -Infinity is not a delay"),
        ("", r"theirs\.dat: the pattern file holds no delays"),
        ("# only: comments\n\n", "holds no delays"),
        ("0\nlate\n", r"theirs\.dat:2: 'late' is not a number"),
        ("0\n1_000\n", "is not a number"),
        ("0\n0x10\n", "is not a number"),
        ("# x\n0 1\n", r"theirs\.dat:2: '0 1' is more than one number"),
        ("0,5\n0,7\n", "decimal point"),
        ("0\n100 us\n", "without a unit"),
        ("0\n86401\n", r"theirs\.dat:2: the delay 86401 is longer than one day"),
        ("0\n1e999\n", "longer than one day"),
        (b"0\n\xff\xfe1\n", r"theirs\.dat:2: the byte 0xff is not UTF-8"),
        ("0\n1\n".encode("utf-16"), "not UTF-8"),
        ("# unit: fortnight\n0\n", "the unit 'fortnight'"),
        ("# p: 4\n0\n1\n", "p = 4, but 2 delays follow"),
    ],
)
def test_a_file_that_is_no_pattern_is_refused_with_its_line(tmp_path, content, sentence):
    with pytest.raises(BadInput, match=sentence):
        pattern_file.read(written(tmp_path, content))


@pytest.mark.parametrize("p", [2, 4])
def test_a_file_for_another_p_is_refused_with_both_numbers(tmp_path, p):
    with pytest.raises(BadInput, match=f"has 3 delays, but p = {p} processes"):
        pattern_file.read(written(tmp_path, "0\n1\n2\n"), p)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"nowhere\.txt: No such file"):
        pattern_file.read(tmp_path / "nowhere.txt")
    with pytest.raises(BadInput, match="Is a directory"):
        pattern_file.read(tmp_path)


def test_an_unwritable_place_is_refused(tmp_path):
    with pytest.raises(BadInput, match="cannot write the pattern file"):
        pattern_file.write(tmp_path / "no" / "folder.txt", shape_pattern("bell", 3, 1.0))


PARTITIONED = st.tuples(st.integers(1, 8), st.integers(1, 8)).flatmap(
    lambda shape: st.lists(
        st.floats(0, 86400.0), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]
    ).map(lambda drawn: np.array([0.0, *drawn[1:]]).reshape(shape))
)


@given(delays=PARTITIONED, header=st.dictionaries(KEYS, VALUES, max_size=4))
def test_delays_of_each_rank_and_partition_come_back_to_the_last_bit(tmp_path_factory, delays, header):
    path = tmp_path_factory.mktemp("pattern") / "send.txt"
    pattern = Pattern(name="send", delays_s=delays, header=header)
    pattern_file.write(path, pattern)
    again = pattern_file.read(path, pattern.p, pattern.partitions)
    assert again == pattern == pattern_file.read(path, partitions=None)
    assert (again.p, again.partitions) == delays.shape


def test_a_pattern_of_one_partition_is_written_as_that_of_a_collective():
    column = Pattern(name="send", delays_s=np.array([[0.0], [0.5]]))
    assert pattern_file.text(column) == pattern_file.text(Pattern(name="send", delays_s=np.array([0.0, 0.5])))
    assert "partitions" not in pattern_file.text(column)


@pytest.mark.parametrize(
    ("content", "partitions", "sentence"),
    [
        (
            "# partitions: 2\n0 1\n2\n",
            2,
            r"theirs\.dat:3: the line has 1 delay, but the header says partitions = 2",
        ),
        ("# partitions: 2\n0 1 2\n", 2, r"theirs\.dat:2: the line has 3 delays"),
        ("# partitions: 2\n0 late\n", 2, r"theirs\.dat:2: 'late' is not a number"),
        (
            "# partitions: 2\n0 1\n",
            1,
            r"the pattern has 2 delays for each rank, but one delay a rank is needed",
        ),
        ("# partitions: 2\n0 1\n", 3, r"has 2 delays for each rank, but the operation has 3 partitions"),
        ("0\n1\n", 3, r"has 1 delay for each rank, but the operation has 3 partitions"),
        ("0 1\n2 3\n", 2, r"theirs\.dat:1: '0 1' is more than one number"),
        ("# p: 3\n# partitions: 2\n0 1\n2 3\n", 2, "the header says p = 3, but 2 delays follow"),
    ],
)
def test_a_pattern_of_other_partitions_is_refused(tmp_path, content, partitions, sentence):
    with pytest.raises(BadInput, match=sentence):
        pattern_file.read(written(tmp_path, content), None, partitions)
