"""Which files of the project use each other, and circles among them.

    python tools/file_circles.py           prints the circles; exit status 1 if there are any

A source file and the header of the same name are one node. A file uses another one if it includes or imports
it, or, in C, if one of its functions names a function or variable that only the other one defines: a header
that declares functions of several files cannot hide a circle. Tests beside C files are left out.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]

Graph = dict[str, set[str]]
"""Node, the path of a file without its suffix → the nodes that it uses."""

C_SUFFIXES = {".c", ".h", ".def", ".cpp", ".hpp"}

DEFINITION = re.compile(r"\b(offbeat_\w+|MPI_\w+)\s*(?:\([^;{}]*\)\s*|(?:\[\w*\])?\s*=\s*)\{\s*\}")
"""A function or initialised variable that other files can use, in text whose blocks are empty."""


def c_graph(folder: Path) -> Graph:
    """The graph of the C and C++ files in a folder, whose includes are relative to it or to the file."""
    paths = [path for path in sorted(folder.rglob("*")) if path.suffix in C_SUFFIXES]
    paths = [path for path in paths if not path.stem.endswith("_test")]
    nodes = {path: path.relative_to(folder).with_suffix("").as_posix() for path in paths}
    texts = {path: _without_comments(path.read_text(encoding="utf-8")) for path in paths}
    graph: Graph = {node: set() for node in nodes.values()}
    for path, text in texts.items():
        for name in re.findall(r'^\s*#\s*include ["<]([^">]+)[">]', text, flags=re.MULTILINE):
            places = (folder / name, path.parent / name, folder / "include" / name)
            graph[nodes[path]] |= {nodes[place] for place in places if place in nodes}
    definitions: dict[str, set[str]] = {}
    for path, text in texts.items():
        for name in _defined_names(_split(text)[0], is_header=path.suffix == ".h"):
            definitions.setdefault(name, set()).add(nodes[path])
    for path, text in texts.items():
        graph[nodes[path]] |= _users_arrows(nodes[path], _split(text)[1], definitions)
    return {node: used - {node} for node, used in graph.items()}


def _without_comments(text: str) -> str:
    """The text without comments, without the contents of strings, and with continued lines joined."""
    text = re.sub(r"\\\n", " ", text)
    text = re.sub(r"#if(?:def| +defined)? *\(?__cplusplus\)?.*?#endif", "", text, flags=re.DOTALL)
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    return re.sub(r'(?<!include )"(\\.|[^"\\\n])*"', '""', text)


def _split(text: str) -> tuple[str, str]:
    """The text outside of all blocks, where blocks are empty; and the text inside, with all macros."""
    outside: list[str] = []
    inside: list[str] = []
    depth = 0
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            inside.append(line)
            continue
        for character in line:
            if character == "}":
                depth -= 1
            (inside if depth and character not in "{}" else outside).append(character)
            if character == "{":
                depth += 1
        outside.append("\n")
        inside.append("\n")
    return "".join(outside), "".join(inside)


def _defined_names(outside: str, *, is_header: bool) -> set[str]:
    """The names that a file defines; those of static functions only if it is a header."""
    names = set()
    for found in DEFINITION.finditer(outside):
        declaration = re.split(r"[;}]", outside[: found.start()])[-1]
        if is_header or "static" not in declaration.split():
            names.add(found[1])
    return names


def _users_arrows(node: str, inside: str, definitions: dict[str, set[str]]) -> set[str]:
    """The nodes that define what a file's blocks and macros name.

    A function of MPI is that of the MPI library, unless a file of the same folder replaces it. NEXT(name) is
    the function that a replaced one stands before.
    """
    inside = re.sub(r"\bNEXT\(\w+\)", "", inside)
    folder = node.split("/")[0]
    arrows: set[str] = set()
    for name in set(re.findall(r"\b(?:offbeat|MPI)_\w+", inside)):
        defining = definitions.get(name, set())
        if name.startswith("MPI_"):
            defining = {other for other in defining if other.split("/")[0] == folder}
        if node not in defining and len(defining) == 1:
            arrows |= defining
    return arrows


def python_graph(package: Path) -> Graph:
    """The graph of the modules of a Python package; a package of it is the node of its ``__init__``."""
    nodes = {_module(path, package): path.relative_to(package).as_posix() for path in package.rglob("*.py")}
    graph: Graph = {}
    for module, node in nodes.items():
        tree = ast.parse((package / node).read_text(encoding="utf-8"))
        names: set[str] = set()
        for statement in ast.walk(tree):
            if isinstance(statement, ast.Import):
                names |= {alias.name for alias in statement.names}
            elif isinstance(statement, ast.ImportFrom) and statement.module:
                inner = {f"{statement.module}.{alias.name}" for alias in statement.names}
                names |= {name if name in nodes else statement.module for name in inner}
        names -= {module, package.name}  # the names of the package itself are loaded when they are used
        graph[node] = {nodes[name] for name in names if name in nodes}
    return graph


def _module(path: Path, package: Path) -> str:
    """The dotted name of a module."""
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def circles(graph: Graph) -> list[list[str]]:
    """The sets of nodes that use each other, directly or through others (Tarjan's algorithm)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        stack.append(node)
        for used in sorted(graph.get(node, ())):
            if used not in order:
                visit(used)
                lowest[node] = min(lowest[node], lowest[used])
            elif used in stack:
                lowest[node] = min(lowest[node], order[used])
        if lowest[node] == order[node]:
            start = stack.index(node)
            if len(stack) > start + 1:
                found.append(sorted(stack[start:]))
            del stack[start:]

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return sorted(found)


def text(graph: Graph, nodes: Iterable[str]) -> str:
    """The arrows of a circle, for a message."""
    members = set(nodes)
    return "; ".join(f"{node} → {', '.join(sorted(graph[node] & members))}" for node in sorted(members))


def main() -> int:
    """Print the circles of all parts."""
    graphs = {
        "native": c_graph(REPOSITORY / "native"),
        "simulator": c_graph(REPOSITORY / "simulator"),
        "src/offbeat": python_graph(REPOSITORY / "src" / "offbeat"),
    }
    lines = [f"{part}: {text(graph, circle)}" for part, graph in graphs.items() for circle in circles(graph)]
    print("\n".join(lines) or "no circles")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
