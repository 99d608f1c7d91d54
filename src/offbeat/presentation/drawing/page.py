"""Self-contained HTML pages: sections of typed parts in one shell, which open without a network.

A page is a list of sections, and a section a list of parts: paragraphs, tables, facts, pictures, grids,
lists, text to copy, and parts that can be expanded. What no part can show is :class:`~markupsafe.Markup`
from a template of the room's own, which :func:`environment` loads. Every text is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape
from msgspec import Struct

import offbeat
from offbeat.base.atomic_write import write_atomically, write_error
from offbeat.base.document.grid import Grid
from offbeat.base.document.tables import Fact, Table
from offbeat.presentation.drawing.palette import TONES
from offbeat.presentation.drawing.picture_files import EmbeddedFigure, Link


class Text(Struct, frozen=True, kw_only=True):
    """A paragraph; ``kind`` is "" or one of ``verdict``, ``muted`` and ``caution`` (marked by ⚠)."""

    text: str
    kind: str = ""


class Facts(Struct, frozen=True, kw_only=True):
    """A table of facts, below a title if there is one."""

    facts: Sequence[Fact]
    title: str = ""


class ShownGrid(Struct, frozen=True, kw_only=True):
    """A grid, and the links to its pictures."""

    grid: Grid
    files: list[Link] = []


class Lines(Struct, frozen=True, kw_only=True):
    """A list of sentences, below a title if there is one."""

    lines: Sequence[str]
    title: str = ""
    kind: str = ""


class Code(Struct, frozen=True, kw_only=True):
    """Text to copy, line by line as it is."""

    text: str


class Details(Struct, frozen=True, kw_only=True):
    """Parts that a click expands; ``remark`` follows the title, ``kind`` and ``anchor`` are class and id."""

    title: str
    parts: Sequence[Part]
    remark: str = ""
    is_open: bool = False
    kind: str = ""
    anchor: str = ""


Part = Text | Facts | ShownGrid | Lines | Code | Details | Table | EmbeddedFigure | Markup


class Section(Struct, frozen=True, kw_only=True):
    """A section; ``link`` is its text in the line of links at the top of the page, empty for no link."""

    anchor: str
    title: str
    parts: Sequence[Part]
    link: str = ""


def page(
    title: str,
    subtitle: str,
    sections: Sequence[Section],
    *,
    source: str,
    pictures: Path | None = None,
    scripts: Sequence[Markup] = (),
) -> str:
    """A page as HTML; ``source`` says in the footer where its data are.

    ``pictures`` is the folder of the pictures' files. Only with ``scripts``, which are whole elements, may
    the page run any.
    """
    content: dict[str, Any] = {
        "version": offbeat.__version__,
        "title": title,
        "subtitle": subtitle,
        "style": _style(),
        "sections": sections,
        "source": source,
        "pictures": pictures,
        "scripts": scripts,
    }
    return environment("offbeat.presentation.drawing").get_template("page.html.j2").render(content)


def write_page(path: Path, text: str) -> Path:
    """Write a page and return its path. Raises :class:`OffbeatError` if it cannot be written."""
    try:
        write_atomically(path, text.encode())
    except OSError as error:
        raise write_error(path, error, "the report") from error
    return path


@cache
def environment(package: str) -> jinja2.Environment:
    """The templates of a package such as ``offbeat.presentation.study_report``, with the filters ``part`` (a
    part as HTML) and
    ``name`` (where a name may be broken into lines)."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"name": breakable, "part": html}
    return environment


def html(part: Part) -> Markup:
    """A part as HTML: the macro of ``parts.html.j2`` that has the name of its type."""
    if isinstance(part, Markup):
        return part
    macros: Any = environment("offbeat.presentation.drawing").get_template("parts.html.j2").module
    return Markup(getattr(macros, type(part).__name__.lower())(part))


def source_of(package: str, name: str) -> Markup:
    """The text of a file in the template folder of a package."""
    return Markup(jinja2.PackageLoader(package).get_source(jinja2.Environment(), name)[0])


def fragment(parts: Sequence[Part]) -> str:
    """Parts as HTML for a notebook: in one element, whose style applies to nothing outside of it."""
    style = "".join(_source(name) for name in ("parts.css", "notebook.css")) + _tones()
    content = Markup("\n").join(html(part) for part in parts)
    shell = Markup('<div class="offbeat"><style>.offbeat {{\n{}}}</style>\n{}\n</div>')
    return str(shell.format(Markup(style), content))  # Markup would escape what others put before it


def _style() -> Markup:
    """The style sheet with the tones of the palette, for light and dark pages."""
    style = "".join(_source(name) for name in ("style.css", "parts.css", "print.css"))
    dark = "".join(f".t-{name}{{background:{t.dark};color:{t.dark_text}}}" for name, t in TONES.items())
    return Markup(f"{style}{_tones()}@media screen and (prefers-color-scheme: dark){{{dark}}}\n")


def _tones() -> str:
    light = [f".t-{name}{{background:{t.light};color:{t.light_text}}}" for name, t in TONES.items()]
    return "".join(light) + "\n"


def _source(name: str) -> Markup:
    return source_of("offbeat.presentation.drawing", name)


def breakable(name: str) -> Markup:
    """A name, escaped, with line breaks allowed after underscores and before brackets."""
    if isinstance(name, Markup):
        return name
    return Markup(str(escape(name)).replace("_", "_<wbr>").replace("(", "<wbr>("))
