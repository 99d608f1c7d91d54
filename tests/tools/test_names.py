"""The lint of names: which names it refuses, and what it takes for a name in C and C++."""

from __future__ import annotations

import pytest
from c_names import names_in_c
from names import LIST, ForbiddenWords

FORBIDDEN = ForbiddenWords(LIST)


@pytest.mark.parametrize(
    "name",
    ["one", "_given", "OTHERS", "All", "of_own", "offbeat_found", "mixed", "waiting", "all_others"],
)
def test_a_name_of_pronouns_prepositions_or_participles_is_refused(name: str) -> None:
    assert FORBIDDEN.words_of(name)


@pytest.mark.parametrize(
    "name",
    ["is_given", "other_rank", "sent_bytes", "ring", "seed", "in_place", "a", "x1", "MPI_Allreduce", "_"],
)
def test_a_name_with_a_noun_or_a_verb_is_accepted(name: str) -> None:
    assert FORBIDDEN.words_of(name) == ()


def test_names_in_c_stand_outside_comments_literals_and_members_of_other_objects() -> None:
    text = """#include <all.h>
/* one
   two */ int *found(struct call *c) { // each
    return std::move(c->given).at("some", 'a', 0x1p3) + 1'000'000 + (given ? *others : 0);
}
"""
    assert list(names_in_c(text)) == [
        *((3, name) for name in ["int", "found", "struct", "call", "c"]),
        *((4, name) for name in ["return", "std", "c", "given", "others"]),
    ]
