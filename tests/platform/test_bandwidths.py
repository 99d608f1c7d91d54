"""Bandwidths as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.base.errors import BadInput
from offbeat.base.units import BANDWIDTH_UNITS, format_bandwidth, parse_bandwidth


@pytest.mark.parametrize(
    ("text", "bytes_per_second"),
    [
        ("10 Gbit/s", 1.25e9),
        ("10Gbit/s", 1.25e9),
        ("12.5 GB/s", 12.5e9),
        ("1 GiB/s", 2**30),
        ("8 bit/s", 1.0),
        ("1e9", 1e9),
        ("1.5e3 MB/s", 1.5e9),
        (125_000_000, 125e6),
        (0, 0.0),
    ],
)
def test_bits_and_bytes_are_distinguished(text: str | float, bytes_per_second: float) -> None:
    assert parse_bandwidth(text) == bytes_per_second


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10 Gbps", "'Gbps' is not a unit of bandwidth"),
        ("10 Gb/s", "did you mean 'GB/s'"),
        ("10 GB", "'GB' is not a unit of bandwidth"),
        ("10 GB/min", "is not a bandwidth"),
        ("fast", "write a number and a unit, such as '10 Gbit/s'"),
        ("-1 GB/s", "is negative"),
        (float("inf"), "is not a finite bandwidth"),
        (True, "is not a bandwidth"),
        ("9" * 400, "more than a number can hold"),
    ],
)
def test_invalid_bandwidths_are_refused(text: str | float, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse_bandwidth(text)
    assert message in str(refused.value)


@given(st.integers(1, 999), st.sampled_from(["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]))
def test_formatted_bandwidths_are_read_back(number: int, unit: str) -> None:
    value = number * float(BANDWIDTH_UNITS[unit])
    assert parse_bandwidth(format_bandwidth(value)) == value


def test_bandwidths_are_rounded_for_tables() -> None:
    assert format_bandwidth(1.25e9) == "1.25 GB/s"
    assert format_bandwidth(0) == "0 B/s"
    assert format_bandwidth(123456789) == "123 MB/s"
    assert format_bandwidth(float("inf")) == "no limit"
