"""The lint of names: which names it refuses, and what it takes for a name in C, C++ and Python."""

from __future__ import annotations

import pytest
from c_names import names_in_c
from names import LIST, ForbiddenWords
from python_names import names_in_python, similar_names

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


def test_names_in_python_outlive_a_line_and_are_bound_by_the_source() -> None:
    text = """import a.taken as chosen, b.free
from c import sent
LIMIT: int = 1
class Own(Given):
    shown: int = 0
    def __found__(self, each, /, *others, given=None, **kept):
        self.drawn, each.missing = b.listed, c
        for one, (other, *some) in zip([all for all in each], map(lambda both: both, others)):
            with open(one) as held: pass
        try: print(known := {every: own for every, own in {}})
        except ValueError as lost: pass
        match one:
            case [placed, *none] | Case(of=told) as whole: pass
"""
    assert {name for _, name in names_in_python(text)} == {
        *("chosen", "LIMIT", "Own", "shown", "self", "each", "others", "given", "kept", "drawn"),
        *("one", "other", "some", "held", "known", "lost", "placed", "none", "told", "whole"),
    }
    assert (4, "Own") in names_in_python(text)


def test_names_of_a_module_that_differ_by_an_underscore_or_a_plural_are_refused() -> None:
    text = """
__all__ = ["waits"]
all_waits = wait_time = 1
def waits():
    _waits = 2
def _waits(): ...
class Wait: ...
_wait: int = 3
PATHS = PATH = ()
"""
    assert list(similar_names(text)) == [
        (6, "_waits", "waits"),
        (8, "_wait", "waits"),
        (9, "PATH", "PATHS"),
    ]
