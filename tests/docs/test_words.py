"""Everything that the pages tell people to type exists: commands, options, make targets, linked files."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from offbeat.cli import app
from offbeat.model.study.study_file import load

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = sorted(
    page
    for page in [*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")]
    if "_build" not in page.parts
)


def page_name(page: Path) -> str:
    return str(page.relative_to(REPOSITORY))


def typed_commands(page: Path) -> list[list[str]]:
    """The arguments of each ``$ offbeat`` of a page."""
    text = page.read_text(encoding="utf-8")
    lines = re.findall(r"^\$ offbeat (.*)$", text, flags=re.MULTILINE)
    return [shlex.split(line) for line in lines if "[OPTIONS]" not in line]


def command_of(arguments: list[str]) -> tuple[Any, list[str]]:
    """The command of these arguments, and the remaining arguments."""
    assert arguments[0] in app.VERBS, f"there is no command {arguments[0]!r}"
    command, arguments = app.load(arguments[0]), arguments[1:]
    while arguments and hasattr(command, "commands"):
        assert arguments[0] in command.commands, f"there is no command {arguments[0]!r}"
        command, arguments = command.commands[arguments[0]], arguments[1:]
    return command, arguments


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_command_on_a_page_exists_with_its_options(page: Path) -> None:
    for words in typed_commands(page):
        ours = words[: words.index("--")] if "--" in words else words  # what follows is another program's
        command, rest = command_of(ours)
        known = {option for parameter in command.params for option in parameter.opts}
        used = {word.split("=")[0] for word in rest if re.fullmatch(r"--?[a-z][\w-]*(=.*)?", word)}
        assert used <= known, f"{' '.join(words)}: {sorted(used - known)}"


def test_the_pages_show_commands() -> None:
    assert sum(len(typed_commands(page)) for page in PAGES) > 20


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_make_target_on_a_page_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, flags=re.MULTILINE))
    used = re.findall(r"(?:^|[`$ ])make ([a-z]+)(?=[` ]*(?:$|[`#]))", text, flags=re.MULTILINE)
    assert set(used) <= targets


@pytest.mark.parametrize("page", PAGES, ids=page_name)
def test_every_linked_file_exists(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'src="([^"]+)"', text)
    for target in targets:
        file = target.partition("#")[0]
        if file and "://" not in target:
            assert (page.parent / file).exists(), f"{page_name(page)} links {target}"


@pytest.mark.parametrize("study", sorted((REPOSITORY / "examples").glob("*.toml")), ids=page_name)
def test_every_example_is_a_valid_study(study: Path) -> None:
    assert load(study).study.name == study.stem


def test_every_target_of_the_makefile_is_listed_by_make_help() -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    phony = set(re.findall(r"^\.PHONY: (.*)$", makefile, flags=re.MULTILINE)[0].split())
    listed = set(re.findall(r"^([a-z]+):.*## ", makefile, flags=re.MULTILINE))
    assert listed == phony
