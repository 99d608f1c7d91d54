"""Sizes and times are read as people write them, and printed so that they can be read again."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.base.errors import BadInput
from offbeat.base.units import (
    SIZE_UNITS,
    TIME_UNITS,
    enumeration,
    exact_time_label,
    format_size,
    format_time,
    parse_size,
    parse_time,
)


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("64 KiB", 65536),
        ("1MiB", 1 << 20),
        ("8 B", 8),
        ("2 kB", 2000),
        ("1024", 1024),
        (1024, 1024),
        (0, 0),
        ("0 B", 0),
        ("1.5 KiB", 1536),
        (" 3  GB ", 3 * 10**9),
        ("1e3 B", 1000),
        (".5 KiB", 512),
        ("1 TiB", 1 << 40),
    ],
)
def test_sizes_are_read_with_binary_and_decimal_units(text, size_bytes):
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize(
    ("text", "time_s"),
    [
        ("100 us", 1e-4),
        ("1.5 ms", 1.5e-3),
        ("2 s", 2.0),
        ("3 µs", 3e-6),
        ("3 \u03bcs", 3e-6),
        ("7ns", 7e-9),
        ("0.1", 0.1),
        (0.1, 0.1),
        (2, 2.0),
        ("2 min", 120.0),
        ("1 h", 3600.0),
        ("0 s", 0.0),
    ],
)
def test_times_are_read_to_the_nearest_double(text, time_s):
    assert parse_time(text) == time_s


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("8 KB", "'kB' (1000 bytes) or 'KiB' (1024 bytes)"),
        ("8 k", "'kB' (1000 bytes) or 'KiB' (1024 bytes)"),
        ("8 mb", "'MB' (1000000 bytes) or 'MiB' (1048576 bytes)"),
        ("8 furlongs", "Known: B, kB, KiB, MB, MiB, GB, GiB, TB, TiB"),
        ("8 us", "'us' is not a unit of size"),
        ("0.3 B", "whole number of bytes"),
        (-1, "negative"),
        ("-1 B", "negative"),
        ("", "write a number and a unit"),
        ("KiB", "write a number and a unit"),
        ("5 5", "write a number and a unit"),
        ("nan", "write a number and a unit"),
        ("1e9999 B", "write a number and a unit"),
        ("9" * 5000, "write a number and a unit"),
        (1.5, "whole bytes"),
        (True, "whole bytes"),
        (None, "whole bytes"),
    ],
)
def test_a_faulty_size_gets_a_sentence_with_a_remedy(text, message):
    with pytest.raises(BadInput) as error:
        parse_size(text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("5 parsecs", "Known: ns, us, µs, ms, s, min, h"),
        ("5 sec", "'sec' is not a unit of time"),
        ("5 MS", "did you mean 'ms'"),
        ("-5 us", "negative"),
        (-0.5, "negative"),
        (math.nan, "finite"),
        (math.inf, "finite"),
        ("inf", "write a number and a unit"),
        ("1e999 h", "longer than a number can hold"),
        ("", "write a number and a unit"),
        (False, "write seconds"),
        ([], "write seconds"),
    ],
)
def test_a_faulty_time_gets_a_sentence_with_a_remedy(text, message):
    with pytest.raises(BadInput) as error:
        parse_time(text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (8, "8 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (1000, "1 kB"),
        (10**6, "1 MB"),
        (1 << 30, "1 GiB"),
    ],
)
def test_sizes_are_printed_short_and_exact(size_bytes, text):
    assert format_size(size_bytes) == text


@pytest.mark.parametrize(
    ("time_s", "text"),
    [
        (0, "0 s"),
        (1.234e-5, "12.3 µs"),
        (1.5e-3, "1.5 ms"),
        (9.999e-4, "1 ms"),
        (2, "2 s"),
        (123456, "123000 s"),
        (1e-12, "0.001 ns"),
        (-2e-6, "-2 µs"),
        (math.nan, "–"),
        (math.inf, "inf s"),
    ],
)
def test_times_are_printed_with_three_digits_in_a_readable_unit(time_s, text):
    assert format_time(time_s) == text


@given(st.integers(0, 1 << 60))
def test_every_size_is_read_back_from_what_is_printed(size_bytes):
    assert parse_size(format_size(size_bytes)) == size_bytes


@given(st.floats(min_value=1e-12, max_value=1e6))
def test_every_time_is_read_back_from_what_is_printed_with_all_its_digits(time_s):
    assert parse_time(format_time(time_s, digits=17)) == time_s


@given(st.integers(1, 999), st.sampled_from(["ns", "us", "ms", "s"]))
def test_times_of_three_digits_survive_printing(number, unit):
    time_s = parse_time(f"{number} {unit}")
    assert parse_time(format_time(time_s)) == time_s


@given(st.floats(min_value=1e-12, max_value=1e6))
def test_labels_of_times_lose_nothing(time_s):
    assert parse_time(exact_time_label(time_s)) == time_s


@given(st.integers(0, 10**6), st.sampled_from(sorted(SIZE_UNITS)))
def test_a_size_means_number_times_unit(number, unit):
    assert parse_size(f"{number} {unit}") == number * SIZE_UNITS[unit]


@given(st.integers(0, 10**6), st.sampled_from(sorted(TIME_UNITS)))
def test_a_time_means_number_times_unit(number, unit):
    assert parse_time(f"{number}{unit}") == float(number * TIME_UNITS[unit])


@given(st.text(max_size=20))
def test_any_other_text_is_refused_with_a_sentence(text):
    for parse in (parse_size, parse_time):
        try:
            assert parse(text) >= 0
        except BadInput as error:
            assert str(error)


@pytest.mark.parametrize(
    ("names", "text"), [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_names_are_joined_by_commas_and_one_and(names, text):
    assert enumeration(names) == text
