"""Whether 'offbeat predict' ranks algorithms by the run times that the application really has with them.

Usage: python benchmarks/predict_ranking.py [simulated|real|both] [MPI]

simulated: an application like FT on 32 × 32 processes of the platform 'paper'. Each rank computes for a time
that differs by a fixed imbalance and a little noise, then all ranks enter an alltoall of 32 KiB: the arrivals
of a call are the exits of the previous call plus the computing times. The application is simulated with every
algorithm, so that the true run times are known. The run with one of the algorithms is written as a trace;
from this trace, 'offbeat trace pattern' extracts a scenario and a replay, 'offbeat run --engine sim'
simulates a study, and 'offbeat predict' predicts a ranking. This is done for Open MPI's algorithms and for
MPICH's.

real: offbeat-ft with an injected imbalance on 2 ranks of this machine and MPI (default: auto). It is traced
with the library's own decisions, a study is measured, run times are predicted, and the program runs with each
algorithm one after another. Run times of 2 ranks on 2 cores can depend more on other load than on the
algorithm. Therefore the trace of the median run is used, and only pairs of algorithms count whose run times
differ significantly (p < 5% in a rank test).

Prints, for each condition, how the expected order compares with the real one: how many of the pairs that
really differ (simulated: by more than 0.1%) are expected in the right order, Kendall's tau over all pairs (1:
the same order, equal times counted as equal), the loss from choosing the expected fastest algorithm, and the
error of the expected times.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import trace_files as made
from numpy.typing import NDArray
from scipy import stats
from studies import lines, offbeat

from offbeat.libraries.families.libraries import library_of
from offbeat.libraries.installations.build import build_native, driver_path
from offbeat.libraries.installations.find import choose
from offbeat.libraries.launch.launch_command import command
from offbeat.model.pattern import pattern_file
from offbeat.model.pattern.pattern_file import shape_pattern
from offbeat.model.platform.machine import load
from offbeat.model.study.algorithm import Algorithm
from offbeat.simulation.calls.call_exits import simulate
from offbeat.simulation.calls.catalogue import algorithms

P, SIZE, CALLS = 1024, 32768, 8
SKEW_S, NOISE_S, WORK_S = 0.5, 0.02, 0.5
TRACED = "pairwise"
REAL_RUNS, TRACES = 9, 5
SAME = 1e-3
"""Simulated run times that differ by a smaller share count as equal."""

STUDY = """\
name = "ranking"
engine = "{engine}"
[[collective]]
names = ["alltoall"]
sizes = ["{size} B"]
[processes]
p = [{p}]
[patterns]
shapes = [
    "no_delay", "ascending", "descending", "first_delayed", "last_delayed", "random", "half_delayed", "bell"
]
files = ["alltoall-mean.txt"]
replays = ["alltoall-calls.replay"]
[skew]
policy = "fixed"
times = ["{skew_s} s"]
[repetitions]
minimum = 10
maximum = 100
time_cap = "400 ms"
[simulator]
platform = "paper"
family = "{family}"
"""


def main(which: str = "both", mpi: str = "auto") -> None:
    with TemporaryDirectory() as scratch:
        if which in ("simulated", "both"):
            for family in ("openmpi", "mpich"):
                simulated(Path(scratch) / family, family)
        if which in ("real", "both"):
            real(Path(scratch) / "real", mpi)


def simulated(folder: Path, family: str) -> None:
    """All steps with an application whose run time with every algorithm is known."""
    folder.mkdir()
    work = computing()
    truth: dict[str, float] = {}
    for known in algorithms("alltoall", family):
        try:
            arrivals, exits = application(known.name, family, work)
        except Exception as refusal:  # one for 2 ranks only, say
            print(f"{family}: {known.name} is left out: {refusal}", flush=True)
            continue
        truth[known.name] = float(exits[-1].max())
        if known.name == TRACED:
            write_trace(folder / "trace", arrivals, exits)
    prediction = predicted(folder, P, SIZE, "sim", family)
    print(f"\nsimulated, {family}'s alltoall on 32 × 32, traced with {TRACED}:")
    report(prediction, {name: [time_s] for name, time_s in truth.items()})


def computing() -> NDArray[np.float64]:
    """How long each rank computes before each call, (calls, p): an imbalance that stays, and noise."""
    random = np.random.default_rng(3)
    imbalance = shape_pattern("random", P, SKEW_S, seed=5).delays_s
    return WORK_S + imbalance + NOISE_S * random.gamma(2.0, 0.5, (CALLS, P))


def application(
    name: str, family: str, work: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Arrivals and exits of every call, (calls, p), with one algorithm."""
    platform, now = load("paper"), np.zeros(P)
    arrivals, exits = [], []
    for each in work:
        arrivals.append(now + each)
        now = simulate(platform, f"alltoall/{name}", P, SIZE, arrivals[-1], family=family)
        exits.append(now)
    return np.array(arrivals), np.array(exits)


def write_trace(folder: Path, arrivals: NDArray[np.float64], exits: NDArray[np.float64]) -> None:
    """Write the trace of this run."""
    folder.mkdir()
    enter, leave = (np.rint(1e9 * times).astype(np.int64) for times in (arrivals, exits))
    for rank, one in enumerate(made.files(P)):
        one.header = {"began_ns": 0, "ended_ns": int(leave.max()), "library": b"simulated"}
        for number in range(CALLS):
            one.call(
                int(enter[number, rank]),
                int(leave[number, rank]),
                sequence=number,
                function="MPI_Alltoall",
                bytes=SIZE,
            )
        one.write(folder)


def predicted(
    folder: Path, p: int, size: int, engine: str, family: str = "openmpi", *mpi: str
) -> dict[str, object]:
    """Patterns of the trace, a study with them, and the prediction."""
    mean, calls = folder / "alltoall-mean.txt", folder / "alltoall-calls.replay"
    chosen = ("--collective", "alltoall")
    offbeat("trace", "pattern", folder / "trace", *chosen, "--output", mean)
    offbeat("trace", "pattern", folder / "trace", *chosen, "--what", "calls", "--output", calls)
    offbeat("trace", "summary", folder / "trace", "--json", folder / "summary.json")
    rows = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["rows"]
    skew_s = next(row["skew"]["mean_s"] for row in rows if row["collective"] == "MPI_Alltoall")
    study = folder / "study.toml"
    study.write_text(STUDY.format(engine=engine, family=family, p=p, size=size, skew_s=f"{skew_s:.9f}"))
    offbeat("run", study, "--output", folder / "results", *mpi)
    offbeat("predict", folder / "trace", folder / "results", *chosen, "--json", folder / "predicted.json")
    document: dict[str, object] = json.loads((folder / "predicted.json").read_text(encoding="utf-8"))
    return document


def real(folder: Path, mpi: str) -> None:
    """All steps with FT on this machine."""
    folder.mkdir()
    installation = choose(mpi)
    build_native(installation)
    ft = [str(driver_path(installation).with_name("offbeat-ft")), "--class", "S", "--repeat", "5"]
    pattern_file.write(folder / "injected.txt", pattern_file.shape_pattern("last_delayed", 2, 2e-3))
    ft += ["--imbalance", str(folder / "injected.txt"), "--json"]
    where = ("--mpi", str(installation.mpirun))
    launch = command(installation, ft, 2, steerable=False)
    os.environ.update(launch.environment)
    print(f"\nreal, {installation.version_text} on 2 ranks of this machine:")
    trace_the_median(folder, *where, "--", *launch.argv)
    size = 64**3 * 16 // 4
    prediction = predicted(folder, 2, size, "mpi", "openmpi", *where)
    measured = [Algorithm(**one) for one in lines(folder / "results", "algorithms.jsonl")]  # type: ignore[arg-type]
    steering = library_of(installation).steering()
    expected = {one["name"] for one in prediction["expected"]}  # type: ignore[attr-defined]
    runs: dict[str, list[float]] = {one.name: [] for one in measured if one.name in expected}
    for _ in range(REAL_RUNS):
        for algorithm in measured:
            if algorithm.name in runs:
                forced = steering.launch_environment(algorithm) | steering.environment(installation)
                runs[algorithm.name].append(ft_time_s(command(installation, ft, 2, environment=forced)))
    report(prediction, runs)


def trace_the_median(folder: Path, *arguments: str) -> None:
    """Trace the application several times, and keep the trace of the run whose time is the median."""
    times = {}
    for number in range(TRACES):
        trace = folder / f"trace-{number}"
        output, _ = offbeat("trace", "run", "--output", trace, *arguments)
        times[trace] = float(json.loads(output[output.index("{") :])["time_s"])
    median_trace = sorted(times, key=lambda trace: times[trace])[TRACES // 2]
    median_trace.rename(folder / "trace")
    print(
        f"  traced {TRACES} times: {', '.join(f'{time:.4f} s' for time in sorted(times.values()))}",
        flush=True,
    )


def ft_time_s(launch: object) -> float:
    """The time that FT says it took, once."""
    done = subprocess.run(
        launch.argv,  # type: ignore[attr-defined]
        env=launch.environment,  # type: ignore[attr-defined]
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return float(json.loads(done.stdout[done.stdout.index("{") :])["time_s"])


def report(document: Mapping[str, object], runs: Mapping[str, list[float]]) -> None:
    """Both orders side by side, and how well each condition's agrees with the real one."""
    conditions = [str(name) for name in document["conditions"]]  # type: ignore[attr-defined]
    expected = {
        one["name"]: {name: one["run_s"][name]["time_s"] for name in conditions if one["run_s"][name]}
        for one in document["expected"]  # type: ignore[attr-defined]
        if one["name"] in runs
    }
    truth = {name: float(np.median(times)) for name, times in runs.items()}
    print(
        f"  {'algorithm':<28}{'really':>10}{'from':>9} – {'to':<9}" + "".join(f"{c:>11}" for c in conditions)
    )
    for name in sorted(expected, key=lambda name: truth[name]):
        cells = "".join(f"{expected[name].get(one, float('nan')):>9.4f} s" for one in conditions)
        print(f"  {name:<28}{truth[name]:>8.4f} s{min(runs[name]):>9.4f} – {max(runs[name]):<9.4f}{cells}")
    for condition in conditions:
        compare(condition, {name: times[condition] for name, times in expected.items()}, truth, runs)


def compare(
    condition: str,
    expected: Mapping[str, float],
    truth: Mapping[str, float],
    runs: Mapping[str, list[float]],
) -> None:
    """One condition's order against the real one, in a line."""
    names = list(expected)
    pairs = [(a, b) for a in names for b in names if truth[a] < truth[b] and differ(runs[a], runs[b])]
    right = sum(expected[a] < expected[b] for a, b in pairs)
    really, predicted_s = (np.array([of[name] for name in names]) for of in (truth, expected))
    tau = stats.kendalltau(rounded(really), rounded(predicted_s)).statistic
    first, off = names[int(np.argmin(predicted_s))], np.abs(predicted_s / really - 1)
    print(
        f"  {condition:<9} {right} of {len(pairs)} pairs right, tau {tau:+.2f}; expects {first}, which takes"
        f" {truth[first] / really.min() - 1:.2%} more than the fastest; run times are off by"
        f" {np.median(off):.2%} in the median, {off.max():.2%} at most"
    )


def differ(first: list[float], second: list[float]) -> bool:
    """Whether the run times of two algorithms differ significantly; exact ones, by more than SAME."""
    if len(first) == 1:
        return abs(first[0] / second[0] - 1) > SAME
    return bool(stats.mannwhitneyu(first, second).pvalue < 0.05)


def rounded(times_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithms in steps of SAME, so that nearly equal times are equal."""
    return np.rint(np.log(times_s) / SAME)


if __name__ == "__main__":
    main(*sys.argv[1:])
