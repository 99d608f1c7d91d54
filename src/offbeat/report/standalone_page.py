"""Self-contained HTML pages: the style sheet and template parts, also for other packages."""

from __future__ import annotations

import jinja2
from markupsafe import Markup, escape

from offbeat.report.palette import TONES


def environment(package: str) -> jinja2.Environment:
    """Templates of a package such as ``offbeat.clock``, which may use ``parts.html.j2``; texts are
    escaped."""
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(package), jinja2.PackageLoader("offbeat.report")]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["name"] = _breakable
    return environment


def source(name: str) -> Markup:
    """The text of a file in this package's template folder."""
    return Markup(jinja2.PackageLoader("offbeat.report").get_source(jinja2.Environment(), name)[0])


def style() -> Markup:
    """The style sheet with the tones of the palette, for light and dark pages."""
    light = "".join(f".t-{name}{{background:{t.light};color:{t.light_text}}}" for name, t in TONES.items())
    dark = "".join(f".t-{name}{{background:{t.dark};color:{t.dark_text}}}" for name, t in TONES.items())
    return Markup(f"{source('style.css')}{light}\n@media screen and (prefers-color-scheme: dark){{{dark}}}\n")


def _breakable(name: str) -> Markup:
    """A name, escaped, with line breaks allowed after underscores."""
    return Markup(str(escape(name)).replace("_", "_<wbr>"))
