"""The small font of PDF files: its characters, and those that it lacks."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from pypdf import PdfReader

from offbeat.presentation.drawing.fonts import FONT, SMALL_FONT, small_font
from offbeat.presentation.drawing.pictures import write_picture


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


DRAWING = """
import sys
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from matplotlib.figure import Figure
from offbeat.presentation.drawing.pictures import write_picture
figure = Figure()
figure.text(0.1, 0.5, "d̂ in µs")
write_picture(figure, Path(sys.argv[1]))
"""


def test_the_same_figure_gives_the_same_file_in_another_process(tmp_path: Path) -> None:
    files = [tmp_path / "first.pdf", tmp_path / "second.pdf"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    for file in files:
        subprocess.run([sys.executable, "-c", DRAWING, file], check=True, env=environment)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert sorted(tmp_path.iterdir()) == files  # the fonts were removed


def test_without_a_temporary_folder_the_whole_font_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    small_font.cache_clear()
    try:
        assert written(tmp_path, "d̂ in µs")[1] == {FONT.replace(" ", "")}
    finally:
        small_font.cache_clear()


def test_a_figure_keeps_its_fonts(tmp_path: Path) -> None:
    figure = Figure()
    text = figure.text(0.1, 0.5, "d̂ in µs", fontfamily="monospace")
    write_picture(figure, tmp_path / "picture.pdf")
    assert text.get_fontfamily() == ["monospace"]
