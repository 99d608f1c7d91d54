"""Only ``src/offbeat/base/reading.py`` opens files for reading, so that its checks hold for every file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "offbeat"

WITHOUT_PACKAGE = PACKAGE / "libraries" / "launch" / "process_cleanup.py"
"""Runs as a program without the package, and reads ``/proc`` alone."""

READERS = {
    "bz2": {"open"},
    "configparser": {"ConfigParser"},
    "fileinput": {"input"},
    "gzip": {"open"},
    "io": {"FileIO", "open", "open_code"},
    "json": {"load", "loads"},
    "linecache": {"getline", "getlines"},
    "lzma": {"open"},
    "mmap": {"mmap"},
    "msgspec.json": {"decode"},
    "np": {"fromfile", "genfromtxt", "load", "loadtxt", "memmap"},
    "os": {"fdopen", "popen"},
    "pa": {"OSFile", "memory_map"},
    "pickle": {"load"},
    "runpy": {"run_path"},
    "shutil": {"copy", "copy2", "copyfile", "copytree"},
    "sqlite3": {"connect"},
    "tarfile": {"open"},
    "tomllib": {"load"},
    "zipfile": {"ZipFile"},
}
"""Functions that read a file, or decode JSON without the checks of ``decode_json``, by their module."""

STREAM_READERS = {"pq": {"ParquetFile", "read_schema", "read_table", "read_metadata"}}
"""Functions that take a path or a stream; the stream must be one of ``open_regular``."""

CANDIDATE = re.compile(
    "read_|scan_|open$|"
    + "|".join(f"{name}$" for name in sorted(set().union(*READERS.values(), *STREAM_READERS.values())))
)
"""Names of methods that may read a file; only these are looked at closely, because unparsing is slow."""


def calls_that_read(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The calls that open a file for reading: line and function."""
    streams = {
        item.optional_vars.id
        for node in ast.walk(tree)
        if isinstance(node, ast.With)
        for item in node.items
        if isinstance(item.optional_vars, ast.Name)
        and ast.unparse(item.context_expr).startswith("open_regular(")
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and is_read(node, streams):
            yield node.lineno, ast.unparse(node.func)


def is_read(call: ast.Call, streams: set[str]) -> bool:
    """Whether a call opens a file for reading; ``streams`` are the names of streams of ``open_regular``."""
    function = call.func
    if isinstance(function, ast.Name):
        return function.id == "open" and not is_write_mode(call.args[1:2], call.keywords)
    if not isinstance(function, ast.Attribute) or not CANDIDATE.match(function.attr):
        return False
    owner, name = ast.unparse(function.value), function.attr
    if name in READERS.get(owner, ()) or name in {"read_text", "read_bytes"}:
        return True
    if name in STREAM_READERS.get(owner, ()):
        return ast.unparse(call.args[0]) not in streams
    if owner == "pl":
        is_in_memory = bool(call.args) and ast.unparse(call.args[0]).startswith("io.BytesIO(")
        return name.startswith(("read_", "scan_")) and not is_in_memory
    if (owner, name) == ("os", "open"):
        flags = ast.unparse(call.args[1])
        writes = any(flag in flags for flag in ("O_WRONLY", "O_CREAT", "O_DIRECTORY"))
        return not writes and ast.unparse(call.args[0]) != "os.devnull"
    is_class = re.fullmatch(r"[A-Z]\w*|cls", owner) is not None  # Results.open(directory)
    return name == "open" and not is_class and not is_write_mode(call.args[:1], call.keywords)


def is_write_mode(arguments: list[ast.expr], keywords: list[ast.keyword]) -> bool:
    """Whether the mode of a call of ``open`` is one that writes."""
    modes = [*arguments, *(keyword.value for keyword in keywords if keyword.arg == "mode")]
    return any(isinstance(mode, ast.Constant) and set(str(mode.value)) & set("wax+") for mode in modes)


def test_only_the_module_reading_opens_files_for_reading() -> None:
    paths = set(PACKAGE.rglob("*.py")) - {PACKAGE / "base" / "reading.py", WITHOUT_PACKAGE}
    reads = [
        f"{path.relative_to(PACKAGE)}:{line}: {function}"
        for path in sorted(paths)
        for line, function in calls_that_read(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert reads == [], "open files by the functions of src/offbeat/base/reading.py"


@pytest.mark.parametrize(
    "statement",
    [
        "open(path)",
        "open(path, mode='r')",
        "path.open()",
        "path.open('rb')",
        "Path(name).open()",
        "(folder / name).open(encoding='utf-8')",
        "path.read_text()",
        "(folder / name).read_bytes()",
        "os.open(path, os.O_RDONLY)",
        "np.memmap(path)",
        "np.load(path)",
        "pl.read_csv(path)",
        "pl.scan_parquet(path)",
        "pq.ParquetFile(path)",
        "mmap.mmap(stream.fileno(), 0)",
        "json.load(stream)",
        "msgspec.json.decode(data)",
        "tomllib.load(stream)",
        "shutil.copyfile(path, other)",
    ],
)
def test_a_call_that_reads_a_file_is_noticed(statement: str) -> None:
    assert [line for line, _ in calls_that_read(ast.parse(f"def f():\n    return {statement}"))] == [2]


@pytest.mark.parametrize(
    "statement",
    [
        "open(path, 'w')",
        "path.open('ab')",
        "path.open(mode='x')",
        "Results.open(directory)",
        "os.open(path, os.O_RDWR | os.O_CREAT)",
        "read_file(path)",
        "pq.ParquetWriter(stream, schema)",
    ],
)
def test_a_call_that_writes_a_file_is_allowed(statement: str) -> None:
    assert not list(calls_that_read(ast.parse(f"def f():\n    return {statement}")))
