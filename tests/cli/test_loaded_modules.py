"""Commands start at once: each loads only the libraries that it uses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from offbeat.cli.app import VERBS
from offbeat.model.pattern import SHAPE_NAMES
from offbeat.model.pattern.shapes import SHAPES

pytestmark = pytest.mark.slow

HEAVY = {"matplotlib", "mpi4py", "numpy", "polars", "rich", "scipy", "tomlkit", "jinja2"}
"""Packages that take long to load, or that few verbs need."""


STUDY = """name = "small"
engine = "sim"
[[collective]]
names = ["reduce"]
sizes = ["64 B"]
[processes]
p = [8]
"""

PROBE = """
import json, sys
from offbeat.cli.app import main
sys.argv = ["offbeat", *sys.argv[1:]]
try:
    main()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def loaded(*arguments: str) -> set[str]:
    """The packages, and offbeat's modules, that a command has loaded when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments], capture_output=True, text=True, timeout=60, check=True
    )
    modules = json.loads(done.stderr.splitlines()[-1])
    return {name if name.startswith("offbeat") else name.split(".")[0] for name in modules}


@pytest.mark.parametrize("words", ["--version", "--help", "-h"])
def test_the_root_loads_no_verb(words: str) -> None:
    modules = loaded(words)
    assert not modules & HEAVY
    assert not {name for name in modules if name.startswith("offbeat.cli.")} - {
        "offbeat.cli.app",
        "offbeat.cli.process",
    }


def test_the_help_of_verbs_loads_no_heavy_library() -> None:
    """All in one process, which loads the modules of all of them."""
    program = (
        "import sys; from offbeat.cli.app import VERBS, load; [load(verb) for verb in VERBS];"
        f" print(sorted({{name.split('.')[0] for name in sys.modules}} & {HEAVY!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("words", ["select", "trace summary", "clock check"])
def test_help_itself_loads_no_heavy_library(words: str) -> None:
    assert not loaded(*words.split(), "-h") & HEAVY


def test_verbs_load_the_libraries_that_they_use_and_no_others(tmp_path: Path) -> None:
    study = tmp_path / "s.toml"
    study.write_text(STUDY, encoding="utf-8")
    results = str(tmp_path / "s-results")
    unused = {"jinja2", "matplotlib", "mpi4py", "scipy"}
    assert not loaded("run", str(study)) & (unused - {"scipy"})
    assert loaded("status", results) & HEAVY == {"rich"}
    assert not loaded("select", results) & unused


def test_the_shapes_in_help_texts_are_all_shapes() -> None:
    assert tuple(SHAPES) == SHAPE_NAMES


def test_every_verb_has_one_line_in_the_help_of_80_columns() -> None:
    width = max(map(len, VERBS))
    for verb, line in VERBS.items():
        assert line.endswith("."), verb
        assert len(line) + width + 4 <= 80, verb
