"""The report of a check: one self-contained page with every picture, whatever was measured."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import pytest
from check_factory import keep, rows, starts, sync

from offbeat.base.errors import BadInput
from offbeat.measurement.clock_check.directory import read
from offbeat.measurement.clock_check.rows import HARMONIZE, Row
from offbeat.measurement.clock_check.summary import summary
from offbeat.presentation.pages import clock_check as page
from offbeat.presentation.pages.clock_check import write_page

pytestmark = pytest.mark.slow

PICTURES = ["accuracy-bent", "lags", "reduce-average", "reduce-longest", "skew", "sync"]


def page_of(
    directory: Path, kept_rows: Sequence[Row] | None = None, pictures: bool = False, **changes: object
) -> str:
    check = read(keep(directory, kept_rows, **changes))
    folder = directory / "pictures" if pictures else None
    return write_page(check, summary(check.rows, 4), folder).read_text(encoding="utf-8")


class Closed(HTMLParser):
    """Fails if an element is not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in ("meta", "img", "wbr", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_holds_verdict_tables_and_pictures_and_loads_nothing(tmp_path: Path) -> None:
    page = page_of(tmp_path)
    parser = Closed()
    parser.feed(page)
    assert parser.open == []
    assert "95th percentile of start skew: 240 ns" in page
    assert page.count('src="data:image/svg+xml;base64,') == 4
    assert not re.search(r'(src|href)="(?!data:|pictures/|#)', page)
    for words in (
        "double_<wbr>ring",
        "linear after double_ring",
        "× 0.05",
        "mpirun -n 4",
        "it would not &lt;run&gt;",
    ):
        assert words in page, words


def test_every_picture_is_written_as_three_files_and_linked(tmp_path: Path) -> None:
    page = page_of(tmp_path, pictures=True)
    files = {path.name for path in (tmp_path / "pictures").iterdir()}
    assert files == {f"{name}.{kind}" for name in PICTURES for kind in ("png", "pdf", "svg")}
    assert all(f'href="pictures/{name}"' in page for name in files)
    assert all((tmp_path / "pictures" / name).stat().st_size > 1000 for name in files)


def test_the_same_check_gives_the_same_files(tmp_path: Path) -> None:
    first = page_of(tmp_path / "one", pictures=True)
    second = page_of(tmp_path / "two", pictures=True)
    assert first.replace(str(tmp_path / "one"), "") == second.replace(str(tmp_path / "two"), "")
    for path in (tmp_path / "one" / "pictures").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / "pictures" / path.name).read_bytes(), path.name


def test_the_page_of_an_unfinished_check_says_so(tmp_path: Path) -> None:
    page = page_of(tmp_path, [])
    assert page.count("Nothing was measured yet.") == 4 and "not finished" in page
    assert "not finished" in page_of(tmp_path / "half", rows()[:5])
    assert "not finished" not in page_of(tmp_path / "whole")


def test_a_warning_of_the_launcher_is_in_the_page(tmp_path: Path) -> None:
    assert "4 processes share &lt;2&gt; cores" in page_of(tmp_path, warnings=["4 processes share <2> cores"])


@pytest.mark.parametrize("p", [2, 70, 3000])
def test_lags_are_drawn_for_any_number_of_processes(p: int) -> None:
    summed_up = summary([starts(HARMONIZE, [1.0] * 5, p=p), starts("tree", [2.0] * 5, p=p)], p)
    assert page.lag_figure(summed_up.skews, "here").get_size_inches()[0] > 5


@pytest.mark.parametrize("skews_us", [[0.0] * 6, [0.0, 0.0, 1e4, 2e4, 3e4, 1e6], [5.0]])
def test_skews_of_any_size_are_drawn(skews_us: list[float]) -> None:
    summed_up = summary([starts(HARMONIZE, skews_us), starts("tree", [100.0] * 6)], 4)
    axes = page.skew_figure(summed_up.skews, "here").axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["harmonised", "tree"]


def test_times_far_apart_are_drawn_on_a_logarithmic_scale() -> None:
    near = summary([starts(HARMONIZE, [1.0] * 5), starts("tree", [20.0] * 5)], 4)
    far = summary([starts(HARMONIZE, [1.0] * 5), starts("tree", [900.0] * 5)], 4)
    assert page.skew_figure(near.skews, "").axes[0].get_xscale() == "linear"
    assert page.skew_figure(far.skews, "").axes[0].get_xscale() == "log"


def test_only_the_default_barrier_and_the_most_different_ones_are_drawn_if_there_are_many() -> None:
    many = [starts(f"b{number:02}", [float(number)] * 5) for number in range(1, 20)]
    many.append(starts("default", [9.5] * 5))
    summed_up = summary([starts(HARMONIZE, [0.1] * 5), *many], 4)
    drawn = [line.get_label() for line in page.lag_figure(summed_up.skews, "").axes[0].get_lines()]
    assert drawn == ["harmonised", "default", "b01", "b02", "b03", "b17", "b18", "b19"]


def test_syncs_of_one_and_of_several_numbers_of_processes_are_drawn() -> None:
    for numbers in ([2], [2, 4, 8, 12]):
        summed_up = summary([sync("offset", p, [3.0 * p]) for p in numbers], 12)
        axes = page.sync_figure(summed_up.costs, "").axes[0]
        assert [label.get_text() for label in axes.get_xticklabels()] == [str(p) for p in numbers]


def test_a_page_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    check = read(keep(tmp_path))
    (tmp_path / "report.html").mkdir()
    with pytest.raises(BadInput, match="cannot write the report"):
        write_page(check, summary(check.rows, 4), None)
