"""A page of typed parts: everything is shown and escaped, and the page is self-contained."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markupsafe import Markup
from matplotlib.figure import Figure

from offbeat.base.document.grid import Grid, Heading, Key, Row, Square
from offbeat.base.document.tables import Fact, Table
from offbeat.base.errors import BadInput
from offbeat.presentation.drawing.page import (
    Code,
    Details,
    Facts,
    Lines,
    Section,
    ShownGrid,
    Text,
    page,
    write_page,
)
from offbeat.presentation.drawing.picture_files import Album

pytestmark = pytest.mark.slow

EVIL = "<script>alert('x')</script>"
ESCAPED = "&lt;script&gt;"


class Elements(HTMLParser):
    """The names of all elements; fails if one is not closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.names.append(tag)
        if tag not in ("meta", "img", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def elements(text: str) -> list[str]:
    parser = Elements()
    parser.feed(text)
    assert parser.open == []
    return parser.names


def every_part(text: str, album: Album) -> list[object]:
    """A part of each type with these words in each of its texts."""
    grid = Grid(
        kind="speed",
        title=text,
        caption=text,
        subject=text,
        columns=[Heading(name=text, remark=text, strong=True)],
        rows=[Row(heading=Heading(name=text), squares=[Square(text=text, mark=text, note=text)])],
        keys=[Key(tone="plain", mark=text, meaning=text)],
    )
    return [
        *(Text(text=text, kind=kind) for kind in ("", "verdict", "muted", "caution")),
        Facts(facts=[Fact(name=text, value=text)], title=text),
        Lines(lines=[text], title=text),
        Code(text=text),
        Table(title=text, headings=[text, text], rows=[[text, "1"]], notes=[text]),
        ShownGrid(grid=grid),
        album.embed(Figure(figsize=(1, 1)), "picture", text),
        Details(title=text, remark=text, parts=[Text(text=text)], anchor="more"),
    ]


def test_a_section_is_on_the_page_with_its_table_and_picture(tmp_path: Path) -> None:
    figure = Figure(figsize=(2, 1))
    figure.subplots().plot([0, 1], [1, 0])
    album = Album(tmp_path / "pictures", tmp_path)
    section = Section(
        anchor="mine",
        title="What I measured",
        link="Mine",
        parts=[
            Text(text="Two numbers."),
            Table(title="Numbers", headings=["name", "value"], rows=[["one_name", "1"]]),
            album.embed(figure, "mine", "a line that falls"),
        ],
    )
    path = write_page(tmp_path / "page.html", page("Title", "lead", [section], source="the results"))
    text = path.read_text(encoding="utf-8")
    elements(text)
    assert '<a href="#mine">Mine</a>' in text
    assert re.search(r'<section id="mine">\s*<h2>What I measured</h2>\s*<p>Two numbers.</p>', text)
    assert '<td>one_<wbr>name</td><td class="n">1</td>' in text
    assert 'alt="a line that falls" width="192" height="96"' in text
    for suffix in ("png", "pdf", "svg"):
        assert f'href="pictures/mine.{suffix}"' in text
        assert (tmp_path / "pictures" / f"mine.{suffix}").stat().st_size > 500


def test_text_cannot_bring_markup_into_a_page(tmp_path: Path) -> None:
    parts = every_part(EVIL, Album(None, tmp_path))
    section = Section(anchor="a", title=EVIL, parts=parts, link=EVIL)  # type: ignore[arg-type]
    text = page(EVIL, EVIL, [section], source=EVIL, pictures=Path(EVIL))
    assert "script" not in elements(text)
    assert EVIL not in text
    assert text.count(ESCAPED) >= 30


def test_every_type_of_part_shows_its_text(tmp_path: Path) -> None:
    for part in every_part("such words", Album(None, tmp_path)):
        text = page("t", "s", [Section(anchor="a", title="b", parts=[part])], source="x")  # type: ignore[list-item]
        assert "such words" in text, type(part).__name__
        elements(text)


def test_only_a_page_that_allows_scripts_runs_them() -> None:
    section = Section(anchor="a", title="b", parts=[])
    still = page("t", "s", [section], source="x")
    moving = page("t", "s", [section], source="x", scripts=[Markup("<script>1</script>")])
    assert "script" not in still
    assert "script-src 'unsafe-inline'" in moving and "<script>1</script>" in moving
    for text in (still, moving):
        assert "default-src 'none'" in text
        assert not re.search(r'(src|href)="(?!data:|#)', text)


def test_a_page_without_links_has_no_line_of_links() -> None:
    assert 'class="jump"' not in page("t", "s", [Section(anchor="a", title="b", parts=[])], source="x")


def test_a_page_that_cannot_be_written_ends_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"cannot write the report .*page\.html"):
        write_page(tmp_path / "nowhere" / "page.html", "text")
