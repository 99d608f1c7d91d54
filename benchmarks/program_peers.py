"""Programs of many iterations against other simulators: simulated times and events per second.

Usage: python benchmarks/program_peers.py [--p 64] [--iterations 1000] [--loggopsim PROGRAM --txt2bin PROGRAM]

In each iteration every rank works, each for another time, exchanges messages with both neighbours on a
ring, and calls an allreduce by recursive doubling in every 5th iteration. The platform is hydra without
memory domains and without overheads per message, which SMPI charges for detached messages only. SimGrid's
SMPI (Debian: libsimgrid-dev) runs the same as an MPI program, with the same costs of messages: its times
must be equal within 0.1%. LogGOPSim, if it is given, has another model (LogGOPS: nodes share no links), so
that only its speed is compared. It must simulate all messages of its schedule. The times of SMPI and
LogGOPSim are those of the whole process less those of a run with one iteration; writing and converting
LogGOPSim's schedule does not count. An event is a message or the work of a rank. The best of three runs
counts.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, structs

from offbeat.measurement.engines import smpi_platform
from offbeat.model.platform.machine import Platform
from offbeat.model.platform.machine import load as load_platform
from offbeat.programs.description.neighbours import messages
from offbeat.programs.description.program_file import Program, loads
from offbeat.programs.simulation.simulate import prepare

HERE = Path(__file__).parent
EVERY, DOUBLES, BASE_NS, STEP_NS = 5, 100, 20_000, 3_000
SIZES = (64, 8192, 200_000)
REPEATED = 3
LIMIT = 0.001
TICK_S = 1e-11
"""LogGOPSim's unit of time: it reads integers, and a byte takes less than a nanosecond."""


class Outcome(Struct, frozen=True):
    """The simulated time of a run, and the time that its simulation took, in seconds."""

    simulated_s: float
    took_s: float


def load_machine() -> Platform:
    """Hydra without overheads per message."""
    platform = load_platform("hydra")
    messages = structs.replace(platform.file.messages, send_overhead=0.0, receive_overhead=0.0)
    return structs.replace(platform, file=structs.replace(platform.file, messages=messages))


def program(p: int, iterations: int, size: int) -> Program:
    """The program file."""
    weights = [(BASE_NS + 7 * rank % 11 * STEP_NS) / BASE_NS for rank in range(p)]
    return loads(
        f"""name = "ring"
ranks = {p}
iterations = {iterations}
[[phase]]
kind = "work"
time = "{BASE_NS} ns"
weights = {weights}
[[phase]]
kind = "exchange"
neighbours = "ring"
bytes = ["{size} B"]
[[phase]]
kind = "collective"
collective = "allreduce"
family = "simgrid"
algorithm = "rdb"
bytes = [{8 * DOUBLES}]
every = {EVERY}
""",
        "ring.toml",
    )


def ours(p: int, iterations: int, size: int, platform: Platform) -> Outcome:
    """Our simulation."""
    run = prepare(program(p, iterations, size), platform)
    began = time.perf_counter()
    simulated = run.simulate()
    took_s = time.perf_counter() - began
    return Outcome(float(simulated.iteration_end_s[-1].max()), took_s)


class Smpi:
    """SimGrid's SMPI on a platform."""

    def __init__(self, folder: Path, platform: Platform, p: int) -> None:
        nodes = platform.node_of_rank(p)
        self._program, self._p = folder / "program_peers", p
        self._platform, self._hosts = folder / "platform.xml", folder / "hosts"
        self._platform.write_text(smpi_platform.xml(platform, nodes), encoding="utf-8")
        hosts = [smpi_platform.host(int(node)) for node in nodes]
        self._hosts.write_text("\n".join(hosts) + "\n", encoding="utf-8")
        self._options = [
            *(f"--cfg={setting}" for setting in smpi_platform.settings(platform)),
            *("--cfg=smpi/simulate-computation:no", "--cfg=smpi/allreduce:rdb", "--cfg=smpi/host-speed:1Gf"),
            "--log=root.thresh:critical",
        ]
        _output(["smpicc", "-O2", "-o", self._program, HERE / "program_peers.c"])

    def run(self, iterations: int, size: int) -> Outcome:
        """Run the program."""
        numbers = (iterations, size, EVERY, DOUBLES, BASE_NS, STEP_NS)
        command = ["smpirun", "-np", self._p, "-platform", self._platform, "-hostfile", self._hosts]
        began = time.perf_counter()
        printed = _output([*command, *self._options, self._program, *numbers])
        return Outcome(float(printed.split()[-1]), time.perf_counter() - began)


class LogGopSim:
    """LogGOPSim with one schedule file for each run."""

    def __init__(self, folder: Path, platform: Platform, p: int, simulator: str, converter: str) -> None:
        self._folder, self._p, self._simulator, self._converter = folder, p, simulator, converter
        link = platform.file.link
        self._costs = ["-L", round(link.latency / TICK_S), "-G", round(1 / (link.bandwidth * TICK_S))]

    def run(self, iterations: int, size: int) -> Outcome:
        """Simulate; its schedule is written before."""
        text, binary = self._folder / "ring.goal", self._folder / "ring.bin"
        text.write_text("".join(self._lines(iterations, size)), encoding="utf-8")
        _output([self._converter, "-i", text, "-o", binary])
        began = time.perf_counter()
        command = [self._simulator, "-f", binary, "--batchmode", *self._costs, "-o", 0, "-g", 0, "-S", 65536]
        printed = _output(command)
        took_s = time.perf_counter() - began
        works = iterations * self._p
        expected = works + 3 * (
            events(self._p, iterations) - works
        )  # a message is sent, travels, is received
        counted = re.search(r"Events: (\d+)", printed)
        if counted is None or int(counted[1]) != expected:
            sys.exit(
                f"program_peers: {self._simulator} has not simulated {expected} events: {printed.strip()}"
            )
        return Outcome(0.0, took_s)

    def _lines(self, iterations: int, size: int) -> list[str]:
        lines = [f"num_ranks {self._p}\n"]
        one = program(self._p, 1, size)
        ring = messages(one.file.phase[1], self._p)
        for rank in range(self._p):
            peers = ring.target[ring.source == rank].tolist()
            writer = _Rank()
            for iteration in range(1, iterations + 1):
                writer.step([f"calc {round((BASE_NS + 7 * rank % 11 * STEP_NS) * 1e-9 / TICK_S)}"])
                writer.step(
                    [
                        f"{what} {size}b {preposition} {peer} tag {iteration}"
                        for peer in peers
                        for what, preposition in (("recv", "from"), ("send", "to"))
                    ]
                )
                for step in range((self._p - 1).bit_length() if iteration % EVERY == 0 else 0):
                    peer, tag = rank ^ (1 << step), iterations + iteration * 32 + step
                    end = f"{8 * DOUBLES}b"
                    writer.step([f"recv {end} from {peer} tag {tag}", f"send {end} to {peer} tag {tag}"])
            lines.append(f"rank {rank} {{\n{writer.text()}}}\n")
        return lines


class _Rank:
    """The operations of a rank: those of a step begin when all of the step before have ended."""

    def __init__(self) -> None:
        self._operations: list[str] = []
        self._before: list[int] = []
        self._count = 0

    def step(self, operations: list[str]) -> None:
        """Add a step."""
        numbers = []
        for operation in operations:
            self._count += 1
            numbers.append(self._count)
            self._operations.append(f"l{self._count}: {operation}\n")
            self._operations += [f"l{self._count} requires l{before}\n" for before in self._before]
        self._before = numbers

    def text(self) -> str:
        """The lines of the schedule."""
        return "".join(self._operations)


def events(p: int, iterations: int) -> int:
    """Messages and pieces of work; p is a power of two."""
    in_collectives = iterations // EVERY * p * (p.bit_length() - 1)
    return iterations * p * 3 + in_collectives


def _output(command: list[object]) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"program_peers: {command[0]}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def best(run: Callable[[int, int], Outcome], iterations: int, size: int) -> Outcome:
    """The fastest of some runs, less the fastest with one iteration."""
    start_s = min(run(1, size).took_s for _ in range(REPEATED))
    runs = [run(iterations, size) for _ in range(REPEATED)]
    return Outcome(runs[0].simulated_s, max(min(one.took_s for one in runs) - start_s, 1e-9))


def main() -> int:
    """Print a line for each size; 0 if all times agree."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--p", type=int, default=64)
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--loggopsim", default="")
    parser.add_argument("--txt2bin", default="txt2bin")
    given = parser.parse_args()
    p, iterations = given.p, given.iterations
    if p < 2 or p & (p - 1):
        sys.exit(f"program_peers: --p {p}: give a power of two, for which all have the same allreduce")
    platform, agrees = load_machine(), True
    total = events(p, iterations)
    print(f"{p} ranks, {iterations} iterations: {total} events; million events/s")
    print(
        f"{'message':>9} {'iteration':>12} {'SMPI':>12} {'differs':>9} {'offbeat':>8} {'SMPI':>8} LogGOPSim"
    )
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        smpi = Smpi(folder, platform, p)
        third = LogGopSim(folder, platform, p, given.loggopsim, given.txt2bin) if given.loggopsim else None
        for size in SIZES:
            own = best(lambda count, bytes_: ours(p, count, bytes_, platform), iterations, size)
            other = best(smpi.run, iterations, size)
            differs = own.simulated_s / other.simulated_s - 1
            agrees &= abs(differs) <= LIMIT
            speeds = [total / one.took_s / 1e6 for one in (own, other)]
            last = f"{total / best(third.run, iterations, size).took_s / 1e6:9.3f}" if third else "        -"
            times = [one.simulated_s / iterations * 1e6 for one in (own, other)]
            print(
                f"{size:7d} B {times[0]:9.3f} µs {times[1]:9.3f} µs {100 * differs:+8.4f}%"
                f" {speeds[0]:8.3f} {speeds[1]:8.3f} {last}"
            )
    return 0 if agrees else 1


if __name__ == "__main__":
    sys.exit(main())
