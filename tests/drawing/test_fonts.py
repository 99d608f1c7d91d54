"""The small font of PDF files: its characters, and those that it lacks."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure
from pypdf import PdfReader

from offbeat.drawing.fonts import FONT, SMALL_FONT
from offbeat.drawing.pictures import write_picture


def written(folder: Path, *texts: str) -> tuple[str, set[str]]:
    """The text of a PDF file with these texts, and its fonts without the prefixes of subsets."""
    figure = Figure()
    for place, text in enumerate(texts):
        figure.text(0.1, 0.9 - 0.2 * place, text, weight="bold" if place else "normal")
    write_picture(figure, folder / "picture.pdf")
    (page,) = PdfReader(folder / "picture.pdf").pages
    fonts = page["/Resources"]["/Font"].values()
    return page.extract_text(), {font.get_object()["/BaseFont"].partition("+")[2] for font in fonts}


def test_texts_of_pictures_need_only_the_small_font(tmp_path: Path) -> None:
    text, fonts = written(tmp_path, "last delay d̂ ≥ 3 µs, σ² → γ_θ × 4 ✓ ▲", "Bold · 4×8 – “x”")
    assert "≥ 3 µs, σ² → γ_θ × 4 ✓ ▲" in text and "Bold · 4×8 – “x”" in text
    small = SMALL_FONT.replace(" ", "")
    assert fonts == {small, f"{small}-Bold"}


def test_other_characters_come_from_the_whole_font(tmp_path: Path) -> None:
    text, fonts = written(tmp_path, "Жук 4 µs")
    assert "Жук 4 µs" in text
    assert fonts == {SMALL_FONT.replace(" ", ""), FONT.replace(" ", "")}


def test_the_same_figure_gives_the_same_file(tmp_path: Path) -> None:
    written(tmp_path, "d̂ in µs")
    first = (tmp_path / "picture.pdf").read_bytes()
    written(tmp_path, "d̂ in µs")
    assert (tmp_path / "picture.pdf").read_bytes() == first
