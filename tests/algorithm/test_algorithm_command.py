"""``offbeat algorithm``: list, show and check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from captured_command import invoke
from typer.testing import CliRunner, Result

from offbeat.base.errors import BadInput, RunFailed
from offbeat.cli.algorithm import app

OWN = Path(__file__).with_name("own_algorithms.py")


def run(*arguments: Any) -> Result:
    return invoke(app, *arguments)


def test_list_shows_collective_family_and_parameters() -> None:
    text = run("list", "bcast", "--family", "openmpi").stdout
    row = next(line for line in text.splitlines() if " chain " in line)
    assert row.split() == ["chain", "segment=0,", "fanout=4"]
    assert "mpich" not in text


def test_list_as_json_has_every_algorithm() -> None:
    entries = json.loads(run("list", "--json", "-").stdout)["algorithms"]
    assert {entry["family"] for entry in entries} == {"openmpi", "mpich", "simgrid"}
    assert len({entry["collective"] for entry in entries}) == 12
    chain = next(entry for entry in entries if (entry["collective"], entry["name"]) == ("bcast", "chain"))
    assert chain["parameters"]["fanout"] == {"default": 4, "smallest": 1}


def test_list_of_an_unknown_collective_is_refused() -> None:
    with pytest.raises(BadInput, match="'reduse' is not a collective"):
        run("list", "reduse")


def test_show_draws_messages_and_exits_and_a_picture(tmp_path: Path) -> None:
    out = tmp_path / "out.svg"
    text = run("show", "reduce/binomial", "--pattern", "last_delayed", "--skew", "50 us", "-o", out).stdout
    assert "7 messages of 7 KiB in all in 3 rounds" in text
    assert "last_delayed with a skew of 50 µs on the platform paper: last delay" in text
    assert out.read_text().startswith("<?xml")


def test_show_uses_the_time_without_delays_as_the_skew_by_default() -> None:
    document = json.loads(run("show", "reduce/binomial", "--pattern", "no_delay", "--json", "-").stdout)
    late = json.loads(run("show", "reduce/binomial", "--pattern", "ascending", "--json", "-").stdout)
    assert max(late["exits"]["arrivals_s"]) == pytest.approx(document["exits"]["last_delay_s"])


def test_show_places_ranks_as_requested() -> None:
    document = json.loads(run("show", "reduce/binomial", "--p", 6, "--ppn", 2, "--json", "-").stdout)
    assert document["call"]["node_of_rank"] == [0, 0, 1, 1, 2, 2]
    with pytest.raises(BadInput, match="p = 8 ranks don't fill 3 nodes"):
        run("show", "reduce/binomial", "--ppn", 3)


def test_show_of_a_barrier_has_no_size() -> None:
    text = run("show", "barrier/tree", "--p", 4).stdout
    assert text.splitlines()[0].startswith("barrier/tree (openmpi), p = 4: ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--root", 8], "--root 8 is no rank of p = 8"),
        (["--size", "10 B", "--element", "4 B"], "10 B are not a whole number of elements of 4 B"),
        (["--skew", "1 ms"], "name the shape with --pattern"),
        (["--pattern", "zigzag"], "neither a pattern file nor a shape"),
        (["--platform", "mars"], "mars"),
        (["--p", 100_000], "at most 1024 processes"),
    ],
)
def test_show_refuses_options_that_contradict_each_other(options: list[Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        run("show", "reduce/binomial", *options)


def test_show_refuses_a_root_where_there_is_none() -> None:
    with pytest.raises(BadInput, match="allreduce has no root"):
        run("show", "allreduce/ring", "--root", 1)


def test_show_refuses_a_pattern_of_another_p(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("0\n0.001\n")
    with pytest.raises(BadInput, match="is a pattern for 2 ranks, not for p = 8"):
        run("show", "reduce/binomial", "--pattern", path)


def test_show_times_an_algorithm_that_is_written_in_python() -> None:
    options = ["--collective", "bcast", "--pattern", "no_delay", "--p", 5, "--json", "-"]
    document = json.loads(run("show", f"{OWN}:chain", *options).stdout)
    exits = document["exits"]["exits_s"]
    assert exits == sorted(exits)
    assert exits[-1] > 0


def test_check_says_what_was_proved() -> None:
    text = run("check", "reduce/in_order_binary", "--p", "1-9,16").stdout
    row = text.splitlines()[1].split()
    assert row[:2] == ["reduce/in_order_binary", "(openmpi)"]
    assert "always" in row
    assert "are right." in text
    assert "no rank waits for ever" in " ".join(text.split())


def test_check_as_json_counts_calls() -> None:
    document = json.loads(run("check", "alltoall/two_proc", "--p", "2,3", "--json", "-").stdout)
    (outcome,) = document["algorithms"]
    assert (outcome["proved"], outcome["refused"]) == (6, 7)  # counts 0 1 2 3 17 1000, and 4 at p = 3
    assert outcome["refusals"][0]["call"]["sentence"] == "two_proc is for 2 ranks, not for 3"
    assert outcome["p"] == [2, 3]


def test_check_of_a_collective_takes_all_of_its_algorithms() -> None:
    document = json.loads(run("check", "exscan", "--p", "5", "--family", "openmpi", "--json", "-").stdout)
    outcomes = document["algorithms"]
    assert [outcome["title"] for outcome in outcomes] == [
        "exscan/linear (openmpi)",
        "exscan/recursive_doubling (openmpi)",
    ]


def test_check_finds_wrong_algorithms_and_exits_with_a_failure() -> None:
    result = CliRunner().invoke(app, ["check", f"{OWN}:chain", "--collective", "bcast", "--p", "4"])
    assert isinstance(result.exception, RunFailed)
    assert "bcast/own_algorithms.py:chain at p = 4, root 1, 1 element: " in result.stdout
    assert "1 algorithm is wrong in some call" in str(result.exception)


def test_check_proves_an_algorithm_that_is_written_in_python() -> None:
    text = run("check", f"{OWN}:tree", "--collective", "reduce", "--p", "1-16").stdout
    assert "when needed" in text
    assert "were refused by the algorithms themselves" in text


@pytest.mark.parametrize("text", [" ", "a", "0", "5-2", "1-", "3,,4", "1-1000000"])
def test_check_refuses_an_invalid_range_of_p(text: str) -> None:
    with pytest.raises(BadInput, match="--p: "):
        run("check", "reduce/binomial", "--p", text)


def test_a_check_that_needs_too_much_memory_is_refused_before_it_allocates() -> None:
    with pytest.raises(
        RunFailed, match=r"alltoall/linear \(openmpi\) at p = 20000: the programs of 20000 ranks"
    ):
        run("check", "alltoall/linear", "--p", "20000")
