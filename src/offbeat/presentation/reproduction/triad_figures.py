"""Figures 2 and 3 of "Making Applications Faster by Asynchronous Execution": the STREAM triad with delays.

The paper measured them on 360 cores of its cluster Fritz; here they are simulated with the program ``mst`` on
the platform ``fritz``. The paper delays one random rank at a time, and says nothing of the noise that its
machine adds by itself. The simulated machine has none: there, one domain of memory that stays in lockstep
holds all others, so that a random rank of *each* domain is delayed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from msgspec import Struct, structs

from offbeat.base.errors import BadInput
from offbeat.model.platform.machine import load as load_platform
from offbeat.presentation.drawing.axes import framed_axes, legend_beside, titled_figure
from offbeat.presentation.drawing.iterations import draw_performance
from offbeat.presentation.drawing.phase_space import phase_space_grid
from offbeat.presentation.drawing.picture_files import write_pictures
from offbeat.presentation.reproduction.claims import Claim, Observation, Reproduction, simulated_sentence
from offbeat.programs.description.program_file import Program
from offbeat.programs.description.program_file import load as load_program
from offbeat.programs.description.schema import NoiseSection
from offbeat.programs.simulation.lockstep import Lockstep, limit_s, lockstep
from offbeat.programs.simulation.simulate import Progress, Simulated, prepare

FIGURES = ("2", "3")

PAPER_ITERATIONS = 10_000

EVERY = (0, 100, 20, 5)
"""Figure 2b: a delay in every k-th iteration, in the quarters of the run; 0: none."""

DELAY_S = 20e-3
"""The time of a delay: estimated, as the paper states only that it is a loop of 10^7 divisions."""

MOST_APART = 0.5
"""Ranks that are less than half an iteration apart are in synchrony: most execute the same phase."""

SNIPPET = 100
"""Iterations of a snippet of figure 3."""

RANK = 36
"""The rank of figure 3: the first of the second socket."""


class Runs(Struct, frozen=True, kw_only=True, eq=False):
    """The three simulated runs of figure 2, and the program without delays in lockstep and at its limit."""

    none: Simulated
    growing: Simulated
    often: Simulated
    composite: Lockstep
    limit_s: float

    def rate(self, run: Simulated, quarter: int | None = None) -> float:
        """Iterations per second and rank, of the whole run or of a quarter of it (0 to 3)."""
        ends_s = run.iteration_end_s.mean(axis=1)
        bounds = np.linspace(0, run.iterations, 5).astype(int) if quarter is not None else [0, run.iterations]
        first, end = bounds[quarter or 0], bounds[(quarter or 0) + 1]
        began_s = ends_s[first - 1] if first else 0.0
        return float((end - first) / (ends_s[end - 1] - began_s) / run.p)

    def distance(self, run: Simulated, quarter: int) -> float:
        """How many iterations apart the first and the last rank are before a delay of a quarter: the median.

        The distance is the time between their ends of the same iteration, in iterations of this quarter.
        """
        bounds = np.linspace(0, run.iterations, 5).astype(int)
        before = np.arange(bounds[quarter] + 1, bounds[quarter + 1] + 1)
        every = EVERY[quarter]
        kept = before[(before + 1) % every == 0] if every else before
        rows = (kept if len(kept) else before[-1:]) - 1
        apart_s = np.median(np.ptp(run.iteration_end_s[rows], axis=1))
        return float(apart_s * self.rate(run, quarter) * run.p)

    @property
    def lockstep_rate(self) -> float:
        """Iterations per second and rank in lockstep."""
        return 1 / self.composite.iteration_s / self.none.p

    @property
    def limit(self) -> float:
        """Iterations per second and rank that no execution exceeds."""
        return 1 / self.limit_s / self.none.p


def with_delays(program: Program, *noise: NoiseSection) -> Program:
    """The program with these delays."""
    return structs.replace(program, file=structs.replace(program.file, noise=list(noise)))


def delay(every: int, first: int = 1, last: int = 0) -> NoiseSection:
    """A delay of a rank in each memory domain after its triad, in every k-th iteration of a range."""
    return NoiseSection(phase="triad", time=DELAY_S, pick="each_domain", every=every, first=first, last=last)


def runs(iterations: int, on_progress: Progress | None = None) -> Runs:
    """Simulate the three runs with this number of iterations each."""
    program = load_program("mst").resized(iterations=iterations)
    platform = load_platform("fritz")
    ends = np.linspace(0, iterations, len(EVERY) + 1).astype(int)
    growing = [
        delay(every, int(first) + 1, int(last))
        for every, first, last in zip(EVERY, ends[:-1], ends[1:], strict=True)
        if every
    ]
    simulated = []
    for number, one in enumerate((program, with_delays(program, *growing), with_delays(program, delay(4)))):

        def report(done: int, total: int, earlier: int = number) -> None:
            if on_progress is not None:
                on_progress(earlier * total + done, 3 * total)

        simulated.append(prepare(one, platform).simulate(report))
    none, grown, often = simulated
    return Runs(
        none=none,
        growing=grown,
        often=often,
        composite=lockstep(program, platform),
        limit_s=limit_s(program.resized(iterations=SNIPPET), platform),
    )


def reproduce(
    figure: str, directory: Path, iterations: int | None = None, on_progress: Progress | None = None
) -> Reproduction:
    """Simulate a figure, draw it, and check what the paper says of it.

    Raises :class:`BadInput` for another figure, for fewer iterations than its snippets need, and for a
    directory that cannot be written.
    """
    if figure not in FIGURES:
        raise BadInput(f"figure {figure}: the simulated figures of the triad are {', '.join(FIGURES)}")
    count = PAPER_ITERATIONS if iterations is None else iterations
    if not 4 * SNIPPET < count <= PAPER_ITERATIONS * 10:
        raise BadInput(
            f"{count} iterations: the figure needs from {4 * SNIPPET + 1} to {10 * PAPER_ITERATIONS}"
        )
    of = runs(count, on_progress)
    draw, claims = {"2": (figure_2, CLAIMS_2), "3": (figure_3, CLAIMS_3)}[figure]
    pictures = write_pictures(draw(of), directory / "pictures", f"async-figure{figure}")
    return Reproduction(
        done=3,
        total=3,
        pictures=pictures,
        claims=[simulated_sentence(claim, of) for claim in claims],
        remarks=REMARKS,
    )


REMARKS = [
    "Simulated: the program mst on the platform fritz. The paper delays one random rank at a time; here a"
    " random rank of each memory domain is delayed, by an estimated time.",
]


# --- the pictures ---

PANEL_WIDTH, PANEL_HEIGHT = 3.3, 2.0


def figure_2(of: Runs) -> Figure:
    """The rate by iteration (above) and by rank (below), of the three runs."""
    width, height = 3 * PANEL_WIDTH + 1.6, 2 * PANEL_HEIGHT + 1.0
    drawn = titled_figure(
        width,
        height,
        "Figure 2: iterations per second and rank of the triad, simulated",
        "lines: 1 / mean time of an iteration; areas: from the first to the third quartile",
    )
    titles = (
        "(a) no delays",
        f"(b) none, then every {', '.join(map(str, EVERY[1:]))}",
        "(c) every 4 iterations",
    )
    for column, (run, title) in enumerate(zip((of.none, of.growing, of.often), titles, strict=True)):
        left, right = 0.75 + column * PANEL_WIDTH, 1.6 + (2 - column) * PANEL_WIDTH - 0.05
        above = framed_axes(drawn, left, 0.55 + PANEL_HEIGHT, right, 0.85)
        below = framed_axes(drawn, left, 0.45, right, 0.95 + PANEL_HEIGHT)
        times_s = run.iteration_s()
        draw_performance(above, times_s, of.composite.iteration_s, of.limit_s, run.p, first=1)
        draw_performance(below, times_s.T, of.composite.iteration_s, of.limit_s, run.p)
        for axes, label in ((above, "iteration"), (below, "rank")):
            axes.set_xlabel(label, fontsize=8)
            axes.set_ylim(0.9 * of.lockstep_rate, 1.3 * of.limit)
            if column:
                axes.set_ylabel("")
        above.set_title(title, fontsize=9, loc="left")
        if column == 2:
            legend_beside(above)
    return drawn


def figure_3(of: Runs) -> Figure:
    """Phase space of one rank in run (b): snippets at the end of each quarter, and the whole run."""
    run = of.growing
    quantities = (
        ("communication\ntime [ms]", 1e3 * run.communication_s[:, RANK].astype(np.float64)),
        ("iterations/s\nper rank", 1 / run.iteration_s()[:, RANK] / run.p),
    )
    ends = np.linspace(0, run.iterations, len(EVERY) + 1).astype(int)[1:].tolist()
    return phase_space_grid(
        f"Figure 3: phase space of rank {RANK}, simulated",
        "across: the value in iteration i, upwards: in iteration i + 1; delays as in figure 2b; dark: early,"
        " bright: late",
        quantities,
        [*((end - SNIPPET, end) for end in ends), (0, run.iterations)],
    )


# --- the claims ---


def _lockstep(of: Runs) -> Observation:
    return Observation(
        f"{of.lockstep_rate:.4f} in lockstep, and {of.rate(of.none):.4f} without delays",
        0.0795 <= of.lockstep_rate <= 0.0805 and abs(of.rate(of.none) / of.lockstep_rate - 1) < 0.01,
    )


def _limit(of: Runs) -> Observation:
    return Observation(f"{of.limit:.4f}", 0.0935 <= of.limit <= 0.0945)


def _quarters(of: Runs) -> Observation:
    rates = [of.rate(of.growing, quarter) for quarter in range(len(EVERY))]
    return Observation(", ".join(f"{rate:.4f}" for rate in rates), rates == sorted(rates))


def _rare(of: Runs) -> Observation:
    ratio = of.rate(of.growing, 1) / of.rate(of.growing, 0)
    apart = of.distance(of.growing, 1)
    return Observation(
        f"{100 * (ratio - 1):.1f}% more than without delays; before the next delay, ranks are {apart:.1f}"
        f" iterations apart ({of.distance(of.growing, 0):.1f} without delays)",
        ratio <= 1.015 and apart < MOST_APART,
    )


def _near_limit(of: Runs) -> Observation:
    rate = of.rate(of.often)
    return Observation(f"{rate:.4f}, {100 * rate / of.limit:.0f}% of the limit", rate >= 0.088)


def _spread(of: Runs) -> Observation:
    spreads = [np.diff(np.quantile(run.iteration_s(), (0.25, 0.75)))[0] for run in (of.none, of.often)]
    text = f"half of all iterations are within {1e3 * spreads[0]:.1f} ms without delays, and"
    return Observation(f"{text} {1e3 * spreads[1]:.1f} ms with them", bool(spreads[1] > spreads[0]))


def _waiting(of: Runs) -> Observation:
    quarter = of.growing.iterations // 4
    waits_s = of.growing.communication_s[:, RANK]
    early, late = float(np.median(waits_s[:quarter])), float(np.median(waits_s[-quarter:]))
    return Observation(f"median {1e3 * early:.1f} ms, later {1e3 * late:.1f} ms", late > early)


CLAIMS_2: list[Claim[Runs]] = [
    Claim(says="The composite and the undisturbed performance are 0.08 it/s per process.", check=_lockstep),
    Claim(says="With all communication overlapped, about 0.094 could be attained.", check=_limit),
    Claim(says="More frequent injections (none, 100, 20, 5) lead to better performance.", check=_quarters),
    Claim(says="If they are not frequent enough (100), the system goes back to synchrony.", check=_rare),
    Claim(says="With an injection in every 4th iteration, it comes close to the limit.", check=_near_limit),
    Claim(says="The performance varies more with injections than without.", check=_spread),
]

CLAIMS_3: list[Claim[Runs]] = [
    Claim(
        says="The time in MPI is small while execution is synchronous, and grows with the injections.",
        check=_waiting,
    ),
    Claim(says="Performance increases with more frequent injections.", check=_quarters),
]
