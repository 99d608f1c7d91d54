"""What was seen to run, as text that can be compared."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.study import evidence

MESSAGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 10**9)), max_size=30)


def observed(messages, functions=""):
    return evidence.from_observation(functions, messages)


@given(MESSAGES, st.randoms())
def test_the_order_of_messages_does_not_matter(messages, chance):
    shuffled = list(messages)
    chance.shuffle(shuffled)
    assert observed(messages) == observed(shuffled)


@given(MESSAGES, MESSAGES)
def test_equal_messages_are_the_same_identity_and_others_are_not(one, other):
    same = evidence.identity(observed(one)) == evidence.identity(observed(other))
    assert same == (sorted(one) == sorted(other))


@given(MESSAGES.filter(bool))
def test_the_identity_of_messages_is_their_digest_alone(messages):
    shown = observed(messages)
    identity = evidence.identity(shown)
    assert identity.startswith("messages:")
    assert " " not in identity
    assert shown.startswith(identity)
    assert not evidence.shows_identity(shown)
    assert not evidence.is_fingerprint(shown)


def test_messages_are_shown_with_their_number_and_bytes():
    shown = observed([(1, 0, 8), (3, 2, 8), (1, 0, 8), (2, 0, 16)])
    assert shown.split(" ", 1)[1] == "4 messages, 40 B: 1>0:8B×2 2>0:16B 3>2:8B"
    assert evidence.short(shown) == "4 messages, 40 B"


def test_many_messages_are_cut_short_and_none_ends_in_no_colon():
    many = observed([(rank, 0, 8) for rank in range(1, 40)])
    assert many.endswith(" …")
    assert len(many) < 200
    assert observed([]) == ""


def test_functions_are_the_strongest_evidence():
    shown = observed([(1, 0, 8)], "ompi_coll_base_reduce_intra_chain other")
    messages = observed([(1, 0, 8)])
    assert shown == f"functions:ompi_coll_base_reduce_intra_chain other; {messages}"
    assert evidence.functions(shown) == ["ompi_coll_base_reduce_intra_chain", "other"]
    assert evidence.kind(shown) == evidence.FUNCTIONS
    assert evidence.part(shown, evidence.MESSAGES) == messages
    assert evidence.part(shown, evidence.LATE) == ""
    late = evidence.with_fingerprint(shown, "late:0>0")
    assert evidence.part(late, evidence.LATE) == "late:0>0"
    assert evidence.identity(late) == (
        "functions:ompi_coll_base_reduce_intra_chain other; " + evidence.identity(messages) + "; late:0>0"
    )
    assert evidence.shows_identity(shown)
    assert evidence.short(shown) == "reduce_intra_chain and 1 inside"


def test_where_nothing_can_be_seen_there_is_no_evidence():
    assert evidence.from_observation("", []) == ""
    assert evidence.functions("") == []
    assert not evidence.shows_identity("")
    assert evidence.short("") == "nothing"


@given(st.dictionaries(st.integers(0, 20), st.sets(st.integers(0, 20)), min_size=1))
def test_a_fingerprint_says_who_left_late_for_each_delayed_rank(late):
    rows = [[delayed, *sorted(others)] for delayed, others in sorted(late.items())]
    shown = evidence.from_fingerprint(rows)
    read = {}
    for word in shown.removeprefix("late:").split():
        delayed, _, others = word.partition(">")
        read[int(delayed)] = {int(rank) for rank in others.split(",") if rank}
    assert read == late
    assert evidence.is_fingerprint(shown)
    assert evidence.identity(shown) == shown
    assert not evidence.shows_identity(shown)
    assert evidence.functions(shown) == []


@pytest.mark.parametrize(
    "kind", ["functions:a b", "late:0>0,1", "messages:0123456789ab 1 messages, 8 B: 1>0:8B"]
)
def test_evidence_has_something_short_for_a_table(kind):
    assert 0 < len(evidence.short(kind)) < 60


def test_a_digest_is_the_same_on_every_machine():
    messages = [(rank, rank // 2, 8 * rank) for rank in range(1, 8)]
    random.Random(1).shuffle(messages)
    assert evidence.identity(observed(messages)) == evidence.identity(observed(sorted(messages)))
    assert evidence.identity(observed([(1, 0, 8)])) == "messages:fb0f34dd16fd"
