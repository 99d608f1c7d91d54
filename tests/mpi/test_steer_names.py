"""Names of algorithms, with and without parameters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.study.algorithm import split_name

WORD = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)


@given(WORD, st.dictionaries(WORD, st.integers(0, 10**6).map(str), min_size=1, max_size=4))
def test_a_name_with_parameters_is_parsed_with_any_blanks(name, parameters):
    tight = f"{name}({','.join(f'{key}={value}' for key, value in parameters.items())})"
    wide = f"{name} ( {' , '.join(f'{key} = {value}' for key, value in parameters.items())} )"
    assert split_name(tight) == split_name(wide) == (name, parameters)


@pytest.mark.parametrize(
    "name",
    [
        "binomial",
        "nb(tsp_tree)",
        "chain()",
        "chain(fanout)",
        "chain(fanout=)",
        "chain(=4)",
        "chain(fanout=4,)",
        "chain(fanout=4, segment)",
        "chain(fanout=4, fanout=8)",
        "chain(fanout=4",
        "chain fanout=4)",
        "chain(fanout=4)(segment=8)",
        "chain(f(x)=4)",
        "",
    ],
)
def test_any_other_name_is_not_parsed(name):
    assert split_name(name) == (name, {})
