"""Tables fit the terminal: no line is too wide, and no number is separated from its unit."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from offbeat.base.terminal_table import GAP, MAX_NOTES, FittedTable, limit_notes, wrap_text

WIDTHS = (80, 60)

CPP = (
    "void hydro::Solver<double, std::allocator<std::pair<int const, double> > >::exchange_halo(MPI_Comm)"
    " at halo_exchange.cpp:1180"
)
QUANTITIES = [
    "66 ns",
    "1.25 ms",
    "32 KiB",
    "99.9%",
    "+13%",
    "±1.2 µs",
    "4096",
    "12,345",
    "1.5e-07 s",
    "3 GB/s",
]


def printed(table: FittedTable, width: int) -> list[str]:
    stream = StringIO()
    Console(file=stream, width=width, highlight=False, soft_wrap=True).print(table)
    return stream.getvalue().splitlines()


def test_a_table_that_fits_is_printed_as_it_is() -> None:
    table = FittedTable(["name", "time"], [["linear", "66 ns"], ["chain", "1.2 ms"]], title="Times")
    assert printed(table, 80) == ["Times", "name      time", "linear   66 ns", "chain   1.2 ms"]


def test_cells_are_no_markup() -> None:
    assert printed(FittedTable(["name"], [["[bold]a[/bold]"]]), 80)[1] == "[bold]a[/bold]"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("p", [4, 4096])
def test_long_names_and_many_ranks_fit_without_broken_numbers(width: int, p: int) -> None:
    late = ", ".join(f"{rank}: {rank + 1} µs ({rank % 100}%)" for rank in range(p - 4, p))
    headings = ["#", "call site", "latest ranks", "p", *(f"column {number}" for number in range(10))]
    table = FittedTable(headings, [["1", CPP, late, str(p), *QUANTITIES]] * 2, texts=(1, 2), title=CPP)
    lines = printed(table, width)
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    for quantity in [*QUANTITIES, f"{p - 1}:", f"{p} µs", "1180"]:
        assert quantity in text, quantity
    assert "…" not in text


def test_columns_without_room_continue_below_the_first_column() -> None:
    table = FittedTable(["name", *"abc"], [["x", "1" * 30, "2" * 30, "3" * 30]])
    assert printed(table, 40) == [
        *("name                               a", f"x     {'1' * 30}", ""),
        *("name                               b", f"x     {'2' * 30}", ""),
        *("name                               c", f"x     {'3' * 30}"),
    ]


def test_names_break_where_their_parts_end() -> None:
    lines = [line.plain for line in wrap_lines("recursive_doubling(segment=65536)", 20)]
    assert lines == ["recursive_", "doubling(segment=", "65536)"]


def test_a_piece_that_is_too_long_keeps_its_ends() -> None:
    assert [line.plain for line in wrap_lines("abcdefghijklmnop", 9)] == ["abcd…mnop"]


def wrap_lines(text: str, width: int) -> list:
    from rich.text import Text

    return wrap_text(Text(text), width)


@settings(max_examples=60)
@given(
    width=st.integers(40, 100),
    names=st.lists(st.text("abcABC_:<>,()/. 0123456789µ×日", max_size=90), min_size=1, max_size=4),
    numbers=st.lists(st.sampled_from(QUANTITIES), min_size=1, max_size=12),
)
def test_no_line_is_longer_than_the_terminal(width: int, names: list[str], numbers: list[str]) -> None:
    cells = [*names, *numbers]
    table = FittedTable([f"h{i}" for i in range(len(cells))], [cells], texts=range(len(names)), rule=True)
    stream = StringIO()
    console = Console(file=stream, width=width, highlight=False, soft_wrap=True)
    console.print(table)
    from rich.cells import cell_len

    assert all(cell_len(line) <= width for line in stream.getvalue().splitlines())
    for number in numbers:
        assert re.search(rf"(^|\s){re.escape(number)}(\s|$)", stream.getvalue(), flags=re.MULTILINE)


def test_the_gap_parts_columns() -> None:
    assert printed(FittedTable(["a", "b"], [["1", "2"]]), 80)[1] == "1" + " " * GAP + "2"


def test_ten_notes_are_printed_unless_all_are_asked_for() -> None:
    notes = [f"note {number}" for number in range(MAX_NOTES + 3)]
    printed, rest = limit_notes([*notes, notes[0]], is_complete=False)
    assert printed == notes[:MAX_NOTES]
    assert rest == f"3 more notes: --notes prints all {MAX_NOTES + 3}"
    assert limit_notes(notes, is_complete=True) == (notes, "")
    assert limit_notes(notes[:MAX_NOTES], is_complete=False) == (notes[:MAX_NOTES], "")
