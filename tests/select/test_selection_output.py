"""The output of ``offbeat select``: complete, readable at any width, and suitable for a pipe."""

import io
import json

import msgspec
import pytest
from measured import FT_SCENARIO, MICRO_BENCHMARK, case, matrix, published, results, scattered
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from offbeat.base.json_document import encode_document
from offbeat.model.pattern.shapes import SHAPES
from offbeat.presentation.selection.details import Matrix
from offbeat.presentation.selection.text import headline, rendered, selection_table
from offbeat.selection.choices.choose import select
from offbeat.selection.choices.document import SelectionDocument, selection_document
from offbeat.selection.choices.outcome import outcome


def printed(selection, width=80, details=False, all_notes=True):
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(rendered(selection, console, details, all_notes=all_notes))
    return console.file.getvalue()


def words(text):
    return " ".join(text.split())


@pytest.fixture(scope="module")
def large():
    """40 algorithms, of which one is unproved and one the default, under 12 patterns at two sizes."""
    names = [
        f"chain(fanout={2 ** (i % 4)}, segment={1024 * i})" if i % 2 else f"algorithm{i}" for i in range(39)
    ]
    patterns = [*SHAPES, "ft_scenario", "lu_scenario"]
    rows = [
        case(
            name,
            pattern,
            1e-6 * (1 + (7 * i + 3 * j) % 41),
            bytes=size,
            pattern_kind="scenario" if pattern.endswith("scenario") else "shape",
            proof="unproved" if name == "algorithm8" else "proved",
        )
        for size in (8, 2**20)
        for i, name in enumerate([*names, "default"])
        for j, pattern in enumerate(patterns)
    ]
    return select(results(rows, scattered(rows, 0.02)), bootstrap=20)


def test_the_selection_names_configuration_winner_choice_confidence_and_slowdowns():
    text = printed(select(results(published(FT_SCENARIO))), width=120)
    (line,) = (line for line in text.splitlines() if "32 KiB  " in line)
    assert words(line) == "alltoall 1024 (32×32) 32 KiB Lin = L-Sync Pair unknown +99%"
    assert "Lin and L-Sync are equally fast under no_delay" in text


def test_a_table_too_wide_for_the_terminal_is_grouped():
    text = printed(select(results(published(FT_SCENARIO))), width=70)
    assert "alltoall, p=1024 (32×32)" in text
    assert "32 KiB Lin = L-Sync Pair unknown +99%" in words(text)


def test_messages_that_differ_only_in_their_partitions_are_distinguished_at_any_width():
    message = {"collective": "partitioned_send", "op": "", "datatype": "", "p": 2}
    rows = [
        case(name, "no_delay", seconds, bytes=size, partitions=partitions, **message)
        for size in (8, 64)
        for partitions in (4, 8)
        for name, seconds in (("single", 1.0), ("many", 2.0))
    ]
    selection = select(results(rows))
    lines = [words(line) for line in printed(selection, width=160).splitlines()]
    expected = [(partitions, size) for size in (8, 64) for partitions in (4, 8)]
    assert [line.split(" B ")[0] for line in lines if line.startswith("partitioned_send ")] == [
        f"partitioned_send {partitions} partitions, 1 thread 2 {size}" for partitions, size in expected
    ]
    headings = [
        line for line in printed(selection, width=70).splitlines() if line.startswith("partitioned_send of")
    ]
    assert headings == [f"partitioned_send of {n} partitions, 1 thread, p=2" for n in (4, 8)]


def test_configurations_that_differ_only_in_operation_or_library_are_distinguished():
    rows = [case("a", "no_delay", 1.0, op=op, library=lib) for op in ("sum", "max") for lib in ("X 1", "Y 2")]
    lines = [
        words(line) for line in printed(select(results(rows)), width=120).splitlines() if " 8 B " in line
    ]
    assert [line.split(" 4 8 B")[0] for line in lines] == [
        "X 1 reduce max double root 0",
        "X 1 reduce sum double root 0",
        "Y 2 reduce max double root 0",
        "Y 2 reduce sum double root 0",
    ]


def test_a_barrier_has_no_size():
    text = printed(select(results([case("a", "no_delay", 1.0, collective="barrier", bytes=0)])))
    assert "0 B" not in text
    assert "barrier on p=4" in text


def test_details_show_delays_winners_robustness_and_relative_delays():
    text = words(printed(select(results(published(FT_SCENARIO))), details=True))
    assert "no_delay 109 ✓ 113 ✓ 509 109 ✓" in text
    assert "no_delay Lin L-Sync, Pair" in text
    assert "ascending +11.1 ▲ +3.08 ▲ +0.49 ▲ +11.1 ▲" in text
    robustness = text[text.index("Robustness") : text.index("d̂ relative")]
    assert "no_delay" not in robustness.replace("under no_delay", "")
    assert "ascending 2.87 (1322) 1.00 (461) 1.64 (757) 2.87 (1322)" in text
    assert "average without scenarios 2.003 1.005 2.033 2.052" in text
    assert "average with scenarios 1.967 1.005 1.967 2.009" in text
    assert "Last delay d̂ in ms" in text
    assert "▸Pair" in text


def test_robustness_is_shown_by_sign_and_mark_without_colour():
    text = words(printed(select(results(published(MICRO_BENCHMARK)), collectives=["reduce"]), details=True))
    assert "last_delayed -0.53 ▼ +0.12 = +0.02 = -0.08 = +0.00 = -0.67 ▼ -0.53 ▼" in text


@pytest.mark.parametrize("width", [60, 80, 200])
def test_forty_algorithms_under_twelve_patterns_fit_every_width_uncut(large, width):
    text = printed(large, width, details=True)
    assert max(len(line) for line in text.splitlines()) <= width + text.count(
        "\N{COMBINING CIRCUMFLEX ACCENT}"
    )
    assert "…" not in text
    flat = words(text)
    for pattern in large.tables[large.choices[0].configuration].patterns:
        assert pattern in flat


def test_references_are_marked_and_explained(large):
    text = printed(large, details=True)
    assert "default†" in text
    assert "algorithm8†" in text
    assert "† for reference, never selected" in text
    assert "every configuration: shown but never selected: algorithm8 (not proved to have run)." in words(
        text
    )


def test_gaps_and_rough_medians_are_marked_and_explained():
    rows = matrix({"no_delay": {"a": 1.0, "b": 2.0}, "random": {"a": 1.0}})
    rows.append(case("b", "ascending", 1.0, status="incomplete"))
    text = words(printed(select(results([*rows, case("a", "ascending", 1.0)])), details=True))
    assert "random 1.00 ✓ –" in text
    assert "1.00* ✓" in text
    assert "* too few valid repetitions; – not measured" in text


def test_a_matrix_is_transposed_only_if_that_takes_fewer_tables():
    rows = matrix(
        {"no_delay": {f"a{i:02}": 1.0 for i in range(30)}, "random": {f"a{i:02}": 1.0 for i in range(30)}}
    )
    narrow, wide = (printed(select(results(rows)), width, details=True) for width in (80, 400))
    assert "algorithm no_delay random ▸a00" in words(narrow.replace("─", ""))
    assert "pattern ▸a00 a01 a02" in words(wide)


def test_blocks_of_columns_hold_every_column_once():
    columns = [Text("c" * (i % 20 + 1)) for i in range(50)]
    matrix = Matrix("", [Text("row")], columns, [[Text("x" * (i % 7)) for i in range(50)]])
    for width in (1, 10, 40, 1000):
        assert [j for block in matrix.blocks(width) for j in block] == list(range(50))


def test_the_same_warning_in_many_configurations_is_printed_once():
    rows = [row for size in (1, 2, 4, 8, 16) for row in matrix({"random": {"a": 1.0, "b": 2.0}}, bytes=size)]
    text = words(printed(select(results(rows))))
    assert text.count("no_delay was not measured") == 1
    assert "every configuration: no_delay was not measured" in text


def test_details_of_a_size_fit_on_one_screen(large):
    without = printed(large, all_notes=False).splitlines()
    detailed = printed(large, details=True, all_notes=False).splitlines()
    assert len(detailed) - len(without) <= 2 * 24
    text = words(" ".join(detailed))
    for choice in large.choices:
        assert choice.algorithm.split("(")[0] in text
    assert "36 more algorithms: --notes" in text


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_the_selection_is_one_table_at_any_width(large, width):
    rows = [
        row
        for collective in ("reduce", "allreduce", "alltoall")
        for p in (4, 16, 64)
        for size in (8, 2**16)
        for row in matrix(
            {
                "no_delay": {"recursive_doubling": 1.0, "in_order_binary": 1.1},
                "random": {"in_order_binary": 1.0},
            },
            collective=collective,
            p=p,
            bytes=size,
        )
    ]
    for selection in (large, select(results(rows))):
        lines = printed(selection, width, all_notes=False).splitlines()
        assert sum("winner" in line for line in lines) == 1
        assert max(map(cell_len, lines)) <= width


def test_exact_results_have_no_columns_of_confidence():
    rows = matrix({"no_delay": {"a": 1.0, "b": 2.0}, "random": {"a": 3.0, "b": 1.0}}, engine="sim")
    exact = results(rows)
    exact.provenance["deterministic"] = True
    assert "same" not in printed(select(exact), all_notes=False)
    assert "unknown" in printed(select(results(rows)), all_notes=False)


@pytest.mark.parametrize("notes", [0, 1, 3, 40])
@pytest.mark.parametrize("width", [60, 80, 200])
def test_at_most_five_lines_are_below_the_table(notes, width):
    measured = results(matrix({"no_delay": {"a": 1.0, "b": 2.0}}))
    measured.notes += [
        f"{number} cases are left out, because {'of this ' * number}reason" for number in range(notes)
    ]
    selection = select(measured)
    console = Console(file=io.StringIO(), width=width, highlight=False)
    answer = (outcome(selection.choices), headline(selection))
    console.print(*answer, "", selection_table(selection, width), "", sep="\n")
    above = console.file.getvalue().splitlines()
    lines = printed(selection, width, all_notes=False).splitlines()
    assert 1 <= len(lines) - len(above) <= 5
    assert lines[-1].endswith("--notes")


def test_the_answer_is_the_first_sentence():
    measured = results(matrix({"no_delay": {"a": 1.0, "b": 1.1}, "random": {"a": 3.0, "b": 1.0}}))
    assert words(printed(select(measured))).startswith(
        "In the only configuration the algorithm that is fastest without delays is not the one that stays"
        " good when processes arrive apart. There a scores 90% worse than b."
    )


def test_records_excluded_when_reading_are_reported():
    measured = results(matrix({"no_delay": {"a": 1.0}}))
    measured.notes.append("2 cases are left out")
    assert "2 cases are left out" in printed(select(measured))


def test_left_out_configurations_are_listed_with_the_reason():
    rows = [*matrix({"no_delay": {"a": 1.0}}), case("guess", "no_delay", 1.0, bytes=16, proof="unproved")]
    text = words(printed(select(results(rows))))
    assert "reduce of 16 B on p=4: nothing selected: no algorithm is proved to have run" in text


def test_the_json_document_holds_the_whole_selection_and_reads_back(large):
    raw = encode_document(selection_document(large))
    plain = json.loads(raw)
    assert (plain["rule"], plain["within"], plain["seed"], plain["bootstrap"]) == ("average", 0.05, 1, 20)
    assert [configuration["choice"]["algorithm"] for configuration in plain["configurations"]] == [
        c.algorithm for c in large.choices
    ]
    row = plain["configurations"][0]["patterns"][0]
    assert (row["pattern"], row["kind"], len(row["delays"])) == ("no_delay", "shape", 40)
    assert row["winner"] == plain["configurations"][0]["choice"]["no_delay_winner"]
    assert set(row["delays"][0]) == {
        "algorithm",
        "candidate",
        "last_delay_s",
        "low_s",
        "high_s",
        "normalised",
        "robustness",
        "robustness_class",
        "good",
    }
    assert msgspec.json.decode(raw, type=SelectionDocument) == selection_document(large)


def test_numbers_that_do_not_exist_are_null_in_json():
    rows = [*matrix({"random": {"a": 1.0, "b": 2.0}}), case("b", "ascending", 1.0)]
    plain = json.loads(encode_document(selection_document(select(results(rows)))))
    choice = plain["configurations"][0]["choice"]
    assert (choice["confidence"], choice["cost_of_default"], choice["no_delay_winner"]) == (None, None, None)
    gap = plain["configurations"][0]["patterns"][0]["delays"][0]
    assert (gap["last_delay_s"], gap["normalised"], gap["robustness"], gap["good"]) == (
        None,
        None,
        None,
        False,
    )


def test_the_same_results_give_the_same_bytes():
    rows = matrix({"no_delay": {"a": 1.0, "b": 1.01}})
    samples = scattered(rows, 0.1)
    first, second = (encode_document(selection_document(select(results(rows, samples)))) for _ in range(2))
    assert first == second
