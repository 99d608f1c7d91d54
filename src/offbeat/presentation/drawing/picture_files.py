"""Figures as files (PNG, PDF and SVG) and as images inside the page."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import matplotlib
from matplotlib.figure import Figure
from msgspec import Struct

from offbeat.base.atomic_write import atomic_writer, write_error
from offbeat.base.errors import BadInput
from offbeat.base.reading import file_name
from offbeat.presentation.drawing.sheet import FONT

SUFFIXES = (".png", ".pdf", ".svg")
"""The file formats of every figure."""

DPI = 150
"""Resolution of PNG files in pixels per inch."""

PAGE_DPI = 96
"""CSS pixels per inch, in the page."""

_SETTINGS: Any = {
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "offbeat",
}
_METADATA: dict[str, dict[str, object]] = {
    ".png": {"Software": "offbeat"},
    ".pdf": {"Creator": "offbeat", "CreationDate": None},
    ".svg": {"Creator": "offbeat", "Date": None},
}

Progress = Callable[[int, int], None]
"""Called with the number of figures written and their total."""


class Link(Struct, frozen=True, kw_only=True):
    """A link to a file beside the page."""

    href: str
    label: str


class EmbeddedFigure(Struct, frozen=True, kw_only=True):
    """A figure inside the page: its address, size in CSS pixels, and links to its files if there are any."""

    uri: str
    alt: str
    width: int
    height: int
    files: list[Link]


def check_picture_path(path: Path) -> None:
    """Raise :class:`BadInput` unless the suffix is one of SUFFIXES."""
    if path.suffix.lower() not in SUFFIXES:
        raise BadInput(f"cannot draw {path}: name the picture with one of {', '.join(SUFFIXES)}")


def write_picture(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, SVG or PDF, by the suffix of the path. Raises :class:`OffbeatError`."""
    check_picture_path(path)
    try:
        with atomic_writer(path) as stream:
            _save(figure, stream, path.suffix.lower())
    except OSError as error:
        raise write_error(path, error, "the picture") from error


def write_pictures(figure: Figure, directory: Path, name: str) -> list[Path]:
    """Write a figure as ``name``.png, .pdf and .svg. Raises BadInput if a file cannot be written."""
    files = [directory / file_name(f"{name}{suffix}", "the name of a picture") for suffix in SUFFIXES]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for path in files:
            if path.is_symlink():
                raise BadInput(f"{path} is a symbolic link, and the picture would overwrite what it leads to")
            with atomic_writer(path) as stream:
                _save(figure, stream, path.suffix)
    except OSError as error:
        where = error.filename or directory
        raise BadInput(
            f"cannot write the pictures to {where}: {error.strerror}; give another folder with --pictures."
        ) from error
    return files


def _save(figure: Figure, stream: BinaryIO, suffix: str) -> None:
    """Write a figure without a date, so that the same figure gives the same file."""
    with matplotlib.rc_context({**_SETTINGS, "font.family": FONT}):
        figure.savefig(stream, format=suffix[1:], dpi=DPI, metadata=_METADATA[suffix])


class Album:
    """Writes the figures of a page: into the page, and into a directory if one was given.

    ``page`` is the folder of the page, which links to the files; ``total`` is the number of figures.
    """

    def __init__(self, directory: Path | None, page: Path, progress: Progress | None = None) -> None:
        self.directory = directory
        self.total = 0
        self._page = page
        self._progress = progress
        self._done = 0

    def links(self, draw: Callable[[], Figure], name: str) -> list[Link]:
        """Write a figure's files, if there is a directory for them, and return the links to them."""
        if self.directory is None:
            return []
        files = write_pictures(draw(), self.directory, name)
        self._done += 1
        if self._progress:
            self._progress(self._done, self.total)
        return [
            Link(href=Path(os.path.relpath(path, self._page)).as_posix(), label=path.suffix[1:].upper())
            for path in files
        ]

    def embed(self, figure: Figure, name: str, alt: str) -> EmbeddedFigure:
        """A figure inside the page; ``alt`` describes it in words."""
        width, height = (round(inches * PAGE_DPI) for inches in figure.get_size_inches())
        stream = io.BytesIO()
        _save(figure, stream, ".svg")
        uri = "data:image/svg+xml;base64," + base64.b64encode(stream.getvalue()).decode("ascii")
        return EmbeddedFigure(
            uri=uri, alt=alt, width=width, height=height, files=self.links(lambda: figure, name)
        )
