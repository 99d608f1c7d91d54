"""Studies of messages in partitions: their configurations, their delays, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from offbeat.base.errors import BadInput
from offbeat.model.study.case import PARTITIONED_SEND, operation_label
from offbeat.model.study.case_expansion import cases, delays_s, groups, pattern_rows
from offbeat.model.study.duration_estimate import estimate
from offbeat.model.study.schema import PartitionedSection, ProcessesSection, Study
from offbeat.model.study.study_file import loads, resolved_toml

MESSAGES = """[[partitioned]]
sizes = ["64 KiB", "4 MiB"]
partitions = [2, 32]
threads = [1, 4]
approaches = ["single", "many"]
"""
TWO = "[processes]\np = [2]\n"
RATES = '[skew]\npolicy = "rate"\nrates = [100, 1000]\n'


def study_of(text: str) -> Study:
    return loads(text, "study.toml").study


def test_sizes_partitions_and_threads_are_combined_where_each_thread_has_a_partition() -> None:
    configurations = [
        (one.bytes, one.partitions, one.threads, one.algorithms) for one in groups(study_of(MESSAGES + TWO))
    ]
    approaches = ["single", "many"]
    assert configurations == [
        (size, partitions, threads, approaches)
        for size in (65536, 4194304)
        for partitions, threads in ((2, 1), (32, 1), (32, 4))
    ]
    assert {one.collective for one in groups(study_of(MESSAGES + TWO))} == {PARTITIONED_SEND}
    assert operation_label(groups(study_of(MESSAGES + TWO))[2]) == "partitioned_send (32 by 4)"


def test_rates_are_skews_of_their_own_and_need_no_measurement_without_delay() -> None:
    study = study_of(MESSAGES + TWO + RATES + '[patterns]\nshapes = ["last_delayed"]\n')
    assert [(row.label, row.policy.key, row.factor) for row in pattern_rows(study, groups(study)[0])] == [
        ("last_delayed×100", "rate", 100.0),
        ("last_delayed×1000", "rate", 1000.0),
    ]


def test_a_shape_delays_the_senders_partitions() -> None:
    loaded = loads(MESSAGES + TWO, "study.toml")
    group = groups(loaded.study)[1]
    (case,) = [one for one in cases(group, ["many"], loaded.study) if one.shape == "last_delayed"]
    delays = delays_s(loaded, case, 1e-3)
    assert delays.shape == (2, 32)
    assert delays[0].tolist() == [0.0] * 31 + [1e-3]
    assert not delays[1].any()


def test_a_pattern_file_has_a_delay_for_each_process_and_partition(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("# partitions: 2\n0 1e-3\n0 0\n")
    text = MESSAGES.replace("[2, 32]", "[2]").replace("[1, 4]", "[1]") + TWO
    text += '[patterns]\nshapes = ["no_delay"]\nfiles = ["mine.txt"]\n'
    loaded = loads(text, tmp_path / "study.toml")
    (case,) = [one for one in cases(groups(loaded.study)[0], ["many"], loaded.study) if one.shape == "mine"]
    assert np.array_equal(delays_s(loaded, case, 0.0), [[0, 1e-3], [0, 0]])
    with pytest.raises(BadInput, match="partitions"):
        loads(text.replace("partitions = [2]", "partitions = [4]"), tmp_path / "study.toml")


@st.composite
def sections(draw: st.DrawFn) -> PartitionedSection:
    partitions = draw(st.lists(st.integers(1, 64), min_size=1, max_size=3, unique=True))
    counts = draw(st.lists(st.integers(1, 64), min_size=1, max_size=3, unique=True))
    threads = draw(st.lists(st.integers(1, min(partitions)), min_size=1, max_size=2, unique=True))
    least = math.lcm(*partitions)
    return PartitionedSection(
        sizes=[least * count for count in counts], partitions=partitions, threads=threads
    )


@given(section=sections())
def test_the_resolved_study_loads_as_the_same_study(section: PartitionedSection) -> None:
    if max(section.sizes) > 2**31 - 1:
        return
    study = Study(partitioned=[section], processes=ProcessesSection(p=[2]))
    assert loads(resolved_toml(study), "study.toml").study == study
    count = len(section.sizes) * len(section.partitions) * len(section.threads)
    assert len(groups(study)) == count
    assert estimate(study, {PARTITIONED_SEND: 8}).cases == 8 * count * len(
        pattern_rows(study, groups(study)[0])
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (TWO, r"it has no \[\[collective\]\] and no \[\[partitioned\]\]"),
        (
            MESSAGES + '[[collective]]\nnames = ["reduce"]\nsizes = [8]\n' + TWO,
            "either collectives or partitioned",
        ),
        (MESSAGES + "[processes]\np = [2, 4]\n", "a partitioned message has 2 processes, not 4"),
        (MESSAGES + "[processes]\nnodes = [2]\nppn = [2]\n", r"nodes = \[2\] and ppn = \[1\]"),
        ('engine = "sim"\n' + MESSAGES + TWO, "'sim' cannot send partitioned messages"),
        (
            MESSAGES.replace("64 KiB", "65537 B") + TWO,
            "65537 B cannot be divided into 2 equal partitions; write 65536",
        ),
        (MESSAGES.replace("64 KiB", "0 B") + TWO, "0 B cannot be divided"),
        (MESSAGES.replace("4 MiB", "4 GiB") + TWO, "more than an MPI call can state"),
        (MESSAGES.replace("[1, 4]", "[4, 8]") + TWO, "2 partitions are fewer than the 4 threads"),
        (MESSAGES.replace("[1, 4]", "[1, 64]") + TWO, "64 threads are more than the 32 partitions"),
        (MESSAGES.replace("32]", "131072]") + TWO, "131072 partitions are too many; the most are 65536"),
        (MESSAGES.replace('["single", "many"]', '["all", "many"]') + TWO, "'all' includes every other name"),
        (MESSAGES + MESSAGES + TWO, r"is in partitioned\[0\] too"),
        (MESSAGES + TWO + '[patterns]\nshapes = ["node_delayed"]\n', "delays processes, not partitions"),
        (MESSAGES + TWO + '[skew]\npolicy = "rate"\n', "the policy rate needs rates; add rates"),
        (MESSAGES + TWO + '[skew]\npolicy = "rate"\nrates = [0]\n', "rates"),
        (MESSAGES + TWO + "[skew]\nrates = [100]\n", "the policy mean takes no rates; write factors"),
        (
            MESSAGES + TWO + '[skew]\npolicy = "rate"\nrates = [1]\nfactors = [2]\n',
            "the policy rate takes no factors",
        ),
        (
            '[[collective]]\nnames = ["reduce"]\nsizes = [8]\n' + TWO + RATES,
            "the policy rate is for partitioned messages",
        ),
        ("[[partitioned]]\nsizes = [8]\n" + TWO, "partitions"),
    ],
)
def test_what_two_processes_cannot_exchange_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        loads(text, "study.toml")


def test_a_section_that_cannot_be_read_is_the_only_fault() -> None:
    text = (
        MESSAGES.replace("[[partitioned]]", "[partitioned]") + TWO + '[skew]\npolicy = "rate"\nrates = [1]\n'
    )
    with pytest.raises(BadInput) as refused:
        loads(text, "study.toml")
    assert "partitioned" in str(refused.value)
    assert "no [[collective]]" not in str(refused.value) and "policy" not in str(refused.value)


def test_cases_differ_by_partitions_and_threads() -> None:
    study = study_of(MESSAGES + TWO)
    ids = [case.id for group in groups(study) for case in cases(group, ["many"], study)]
    assert len(set(ids)) == len(ids)
    case = cases(groups(study)[2], ["many"], study)[0]
    assert msgspec.structs.replace(case, threads=1).id != case.id
