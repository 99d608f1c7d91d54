"""Is the confidence in a choice calibrated? Studies are repeated, and each is compared with the others.

Usage, from the folder of the sources, with ``.venv`` active::

    python benchmarks/certainty.py simulated                     # noise with a known truth
    python benchmarks/certainty.py measured STUDY OUTPUT [RUNS]  # runs the study 10 times, then compares
    python benchmarks/certainty.py compare RESULTS RESULTS...    # those of one study in one folder
    python benchmarks/certainty.py cost STUDY OUTPUT [RUNS]      # time and spread, with blocks and without

For every choice of every study: how many of the other studies have the same choice, and in how many is the
choice at most 5% worse than their best algorithm? ``--mpi NAME`` names the MPI library of ``measured``;
``--picture FILE`` draws the reliability diagram. Among choices with a stated confidence of at least 95%, the
last column must be at least 95%.

``cost`` runs the study alternately with one block for each case, as a usual benchmark measures, and with its
own number of blocks. The spread is the standard deviation of a case's delay between such studies. Averaging n
of them divides the spread by the square root of n, so the time needed for a given spread is proportional to
time × spread².
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from offbeat.base.units import amount
from offbeat.measurement.results.blocks import Block, Blocks
from offbeat.measurement.results.read import Results, read_study
from offbeat.measurement.results.schema import CASES, REPETITIONS, polars_schema
from offbeat.model.study.algorithm import Algorithm
from offbeat.model.study.study_file import load, resolved_toml
from offbeat.selection.choices.choose import Choice, Selection, select

TOLERANCE = 0.05
FEWEST = 5
"""Each point of the diagram represents at least this many choices."""

BINS = ((0.95, 1.01), (0.75, 0.95), (0.5, 0.75), (0.0, 0.5))

ALGORITHMS = [f"algorithm_{number}" for number in range(6)]
PATTERNS = ["no_delay", "ascending", "descending", "first_delayed", "last_delayed", "mid_delayed", "random"]
BLOCKS, EACH = 5, 8
NOISES = {
    "independent": {},
    "launches": {"launch": 0.04},
    "launches share": {"shared": 0.1, "launch": 0.02},
    "two modes": {"mode": 0.12},
    "modes of algorithms": {"algorithm_mode": 0.12},
    "drift": {"drift": 0.2, "launch": 0.02},
    "correlated": {"correlation": 0.7, "launch": 0.02},
    "outliers": {"outliers": 0.1, "launch": 0.02},
    "disturbed blocks": {"disturbed": 0.05, "launch": 0.02},
}
"""Kinds of noise, each beside 8% between repetitions: standard deviations of logarithms between launches,
for each case or shared by all; a mode that a case, or an algorithm, is in at a third of the launches; a drift
over the study; the correlation of neighbouring repetitions; shares of outlying repetitions and of disturbed
blocks."""


def truth(chance: np.random.Generator, spread: float) -> np.ndarray:
    """True logarithms of delays, patterns × algorithms; the algorithms differ by about ``spread``."""
    shape = (len(PATTERNS), len(ALGORITHMS))
    base = np.log(1e-5) + chance.normal(0, 0.5, (shape[0], 1))
    return base + chance.normal(0, spread, (1, shape[1])) + chance.normal(0, spread, shape)


def measured_once(true: np.ndarray, noise: dict[str, float], chance: np.random.Generator) -> np.ndarray:
    """One study of a configuration: logarithms of delays, blocks × repetitions × patterns × algorithms."""
    size = (BLOCKS, 1, *true.shape)
    times_s = np.zeros((BLOCKS, EACH, *true.shape)) + true
    times_s += chance.normal(0, noise.get("shared", 0.0), (BLOCKS, 1, 1, 1))
    times_s += chance.normal(0, noise.get("launch", 0.0), size)
    times_s += noise.get("mode", 0.0) * (chance.random(size) < 1 / 3)
    times_s += noise.get("algorithm_mode", 0.0) * (chance.random((BLOCKS, 1, 1, true.shape[1])) < 1 / 3)
    times_s += np.linspace(0, noise.get("drift", 0.0), BLOCKS)[:, None, None, None]
    is_disturbed = chance.random(size) < noise.get("disturbed", 0.0)
    times_s += np.where(is_disturbed, chance.exponential(0.7, size), 0)
    scatter = chance.normal(0, 0.08, times_s.shape)
    rho = noise.get("correlation", 0.0)
    for number in range(1, EACH):
        scatter[:, number] = rho * scatter[:, number - 1] + np.sqrt(1 - rho**2) * scatter[:, number]
    is_out = chance.random(times_s.shape) < noise.get("outliers", 0.0)
    return times_s + scatter + np.where(is_out, chance.exponential(1.0, times_s.shape), 0)


def results_of(cells: Sequence[np.ndarray]) -> Results:
    """The results of a study of these configurations, each as :func:`measured_once` returns it."""
    rows, repetitions = [], []
    for number, cell in enumerate(np.exp(one) for one in cells):
        for i, pattern in enumerate(PATTERNS):
            for j, algorithm in enumerate(ALGORITHMS):
                case = f"{number}/{pattern}/{algorithm}"
                values = cell[:, :, i, j]
                measures = Blocks(tuple(Block(block, block) for block in values)).columns()
                rows.append(_row(case, 2**number, pattern, algorithm) | measures)
                repetitions += [
                    {
                        "case": case,
                        "repetition": place,
                        "block": place // EACH,
                        "valid": True,
                        "last_delay_s": value,
                    }
                    for place, value in enumerate(values.ravel().tolist())
                ]
    return Results(
        directory=Path(),
        study={},
        provenance={},
        cases=pl.DataFrame(rows, schema=polars_schema(CASES), orient="row"),
        repetitions=pl.DataFrame(repetitions, schema=polars_schema(REPETITIONS), orient="row"),
        algorithms=[Algorithm(collective="reduce", name=name) for name in ALGORITHMS],
        verdicts=[],
    )


def _row(case: str, size_bytes: int, pattern: str, algorithm: str) -> dict[str, object]:
    return {
        "case": case,
        "engine": "mpi",
        "library": "simulated noise",
        "p": 8,
        "nodes": 0,
        "ppn": 0,
        "collective": "reduce",
        "algorithm": algorithm,
        "bytes": size_bytes,
        "pattern": pattern,
        "pattern_kind": "shape",
        "shape": pattern,
        "op": "sum",
        "datatype": "double",
        "root": 0,
        "status": "measured",
        "proof": "proved",
    }


def said_and_seen(selections: Sequence[Selection]) -> Iterator[tuple[float, float, float, float, float]]:
    """For each choice of each study: the share of repeated studies that it expects to choose the same, the
    share in which it expects to be within the tolerance, and, over the other studies, what those shares are
    and in how many the loss was at most the plausible one."""
    by_study = [{choice.configuration: choice for choice in selection.choices} for selection in selections]
    for place, chosen in enumerate(by_study):
        others = [other for number, other in enumerate(by_study) if number != place]
        for cell, choice in chosen.items():
            again = [other[cell] for other in others if cell in other]
            confidence = choice.certainty
            if confidence is None or not again:
                continue
            losses = np.array([_loss(choice, other) for other in again])
            same = np.mean([choice.algorithm == other.algorithm for other in again])
            yield (
                confidence.same_choice,
                confidence.within_tolerance,
                float(same),
                float(np.mean(losses <= TOLERANCE)),
                float(np.mean(losses <= confidence.plausible_loss + 1e-9)),
            )


def _loss(choice: Choice, other: Choice) -> float:
    """How much worse a choice is than the best, as another study measured both; infinite if it did not."""
    if choice.algorithm not in other.scores:
        return float("inf")
    return other.scores[choice.algorithm] / min(other.scores.values()) - 1


def print_table(name: str, observed: np.ndarray) -> None:
    """Stated confidence and the shares in the other studies, by ranges of confidence."""
    print(f"\n{name}: {len(observed)} choices", flush=True)
    print("  called          choices   said   same in other studies   same or within 5%")
    for kind, column in (("same choice", 0), ("within 5%", 1)):
        for low, high in BINS:
            rows = observed[(observed[:, column] >= low) & (observed[:, column] < high)]
            if len(rows):
                called = f"{kind} {'≥' if high > 1 else ''}{100 * low:.0f}%" + (
                    "" if high > 1 else f"–{100 * high:.0f}%"
                )
                means = rows.mean(axis=0)
                print(f"  {called:20s} {len(rows):5d} {means[column]:6.1%} {means[2]:15.1%} {means[3]:19.1%}")
    print(f"  loss at most the plausible one: {observed[:, 4].mean():.1%} of the pairs of studies")


def draw(named: dict[str, np.ndarray], file: Path) -> None:
    """The reliability diagram: the stated confidence against the share in the other studies."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 4.4), sharey=True, layout="constrained")
    marks = "osD^v<>Phd*X"
    for axis, said, real, title in zip(
        axes, (0, 1), (2, 3), ("the same choice", f"the same, or at most {TOLERANCE:.0%} worse"), strict=True
    ):
        axis.plot([0, 100], [0, 100], color="0.6", linewidth=1, label="calibrated")
        for mark, (name, seen) in zip(marks, named.items(), strict=False):
            points = [
                seen[(seen[:, said] > low - 1e-9) & (seen[:, said] <= low + 0.1)]
                for low in np.arange(0, 1, 0.1)
            ]
            filled = [rows for rows in points if len(rows) >= FEWEST]
            x, y = ([100 * rows[:, column].mean() for rows in filled] for column in (said, real))
            axis.plot(x, y, marker=mark, linewidth=0.8, markersize=5, label=name)
        axis.set(xlabel="said by a study, %", title=title, xlim=(0, 102), ylim=(0, 102))
        axis.set_aspect("equal")
    axes[0].set_ylabel("found in the other studies, %")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", fontsize=8)
    figure.savefig(file, dpi=130)
    print(f"wrote {file}")


def simulated(studies: int = 12, cells: int = 12, repeats: int = 3) -> dict[str, np.ndarray]:
    """Repeated studies of configurations with a known truth, under each kind of noise."""
    by_name = {}
    for name, noise in NOISES.items():
        chance = np.random.default_rng(1)
        observed = []
        for _ in range(repeats):
            true = [truth(chance, (0.02, 0.1, 0.3)[number % 3]) for number in range(cells)]
            study_results = [
                results_of([measured_once(one, noise, chance) for one in true]) for _ in range(studies)
            ]
            selections = [select(one, within=TOLERANCE, bootstrap=400) for one in study_results]
            observed += list(said_and_seen(selections))
        by_name[name] = np.array(observed)
        print_table(name, by_name[name])
    return by_name


def run(study: Path, directory: Path, mpi: str) -> None:
    """Run a study into a directory; what is measured there already is not repeated."""
    command = [sys.executable, "-m", "offbeat", "run", str(study), "--output", str(directory)]
    subprocess.run([*command, *(["--mpi", mpi] if mpi else [])], check=True)


def measured(study: Path, output: Path, runs: int, mpi: str) -> list[Path]:
    """Run a study ``runs`` times, each into its own directory."""
    directories = [output / f"run-{number:02d}" for number in range(1, runs + 1)]
    for directory in directories:
        run(study, directory, mpi)
    return directories


def cost(study: Path, output: Path, runs: int, mpi: str) -> None:
    """Time and spread of a study with one block for each case and with its own number of blocks."""
    output.mkdir(parents=True, exist_ok=True)
    planned = load(study)
    studies = {"one": output / "one.toml", "blocks": output / "blocks.toml"}
    studies["blocks"].write_text(resolved_toml(planned.study))
    studies["one"].write_text(re.sub(r"(?m)^blocks = \d+", "blocks = 1", resolved_toml(planned.study)))
    taken_s: dict[str, list[float]] = {name: [] for name in studies}
    directories: dict[str, list[Path]] = {name: [] for name in studies}
    for number in range(1, runs + 1):
        for name, file in studies.items():
            directories[name].append(output / f"{name}-{number:02d}")
            began = time.monotonic()
            run(file, directories[name][-1], mpi)
            taken_s[name].append(time.monotonic() - began)
    seconds = {name: float(np.median(values)) for name, values in taken_s.items()}
    spread = {name: spread_between(folders) for name, folders in directories.items()}
    print("             seconds  spread  half-width")
    for name in studies:
        within = half_width(directories[name])
        print(f"{name:10}  {seconds[name]:8.1f}  {spread[name]:6.1%}  {within:10.1%}")
    ratio = seconds["blocks"] / seconds["one"]
    print(f"time with blocks / with one: {ratio:.2f}")
    print(f"the same for the same spread: {ratio * (spread['blocks'] / spread['one']) ** 2:.2f}")


def spread_between(directories: Sequence[Path]) -> float:
    """The relative standard deviation of a case's last delay between studies: the root mean square over
    cases."""
    cases = pl.concat([read_study(directory).cases for directory in directories])
    logs = cases.group_by("case").agg(pl.col("last_delay_s").log().var().alias("var"))
    return float(np.sqrt(np.mean(logs["var"].to_numpy())))


def half_width(directories: Sequence[Path]) -> float:
    """Half the 95% interval that studies give a case, relative to its delay: the median."""
    cases = pl.concat([read_study(directory).cases for directory in directories])
    half = (cases["last_delay_high_s"] - cases["last_delay_low_s"]) / 2 / cases["last_delay_s"]
    return float(np.median(half.to_numpy()))


def compare(directories: Sequence[Path]) -> dict[str, np.ndarray]:
    """Compares the studies in these directories with each other; those in one folder are one group."""
    by_name = {}
    for folder in dict.fromkeys(directory.parent for directory in directories):
        studies = [read_study(directory) for directory in directories if directory.parent == folder]
        observed = np.array(list(said_and_seen([select(one, within=TOLERANCE) for one in studies])))
        if not len(observed):
            sys.exit(f"nothing to compare in {folder}: no choice with a confidence is in two studies")
        library, nodes = studies[0].cases["library"][0], max(1, *studies[0].cases["nodes"])
        name = f"{library}, {amount(nodes, 'node')}"
        print_table(f"{name}, {len(studies)} studies", observed)
        by_name[name] = observed
    return by_name


def main() -> None:
    parser = argparse.ArgumentParser(description="Is the confidence in choices calibrated?")
    parser.add_argument("mode", choices=("simulated", "measured", "compare", "cost"))
    parser.add_argument("words", nargs="*")
    parser.add_argument("--mpi", default="")
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    if options.mode == "simulated":
        comparison = simulated()
    elif options.mode == "compare":
        comparison = compare([Path(word) for word in options.words])
    elif options.mode == "cost":
        study, output, *runs = options.words
        cost(Path(study), Path(output), int(runs[0]) if runs else 10, options.mpi)
        return
    else:
        study, output, *runs = options.words
        comparison = compare(measured(Path(study), Path(output), int(runs[0]) if runs else 10, options.mpi))
    if options.picture:
        draw(comparison, options.picture)


if __name__ == "__main__":
    main()
