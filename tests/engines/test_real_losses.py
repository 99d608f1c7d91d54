"""Algorithms of a real library that crash, hang or compute nothing, by a preloaded library."""

from __future__ import annotations

import subprocess

import pytest
import real_studies
from real_studies import TINY

# Open MPI 4's component calls its algorithms through the dynamic linker: a preloaded library can replace one.
STAND_IN = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
typedef int chain(const void *, void *, int, void *, void *, int, void *, void *, uint32_t, int, int);
int ompi_coll_base_reduce_intra_chain(const void *from, void *to, int count, void *type, void *op, int root,
                                      void *comm, void *module, uint32_t segment, int fanout, int requests) {
    static int calls;
    if (++calls > SOUND_CALLS)
        MISHAP;
    chain *real = (chain *)dlsym(RTLD_NEXT, "ompi_coll_base_reduce_intra_chain");
    return real(from, to, count, type, op, root, comm, module, segment, fanout, requests);
}
"""
MISHAPS = {
    "crash": "abort()",
    "exit": "_exit(3)",
    "hang": "for (;;) pause()",
    "nothing": "return 0",
}
CALLS_OF_A_PROOF = 4
REPETITIONS = 8
"""Number of calls after which launches with and without the proof both die in the first case."""

STUDY = (
    TINY.replace("sizes = [64]", 'sizes = [64]\nalgorithms = ["chain", "binomial"]')
    .replace('"ascending"]', '"ascending", "descending"]')
    .replace("minimum = 3\nmaximum = 3", f"minimum = {REPETITIONS}\nmaximum = {REPETITIONS}\ntime_cap = 0.5")
)


pytestmark = pytest.mark.parametrize("mpi_installation", ["openmpi4"], indirect=True)


@pytest.fixture
def run(mpi_installation, tmp_path):
    """Runs the study while chain fails after some correct calls; returns the results."""

    def begin(mishap, sound_calls, hang_after=30):
        source, library = tmp_path / "stand_in.c", tmp_path / "libstand_in.so"
        source.write_text(STAND_IN)
        macros = [f"-DMISHAP={MISHAPS[mishap]}", f"-DSOUND_CALLS={sound_calls}"]
        subprocess.run(["cc", "-shared", "-fPIC", *macros, "-o", library, source, "-ldl"], check=True)
        text = STUDY.replace("hang_after = 30", f"hang_after = {hang_after}")
        text += f'[mpi.environment]\nLD_PRELOAD = "{library}"\n'
        outcome = real_studies.measure(
            real_studies.study(tmp_path, text), tmp_path / "results", mpi_installation
        )
        assert outcome.finished_cases == outcome.total
        return tmp_path / "results"

    return begin


def by_algorithm(directory):
    rows = real_studies.cases(directory).select("algorithm", "status", "reason").iter_rows()
    by_name = {}
    for algorithm, status, reason in rows:
        by_name.setdefault(algorithm, []).append((status, reason))
    return by_name


@pytest.mark.parametrize(
    ("mishap", "status", "reason"),
    [
        ("crash", "quarantined", "signal"),
        ("exit", "quarantined", "exit status"),
        ("nothing", "wrong", "wrong"),
    ],
)
def test_an_algorithm_that_never_works_is_detected_by_its_proof(run, mishap, status, reason):
    directory = run(mishap, 0)
    verdicts = {one.algorithm: one for one in real_studies.read_study(directory).verdicts}
    assert verdicts["chain"].status == status
    assert reason in verdicts["chain"].reason.lower()
    assert verdicts["binomial"].status == verdicts["default"].status == "proved"
    cases_by_algorithm = by_algorithm(directory)
    lost = cases_by_algorithm.pop("chain", [])
    assert {status for status, _ in lost} == ({"quarantined"} if status == "quarantined" else set())
    assert set(cases_by_algorithm) == {"default", "binomial"}
    assert {status for cases in cases_by_algorithm.values() for status, _ in cases} == {"measured"}


def test_an_algorithm_that_crashes_while_it_is_measured_is_quarantined_and_the_study_continues(run):
    directory = run("crash", CALLS_OF_A_PROOF + 2)
    assert real_studies.verdicts(directory)["chain"] == "proved"
    cases_by_algorithm = by_algorithm(directory)
    assert [status for status, _ in cases_by_algorithm["chain"]] == ["quarantined"] * 3
    reasons = [reason for _, reason in cases_by_algorithm["chain"]]
    assert sum(reason.startswith("the launch ") for reason in reasons) + sum(
        reason.startswith(("not tried again: the launch ", "its skew is unknown")) for reason in reasons
    ) == len(reasons)
    assert reasons[0].startswith("the launch ")
    for other in ("default", "binomial"):
        assert [status for status, _ in cases_by_algorithm[other]] == ["measured"] * 3


def test_an_algorithm_that_hangs_is_killed_quarantined_and_not_tried_a_third_time(run):
    directory = run("hang", CALLS_OF_A_PROOF + 2, hang_after=4)
    cases_by_algorithm = by_algorithm(directory)
    hung = "hung: no answer within 4.5 s"  # besides the half second that the case may measure
    assert cases_by_algorithm["chain"] == [
        ("quarantined", hung),
        ("quarantined", hung),
        ("quarantined", f"not tried again: {hung}"),
    ]
    for other in ("default", "binomial"):
        assert [status for status, _ in cases_by_algorithm[other]] == ["measured"] * 3
