"""docs/howto/python.md: its code runs in a notebook's kernel, and its types are right."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbclient
import nbformat
import pytest
from real_browser import opened, session
from selenium.webdriver import Chrome

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = REPOSITORY / "docs" / "howto" / "python.md"

pytestmark = pytest.mark.slow


def blocks(heading: str) -> list[str]:
    """The blocks of Python below a heading of the page."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^```python\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> nbformat.NotebookNode:
    """The page's first section, executed in a kernel."""
    cells = [nbformat.v4.new_code_cell(block) for block in blocks("From a study to tuning files")]
    book = nbformat.v4.new_notebook(cells=cells)
    folder = str(tmp_path_factory.mktemp("notebook"))
    nbclient.NotebookClient(
        book, timeout=120, kernel_name="python3", resources={"metadata": {"path": folder}}
    ).execute()
    return book


def shown(book: nbformat.NotebookNode, kind: str) -> list[str]:
    """The outputs of the cells' last lines in a format."""
    outputs = [output for cell in book.cells for output in cell.outputs]
    return [one.data[kind] for one in outputs if one.output_type == "execute_result" and kind in one.data]


def test_the_page_runs_in_a_notebook_and_every_object_shows_its_tables(
    notebook: nbformat.NotebookNode,
) -> None:
    study, results, _, selection, _ = shown(notebook, "text/html")
    assert "Study first" in study
    assert "All 66 cases are done" in results
    assert "no-delay winner" in selection
    assert '<td class="t-good"' in selection
    texts = shown(notebook, "text/plain")
    assert texts[0].startswith("<offbeat.Study first")
    assert texts[1].startswith("<offbeat.Results")


def test_a_notebook_shows_a_bar_while_a_study_runs_and_removes_it(notebook: nbformat.NotebookNode) -> None:
    cell = next(cell for cell in notebook.cells if "study.run" in cell.source)
    displayed = [output for output in cell.outputs if output.output_type == "display_data"]
    assert [output.data["text/html"] for output in displayed] == [""]
    assert not [output for output in cell.outputs if output.output_type == "stream"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    yield from session(tmp_path_factory.mktemp("profile"))


def test_the_outputs_are_drawn_without_a_network_and_leave_the_notebook_as_it_is(
    notebook: nbformat.NotebookNode, browser: Chrome, tmp_path: Path
) -> None:
    page = tmp_path / "outputs.html"
    outputs = "".join(shown(notebook, "text/html"))
    page.write_text(
        f'<!DOCTYPE html><html><meta charset="utf-8"><h2 id="own">own</h2>{outputs}</html>', encoding="utf-8"
    )
    assert opened(browser, page) == []
    size = "return getComputedStyle(document.querySelector(arguments[0])).fontSize"
    assert browser.execute_script(size, "#own") == "24px"  # the browser's own, not offbeat's
    background = "return getComputedStyle(document.querySelector('.offbeat .t-good')).backgroundColor"
    assert browser.execute_script(background) == "rgb(185, 220, 242)"
    wide = "return document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not browser.execute_script(wide)


def test_the_types_of_the_page_are_those_of_the_api(tmp_path: Path) -> None:
    code = "\n".join(blocks("From a study to tuning files") + blocks("Tune a program"))
    (tmp_path / "page.py").write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "page.py"],
        cwd=tmp_path,
        env=dict(os.environ) | {"MYPYPATH": str(REPOSITORY / "src")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
