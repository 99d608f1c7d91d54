"""``offbeat async report``: the terminal, JSON, bad input, and the page in a real browser."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import trace_files as made
from captured_command import invoke
from real_browser import opened
from ring_traces import US, Ring, computing
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from offbeat.base.errors import BadInput
from offbeat.cli.asynchronous import app

EVIL = "<script>document.title='run'</script>"


def report(*arguments: object) -> str:
    return invoke(app, "report", *arguments).stdout


def disturbed(iterations: int = 120, p: int = 12, every: int = 20) -> Ring:
    """A program with noise and a delay."""
    computed = computing(iterations, p, noise_us=3)
    computed[iterations // 2 + 3, 4] += 2500 * US
    return Ring(computed, allreduce_every=every)


def test_the_terminal_has_the_main_numbers(tmp_path: Path) -> None:
    text = report(disturbed().write(tmp_path / "t"), "--domain-size", "4")
    assert "120 iterations; each begins with MPI_Pcontrol(2)\n" in text
    assert "3 memory domains: 4 ranks of a node each\n" in text
    titles = ["Performance", "By rank: times of an iteration", "Over the run"]
    titles += ["Collectives: natural cost and waiting", "Idle waves"]
    assert [line for line in text.splitlines() if line in titles] == titles
    assert re.search(r"^An iteration is .+ in lockstep; if all", text, re.MULTILINE)
    assert re.search(r"^2 idle waves: delays propagate at \d+ neighbours/s", text, re.MULTILINE)


def test_json_has_the_same_numbers_for_other_programs(tmp_path: Path) -> None:
    folder = disturbed().write(tmp_path / "t")
    document = json.loads(report(folder, "--domains", "0-5/6-11", "--json", "-"))
    assert (document["iterations"], document["way"], document["domains"]) == (120, "marks", 2)
    found = document["performance"]
    assert found["balanced_s"] <= found["measured_s"]
    assert found["faster"]["mean"] == pytest.approx(found["lockstep_s"] / found["measured_s"] - 1)
    assert found["faster"]["low"] <= found["faster"]["mean"] <= found["faster"]["high"]
    assert [one["domain"] for one in document["ranks"]] == [0] * 6 + [1] * 6
    assert {wave["direction"] for wave in document["idle_waves"]} == {1, -1}


def test_with_many_ranks_the_rows_are_domains(tmp_path: Path) -> None:
    folder = Ring(computing(6, 48, noise_us=5)).write(tmp_path / "t")
    assert "By domain: times of an iteration" in report(folder, "--domain-size", "12")
    assert "\n0-1 " in report(folder)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--iterations", "all"), "--iterations all: give marks or sites"),
        (("--anchor", "MPI_Gather"), "--anchor MPI_Gather: no call site matches"),
        (("--domains", "0-3"), "rank 4 is in no domain"),
        (("--pictures", "folder"), "give its file with --output"),
    ],
)
def test_options_that_cannot_be_right_are_refused(
    tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    folder = disturbed(iterations=8).write(tmp_path / "t")
    with pytest.raises(BadInput, match=sentence):
        report(folder, *arguments)


def test_a_folder_without_a_trace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="holds no trace"):
        report(tmp_path)


@pytest.mark.parametrize(("iterations", "p"), [(1, 4), (2, 2), (3, 1), (8, 2)])
def test_a_few_iterations_of_few_ranks_have_a_report(tmp_path: Path, iterations: int, p: int) -> None:
    folder = Ring(computing(iterations, p, noise_us=9), allreduce_every=2).write(tmp_path / "t")
    text = report(folder, "--output", tmp_path / "page.html")
    assert f"{iterations} iteration{'s' if iterations > 1 else ''}; each begins with" in text
    assert (tmp_path / "page.html").stat().st_size > 10_000


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages of a small, a wide and an odd trace, and of one without iterations."""
    folder = tmp_path_factory.mktemp("traces")
    disturbed().write(folder / "small")
    Ring(computing(12, 600, noise_us=20)).write(folder / "wide")
    Ring(computing(12, 3, noise_us=20)).write(folder / "odd", program=EVIL.encode(), host=EVIL.encode())
    made.write(folder / "empty", made.files(2))
    report(folder / "small", "--domain-size", 4, "-o", folder / "small.html")
    report(folder / "wide", "--domain-size", 6, "-o", folder / "wide.html")
    for name in ("odd", "empty"):
        report(folder / name, "-o", folder / f"{name}.html")
    return {name: folder / f"{name}.html" for name in ("small", "wide", "odd", "empty")}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["small", "wide", "odd", "empty"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_of_iterations_opens_without_errors_or_requests_and_fits(
    browser: Chrome, pages: dict[str, Path], name: str, width: int
) -> None:
    assert opened(browser, pages[name], (width, 900)) == []
    assert browser.execute_script("return performance.getEntriesByType('resource').map(e => e.name)") == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.title.startswith("How the iterations of ")


@pytest.mark.slow
def test_the_page_of_iterations_has_all_pictures_and_says_what_they_show(
    browser: Chrome, pages: dict[str, Path]
) -> None:
    opened(browser, pages["small"])
    pictures = browser.find_elements(By.TAG_NAME, "img")
    words = [
        "Natural cost",
        "per second",
        "Timeline",
        "Timeline",
        "Timeline",
        "time in MPI",
        "waiting",
        "Distribution",
    ]
    words += ["Phase space", "Correlation", "components", "idle waves"]
    texts = [str(one.get_attribute("alt")) for one in pictures]
    assert [word in text for word, text in zip(words, texts, strict=True)] == [True] * len(words)
    assert all(browser.execute_script("return arguments[0].naturalWidth > 300", one) for one in pictures)


@pytest.mark.slow
def test_the_page_of_a_trace_without_iterations_says_why(browser: Chrome, pages: dict[str, Path]) -> None:
    opened(browser, pages["empty"])
    text = browser.find_element(By.TAG_NAME, "body").text
    assert "the trace has no calls, and so no iterations" in text
    assert "There is nothing to show" in text
    opened(browser, pages["odd"])
    assert browser.title != "run"
    assert EVIL in browser.find_element(By.TAG_NAME, "body").text
