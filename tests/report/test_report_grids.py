"""The tables of a configuration correspond to the paper's figures 5, 6 and 8."""

from __future__ import annotations

from pathlib import Path

import pytest
import study_factory as factory

from offbeat.base.document.grid import Grid
from offbeat.presentation.drawing.palette import TONES
from offbeat.presentation.study_report.grids import grids


def grids_of(cases, directory: Path, **more) -> dict[str, Grid]:
    (view,) = factory.shown(factory.results(directory, cases, **more))
    return {grid.kind: grid for grid in grids(view, 0.05)}


def square(grid: Grid, pattern: str, algorithm: str):
    column = [heading.name for heading in grid.columns].index(algorithm)
    return next(row for row in grid.rows if row.heading.name == pattern).squares[column]


@pytest.fixture
def hydra(tmp_path: Path) -> dict[str, Grid]:
    """The paper's figure 8a: alltoall of 32 KiB on 32 × 32 processes."""
    (view,) = factory.shown(factory.imported("hydra-ft-scenario", tmp_path / "hydra"))
    return {grid.kind: grid for grid in grids(view, 0.05)}


def test_only_the_good_set_of_each_row_is_marked(hydra: dict[str, Grid]) -> None:
    grid = hydra["last-delay"]
    marked = {
        row.heading.name: [
            column.name
            for column, square in zip(grid.columns, row.squares, strict=True)
            if "✓" in square.mark and square.tone == "good"
        ]
        for row in grid.rows
    }
    assert marked.pop("no_delay") == ["Lin", "Pair", "L-Sync"]
    assert len(marked) == 7
    assert set(map(tuple, marked.values())) == {("Pair",)}
    assert {square.tone for row in grid.rows for square in row.squares} == {"good", "poor"}


def test_times_have_one_unit_named_in_title_and_caption(hydra: dict[str, Grid]) -> None:
    grid = hydra["last-delay"]
    assert grid.title.endswith("in ms")
    assert "in ms" in grid.caption
    assert square(grid, "descending", "L-Sync").text == "1689"
    assert square(grid, "no_delay", "Lin").text == "109"


def test_normalised_rows_have_the_absolute_time_in_parentheses_and_averages_below(
    hydra: dict[str, Grid],
) -> None:
    grid = hydra["normalised"]
    assert square(grid, "descending", "Lin").text == "3.32"
    assert square(grid, "descending", "Lin").small == "(1531)"
    without, including = grid.rows[-2:]
    assert without.heading.name == "average without scenarios"
    assert including.heading.name == "average with scenarios"
    assert [square.text for square in including.squares] == ["1.967", "1.005", "1.967", "2.009"]
    assert [row.summary for row in grid.rows] == [False] * 8 + [True, True]


def test_robustness_classes_have_signs_and_marks_and_no_delay_has_no_row(tmp_path: Path) -> None:
    cases = factory.table(
        {
            "no_delay": {"a": 100.0, "b": 100.0, "c": 100.0},
            "ascending": {"a": 50.0, "b": 124.0, "c": 126.0},
        }
    )
    grid = grids_of(cases, tmp_path)["robustness"]
    assert [row.heading.name for row in grid.rows] == ["ascending"]
    assert [(s.text, s.mark, s.tone) for s in grid.rows[0].squares] == [
        ("−0.50", "▼", "faster"),
        ("+0.24", "", "same"),
        ("+0.26", "▲", "slower"),
    ]


def test_without_no_delay_there_is_no_robustness_table(tmp_path: Path) -> None:
    cases = factory.table({"ascending": {"a": 1.0, "b": 2.0}, "random": {"a": 1.0, "b": 2.0}})
    assert set(grids_of(cases, tmp_path)) == {"last-delay", "normalised"}


def test_the_selected_algorithm_and_the_no_delay_winner_are_named_above_their_columns(
    hydra: dict[str, Grid],
) -> None:
    for grid in hydra.values():
        remarks = {heading.name: heading.remark for heading in grid.columns}
        assert remarks == {"Lin": "no-delay winner", "Pair": "selected", "M-Bruck": "", "L-Sync": ""}
        assert [heading.name for heading in grid.columns if heading.strong] == ["Pair"]


def test_the_default_and_unproved_algorithms_are_references_never_good(tmp_path: Path) -> None:
    rows = [
        factory.row(name, pattern, delay, proof="unproved" if name == "doubtful" else "proved")
        for pattern in ("no_delay", "random")
        for name, delay in (("default", 1e-6), ("doubtful", 2e-6), ("ring", 3e-6))
    ]
    grid = grids_of(factory.frame(rows), tmp_path)["last-delay"]
    assert square(grid, "random", "ring").tone == "good"
    assert square(grid, "random", "default").tone == square(grid, "random", "doubtful").tone == "plain"
    remarks = {heading.name: heading.remark for heading in grid.columns}
    assert "library" in remarks["default"]
    assert "not proved" in remarks["doubtful"]


def test_a_missing_case_is_a_dash_with_the_reason(tmp_path: Path) -> None:
    rows = [factory.row(name, p, 1e-6) for p in ("no_delay", "random") for name in ("a", "b")]
    rows[3] |= {"status": "quarantined", "reason": "hung for 60 s", "last_delay_s": None}
    grids = grids_of(factory.frame(rows), tmp_path)
    for grid in grids.values():
        lost = square(grid, "random", "b")
        assert (lost.text, lost.tone, lost.note) == ("–", "missing", "hung for 60 s")
    assert square(grids["normalised"], "average", "b").text == "–"


def test_row_headings_have_the_skew(tmp_path: Path) -> None:
    rows = [factory.row("a", "no_delay", 1e-6), factory.row("a", "random", 1e-6)]
    rows += [factory.row("b", "no_delay", 1e-6), factory.row("b", "random", 1e-6, skew_s=3e-4)]
    headings = [row.heading for row in grids_of(factory.frame(rows), tmp_path)["last-delay"].rows]
    assert [heading.remark for heading in headings] == ["", "s = 120 µs – 300 µs"]


def test_medians_of_too_few_repetitions_have_a_star(tmp_path: Path) -> None:
    rows = [factory.row(name, "no_delay", 1e-6) for name in ("a", "b")]
    rows[1] |= {"status": "incomplete", "repetitions": 2}
    grid = grids_of(factory.frame(rows), tmp_path)["last-delay"]
    one_square = square(grid, "no_delay", "b")
    assert (one_square.text[-1], one_square.mark) == ("*", "✓")
    assert "too few" in grid.caption


def luminance(colour: str) -> float:
    """Relative luminance of a #rrggbb colour (WCAG 2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("name", list(TONES))
def test_text_is_readable_on_every_tone(name: str) -> None:
    tone = TONES[name]
    for ground, text in ((tone.light, tone.light_text), (tone.dark, tone.dark_text)):
        low, high = sorted([luminance(ground), luminance(text)])
        assert (high + 0.05) / (low + 0.05) >= 4.5
