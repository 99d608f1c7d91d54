"""offbeat-ft reads pattern files as offbeat does, and adds their delays."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from ft_program import Ft, build_recorder, record_calls, recorded_calls
from real_libraries import REPOSITORY

from offbeat.base.errors import BadInput
from offbeat.model.pattern import pattern_file
from offbeat.model.pattern.pattern_file import shape_pattern

NATIVE = REPOSITORY / "native"


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ctypes.CDLL]:
    """The program's reader of pattern files, as a shared library."""
    library = tmp_path_factory.mktemp("reader") / "reader.so"
    source = NATIVE / "ft" / "imbalance.c"
    argv = ["cc", "-std=c11", "-O2", "-shared", "-fPIC", f"-I{NATIVE}", "-o", library, source, "-lm"]
    subprocess.run([str(argument) for argument in argv], check=True)
    yield ctypes.CDLL(str(library))


def read(reader: ctypes.CDLL, path: Path, p: int) -> np.ndarray:
    delays_s, why = (ctypes.c_double * p)(), ctypes.create_string_buffer(1024)
    libc = ctypes.CDLL(None)
    libc.fopen.restype = ctypes.c_void_p
    stream = ctypes.c_void_p(libc.fopen(str(path).encode(), b"r"))
    status = reader.ft_pattern_read(stream, str(path).encode(), p, delays_s, why, ctypes.c_size_t(1024))
    libc.fclose(stream)
    if status != 0:
        raise BadInput(why.value.decode())
    return np.array(delays_s)


FILES = {
    "a bare column": "0\n1e-4\n0.0002\n",
    "comments and blanks": "# edited\n\n0.5 # last\n  1.5e0\t\n\n.5\n",
    "another unit": "0\n10\n20\n# unit: ms\n",
    "micro": "# unit: µs\n1\n2\n3\n",
    "not from zero": "# p: 3\n0.25\n0.5\n0.75\n",
    "windows": "\ufeff# unit: us\r\n# p: 3\r\n0\r\n1\r\n2\r\n",
}


@pytest.mark.parametrize("name", FILES)
def test_pattern_files_are_read_as_offbeat_reads_them(reader: ctypes.CDLL, tmp_path: Path, name: str) -> None:
    path = tmp_path / "pattern.txt"
    path.write_bytes(FILES[name].encode())
    np.testing.assert_array_equal(read(reader, path, 3), pattern_file.read(path, 3).delays_s)


def test_delays_in_a_pattern_file_of_offbeat_are_read_exactly(reader: ctypes.CDLL, tmp_path: Path) -> None:
    path, pattern = tmp_path / "pattern.txt", shape_pattern("random", 50, 1e-3, seed=7)
    pattern_file.write(path, pattern)
    np.testing.assert_array_equal(read(reader, path, 50), pattern.delays_s)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0\n1 2\n3\n", ":2: '1 2' is not a number"),
        ("0\n1\nlate\n", ":3: 'late' is not a number"),
        ("0\nnan\n1\n", ":2: 'nan' is not a number"),
        ("0\n-1\n1\n", ":2: the delay -1 is negative"),
        ("0\n1\n1e9\n", ":3: the delay 1e9 is longer than one day"),
        ("# unit: weeks\n0\n1\n2\n", ":1: the header names the unit 'weeks'"),
        ("0\n1\n", "the pattern has 2 processes, but 3 were started"),
        ("0\n1\n2\n3\n", "the pattern has 4 processes, but 3 were started"),
        ("# p: 4\n0\n1\n2\n", "the header says p = 4, but the number of delays is 3"),
        ("# nothing\n", "holds no delays"),
    ],
)
def test_invalid_pattern_files_are_refused_with_the_line(
    reader: ctypes.CDLL, tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "pattern.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=r"pattern\.txt") as refused:
        read(reader, path, 3)
    assert message in str(refused.value)
    with pytest.raises(BadInput):
        pattern_file.read(path, 3)


@pytest.mark.parametrize("by", ["spin", "sleep"])
def test_each_rank_adds_its_delay_before_every_transpose(some_ft: Ft, tmp_path: Path, by: str) -> None:
    recorder, path = build_recorder(some_ft.mpi, tmp_path), tmp_path / "pattern.txt"
    pattern = pattern_file.shape_pattern("random", 3, 0.03, seed=5)
    pattern_file.write(path, pattern)
    options = ["--imbalance", path, "--delay-by", by]
    result = some_ft.result(3, *options, variables=record_calls(recorder, tmp_path))
    expected = {"pattern": str(path), "by": by, "delays_s": list(pattern.delays_s)}
    assert result["imbalance"] == expected
    (repetition,) = result["repetitions"]
    for rank, delay_s in zip(recorded_calls(tmp_path, 3), pattern.delays_s, strict=True):
        assert rank.gap_s >= delay_s * 0.999
    assert all(np.array(repetition["delay_s"]) >= 7 * pattern.delays_s * 0.999)


def test_without_a_pattern_file_there_is_no_imbalance(some_ft: Ft) -> None:
    assert some_ft.result(2, "--iterations", 1)["imbalance"] is None
