"""offbeat reproduce figure4: the study, the maps and the paper's claims."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from offbeat.base.errors import BadInput
from offbeat.measurement.results.read import Results, read_study
from offbeat.measurement.results.schema import CASES, REPETITIONS, polars_schema
from offbeat.model.study.case_expansion import groups, pattern_rows
from offbeat.presentation.reproduction import claims, figure4
from offbeat.presentation.reproduction.maps import Map, Square, algorithms_of, map_figure, maps

pytestmark = pytest.mark.slow

WORDS = [sys.executable, "-m", "offbeat", "reproduce", "figure4", "--p", "64"]


def selected_part(**options) -> figure4.Part:
    lists = {name: options.get(name, []) for name in ("collectives", "factors", "sizes", "algorithms")}
    return figure4.selected_part(**lists, platform=options.get("platform", "paper"), p=options.get("p", 1024))


def run(*arguments, folder):
    return subprocess.run(
        [*WORDS, *arguments], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figure")
    options = (
        "--collective",
        "reduce",
        "--factor",
        "1.5",
        "--factor",
        "0.5",
        "--size",
        "2 B",
        "--size",
        "64 KiB",
    )
    done = run(*options, folder=folder)
    assert done.returncode == 0, done.stderr
    return folder, options, done.stdout


def test_the_whole_figure_is_what_the_paper_describes():
    study = figure4.study(selected_part())
    asked = groups(study)
    assert {group.collective for group in asked} == {"reduce", "allreduce", "alltoall"}
    assert sorted({group.bytes for group in asked}) == [2**n for n in range(1, 21)]
    assert {group.p for group in asked} == {1024}
    assert len(pattern_rows(study, groups(study)[0])) == 1 + 8 * 3
    assert study.simulator.family == "simgrid"


def test_a_part_of_the_figure_can_be_requested():
    part = selected_part(
        collectives=["reduce", "alltoall"], sizes=["2 B"], algorithms=["bruck"], factors=[1.0]
    )
    study = figure4.study(part)
    assert [section.algorithms for section in study.collective] == [["all"], ["bruck"]]
    assert study.skew.factors == [1.0]


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ({"collectives": ["bcast"]}, "--collective bcast: figure 4 shows reduce, allreduce, alltoall"),
        ({"sizes": ["2 XB"]}, "--size 2 XB: .*unit of size"),
        ({"sizes": ["0"]}, "--size 0: a message has 1 byte or more"),
        ({"factors": [0.0]}, "--factor 0: a skew factor is a number above 0"),
        ({"algorithms": ["brook"]}, "--algorithm brook: .*did you mean 'bruck'"),
    ],
)
def test_unknown_names_are_refused(message, sentence):
    with pytest.raises(BadInput, match=sentence):
        selected_part(**message)


def test_the_figure_is_an_ordinary_study_with_a_map_for_each_factor(simulated):
    folder, _, out = simulated
    results = read_study(folder / "figure4")
    assert set(results.cases["library"]) == {"sim-simgrid on paper"}
    assert {path.name for path in (folder / "figure4" / "maps").glob("*.png")} == {
        "reduce-0.5.png",
        "reduce-1.5.png",
    }
    assert "figure4/maps/reduce-1.5.png" in out
    assert "Reduce when the last rank is delayed: ompi_in_order_binary is best." in out


def test_the_same_command_again_simulates_nothing_and_says_the_same(simulated):
    folder, options, out = simulated
    before = (folder / "figure4" / "cases.jsonl").read_bytes()
    again = run(*options, folder=folder)
    assert again.stdout == out
    assert "0 of" in again.stderr
    assert (folder / "figure4" / "cases.jsonl").read_bytes() == before


def test_another_part_is_refused_in_the_same_directory(simulated):
    folder, _, _ = simulated
    done = run("--collective", "reduce", "--size", "4 B", folder=folder)
    assert done.returncode == 2
    assert "give another directory with --output" in done.stderr


def test_numbers_of_a_map_are_those_of_the_results(simulated):
    folder, _, _ = simulated
    results = read_study(folder / "figure4")
    (low, high) = maps(results)
    assert (low.factor, high.factor) == (0.5, 1.5)
    for one in (low, high):
        for (shape, size), square in one.squares.items():
            label = shape if shape == "no_delay" else f"{shape}×{one.factor}"
            row = results.cases.filter((pl.col("pattern") == label) & (pl.col("bytes") == size))
            delays = dict(row.select("algorithm", "last_delay_s").iter_rows())
            assert square.last_delay_s == min(delays.values()) == delays[square.algorithm]
            assert square.ratio == pytest.approx(square.last_delay_s / delays[one.winners[size]])
            assert square.ratio <= 1


def made_results(rows):
    """Cases of one collective: (algorithm, pattern, d̂ in seconds)."""
    table = []
    for number, (algorithm, pattern, last_delay_s) in enumerate(rows):
        row: dict[str, object] = dict.fromkeys(CASES, "")
        row |= {name: 0 for name, (kind, _) in CASES.items() if kind is pl.Int64}
        row |= {name: 0.0 for name, (kind, _) in CASES.items() if kind is pl.Float64}
        still = pattern == "no_delay"
        row |= {"case": str(number), "collective": "reduce", "algorithm": algorithm, "pattern": pattern}
        row |= {
            "shape": pattern,
            "skew_policy": "none" if still else "mean",
            "skew_factor": 0.0 if still else 1.5,
        }
        row |= {"p": 8, "bytes": 2, "status": "measured", "proof": "proved", "last_delay_s": last_delay_s}
        row |= {"pattern_kind": "shape"}
        table.append(row)
    return Results(
        directory=Path(),
        study={},
        provenance={"deterministic": True},
        cases=pl.DataFrame(table, schema=polars_schema(CASES)),
        repetitions=pl.DataFrame(schema=polars_schema(REPETITIONS)),
        algorithms=[],
        verdicts=[],
    )


def test_last_delays_of_zero_are_compared_without_division_by_zero():
    rows = [("a", "no_delay", 0.0), ("b", "no_delay", 1e-6), ("a", "random", 2e-6), ("b", "random", 0.0)]
    (one,) = maps(made_results(rows))
    assert one.winners == {2: "a"}
    assert one.squares["no_delay", 2].ratio == 1
    assert one.squares["random", 2].algorithm == "b"
    assert 0 < one.squares["random", 2].ratio == pytest.approx(1e-9 / 2e-6)


def test_the_no_delay_winner_stays_the_best_among_equals():
    rows = [("a", "no_delay", 2e-6), ("b", "no_delay", 1e-6), ("a", "random", 3e-6), ("b", "random", 3e-6)]
    (one,) = maps(made_results(rows))
    assert one.squares["random", 2].algorithm == "b"
    assert one.changed() == 0.0


def test_a_map_names_every_algorithm_that_is_best_somewhere(simulated):
    folder, _, _ = simulated
    every = maps(read_study(folder / "figure4"))
    for one in every:
        figure = map_figure(one, algorithms_of(every, "reduce"), "sim-simgrid on paper")
        texts = {text.get_text() for text in figure.axes[0].texts}
        assert {square.algorithm for square in one.squares.values()} <= texts
        assert set(one.shapes) <= texts
        width, height = figure.get_size_inches()
        for text in figure.axes[0].texts:
            x, y = text.get_position()
            assert 0 <= x <= width and 0 <= y <= height


def reduce_map(best, ratio=0.27):
    """A map in which ``best`` gives the best algorithm of each (shape, size)."""
    shapes, sizes = ["ascending", "last_delayed", "no_delay"], [2, 64, 1024]
    squares = {
        (shape, size): Square(algorithm=best(shape, size), last_delay_s=8e-6, ratio=ratio)
        for shape in shapes
        for size in sizes
    }
    winners = {size: best("no_delay", size) for size in sizes}
    return Map(
        collective="reduce", factor=1.5, p=8, shapes=shapes, sizes=sizes, squares=squares, winners=winners
    )


def as_the_paper(shape, size):
    if shape == "last_delayed":
        return "ompi_in_order_binary"
    return "ompi_binomial" if size <= 256 else "scatter_gather"


def test_claims_that_hold_are_confirmed():
    lines = claims.sentences([reduce_map(as_the_paper)], [])
    assert len(lines) == 4
    assert all(line.endswith("holds.") and "does not" not in line for line in lines)


def test_claims_that_do_not_hold_are_checked_again_among_the_papers_algorithms():
    everything = reduce_map(lambda shape, size: "mvapich2_knomial", ratio=1.0)
    lines = claims.sentences([everything], [reduce_map(as_the_paper)])
    assert all("does not hold" in line and "the paper names" in line for line in lines)
    assert all(line.endswith(": holds.") for line in lines)


def test_a_claim_that_fails_among_the_papers_algorithms_too_is_explained():
    always_binomial = reduce_map(lambda shape, size: "ompi_binomial")
    lines = claims.sentences([always_binomial], [always_binomial])
    assert lines[1].endswith(claims.CROSSING)
    assert not lines[0].endswith(claims.CROSSING)


def test_claims_about_another_factor_are_not_made():
    import msgspec

    other = msgspec.structs.replace(reduce_map(as_the_paper), factor=0.5)
    assert claims.sentences([other], []) == []
