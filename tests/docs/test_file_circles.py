"""No two files of the project use each other in a circle."""

from __future__ import annotations

from pathlib import Path

import pytest
from file_circles import REPOSITORY, c_graph, circles, python_graph, text


@pytest.mark.parametrize("part", ["native", "simulator"])
def test_files_in_c_use_each_other_in_one_direction(part: str) -> None:
    graph = c_graph(REPOSITORY / part)
    assert [text(graph, circle) for circle in circles(graph)] == []


def test_modules_in_python_import_each_other_in_one_direction() -> None:
    graph = python_graph(REPOSITORY / "src" / "offbeat")
    assert not circles(graph), [text(graph, circle) for circle in circles(graph)]


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return folder


HEADER = "int offbeat_first(void);\nint offbeat_second(void);\n"


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"room/a.h": '#include "room/b.h"\n', "room/b.c": '#include "room/a.h"\n', "room/b.h": ""}, True),
        ({"room/a.c": '#include "room/b.h"\n', "room/b.h": "", "room/b_test.c": "int a;\n"}, False),
        (  # a header of both hides the circle
            {
                "both.h": HEADER,
                "a.c": '#include "both.h"\nint offbeat_first(void) {\n    return offbeat_second();\n}\n',
                "b.c": '#include "both.h"\nint offbeat_second(void) {\n    return offbeat_first();\n}\n',
            },
            True,
        ),
        (  # in one direction, by a table and by a comment in the other
            {
                "both.h": HEADER,
                "a.c": "int (*offbeat_table[])(void) = {offbeat_second};\n",
                "b.c": "int offbeat_second(void) {\n    return 0; /* offbeat_table */\n}\n",
            },
            False,
        ),
        (  # a macro of several lines
            {
                "a.h": "#define CALL() \\\n    offbeat_second()\nint offbeat_first(void);\n",
                "a.c": "int offbeat_first(void) {\n    return 0;\n}\n",
                "b.c": "int offbeat_second(void) {\n    return offbeat_first();\n}\n",
            },
            True,
        ),
    ],
)
def test_a_circle_of_c_files_is_found(tmp_path: Path, files: dict[str, str], found: bool) -> None:
    assert bool(circles(c_graph(written(tmp_path, files)))) is found


def test_a_circle_of_python_modules_is_found(tmp_path: Path) -> None:
    package = tmp_path / "package"
    files = {
        "__init__.py": "from package.a import first\n",
        "a.py": "def first():\n    from package.room import b\n",
        "room/__init__.py": "",
        "room/b.py": "from package import first\nfrom package.room.c import third\n",
        "room/c.py": "import package.a\n",
    }
    assert circles(python_graph(written(package, files))) == [["a.py", "room/b.py", "room/c.py"]]
