"""Pictures are PNG, PDF and SVG, of the stated size, readable with few and many algorithms."""

from __future__ import annotations

import struct
import xml.etree.ElementTree as ElementTree
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import study_factory as factory
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch
from pypdf import PdfReader

from offbeat.base.errors import BadInput
from offbeat.presentation.drawing import picture_files
from offbeat.presentation.drawing.grid_figure import grid_figure
from offbeat.presentation.study_report import figures, plot_data
from offbeat.presentation.study_report.grids import grids

pytestmark = pytest.mark.slow


def figures_of(directory: Path, algorithms: int, patterns: list[str]) -> dict[str, Figure]:
    cases = factory.case_frame(["default", *factory.many_algorithms(algorithms - 1)], patterns)
    (view,) = factory.shown(factory.results(directory, cases))
    return {grid.kind: grid_figure(grid) for grid in grids(view, 0.05)}


def png_size(path: Path) -> tuple[int, int]:
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", data[16:24])
    return width, height


@pytest.mark.parametrize(("algorithms", "patterns"), [(4, factory.SHAPES), (16, factory.TWELVE)])
def test_every_picture_is_a_png_of_its_size_a_pdf_page_and_an_svg(
    tmp_path: Path, algorithms: int, patterns: list[str]
) -> None:
    for kind, figure in figures_of(tmp_path, algorithms, patterns).items():
        png, pdf, svg = picture_files.write_pictures(figure, tmp_path / "pictures", kind)
        width_in, height_in = figure.get_size_inches()
        assert png_size(png) == pytest.approx(
            (width_in * picture_files.DPI, height_in * picture_files.DPI), abs=1
        )
        (page,) = PdfReader(pdf).pages
        assert float(page.mediabox.width) == pytest.approx(width_in * 72, abs=1)
        assert "default" in page.extract_text()
        assert ElementTree.parse(svg).getroot().tag == "{http://www.w3.org/2000/svg}svg"
        assert "<text" not in svg.read_text(encoding="utf-8"), "letters are outlines, the same everywhere"


@pytest.mark.parametrize(("algorithms", "patterns"), [(4, factory.SHAPES), (40, factory.TWELVE)])
def test_text_stays_inside_the_picture_and_its_square(
    tmp_path: Path, algorithms: int, patterns: list[str]
) -> None:
    for figure in figures_of(tmp_path, algorithms, patterns).values():
        (axes,) = figure.axes
        renderer = FigureCanvasAgg(figure).get_renderer()
        squares = sorted({round(path.get_extents().width, 6) for path in axes.collections[0].get_paths()})
        widest = squares[-1] * figure.dpi
        for text in axes.texts:
            box = text.get_window_extent(renderer)
            assert box.x0 >= -1
            assert box.x1 <= figure.bbox.width + 1, text.get_text()
            assert box.y0 >= -1
            assert box.y1 <= figure.bbox.height + 1, text.get_text()
            if text.get_text()[:1].isdigit() and text.get_ha() == "center":
                assert box.width <= widest


def test_the_font_size_does_not_depend_on_the_number_of_algorithms(tmp_path: Path) -> None:
    few, many = (
        figures_of(tmp_path, number, patterns)["last-delay"]
        for number, patterns in ((4, factory.SHAPES), (40, factory.TWELVE))
    )
    smallest = [min(text.get_fontsize() for text in figure.axes[0].texts) for figure in (few, many)]
    assert min(smallest) >= 6
    assert many.get_size_inches()[0] > 3 * few.get_size_inches()[0]


def test_names_are_never_read_as_formulas(tmp_path: Path) -> None:
    cases = factory.table(
        {"no_delay": {"$\\frac$": 1.0, "a_{b}": 2.0}, "random": {"$\\frac$": 1.0, "a_{b}": 2.0}}
    )
    (view,) = factory.shown(factory.results(tmp_path, cases))
    figure = grid_figure(grids(view, 0.05)[0])
    picture_files.write_pictures(figure, tmp_path, "odd")
    assert "$\\frac$" in [text.get_text() for text in figure.axes[0].texts]


def test_the_same_results_give_the_same_files(tmp_path: Path) -> None:
    files = [
        picture_files.write_pictures(
            figures_of(tmp_path, 4, factory.SHAPES)["normalised"], tmp_path / name, "same"
        )
        for name in ("first", "second")
    ]
    for first, second in zip(*files, strict=True):
        assert first.read_bytes() == second.read_bytes(), first.suffix


@pytest.mark.parametrize("p", [1, 2, 8, 64, 65, 5000])
def test_patterns_are_drawn_at_any_number_of_processes(tmp_path: Path, p: int) -> None:
    drawn = [figures.PatternPlot(label="late", remark="", delays=np.eye(1, p, p - 1)[0])]
    drawn.append(figures.PatternPlot(label="none", remark="", delays=np.zeros(p)))
    figure = figures.pattern_figure(drawn, "shares")
    heights = [
        patch.get_data().values.max() if isinstance(patch, StepPatch) else patch.get_height()
        for patch in figure.axes[0].patches
    ]
    assert max(heights) == 1.0
    assert png_size(picture_files.write_pictures(figure, tmp_path, "patterns")[0])[0] > 500


def test_a_cost_names_both_algorithms(tmp_path: Path) -> None:
    line = partial(figures.Penalty, configuration="p = 4", no_delay_winner="Lin")
    figure = figures.penalty_figure(
        [line(selected="Pair", share=0.99), line(selected="Lin", share=0.0)], "alltoall", 0.99
    )
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert "+99%: Lin instead of Pair" in texts
    assert "same choice: Lin" in texts


def test_pictures_that_cannot_be_written_end_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match=r"cannot write the pictures to .*--pictures"):
        picture_files.write_pictures(Figure(), tmp_path / "file" / "pictures", "x")


def test_patterns_of_partitioned_messages_are_drawn_over_the_senders_partitions(tmp_path: Path) -> None:
    delays_us: dict[str, dict[str, float | None]] = {"no_delay": {"many": 5}, "last_delayed": {"many": 3}}
    cases = factory.table(
        delays_us, collective="partitioned_send", p=2, partitions=4, threads=2, datatype="", op=""
    )
    drawn, missing = plot_data.pattern_plots(factory.results(tmp_path, cases))
    assert missing == []
    assert [(one.label, one.noun, one.delays.tolist()) for one in drawn] == [
        ("no_delay", "partition", [0, 0, 0, 0]),
        ("last_delayed", "partition", [0, 0, 0, 1]),
    ]
    assert figures.pattern_figure(drawn, "shares").axes[1].get_xlabel() == "partition"
