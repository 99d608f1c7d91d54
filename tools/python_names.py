"""The names that Python sources bind, and the pairs of names that a reader takes for each other.

The names are those of functions, classes, parameters, attributes of ``self`` and variables. Names of
comprehensions and of lambda expressions are left out, since a reader sees their whole life in one line.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def names_in_python(text: str) -> Iterator[tuple[int, str]]:
    """Yields each name that a source binds, with its line, at each of its bindings."""
    tree = ast.parse(text)
    short_lived = set(_short_lived(tree))
    for node in ast.walk(tree):
        name = None if node in short_lived else _bound_name(node)
        if name and not _is_special(name):
            yield getattr(node, "lineno", 1), name


def similar_names(text: str) -> Iterator[tuple[int, str, str]]:
    """Yields the names of a module's top level that differ only by underscores or a plural.

    Each comes with its line and the earlier name that it resembles.
    """
    first: dict[str, str] = {}
    for node in ast.parse(text).body:
        for name in _names_of_statement(node):
            earlier = first.setdefault(_stem(name), name)
            if earlier != name:
                yield node.lineno, name, earlier


def _bound_name(node: ast.AST) -> str | None:
    """Returns the name that a node binds; None if it binds no name."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.alias(asname=name):
            return name
        case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
            return name
        case ast.ExceptHandler(name=name) | ast.MatchAs(name=name) | ast.MatchStar(name=name):
            return name
    return None


def _short_lived(tree: ast.AST) -> Iterator[ast.AST]:
    """Yields the nodes that bind a name of a comprehension or a lambda expression."""
    for node in ast.walk(tree):
        if isinstance(node, _Comprehension):
            for generator in node.generators:
                yield from ast.walk(generator.target)
        elif isinstance(node, ast.Lambda):
            yield from ast.walk(node.args)


def _names_of_statement(node: ast.stmt) -> Iterator[str]:
    """Yields the names that a statement of a module's top level defines."""
    if isinstance(node, _Definition):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def _stem(name: str) -> str:
    """Returns a name without the parts by which two names must not differ alone."""
    if _is_special(name):
        return name
    return re.sub(r"(?<=[a-z])s$", "", name.strip("_"), flags=re.IGNORECASE)


def _is_special(name: str) -> bool:
    """Whether the language gives the name its meaning."""
    return bool(re.fullmatch(r"__\w+__", name))
