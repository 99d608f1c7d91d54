"""Evidence of what ran, as text that can be compared."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.model.study import evidence

MESSAGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 10**9)), max_size=30)


def observed(messages, functions=""):
    return evidence.from_observation(functions, messages)


@given(MESSAGES, st.randoms())
def test_the_order_of_messages_does_not_matter(messages, chance):
    shuffled = list(messages)
    chance.shuffle(shuffled)
    assert observed(messages) == observed(shuffled)


@given(MESSAGES, MESSAGES)
def test_only_equal_messages_have_the_same_identity(one, other):
    same = evidence.identity(observed(one)) == evidence.identity(observed(other))
    assert same == (sorted(one) == sorted(other))


@given(MESSAGES.filter(bool))
def test_the_identity_of_messages_is_their_digest_alone(messages):
    evidence_text = observed(messages)
    identity = evidence.identity(evidence_text)
    assert identity.startswith("messages:")
    assert " " not in identity
    assert evidence_text.startswith(identity)
    assert not evidence.shows_identity(evidence_text)
    assert not evidence.is_fingerprint(evidence_text)


def test_messages_are_shown_with_their_number_and_bytes():
    evidence_text = observed([(1, 0, 8), (3, 2, 8), (1, 0, 8), (2, 0, 16)])
    assert evidence_text.split(" ", 1)[1] == "4 messages, 40 B: 1>0:8B×2 2>0:16B 3>2:8B"
    assert evidence.short(evidence_text) == "4 messages, 40 B"


def test_many_messages_are_shortened_and_no_messages_have_no_colon():
    many = observed([(rank, 0, 8) for rank in range(1, 40)])
    assert many.endswith(" …")
    assert len(many) < 200
    assert observed([]) == ""


def test_functions_are_the_strongest_evidence():
    evidence_text = observed([(1, 0, 8)], "ompi_coll_base_reduce_intra_chain other")
    messages = observed([(1, 0, 8)])
    assert evidence_text == f"functions:ompi_coll_base_reduce_intra_chain other; {messages}"
    assert evidence.functions(evidence_text) == ["ompi_coll_base_reduce_intra_chain", "other"]
    assert evidence.kind(evidence_text) == evidence.FUNCTIONS
    assert evidence.part(evidence_text, evidence.MESSAGES) == messages
    assert evidence.part(evidence_text, evidence.LATE) == ""
    late = evidence.with_fingerprint(evidence_text, "late:0>0")
    assert evidence.part(late, evidence.LATE) == "late:0>0"
    assert evidence.identity(late) == (
        "functions:ompi_coll_base_reduce_intra_chain other; " + evidence.identity(messages) + "; late:0>0"
    )
    assert evidence.shows_identity(evidence_text)
    assert evidence.short(evidence_text) == "reduce_intra_chain and 1 inside"


def test_without_an_observation_there_is_no_evidence():
    assert evidence.from_observation("", []) == ""
    assert evidence.functions("") == []
    assert not evidence.shows_identity("")
    assert evidence.short("") == "nothing"


@given(st.dictionaries(st.integers(0, 20), st.sets(st.integers(0, 20)), min_size=1))
def test_a_fingerprint_says_who_left_late_for_each_delayed_rank(late):
    rows = [[delayed, *sorted(others)] for delayed, others in sorted(late.items())]
    evidence_text = evidence.from_fingerprint(rows)
    read = {}
    for word in evidence_text.removeprefix("late:").split():
        delayed, _, others = word.partition(">")
        read[int(delayed)] = {int(rank) for rank in others.split(",") if rank}
    assert read == late
    assert evidence.is_fingerprint(evidence_text)
    assert evidence.identity(evidence_text) == evidence_text
    assert not evidence.shows_identity(evidence_text)
    assert evidence.functions(evidence_text) == []


@pytest.mark.parametrize(
    "kind", ["functions:a b", "late:0>0,1", "messages:0123456789ab 1 messages, 8 B: 1>0:8B"]
)
def test_evidence_has_a_short_form_for_tables(kind):
    assert 0 < len(evidence.short(kind)) < 60


def test_a_digest_is_the_same_on_every_machine():
    messages = [(rank, rank // 2, 8 * rank) for rank in range(1, 8)]
    random.Random(1).shuffle(messages)
    assert evidence.identity(observed(messages)) == evidence.identity(observed(sorted(messages)))
    assert evidence.identity(observed([(1, 0, 8)])) == "messages:fb0f34dd16fd"
