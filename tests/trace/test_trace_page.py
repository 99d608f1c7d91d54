"""The page of a trace opens without a network in a real browser, and shows the summary."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trace_factory as factory
from captured_command import invoke
from real_browser import opened
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from offbeat.cli.trace import app

pytestmark = pytest.mark.slow

EVIL = "<script>document.title='run'</script>"


def report(*arguments: object) -> str:
    return invoke(app, "report", *arguments).stdout


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages of a small, a wide, an odd and an empty trace."""
    folder = tmp_path_factory.mktemp("traces")
    factory.pattern_trace(
        folder / "small", [[0, 10, 30, 0]] * 50, function="MPI_Alltoall", bytes=32768, operation_us=70
    )
    factory.pattern_trace(folder / "wide", np.random.default_rng(1).uniform(0, 90, (6, 700)).tolist())
    ranks = factory.files(3)
    for one in ranks:
        one.header = {"program": EVIL.encode(), "library": EVIL.encode(), "host": EVIL.encode()}
        one.definitions.append(factory.communicator(3, [2, 1, 0], one.rank, ordinal=1, parent=1))
        one.definitions += [factory.name(3, EVIL), factory.note(EVIL)]
        one.call(1000, 2000, communicator=3)
    factory.write(folder / "odd", ranks)
    factory.write(folder / "empty", factory.files(2))
    for name in ("small", "wide", "odd", "empty"):
        report(folder / name)
    return {name: folder / f"{name}.html" for name in ("small", "wide", "odd", "empty")}


@pytest.mark.parametrize("name", ["small", "wide", "odd", "empty"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_opens_from_the_disk_without_errors_or_requests_and_fits(
    browser: Chrome, pages: dict[str, Path], name: str, width: int
) -> None:
    assert opened(browser, pages[name], (width, 900)) == []
    assert browser.execute_script("return performance.getEntriesByType('resource').map(e => e.name)") == []
    browser.execute_script("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.title.startswith("How the ranks of ")


def test_the_page_says_what_to_tune_and_has_the_tables_of_the_summary(
    browser: Chrome, pages: dict[str, Path]
) -> None:
    opened(browser, pages["small"])
    assert (
        "Tune MPI_Alltoall at 32 KiB on 4 processes first"
        in browser.find_element(By.CLASS_NAME, "verdict").text
    )
    texts = [cell.text for cell in browser.find_elements(By.TAG_NAME, "td")]
    late = "2: 30 µs (100%), 1: 10 µs (0%), 0: 0 s (0%)"
    assert {"app+0x1010", "MPI_Alltoall", "100 µs", "70 µs", late} <= set(texts)


def test_every_picture_is_in_the_page_and_says_what_it_shows(browser: Chrome, pages: dict[str, Path]) -> None:
    opened(browser, pages["small"])
    pictures = browser.find_elements(By.TAG_NAME, "img")
    assert [str(one.get_attribute("alt")).split(",")[0] for one in pictures] == [
        "Average delay of each rank",
        "Distribution of skew and d̂",
        "Delays of single calls over the run",
    ]
    assert all(browser.execute_script("return arguments[0].naturalWidth > 300", one) for one in pictures)


def test_text_from_a_trace_is_no_markup(browser: Chrome, pages: dict[str, Path]) -> None:
    opened(browser, pages["odd"])
    assert browser.title != "run"
    assert EVIL in browser.find_element(By.TAG_NAME, "body").text


def test_a_trace_without_calls_has_a_page_that_says_so(browser: Chrome, pages: dict[str, Path]) -> None:
    opened(browser, pages["empty"])
    text = browser.find_element(By.TAG_NAME, "body").text
    assert "There is nothing to tune" in text
    assert "No collective was recorded" in text


def test_pictures_are_files_as_well_where_a_folder_is_given(tmp_path: Path) -> None:
    folder = factory.pattern_trace(tmp_path / "t", [[0, 10]] * 3)
    text = report(folder, "--output", tmp_path / "page.html", "--pictures", tmp_path / "pictures")
    assert text.splitlines() == [f"report: {tmp_path / 'page.html'}", f"pictures: {tmp_path / 'pictures'}"]
    names = {path.stem for path in (tmp_path / "pictures").iterdir()}
    assert names == {f"1-allreduce-8B-{kind}" for kind in ("delay", "distribution", "course")}
    assert 'href="pictures/1-allreduce-8B-delay.pdf"' in (tmp_path / "page.html").read_text(encoding="utf-8")
