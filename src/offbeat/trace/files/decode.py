"""Decodes the pages of encoded records, which the tracer writes, after ``native/trace/format.h``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from offbeat.trace.files import format as form

TIMES, SEQUENCE, ROUND, SIZE, LARGEST, BLOCKS = range(1001, 1007)
"""Numbers of entries that hold a value for the next record; smaller ones are those of templates."""

_NUMBER_BITS, _ENTER_BITS, _DURATION_BITS, _HALF_BITS = 10, 28, 26, 27

TEMPLATE = np.dtype(
    [
        *(("address", "<u8"), ("bytes", "<u8"), ("largest_bytes", "<u8")),
        *(("communicator", "<u4"), ("advance", "<u4"), ("round", "<u4"), ("root", "<i4")),
        *(("blocks", "<u4"), ("empty_blocks", "<u4")),
        *(("function", "<u2"), ("datatype", "<u2"), ("operation", "<u2"), ("flags", "<u2")),
    ]
)


def decode(page: NDArray[np.uint64], words: int, templates: int) -> NDArray[Any]:
    """The records of a page, (n,) of :data:`offbeat.trace.files.format.RECORD`.

    ``page`` are all its words, ``words`` and ``templates`` how many of them were written, by a page with the
    right checksum.
    """
    body = page[form.PAGE_HEADER_BYTES // 8 :]
    entries = body[:words]
    numbers = (entries & np.uint64((1 << _NUMBER_BITS) - 1)).astype(np.int64)
    values = entries >> np.uint64(_NUMBER_BITS)
    is_record = numbers < templates
    template_words = body[len(body) - templates * form.TEMPLATE_WORDS :]
    of_record = template_words.view(TEMPLATE)[::-1][numbers[is_record]]
    records = np.zeros(len(of_record), form.RECORD)
    for name in TEMPLATE.names or ():
        if name in form.RECORD.fields:  # type: ignore[operator]
            records[name] = of_record[name]
    record_of_entry: NDArray[np.int64] = np.cumsum(is_record) - is_record
    extra_values = _Values(numbers, values, record_of_entry)
    _set_times(records, values[is_record], extra_values, int(page[3].view(np.int64)))
    _set_sequences(records, of_record["advance"].astype(np.int64), extra_values)
    for name, number in (("round", ROUND), ("bytes", SIZE), ("largest_bytes", LARGEST)):
        record_numbers, numbers_given = extra_values.numbered(number)
        records[name][record_numbers] = numbers_given
    record_numbers, numbers_given = extra_values.numbered(BLOCKS)
    records["blocks"][record_numbers] = numbers_given & np.uint64((1 << _HALF_BITS) - 1)
    records["empty_blocks"][record_numbers] = numbers_given >> np.uint64(_HALF_BITS)
    return records


class _Values:
    """The entries that hold values, by their numbers."""

    def __init__(
        self, numbers: NDArray[np.int64], values: NDArray[np.uint64], records: NDArray[np.int64]
    ) -> None:
        is_value = np.flatnonzero(numbers > form.MOST_TEMPLATES)
        self._numbers, self._values, self._records = numbers[is_value], values[is_value], records[is_value]

    def numbered(self, number: int) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """The records that have a value of this number, and the values."""
        is_selected = self._numbers == number
        return self._records[is_selected], self._values[is_selected]


def _sign_extend(values: NDArray[np.uint64], bits: int) -> NDArray[np.int64]:
    """Numbers of some bits in two's complement."""
    shift = np.int64(64 - bits)
    return values.view(np.int64) << shift >> shift


def _set_times(
    records: NDArray[Any], values: NDArray[np.uint64], extra_values: _Values, origin_ns: int
) -> None:
    gaps = values & np.uint64((1 << _ENTER_BITS) - 1)
    durations = values >> np.uint64(_ENTER_BITS)
    record_numbers, upper = extra_values.numbered(TIMES)
    gaps[record_numbers] |= (upper & np.uint64((1 << _HALF_BITS) - 1)) << np.uint64(_ENTER_BITS)
    durations[record_numbers] |= upper >> np.uint64(_HALF_BITS) << np.uint64(_DURATION_BITS)
    records["enter_ns"] = origin_ns + np.cumsum(_sign_extend(gaps, _ENTER_BITS + _HALF_BITS))
    records["exit_ns"] = records["enter_ns"] + _sign_extend(durations, _DURATION_BITS + _HALF_BITS)


def _set_sequences(records: NDArray[Any], advance: NDArray[np.int64], extra_values: _Values) -> None:
    """The sequence of each record: stated, or by its advance over that of the previous one."""
    record_numbers, explicit_sequences = extra_values.numbered(SEQUENCE)
    record_sequences = np.full(len(records), -1, np.int64)
    record_sequences[record_numbers] = explicit_sequences.astype(np.int64)
    advance[record_numbers] = 0
    order = np.argsort(records["communicator"], kind="stable")
    communicators, record_sequences, advance = (
        records["communicator"][order],
        record_sequences[order],
        advance[order],
    )
    sums = np.cumsum(advance)
    is_stated = record_sequences >= 0
    is_first = np.ones(len(records), np.bool_)
    is_first[1:] = communicators[1:] != communicators[:-1]
    base = np.where(is_stated, record_sequences - sums, advance - sums)
    last = np.maximum.accumulate(np.where(is_stated | is_first, np.arange(len(records)), 0))
    sequences = np.empty(len(records), np.int64)
    sequences[order] = (sums + base[last]) & 0xFFFFFFFF
    records["sequence"] = sequences
