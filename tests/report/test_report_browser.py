"""The report in a real browser: it opens from disk without other files, and works."""

from __future__ import annotations

import base64
import io
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import study_factory as factory
from pypdf import PdfReader
from real_browser import opened
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from offbeat.presentation.study_report.html import write_report
from offbeat.selection.choices.choose import select

pytestmark = pytest.mark.slow

EVIL = "<script>document.title='run'</script>"
BOXES = """return [...document.querySelectorAll('#plot .box')].map(
    box => [box.dataset.name, Number(box.dataset.count)])"""
MEDIANS = "return [...document.querySelectorAll('#plot .box')].map(box => Number(box.dataset.median))"
Y_TITLE = "return document.querySelector('#plot .y-title').textContent"


@pytest.fixture(scope="session")
def pages(workspace: Path) -> dict[str, Path]:
    """Reports of a small, a wide, an odd and an empty study, and of a published table."""
    wide = factory.case_frame(["default", *factory.many_algorithms(39)], factory.TWELVE)
    small = factory.case_frame(
        ["default", *factory.many_algorithms(3)], factory.SHAPES, ("reduce", "alltoall"), (8, 1 << 20), (4, 8)
    )
    odd = [
        factory.row(name, pattern, 1e-6) for name in (EVIL, "<b>bold</b>") for pattern in ("no_delay", EVIL)
    ]
    studies = {
        "small": factory.results(workspace / "small", small),
        "wide": factory.results(workspace / "wide", wide),
        "odd": factory.results(workspace / "odd", factory.frame(odd), study={"name": EVIL}),
        "empty": factory.results(workspace / "empty", wide.clear()),
        "published": factory.imported("hydra-ft-scenario", workspace / "published"),
    }
    return {
        name: write_report(study, select(study, bootstrap=50), study.directory)
        for name, study in studies.items()
    }


@pytest.mark.parametrize("name", ["small", "wide", "odd", "empty", "published"])
def test_the_page_opens_from_the_disk_without_errors_or_requests(
    browser: Chrome, pages: dict[str, Path], name: str
) -> None:
    assert opened(browser, pages[name]) == []
    assert browser.execute_script("return performance.getEntriesByType('resource').map(e => e.name)") == []
    assert browser.find_element(By.TAG_NAME, "h1").text.startswith("offbeat report:")


@pytest.mark.parametrize("name", ["small", "wide", "odd", "empty", "published"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_never_scrolls_sideways_as_a_whole(
    browser: Chrome, pages: dict[str, Path], name: str, width: int
) -> None:
    opened(browser, pages[name], (width, 900))
    browser.execute_script("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script("return innerWidth") == width


def test_wide_tables_scroll_in_their_own_frame_and_keep_the_patterns_visible(
    browser: Chrome, pages: dict[str, Path]
) -> None:
    opened(browser, pages["wide"], (390, 900))
    frame = browser.find_element(By.CSS_SELECTOR, ".grid .scroll")
    assert browser.execute_script("return arguments[0].scrollWidth > 3 * arguments[0].clientWidth", frame)
    browser.execute_script("arguments[0].scrollLeft = 1000", frame)
    heading = frame.find_element(By.CSS_SELECTOR, "tbody th")
    assert 0 <= heading.rect["x"] < 60


def test_the_selection_table_shows_the_published_choice(browser: Chrome, pages: dict[str, Path]) -> None:
    opened(browser, pages["published"])
    (row,) = browser.find_elements(By.CSS_SELECTOR, "#selection tbody tr")
    configurations = [configuration.text for configuration in row.find_elements(By.TAG_NAME, "td")]
    assert configurations[3:10] == ["Pair", "unknown", "unknown", "unknown", "1.005", "Lin ≠", "+99%"]


def test_the_selectors_change_the_plot(browser: Chrome, pages: dict[str, Path]) -> None:
    opened(browser, pages["small"])
    first = browser.execute_script(BOXES)
    assert [name for name, _ in first] == [*factory.many_algorithms(3), "default"]
    assert {length for _, length in first} == {30}
    configuration, fixed = (
        Select(browser.find_element(By.ID, name)) for name in ("plot-configuration", "plot-fixed")
    )
    assert len(configuration.options) == 8
    fixed.select_by_visible_text("binomial under all patterns")
    assert [name for name, _ in browser.execute_script(BOXES)] == factory.SHAPES
    medians = browser.execute_script(MEDIANS)
    configuration.select_by_index(7)
    assert fixed.first_selected_option.text == "binomial under all patterns"
    assert browser.execute_script(MEDIANS) != medians
    assert "[ms]" in browser.execute_script(Y_TITLE)
    configuration.select_by_index(0)
    assert "[µs]" in browser.execute_script(Y_TITLE)


def test_boxes_stand_where_the_axis_says_on_both_scales(browser: Chrome, pages: dict[str, Path]) -> None:
    """The oracle interpolates between the tick marks, whose labels say which values they stand for."""
    opened(browser, pages["small"])
    script = """const box = document.querySelector('#plot .box');
        const ticks = document.querySelectorAll('#plot .y-tick');
        const median = box.querySelector('.median').getAttribute('y1');
        return [Number(box.dataset.median), Number(median),
                [...ticks].map(tick => [Number(tick.textContent), Number(tick.getAttribute('y')) - 4])]"""
    for scale in (float, math.log):
        median, y, ticks = browser.execute_script(script)
        (low, y_low), (high, y_high) = [tick for tick in ticks if tick[0] > 0][:2]
        share = (scale(median) - scale(low)) / (scale(high) - scale(low))
        assert y == pytest.approx(y_low + share * (y_high - y_low), abs=0.5)
        browser.find_element(By.ID, "plot-log").click()


def test_a_box_shows_the_quartiles_of_its_values(browser: Chrome, pages: dict[str, Path]) -> None:
    opened(browser, pages["small"])
    data = json.loads(browser.execute_script("return document.getElementById('plot-data').textContent"))
    values = data["configurations"][0]["values"][0][0]
    text = browser.execute_script("return document.querySelector('#plot .box title').textContent")
    low, median, high = np.quantile(values, (0.25, 0.5, 0.75))
    shown = [float(number) for number in re.findall(r"(?<= )[\d.]+(?= )", text)]
    assert shown == pytest.approx([median, low, high, len(values)], rel=0.01)


def test_names_are_shown_literally_and_run_no_script(browser: Chrome, pages: dict[str, Path]) -> None:
    opened(browser, pages["odd"])
    assert browser.title == f"offbeat report: {EVIL}"
    assert EVIL in browser.find_element(By.TAG_NAME, "h1").text
    drawn = browser.execute_script(
        "return [...document.querySelectorAll('#plot .x-tick')].map(text => text.textContent)"
    )
    assert drawn == [f"{EVIL[:29]}…", "<b>bold</b>"]
    assert browser.find_elements(By.CSS_SELECTOR, "main script, #plot b, .grid b b") == []


def test_a_link_to_a_folded_configuration_unfolds_it(browser: Chrome, pages: dict[str, Path]) -> None:
    opened(browser, pages["small"])
    configurations = browser.find_elements(By.CSS_SELECTOR, "details.configuration")
    assert [configuration.get_attribute("open") for configuration in configurations] == ["true"] * 3 + [
        None
    ] * 5
    link = browser.find_elements(By.CSS_SELECTOR, "nav a")[-1]
    browser.execute_script("arguments[0].click()", link)
    target = browser.find_element(By.ID, (link.get_attribute("href") or "").partition("#")[2])
    assert target.get_attribute("open") == "true"
    assert target.find_element(By.TAG_NAME, "table").is_displayed()


def test_all_configurations_open_and_close_at_once(browser: Chrome, pages: dict[str, Path]) -> None:
    opened(browser, pages["small"])
    for button, expected in (("true", {"true"}), ("false", {None})):
        browser.find_element(By.CSS_SELECTOR, f"button[data-open={button}]").click()
        configurations = browser.find_elements(By.CSS_SELECTOR, "details.configuration")
        assert {configuration.get_attribute("open") for configuration in configurations} == expected


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_page_follow_the_colour_scheme(browser: Chrome, pages: dict[str, Path], scheme: str) -> None:
    features: dict[str, Any] = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", features)
    try:
        opened(browser, pages["small"])
        brightness = (
            "const sum = text => text.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0);"
            "const style = getComputedStyle(document.querySelector(arguments[0]));"
            "return [sum(style.backgroundColor), sum(style.color)]"
        )
        for selector in ("body", ".grid td.t-poor"):
            ground, text = browser.execute_script(brightness, selector)
            assert (ground > text) == (scheme == "light"), selector
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_the_page_prints(browser: Chrome, pages: dict[str, Path]) -> None:
    opened(browser, pages["small"])
    printed = PdfReader(io.BytesIO(base64.b64decode(browser.print_page())))
    text = " ".join(page.extract_text() for page in printed.pages)
    assert len(printed.pages) > 2
    assert "Verdict" in text
    assert "Open all configurations" not in text
