"""Names in program files and of call sites: symbols, inlined functions, long names, damaged files."""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from offbeat.trace.calls.call_sites import AddressResolver, CallSites, site_labels
from offbeat.trace.calls.function_names import MOST_LETTERS, demangle_name, shorten_name
from offbeat.trace.calls.program_file import ProgramFile
from offbeat.trace.files.format import Mapping

SOURCE = """
static inline __attribute__((always_inline)) int called(int x) { int other(int); return other(x) + 1; }
int caller(int x) { return called(x) + called(x + 1); }
__asm__(".text\\n.globl behind\\nbehind: nop\\nnop\\nnop\\nnop\\n");
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    (folder / "program.c").write_text(SOURCE, encoding="utf-8")
    file = folder / "program.so"
    arguments = ["cc", "-g", "-O1", "-fPIC", "-shared", "-o", file, folder / "program.c"]
    subprocess.run(arguments, check=True)
    return file


def symbols(library: Path) -> dict[str, int]:
    lines = subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[2]: int(line.split()[0], 16) for line in lines if len(line.split()) == 3}


def test_a_function_ends_where_its_symbol_says(library: Path) -> None:
    starts, file = symbols(library), ProgramFile(library)
    assert [one.function for one in file.source_lines(starts["caller"])][-1] == "caller"
    assert file.source_lines(starts["behind"] + 1) == []  # after the end of caller, in a label without a size
    assert ProgramFile(library).source_lines(starts["caller"] + 361_000) == []


def test_inlined_functions_come_before_their_callers(library: Path) -> None:
    file, start = ProgramFile(library), symbols(library)["caller"]
    chains = {tuple((one.function, one.line) for one in file.source_lines(start + at)) for at in range(64)}
    assert (("called", 2), ("caller", 3)) in chains


def test_without_debugging_information_symbols_are_used(library: Path, tmp_path: Path) -> None:
    start = symbols(library)["caller"]
    subprocess.run(["strip", "--strip-debug", "-o", tmp_path / "collective_name.so", library], check=True)
    assert [
        (one.function, one.line)
        for one in ProgramFile(tmp_path / "collective_name.so").source_lines(start + 4)
    ] == [("caller", 0)]


def test_reading_damaged_files_ends_soon_without_an_error(library: Path, tmp_path: Path) -> None:
    whole, start = library.read_bytes(), symbols(library)["caller"]
    draws = random.Random(5)
    began = time.process_time()
    for round_ in range(30):
        damaged = bytearray(whole)
        for _ in range(draws.choice([1, 8, 64])):
            damaged[draws.randrange(len(damaged))] = draws.choice([0, 1, 127, 128, 255])
        path = tmp_path / f"{round_}.so"
        path.write_bytes(damaged[: draws.choice([len(whole), len(whole), len(whole) // 2])])
        file = ProgramFile(path)
        for at in (0, 4, 20):
            file.source_lines(file.address(start + at))
    for content in (b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(58), bytes(4096)):
        path = tmp_path / "none.so"
        path.write_bytes(content)
        assert ProgramFile(path).source_lines(0x1000) == []
    assert time.process_time() - began < 60


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("_ZN9LAMMPS_NS4Comm8exchangeEiPd", "LAMMPS_NS::Comm::exchange(int, double*)"),
        ("__grid_MOD_halo", "grid::halo"),
        ("grid_mp_halo_", "grid::halo"),
        ("_QMgridPhalo", "grid::halo"),
        ("solve.constprop.0", "solve"),
        ("inner.0", "inner"),
        ("_Znonsense", "_Znonsense"),
        ("main", "main"),
        ("", ""),
    ],
)
def test_names_are_demangled(name: str, expected: str) -> None:
    assert demangle_name(name) == expected


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("LAMMPS_NS::Comm::exchange(int, double*)", "Comm::exchange"),
        ("int solver::(anonymous namespace)::summed<int>(int)", "{anonymous}::summed<>"),
        ("solver::Grid<std::pair<int, long> >::operator()(int) const", "Grid<>::operator()"),
        ("main::{lambda(int)#1}::operator()(int) const", "{lambda#1}::operator()"),
        ("std::ostream& operator<< <int>(std::ostream&, int)", "operator<<"),
        ("a::b::operator<(int)", "b::operator<"),
        ("grid::halo", "grid::halo"),
        ("transpose", "transpose"),
    ],
)
def test_names_are_short_in_tables(name: str, short: str) -> None:
    assert shorten_name(name).startswith(short)
    assert len(shorten_name(name)) <= MOST_LETTERS


def test_the_longest_name_is_cut(library: Path) -> None:
    assert len(shorten_name("a" * 500 + "::" + "b" * 500)) == MOST_LETTERS


def test_a_site_is_named_after_its_function_and_line(tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text("int other(void);\nint caller(void) {\n    return 1 + other();\n}\n", encoding="utf-8")
    library = tmp_path / "program.so"
    subprocess.run(["cc", "-g", "-O0", "-fPIC", "-shared", "-o", library, source], check=True)
    symbols = subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout
    start = next(int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(" caller"))
    code = library.read_bytes()[start : start + 64]
    behind_call = start + code.index(b"\xe8") + 5
    all_sites = CallSites()
    of_file = AddressResolver([Mapping(0x7000000, 0x7100000, 0, str(library))], {}, all_sites)
    (number,) = of_file.numbers(np.array([0x7000000 + behind_call], dtype=np.uint64))
    assert site_labels([all_sites.sites[number]]) == ["caller (program.c:3)"]


def test_an_address_outside_of_all_files_is_its_own_label() -> None:
    all_sites = CallSites()
    (number,) = AddressResolver([], {}, all_sites).numbers(np.array([0xABC], dtype=np.uint64))
    assert site_labels([all_sites.sites[number]]) == ["0xabc"]
