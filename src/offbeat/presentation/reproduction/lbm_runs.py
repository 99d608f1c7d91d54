"""The runs of figures 4 and 5 of "Making Applications Faster by Asynchronous Execution": a lattice-Boltzmann
solver on the paper's clusters Meggie and Fritz.

From the paper: the times of computation and communication of figure 4b's four domain shapes (table 3), the
first and the last shape of figure 4c, the shape of figure 5, and the sizes of messages. Assumed: that ranks
are delayed at random by NOISE of the time of each sweep. The paper's 10^6 iterations are too many: as its
largest step, 2·10^6, exceeds them, its last point is a run without collectives, and so is the last one here.
"""

from __future__ import annotations

from msgspec import Struct, structs

from offbeat.model.platform.machine import Platform
from offbeat.model.platform.machine import load as load_platform
from offbeat.programs.description.program_file import Program
from offbeat.programs.description.program_file import load as load_program
from offbeat.programs.description.schema import PhaseSection
from offbeat.programs.simulation.lockstep import Lockstep, limit_s, lockstep, settled_iteration_s
from offbeat.programs.simulation.simulate import Progress, Simulated, phase_times_s, prepare

STEPS = (20, 200, 2000, 20_000)
"""The collective in every k-th iteration; those of which a run has at least two are simulated."""

PERIOD = STEPS[0]

NOISE = 0.05
"""The mean delay of a rank after each sweep, as a share of the sweep's time: assumed."""

BYTES_PER_CELL = 456
"""Memory traffic of an update: section 6.1."""

RECEIVED_IN_DOMAIN = 19
"""Messages that the ten ranks of a domain receive from ranks of their node: in a line, all but one."""


class Shape(Struct, frozen=True, kw_only=True):
    """A domain of cells, cut along z, with the times of an iteration in lockstep."""

    nx: int
    ny: int
    nz: int
    computation_s: float
    communication_s: float

    @property
    def label(self) -> str:
        """For legends: ``152 × 152 × 1280``."""
        return f"{self.nx} × {self.ny} × {self.nz}"

    @property
    def message_bytes(self) -> int:
        """Five populations of doubles for each cell of a plane with its border."""
        return 5 * 8 * (self.nx + 2) * (self.ny + 2)


SHAPES_4B = tuple(
    Shape(nx=side, ny=side, nz=length, computation_s=computation, communication_s=communication)
    for side, length, computation, communication in (
        (152, 1280, 5.9e-3, 6.34e-3),
        (108, 2560, 4.82e-3, 2.28e-3),
        (88, 3840, 2.86e-3, 0.79e-3),
        (52, 11520, 2.49e-3, 0.19e-3),
    )
)
"""Table 3."""


def _of_cross_section(nx: int, ny: int) -> Shape:
    """A shape with the ratio of times of table 3's first one, whose planes have other numbers of cells."""
    first = SHAPES_4B[0]
    factor = (nx + 2) * (ny + 2) / ((first.nx + 2) * (first.ny + 2))
    return Shape(
        nx=nx,
        ny=ny,
        nz=first.nz,
        computation_s=factor * first.computation_s,
        communication_s=factor * first.communication_s,
    )


SHAPES_4C = (_of_cross_section(252, 362), _of_cross_section(152, 600), _of_cross_section(52, 1802))
"""The first and the last are the paper's; it does not list those between."""


class Curve(Struct, frozen=True, kw_only=True):
    """The runs of one shape: the mean time of an iteration for each step; step 0 is without collectives.

    ``composite`` is the program in lockstep without noise; ``collective_s`` the time of a collective alone.
    """

    shape: Shape
    composite: Lockstep
    collective_s: float
    iteration_s: dict[int, float]

    @property
    def speedups(self) -> dict[int, float]:
        """The speed against that with a collective in every 20th iteration."""
        return {step: self.iteration_s[PERIOD] / time_s for step, time_s in self.iteration_s.items()}

    @property
    def gain(self) -> float:
        """By which share the program is faster without collectives."""
        return self.speedups[0] - 1

    @property
    def cost_of_collective(self) -> float:
        """The speed-up if only the collective's own time were saved: the paper's black crosses."""
        collective_s = self.collective_s / PERIOD
        return self.iteration_s[PERIOD] / (self.iteration_s[PERIOD] - collective_s)


def program_of(shape: Shape, step: int, iterations: int, bandwidth: float) -> Program:
    """The program ``lbm`` for a shape, whose domains of ten ranks have this bandwidth of memory."""
    program = load_program("lbm").resized(iterations=iterations)
    sweep, halo, mass = program.file.phase
    phases = [
        structs.replace(sweep, memory=round(shape.computation_s * bandwidth / 10)),
        structs.replace(halo, bytes=[shape.message_bytes]),
        *([structs.replace(mass, every=step)] if step else []),
    ]
    return _with_noise(program, phases, shape.computation_s)


def _with_noise(program: Program, phases: list[PhaseSection], sweep_s: float) -> Program:
    noise = [structs.replace(one, time=NOISE * sweep_s) for one in program.file.noise]
    return structs.replace(program, file=structs.replace(program.file, phase=phases, noise=noise))


def platform_of(shape: Shape) -> Platform:
    """Meggie with the bandwidth of messages that gives the shape's time of communication."""
    platform = load_platform("meggie")
    bandwidth = RECEIVED_IN_DOMAIN * shape.message_bytes / shape.communication_s
    memory = structs.replace(platform.file.memory, message_bandwidth=bandwidth)
    return structs.replace(platform, file=structs.replace(platform.file, memory=memory))


class _Counter:
    """Reports the progress of several runs as one."""

    def __init__(self, runs: int, on_progress: Progress | None) -> None:
        self._runs, self._done, self._on_progress = runs, 0, on_progress

    def simulate(self, program: Program, platform: Platform) -> Simulated:
        """Simulate the next run."""

        def report(done: int, total: int) -> None:
            if self._on_progress is not None:
                self._on_progress(self._done * total + done, self._runs * total)

        simulated = prepare(program, platform).simulate(report)
        self._done += 1
        return simulated


def curves(shapes: tuple[Shape, ...], iterations: int, on_progress: Progress | None = None) -> list[Curve]:
    """Simulate shapes with each step. The first half of a run, in which ranks drift apart, does not count."""
    steps = [step for step in STEPS if 2 * step <= iterations] + [0]
    counter = _Counter(len(shapes) * len(steps), on_progress)
    drawn = []
    for shape in shapes:
        platform = platform_of(shape)
        programs = {
            step: program_of(shape, step, iterations, platform.file.memory.bandwidth) for step in steps
        }
        drawn.append(
            Curve(
                shape=shape,
                composite=lockstep(programs[PERIOD].without_noise(), platform),
                collective_s=phase_times_s(programs[PERIOD], platform)[-1],
                iteration_s={
                    step: settled_iteration_s(counter.simulate(program, platform))
                    for step, program in programs.items()
                },
            )
        )
    return drawn


class Timeline(Struct, frozen=True, kw_only=True, eq=False):
    """The run of figure 5, and the program without noise in lockstep and at its limit."""

    run: Simulated
    composite: Lockstep
    limit_s: float

    def rates(self) -> tuple[list[float], list[float]]:
        """The mean rate of a rank by the place in a period of 20 iterations, and its standard deviation.

        The first quarter of the run does not count.
        """
        times_s = self.run.iteration_s()
        first = self.run.iterations // 4 // PERIOD * PERIOD
        end = self.run.iterations // PERIOD * PERIOD
        by_place = times_s[first:end].reshape(-1, PERIOD, self.run.p)
        mean_s = by_place.mean(axis=(0, 2))
        return (1 / mean_s).tolist(), (by_place.std(axis=(0, 2)) / mean_s**2).tolist()


def timeline(iterations: int, on_progress: Progress | None = None) -> Timeline:
    """Simulate figure 5: 720 × 720 × 5760 cells on 1,440 ranks of Fritz, four planes each."""
    platform = load_platform("fritz")
    cells = 720 * 720 * 4
    memory = platform.file.memory
    sweep_s = BYTES_PER_CELL * cells / (memory.bandwidth * memory.domains / platform.file.cores)
    program = load_program("lbm").resized(ranks=1440, iterations=iterations)
    sweep, halo, mass = program.file.phase
    phases = [
        structs.replace(sweep, memory=BYTES_PER_CELL * cells),
        structs.replace(halo, bytes=[5 * 8 * 722 * 722]),
        mass,
    ]
    program = _with_noise(program, phases, sweep_s)
    run = _Counter(1, on_progress).simulate(program, platform)
    quiet = program.without_noise()
    return Timeline(
        run=run,
        composite=lockstep(quiet, platform),
        limit_s=limit_s(quiet.resized(iterations=PERIOD), platform),
    )
