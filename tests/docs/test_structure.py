"""docs/structure.md is true: it has every package and room, and every import agrees with its tables."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from structure import c_includes, folders, outdated, python_imports

REPOSITORY = Path(__file__).resolve().parents[2]
MAP = REPOSITORY / "docs" / "structure.md"
PACKAGE = REPOSITORY / "src" / "offbeat"
NATIVE = REPOSITORY / "native"
SIMULATOR = REPOSITORY / "simulator"

SHARED = {"trace_files", "known_programs", "known_answers", "drawn_traces", "page_damage"}
"""The files of the benchmarks that tests import: traces, damages, programs and what they gain."""

FRONT_END = "Packages of the front end"


def rooms(heading: str) -> dict[str, set[str]]:
    """A table of the map: room → the rooms that it stands on."""
    section = MAP.read_text(encoding="utf-8").split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| `(\w+)` \| .* \|\s*([^|]*?)\s*\|$", section, flags=re.MULTILINE)
    listed = {name: set(re.findall(r"`(\w+)`", cell)) for name, cell in rows}
    for name, cell in rows:
        if cell == "all of them":
            listed[name] = set(listed) - {name}
    return listed


def imported_modules(path: Path) -> set[str]:
    """Every module that a Python file imports, without names from packages."""
    tree = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    whole = {name.name for node in tree if isinstance(node, ast.Import) for name in node.names}
    return whole | {node.module for node in tree if isinstance(node, ast.ImportFrom) and node.module}


def test_every_package_of_the_front_end_is_on_the_map() -> None:
    assert set(rooms(FRONT_END)) == folders(PACKAGE)


def test_every_room_of_the_driver_is_on_the_map() -> None:
    assert set(rooms("Rooms of the driver")) == folders(NATIVE)


def test_every_room_of_the_simulator_is_on_the_map() -> None:
    assert set(rooms("Rooms of the simulator")) == folders(SIMULATOR)


@pytest.mark.parametrize("heading", [FRONT_END, "Rooms of the driver", "Rooms of the simulator"])
def test_rooms_stand_on_each_other_in_one_direction(heading: str) -> None:
    listed = rooms(heading)
    placed: set[str] = set()
    while len(placed) < len(listed):
        next_ones = {room for room in set(listed) - placed if listed[room] <= placed}
        assert next_ones, f"a circle among {sorted(set(listed) - placed)}"
        placed |= next_ones


@pytest.mark.parametrize("package", sorted(rooms(FRONT_END)))
def test_a_package_of_the_front_end_imports_only_what_it_stands_on(package: str) -> None:
    allowed = rooms(FRONT_END)[package] | {package, "__init__"}
    forbidden = {
        f"{path.relative_to(REPOSITORY)} imports {name}"
        for path in (PACKAGE / package).rglob("*.py")
        for name in python_imports(path) - allowed
    }
    assert forbidden == set()


@pytest.mark.parametrize("package", sorted(rooms(FRONT_END)))
def test_every_folder_of_a_package_is_named_beside_it(package: str) -> None:
    section = MAP.read_text(encoding="utf-8").split(f"## {FRONT_END}\n", 1)[1]
    (row,) = re.findall(rf"^\| `{package}` \|.*$", section.split("\n## ", 1)[0], flags=re.MULTILINE)
    named = set(re.findall(r"`(\w+)`", row))
    modules = {path.parent.name for path in (PACKAGE / package).glob("*/*.py")}
    assert modules <= named


@pytest.mark.parametrize("room", sorted(rooms("Rooms of the driver")))
def test_a_room_of_the_driver_includes_only_what_it_stands_on(room: str) -> None:
    allowed = rooms("Rooms of the driver")[room] | {room}
    forbidden = {
        f"{path.relative_to(REPOSITORY)} includes {name}"
        for path in (NATIVE / room).rglob("*.[ch]")
        for name in c_includes(path) - allowed - ({"testing"} if path.stem.endswith("_test") else set())
    }
    assert forbidden == set()


@pytest.mark.parametrize("room", sorted(rooms("Rooms of the simulator")))
def test_a_room_of_the_simulator_includes_only_what_it_stands_on(room: str) -> None:
    allowed = rooms("Rooms of the simulator")[room] | {room}
    forbidden = {
        f"{path.relative_to(REPOSITORY)} includes {name}"
        for path in (SIMULATOR / room).rglob("*.[ch]pp")
        for name in c_includes(path) - allowed
    }
    assert forbidden == set()


def test_every_folder_of_the_repository_is_on_the_map() -> None:
    section = MAP.read_text(encoding="utf-8").split("## Folders\n", 1)[1].split("\n## ", 1)[0]
    listed = set(re.findall(r"^\| `([\w./]+)/` \|", section, flags=re.MULTILINE))
    for folder in listed:
        assert (REPOSITORY / folder).is_dir(), f"{folder} is on the map and not in the repository"
    tracked = {
        "src",
        "simulator",
        "native",
        "tests",
        "benchmarks",
        "examples",
        "docs",
        "packaging",
        "tools",
        ".ci",
    }
    assert {folder.split("/")[0] for folder in listed} == tracked


def test_every_file_that_the_map_names_exists() -> None:
    text = MAP.read_text(encoding="utf-8")
    for place in re.findall(r"`((?:src|simulator|native|docs|tests)/[\w./*]+)`", text):
        assert list(REPOSITORY.glob(place.rstrip("/"))), f"{place} is named and does not exist"


@pytest.mark.parametrize("path", sorted((REPOSITORY / "benchmarks").glob("*.py")), ids=lambda path: path.name)
def test_a_benchmark_needs_nothing_of_the_tests(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    folders_named = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert "tests" not in folders_named
    assert not imported_modules(path) & {test.stem for test in (REPOSITORY / "tests").rglob("*.py")}


def test_the_tests_share_five_files_with_the_benchmarks_and_import_no_program_of_theirs() -> None:
    programs = {path.stem for path in (REPOSITORY / "benchmarks").glob("*.py")} - SHARED
    for path in (REPOSITORY / "tests").rglob("*.py"):
        assert path.stem not in programs | SHARED, f"{path} would replace a file of the benchmarks"
        assert not imported_modules(path) & programs, f"{path} imports a benchmark"
    for name in SHARED:
        assert imported_modules(REPOSITORY / "benchmarks" / f"{name}.py").isdisjoint(programs)


def test_the_pictures_of_the_structure_show_the_imports_of_today() -> None:
    assert list(outdated()) == [], "run python tools/structure.py"
