"""Writes demo/index.html, the last step of 'make demo': six pictures of the results, with a sentence each."""

from __future__ import annotations

import base64
from pathlib import Path

from markupsafe import Markup
from msgspec import Struct
from PIL import Image

from offbeat.presentation.drawing.page import Section, Text, page, write_page
from offbeat.presentation.drawing.picture_files import DPI, PAGE_DPI, EmbeddedFigure, Link

DEMO = Path("demo")
INDEX = DEMO / "index.html"


class Exhibit(Struct, frozen=True, kw_only=True):
    """A picture of the demo: its file below ``demo`` without suffix, and the command that draws this file."""

    title: str
    picture: str
    sentence: str
    command: str


EXHIBITS = (
    Exhibit(
        title="1,024 simulated processes",
        picture="simulated/pictures/reduce-p1024-32x32-64B-normalised",
        sentence="The algorithm that is the fastest without delays is not the fastest under other arrival"
        " patterns: each row is a pattern, and 1 is the fastest algorithm of the row.",
        command="offbeat report demo/simulated",
    ),
    Exhibit(
        title="The MPI library of this machine",
        picture="measured/pictures/reduce-p4-64B-normalised",
        sentence="The same table, measured here with 4 processes: offbeat exports the algorithm with the"
        " smallest average.",
        command="offbeat report demo/measured",
    ),
    Exhibit(
        title="Who is late in an application",
        picture="application/pictures/1-alltoall-1MiB-delay",
        sentence="The tracer records when each process calls a collective: the second process is late, as"
        " requested.",
        command="offbeat trace summary demo/application/trace",
    ),
    Exhibit(
        title="The expected run time",
        picture="application/pictures/expected-run-time",
        sentence="The recorded arrivals and the measured delays together predict the run time of the"
        " application with each algorithm.",
        command="offbeat predict demo/application/trace demo/application/results",
    ),
    Exhibit(
        title="The measured run time",
        picture="application/pictures/expected-and-measured-run-time",
        sentence="The application runs in turn with the library's decisions and with each tuning file.",
        command="offbeat try --results demo/application/results -- mpirun ...",
    ),
    Exhibit(
        title="A program that runs out of step",
        picture="out-of-step/pictures/async-figure2",
        sentence="Delays of some ranks make this memory-bound program faster, because computation of some"
        " ranks overlaps with communication of others.",
        command="offbeat reproduce async-figure 2",
    ),
)


def section(number: int, exhibit: Exhibit) -> Section:
    """A section with the sentence, the picture and the command."""
    png = DEMO / f"{exhibit.picture}.png"
    svg = base64.b64encode((DEMO / f"{exhibit.picture}.svg").read_bytes()).decode("ascii")
    with Image.open(png) as image:
        width, height = (round(pixels * PAGE_DPI / DPI) for pixels in image.size)
    figure = EmbeddedFigure(
        uri=f"data:image/svg+xml;base64,{svg}",
        alt=f"{exhibit.title}. {exhibit.sentence}",
        width=width,
        height=height,
        files=[
            Link(href=f"{exhibit.picture}.{suffix}", label=suffix.upper()) for suffix in ("png", "svg", "pdf")
        ],
    )
    parts = [Text(text=exhibit.sentence), figure, Text(text=f"Drawn by: {exhibit.command}", kind="muted")]
    return Section(anchor=f"picture-{number}", title=exhibit.title, parts=parts)


def files_section() -> Section:
    """Links to the reports, the tuning file and the outputs of the steps."""
    links = (
        ("simulated/report.html", "Report of the simulated machine"),
        ("measured/report.html", "Report of this machine"),
        ("measured/tuning/", "Tuning file of this MPI library"),
        ("outputs/", "Complete output of each step"),
        ("../docs/tutorial.md", "Tutorial: the same steps with your MPI library"),
    )
    entries = Markup("").join(Markup('<li><a href="{}">{}</a></li>').format(*link) for link in links)
    return Section(anchor="files", title="Files of the demo", parts=[Markup("<ul>{}</ul>").format(entries)])


def main() -> None:
    """Write the page and print where it is."""
    sections = [section(number, exhibit) for number, exhibit in enumerate(EXHIBITS, start=1)]
    text = page(
        "The demo of offbeat",
        "What the steps of 'make demo' found, in six pictures",
        [*sections, files_section()],
        source="the folder demo",
    )
    write_page(INDEX, text)
    print(f"Six pictures, with a sentence each: {INDEX}")


if __name__ == "__main__":
    main()
