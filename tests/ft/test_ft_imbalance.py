"""The imbalance of offbeat-ft is the pattern that offbeat draws or reads, and is really added."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from ft_program import Ft, build_watcher, seen, watch
from hypothesis import given
from hypothesis import strategies as st
from real_libraries import REPOSITORY

from offbeat.errors import BadInput
from offbeat.pattern import file
from offbeat.pattern.file import shape_pattern
from offbeat.pattern.shapes import SHAPES, delays
from offbeat.units import TIME_UNITS, parse_time

NATIVE = REPOSITORY / "native"
PARTS = ("shapes", "pcg64", "duration", "pattern_file")


class Draw(ctypes.Structure):
    """ft_draw of native/ft/shapes.h."""

    _fields_ = (("skew_s", ctypes.c_double), ("seed", ctypes.c_uint64), ("ppn", ctypes.c_int))


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ctypes.CDLL]:
    """The parts of the program that draw and read patterns, as a library."""
    library = tmp_path_factory.mktemp("parts") / "parts.so"
    sources = [NATIVE / "ft" / f"{part}.c" for part in PARTS]
    words = ["cc", "-std=c11", "-O2", "-shared", "-fPIC", f"-I{NATIVE}", "-o", library, *sources, "-lm"]
    subprocess.run([str(word) for word in words], check=True)
    loaded = ctypes.CDLL(str(library))
    loaded.ft_shape_names.restype = ctypes.c_char_p
    yield loaded


def drawn(parts: ctypes.CDLL, shape: str, p: int, skew_s: float, seed: int, ppn: int) -> np.ndarray:
    values, why = (ctypes.c_double * p)(), ctypes.create_string_buffer(1024)
    draw = Draw(skew_s, seed, ppn)
    status = parts.ft_shape_draw(shape.encode(), ctypes.byref(draw), p, values, why, ctypes.c_size_t(1024))
    if status != 0:
        raise BadInput(why.value.decode())
    return np.array(values)


def read(parts: ctypes.CDLL, path: Path, p: int) -> np.ndarray:
    values, why = (ctypes.c_double * p)(), ctypes.create_string_buffer(1024)
    libc = ctypes.CDLL(None)
    libc.fopen.restype = ctypes.c_void_p
    stream = ctypes.c_void_p(libc.fopen(str(path).encode(), b"r"))
    size = ctypes.c_size_t(1024)
    status = parts.ft_pattern_read(stream, str(path).encode(), p, values, why, size)
    libc.fclose(stream)
    if status != 0:
        raise BadInput(why.value.decode())
    return np.array(values)


def parsed(parts: ctypes.CDLL, text: str) -> float:
    value, why = ctypes.c_double(), ctypes.create_string_buffer(1024)
    if parts.ft_duration_parse(text.encode(), ctypes.byref(value), why, ctypes.c_size_t(1024)) != 0:
        raise BadInput(why.value.decode())
    return value.value


def test_the_shapes_are_those_of_offbeat(parts: ctypes.CDLL) -> None:
    assert parts.ft_shape_names().decode().split(", ") == list(SHAPES)


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_every_shape_is_drawn_as_offbeat_draws_it(parts: ctypes.CDLL, shape: str) -> None:
    for p in range(1, 71):
        ppn = max(p // 3, 1)
        ours = drawn(parts, shape, p, 3.7e-4, 11, ppn)
        theirs = delays(shape, p, 3.7e-4, seed=11, ppn=ppn)
        if shape == "bell":  # numpy has a cosine of its own
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-18)
        else:
            np.testing.assert_array_equal(ours, theirs)


@given(seed=st.integers(0, 2**64 - 1), p=st.integers(2, 40))
def test_random_is_the_same_pattern_for_every_seed(parts: ctypes.CDLL, seed: int, p: int) -> None:
    np.testing.assert_array_equal(
        drawn(parts, "random", p, 1.0, seed, 0), delays("random", p, 1.0, seed=seed)
    )


@given(
    number=st.one_of(
        st.integers(0, 10**6).map(str),
        st.decimals(0, 1000, places=6).map(lambda value: f"{value:f}"),
        st.floats(1e-9, 20, allow_subnormal=False).map(lambda value: f"{value:e}"),
    ),
    unit=st.sampled_from(["", "ns", "us", "µs", "μs", "ms", "s"]),
    blank=st.sampled_from(["", " "]),
)
def test_times_are_those_that_offbeat_reads(parts: ctypes.CDLL, number: str, unit: str, blank: str) -> None:
    text = f"{number}{blank}{unit}".strip()
    try:
        ours = parsed(parts, text)
    except BadInput:
        assert parse_time(text) > 86400
    else:
        assert ours == parse_time(text)


def test_minutes_and_hours_are_times(parts: ctypes.CDLL) -> None:
    assert (parsed(parts, "2min"), parsed(parts, "0.5 h")) == (120.0, 1800.0)
    assert {"min", "h"} < set(TIME_UNITS)


@pytest.mark.parametrize(
    "text", ["", "us", "5 parsecs", "1,5 ms", "0x10", "nan", "inf", "1e", "5e99us", "-1 ms", "25 h"]
)
def test_what_is_no_time_is_refused(parts: ctypes.CDLL, text: str) -> None:
    with pytest.raises(BadInput, match="time"):
        parsed(parts, text)


FILES = {
    "a bare column": "0\n1e-4\n0.0002\n",
    "comments and blanks": "# made by hand\n\n0.5 # late\n  1.5e0\t\n\n.5\n",
    "another unit": "0\n10\n20\n# unit: ms\n",
    "micro": "# unit: µs\n1\n2\n3\n",
    "not from zero": "# p: 3\n0.25\n0.5\n0.75\n",
    "windows": "\ufeff# unit: us\r\n# p: 3\r\n0\r\n1\r\n2\r\n",
}


@pytest.mark.parametrize("name", FILES)
def test_pattern_files_are_read_as_offbeat_reads_them(parts: ctypes.CDLL, tmp_path: Path, name: str) -> None:
    path = tmp_path / "pattern.txt"
    path.write_bytes(FILES[name].encode())
    np.testing.assert_array_equal(read(parts, path, 3), file.read(path, 3).delays_s)


def test_a_pattern_file_of_offbeat_comes_back_to_the_last_bit(parts: ctypes.CDLL, tmp_path: Path) -> None:
    path, pattern = tmp_path / "pattern.txt", shape_pattern("random", 50, 1e-3, seed=7)
    file.write(path, pattern)
    np.testing.assert_array_equal(read(parts, path, 50), pattern.delays_s)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0\n1 2\n3\n", ":2: '1 2' is not a number"),
        ("0\n1\nlate\n", ":3: 'late' is not a number"),
        ("0\nnan\n1\n", ":2: 'nan' is not a number"),
        ("0\n-1\n1\n", ":2: the delay -1 is negative"),
        ("0\n1\n1e9\n", ":3: the delay 1e9 is longer than one day"),
        ("# unit: weeks\n0\n1\n2\n", ":1: the header names the unit 'weeks'"),
        ("0\n1\n", "the pattern is one of 2 processes, but 3 were started"),
        ("0\n1\n2\n3\n", "the pattern is one of 4 processes, but 3 were started"),
        ("# p: 4\n0\n1\n2\n", "the header says p = 4, but the number of delays is 3"),
        ("# nothing\n", "holds no delays"),
    ],
)
def test_what_is_no_pattern_is_refused_with_its_line(
    parts: ctypes.CDLL, tmp_path: Path, text: str, sentence: str
) -> None:
    path = tmp_path / "pattern.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=r"pattern\.txt") as refused:
        read(parts, path, 3)
    assert sentence in str(refused.value)
    with pytest.raises(BadInput):
        file.read(path, 3)


@pytest.mark.parametrize("by", ["spin", "sleep"])
def test_each_rank_is_late_by_its_delay_before_every_transpose(some_ft: Ft, tmp_path: Path, by: str) -> None:
    watcher = build_watcher(some_ft.mpi, tmp_path)
    words = ["--imbalance", "random:30ms", "--seed", 5, "--delay-by", by]
    result = some_ft.result(3, *words, variables=watch(watcher, tmp_path))
    wished = delays("random", 3, 0.03, seed=5)
    assert result["imbalance"] == {"pattern": "random:30ms", "by": by, "delays_s": list(wished)}
    (repetition,) = result["repetitions"]
    for rank, delay_s in zip(seen(tmp_path, 3), wished, strict=True):
        assert rank.gap_s >= delay_s * 0.999
    assert all(np.array(repetition["delay_s"]) >= 7 * wished * 0.999)


def test_a_slow_node_needs_to_know_what_a_node_is(some_ft: Ft) -> None:
    result = some_ft.result(4, "--imbalance", "node_delayed:1ms", "--ppn", 2, "--iterations", 1)
    assert result["imbalance"]["delays_s"] == [0, 0, 1e-3, 1e-3]
    done = some_ft.run(2, "--imbalance", "node_delayed:1ms")
    assert done.returncode == 2
    assert "needs the number of processes a node: give --ppn N" in done.stderr


def test_without_imbalance_there_is_none(some_ft: Ft) -> None:
    assert some_ft.result(2, "--iterations", 1)["imbalance"] is None
