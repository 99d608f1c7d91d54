"""Choices: what is selected, what it is compared with, and the caveats."""

import pytest
from measured import case, matrix, results

from offbeat.base.errors import BadInput
from offbeat.model.study.algorithm import Verdict, WrongCall
from offbeat.selection.choices.choose import choose, select

ROWS = matrix(
    {
        "no_delay": {"lin": 1.0, "pair": 1.04, "bruck": 4.0, "default": 1.0},
        "ascending": {"lin": 2.8, "pair": 1.0, "bruck": 1.6, "default": 2.8},
        "random": {"lin": 2.0, "pair": 1.0, "bruck": 1.04, "default": 2.0},
    }
) + matrix({"ft": {"lin": 2.0, "pair": 1.5, "bruck": 1.0}}, pattern_kind="scenario")


def only(*args, **options):
    (choice,) = choose(*args, **options)
    return choice


def test_the_choice_stays_good_where_the_no_delay_winner_does_not():
    choice = only(results(ROWS))
    assert (choice.algorithm, choice.no_delay_winner) == ("pair", "lin")
    assert choice.winners == {"no_delay": "lin", "ascending": "pair", "random": "pair", "ft": "bruck"}
    assert choice.good == {
        "no_delay": ["lin", "pair"],
        "ascending": ["pair"],
        "random": ["pair", "bruck"],
        "ft": ["bruck"],
    }


def test_costs_say_how_much_worse_the_no_delay_winner_and_the_default_score():
    choice = only(results(ROWS))
    best = (1.04 + 1 + 1) / 3
    assert choice.cost_of_no_delay_winner == pytest.approx((1 + 2.8 + 2) / 3 / best - 1)
    assert choice.cost_of_default == pytest.approx((1 + 2.8 + 2) / 3 / best - 1)


def test_a_better_default_has_a_negative_slowdown():
    rows = matrix({"no_delay": {"a": 1.0, "b": 2.0, "default": 0.8}})
    choice = only(results(rows))
    assert choice.algorithm == "a"
    assert choice.cost_of_default == pytest.approx(-0.2)
    assert "default" not in choice.scores


def test_the_default_is_never_selected_and_never_wins_a_pattern():
    choice = only(results(matrix({"no_delay": {"a": 2.0, "default": 1.0}})))
    assert (choice.algorithm, choice.winners, choice.good) == ("a", {"no_delay": "a"}, {"no_delay": ["a"]})


def test_a_default_that_was_not_measured_under_every_pattern_has_no_cost():
    rows = [row for row in ROWS if (row["algorithm"], row["pattern"]) != ("default", "random")]
    assert only(results(rows)).cost_of_default is None


def test_a_scenario_rule_chooses_the_fastest_of_that_scenario():
    choice = only(results(ROWS), "scenario:ft")
    assert (choice.algorithm, choice.rule) == ("bruck", "scenario:ft")
    assert choice.cost_of_no_delay_winner == pytest.approx(1.0)
    assert choice.cost_of_default is None


def test_the_no_delay_winner_has_no_slowdown_under_its_own_rule():
    choice = only(results(ROWS), "no_delay")
    assert choice.algorithm == choice.no_delay_winner == "lin"
    assert choice.cost_of_no_delay_winner == 0


def test_including_scenarios_can_change_the_choice():
    rows = matrix({"no_delay": {"a": 1.0, "b": 1.2}}) + matrix(
        {"app": {"a": 9.0, "b": 1.0}}, pattern_kind="scenario"
    )
    assert only(results(rows)).algorithm == "a"
    assert only(results(rows), include_scenarios=True).algorithm == "b"


def test_an_unproved_algorithm_is_shown_with_its_score_but_never_selected():
    rows = [
        *ROWS,
        *(case("guess", pattern, 0.5, proof="unproved") for pattern in ("no_delay", "ascending", "random")),
    ]
    choice = only(results(rows))
    assert choice.algorithm == "pair"
    assert choice.reference_scores["guess"] < 1
    assert any("guess (not proved to have run)" in warning for warning in choice.warnings)


@pytest.mark.parametrize("status", ["wrong", "fell_back", "refused", "quarantined", "unproved"])
def test_an_algorithm_with_an_excluding_verdict_is_never_selected(status):
    verdict = Verdict(collective="reduce", algorithm="pair", p=4, bytes=8, status=status)
    choice = only(results(ROWS, verdicts=[verdict]))
    assert choice.algorithm == "lin"
    assert "pair" not in [*choice.winners.values(), *choice.scores]


def test_a_choice_that_is_wrong_for_a_legal_call_says_that_it_is_not_exported():
    verdict = Verdict(
        collective="reduce", algorithm="pair", p=4, bytes=8, status="proved", commutative_only=True
    )
    choice = only(results(ROWS, verdicts=[verdict]))
    assert choice.algorithm == "pair"
    (warning,) = [one for one in choice.warnings if "export" in one]
    assert "wrong for operations that are not commutative" in warning
    assert "unless --allow-wrong-results noncommutative is given" in warning


def test_wrong_calls_of_processes_that_the_choice_does_not_cover_are_not_reported():
    wrong = WrongCall(kind="communicators", p=3, call="MPI_Reduce on 3 processes", result="it hangs")
    verdict = Verdict(
        collective="reduce", algorithm="pair", p=4, bytes=8, status="proved", wrong_calls=[wrong]
    )
    assert not any("export" in one for one in only(results(ROWS, verdicts=[verdict])).warnings)


def test_an_algorithm_with_a_gap_is_left_out_with_the_pattern_and_the_reason():
    rows = [row for row in ROWS if (row["algorithm"], row["pattern"]) != ("pair", "random")]
    rows.append(case("pair", "random", None, status="quarantined", reason="hung for 60 s"))
    choice = only(results(rows))
    assert choice.algorithm == "lin"
    assert "pair is not compared: it was not measured under random (hung for 60 s)." in choice.warnings


def test_a_choice_without_a_rival_gets_a_caveat():
    choice = only(results(matrix({"no_delay": {"a": 1.0}, "random": {"a": 1.0}})))
    assert choice.warnings[0] == "a is the only algorithm that could be compared."


def test_a_no_delay_winner_that_cannot_be_compared_has_no_cost():
    rows = [row for row in ROWS if (row["algorithm"], row["pattern"]) != ("lin", "random")]
    choice = only(results(rows))
    assert (choice.no_delay_winner, choice.cost_of_no_delay_winner) == ("lin", None)


def test_equal_scores_are_named_and_the_first_by_name_is_chosen():
    rows = matrix({"no_delay": {"b": 1.0, "a": 1.0, "c": 1.03}, "random": {"b": 1.0, "a": 1.0, "c": 1.03}})
    choice = only(results(rows))
    assert (choice.algorithm, choice.tied, choice.alternatives) == ("a", ["b"], ["b", "c"])
    assert (choice.no_delay_winner, choice.no_delay_tied) == ("a", ["b"])
    assert any("a and b have equal scores by average" in warning for warning in choice.warnings)


def test_the_share_that_counts_as_good_is_the_users():
    choice = only(results(ROWS), within=0.5)
    assert choice.good["ft"] == ["bruck", "pair"]
    with pytest.raises(BadInput, match="0 or more"):
        choose(results(ROWS), within=-0.1)
    with pytest.raises(BadInput, match="0 or more"):
        choose(results(ROWS), within=float("nan"))


def test_a_median_of_too_few_repetitions_gets_a_caveat():
    rows = [*matrix({"no_delay": {"a": 1.0, "b": 2.0}}), case("a", "random", 1.0, status="incomplete")]
    choice = only(results([*rows, case("b", "random", 2.0)]))
    assert any("too few repetitions or blocks of a under random" in warning for warning in choice.warnings)


def test_delays_below_the_clocks_resolution_get_a_caveat():
    choice = only(results(matrix({"no_delay": {"a": 0.0, "b": 1e-6}})))
    assert any("no_delay are below the clock's 1 ns" in warning for warning in choice.warnings)


def test_results_without_no_delay_still_give_a_choice():
    choice = only(results(matrix({"random": {"a": 2.0, "b": 1.0}})))
    assert (choice.algorithm, choice.no_delay_winner, choice.cost_of_no_delay_winner) == ("b", None, None)
    assert any("no_delay was not measured" in warning for warning in choice.warnings)


def test_a_choice_from_no_delay_alone_gets_a_caveat():
    choice = only(results(matrix({"no_delay": {"a": 2.0, "b": 1.0}})))
    assert any("its robustness is unknown" in warning for warning in choice.warnings)


def test_an_unknown_scenario_is_refused_with_the_known_ones():
    with pytest.raises(BadInput, match=r"'lu' was not measured; the scenarios are ft\."):
        choose(results(ROWS), "scenario:lu")
    with pytest.raises(BadInput, match="hold no scenario"):
        choose(results(ROWS[:3]), "scenario:lu")


def test_a_shape_is_not_a_scenario():
    with pytest.raises(BadInput, match="'random' was not measured"):
        choose(results(ROWS), "scenario:random")


def test_a_configuration_without_the_scenario_is_left_out_with_the_reason():
    elsewhere = matrix({"no_delay": {"a": 1.0}}, bytes=1024)
    selection = select(results(ROWS + elsewhere), "scenario:ft")
    assert [choice.configuration.bytes for choice in selection.choices] == [8]
    assert [(left.configuration.bytes, left.reason) for left in selection.left_out] == [
        (1024, "scenario 'ft' was not measured in this configuration.")
    ]


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([case("a", "no_delay", 1.0, proof="unproved")], "no algorithm is proved to have run"),
        ([case("default", "no_delay", 1.0)], "no algorithm is proved to have run"),
        ([case("a", "ft", 1.0, pattern_kind="scenario")], "--include-scenarios"),
        (
            [case("a", "no_delay", 1.0), case("b", "random", 1.0)],
            "under all of the patterns no_delay, random",
        ),
    ],
)
def test_a_configuration_in_which_nothing_can_be_selected_says_why(rows, reason):
    selection = select(results(rows))
    assert selection.choices == []
    assert reason in selection.left_out[0].reason


def test_only_the_requested_collectives_are_selected():
    more = matrix({"no_delay": {"a": 1.0}}, collective="bcast")
    selection = select(results(ROWS + more), collectives=["bcast"])
    assert [choice.configuration.collective for choice in selection.choices] == ["bcast"]
    with pytest.raises(BadInput, match="'scan' was not measured; these results hold bcast, reduce"):
        select(results(ROWS + more), collectives=["scan"])


def test_every_configuration_gets_its_own_choice():
    large = matrix({"no_delay": {"lin": 9.0, "pair": 9.0, "bruck": 1.0}}, bytes=1024)
    assert [choice.algorithm for choice in choose(results(large + ROWS))] == ["pair", "bruck"]


def test_messages_of_different_partitions_and_threads_are_chosen_for_apart() -> None:
    send = {"collective": "partitioned_send", "op": "", "datatype": "", "p": 2, "bytes": 4096}
    early = {"no_delay": {"single": 2e-6, "many": 5e-6}, "last_delayed": {"single": 2e-6, "many": 3e-6}}
    late = {"no_delay": {"single": 9e-6, "many": 5e-6}, "last_delayed": {"single": 9e-6, "many": 3e-6}}
    rows = matrix(early, **send, partitions=4) + matrix(late, **send, partitions=4, threads=2)
    choices = choose(results(rows))
    assert {(one.configuration.division, one.algorithm) for one in choices} == {
        ("4 partitions, 1 thread", "single"),
        ("4 partitions, 2 threads", "many"),
    }
    assert "partitioned_send of 4 KiB in 4 partitions, 2 threads on p=2" in map(
        str, (one.configuration for one in choices)
    )
