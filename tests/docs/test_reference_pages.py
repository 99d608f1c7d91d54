"""The reference pages are current: every command, option, key, column, verb and variable."""

from __future__ import annotations

import importlib
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from msgspec import inspect

from offbeat.cli.app import VERBS
from offbeat.measurement.results import layout
from offbeat.measurement.results.schema import CASES, RANKS, REPETITIONS
from offbeat.model.pattern.shapes import SHAPES
from offbeat.model.platform import bundled_platforms
from offbeat.model.platform.machine import FORM
from offbeat.model.study.schema import Study

REPOSITORY = Path(__file__).resolve().parents[2]
REFERENCE = REPOSITORY / "docs" / "reference"
WRITER = REPOSITORY / "docs" / "reference_pages"


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The page writers, which import each other by their bare names; they are unloaded afterwards."""
    monkeypatch.syspath_prepend(str(WRITER))
    names = [path.stem for path in WRITER.glob("*.py") if path.stem != "__main__"]
    before = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    module = ModuleType("writer")
    for name in names:
        setattr(module, name, importlib.import_module(name))
    yield module
    for name in names:
        del sys.modules[name]
    sys.modules.update(before)


def text(page: str) -> str:
    return (REFERENCE / page).read_text(encoding="utf-8")


def section(page: str, heading: str) -> str:
    return text(page).split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]


def test_the_committed_pages_are_current() -> None:
    done = subprocess.run(
        [sys.executable, str(WRITER), "--check"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_page_that_was_edited_by_hand_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(WRITER))
    main = runpy.run_path(str(WRITER / "__main__.py"))
    for path, page in main["texts"](tmp_path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
    assert list(main["stale"](tmp_path)) == []
    edited = [tmp_path / "docs/reference/results.md", tmp_path / "packaging/share/man/man1/offbeat-run.1"]
    for path in edited:
        path.write_text(path.read_text(encoding="utf-8").replace("e", "E", 1), encoding="utf-8")
    (tmp_path / "packaging/share/man/man1/offbeat-removed.1").write_text(".TH\n", encoding="utf-8")
    assert [path.name for path, _ in main["stale"](tmp_path)] == [
        "results.md",
        "offbeat-run.1",
        "offbeat-removed.1",
    ]


def test_every_command_and_option_is_on_its_page(writer: ModuleType) -> None:
    names = [name for name, _ in writer.commands.commands()]
    assert {name.split()[1] for name in names} == set(VERBS)
    for name, command in writer.commands.commands():
        page = (
            section("commands.md", name) if f"\n## {name}\n" in text("commands.md") else text("commands.md")
        )
        assert f"# {name}\n" in text("commands.md")
        for parameter in writer.commands.parameters(command):
            if parameter.kind == "option":
                assert parameter.names in page, (name, parameter.names)
                assert parameter.meaning, f"{name} {parameter.names} has no help text"


def test_every_key_of_a_study_is_on_its_page_with_its_meaning() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| (.*?) \|$", text("study.md"), flags=re.MULTILINE))
    top = inspect.type_info(Study)
    assert isinstance(top, inspect.StructType)
    keys = {field.encode_name for field in top.fields}
    tables = set(re.findall(r"^## \[+(\w+)\]+$", text("study.md"), flags=re.MULTILINE))
    assert keys <= set(rows) | tables
    for field in top.fields:
        kind = field.type.type if isinstance(field.type, inspect.Metadata) else field.type
        inner = kind.item_type if isinstance(kind, inspect.ListType) else kind
        if isinstance(inner, inspect.StructType):
            assert {entry.encode_name for entry in inner.fields} <= set(rows)
    assert all(rows.values()), "a key without a meaning"


def test_every_key_of_a_platform_and_every_built_in_platform_is_on_its_page() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| (.*?) \|$", text("platform.md"), flags=re.MULTILINE))
    tables = set(re.findall(r"^## \[+(\w+)\]+$", text("platform.md"), flags=re.MULTILINE))
    for title, keys in FORM.sections().items():
        assert set(keys) <= set(rows) | tables, title
    assert set(bundled_platforms.PRESETS.names()) <= set(rows)
    assert all(rows.values()), "a key without a meaning"


@pytest.mark.parametrize(
    ("frame", "columns"), [("cases", CASES), ("repetitions", REPETITIONS), ("ranks", RANKS)]
)
def test_every_column_of_the_results_is_on_its_page(frame: str, columns: dict[str, object]) -> None:
    listed = re.findall(r"^\| `(\w+)` \|", section("results.md", frame), flags=re.MULTILINE)
    assert listed == list(columns)


def test_everything_in_a_result_directory_is_on_its_page() -> None:
    files = {
        value
        for name, value in vars(layout).items()
        if name.isupper() and isinstance(value, str) and value != layout.UNFINISHED_CASE
    }
    listed = re.findall(r"^\| `([\w./]+)` \|", text("results.md"), flags=re.MULTILINE)
    assert files <= {name.rstrip("/") for name in listed}


def test_every_shape_is_on_its_page() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", text("patterns.md"), flags=re.MULTILINE)
    assert listed == list(SHAPES)


def test_every_verb_and_key_of_the_driver_is_on_its_page(writer: ModuleType) -> None:
    verbs = writer.driver.protocol()["verbs"]
    page = text("driver.md")
    driver, _, rest = page.partition("\n## The program for SimGrid\n")
    smpi, _, executor = rest.partition("\n## The executor of programs\n")
    for part, marks, program in (
        (driver, "##", "driver"),
        (smpi, "###", "smpi"),
        (executor, "###", "executor"),
    ):
        named = [verb["name"] for verb in verbs if verb["program"] == program]
        assert re.findall(rf"^{marks} ([a-z]\w+)$", part, flags=re.MULTILINE) == named
    keys = [key["name"] for verb in verbs for key in verb["keys"]]
    assert re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE) == keys


def test_every_environment_variable_of_offbeat_is_on_its_page(writer: ModuleType) -> None:
    sources = [*(REPOSITORY / "src").rglob("*.py"), *(REPOSITORY / "native").rglob("*.c")]
    read = {  # a prefix of names ends with _
        name
        for path in sources
        for name in re.findall(r'"(OFFBEAT_[A-Z_]*[A-Z])"', path.read_text(encoding="utf-8"))
    }
    assert read == set(writer.environment.YOURS) | set(writer.environment.OURS)
