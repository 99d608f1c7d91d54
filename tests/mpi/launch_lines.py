"""Launch command lines drawn from the grammars of launchers, with what is known of each by construction."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

PROGRAMS = ("./app", "sh", "python3", "/opt/solver")
"""Programs; some of them are on PATH, some are not."""

ARGUMENTS = (
    "-n",
    "7",
    "-np",
    "--np=9",
    "-n9",
    "--ntasks=5",
    "-x",
    "A=5",
    "-genv",
    "A",
    "--",
    "--export=NONE",
    "input",
)
"""Arguments of programs that look like options of launchers."""

NAMES = ("A", "OMPI_MCA_b")
VALUES = ("1", "x y", "a=b", "sh")


@dataclass
class Launcher:
    """Options of a launcher: ``flags`` without and ``valued`` with a value, and how a count and a variable
    are written. ``ends`` says whether ``--`` may precede the program, ``programs`` whether a colon may follow
    it."""

    name: str
    flags: tuple[str, ...]
    valued: tuple[tuple[str, ...], ...]
    counts: tuple[tuple[str, ...], ...]
    variables: tuple[tuple[str, ...], ...]
    ends: bool
    programs: bool = True


OPENMPI_5 = Launcher(
    name="mpirun",
    flags=("--oversubscribe", "--tag-output", "--display-map", "--report-bindings"),
    valued=(("--bind-to", "none"), ("--map-by", "slot"), ("--timeout", "60")),
    counts=(("-n", "#"), ("--n", "#"), ("-np", "#"), ("--np", "#"), ("-c", "#"), ("-n=#",), ("--np=#",)),
    variables=(("-x", "NAME=VALUE"), ("--mca", "NAME", "VALUE")),
    ends=True,
)
OPENMPI_4 = Launcher(
    name="mpirun.openmpi",
    flags=("--oversubscribe", "-oversubscribe", "--tag-output", "--display-map", "--report-bindings"),
    valued=OPENMPI_5.valued,
    counts=OPENMPI_5.counts[:5],
    variables=OPENMPI_5.variables,
    ends=True,
)
HYDRA = Launcher(
    name="mpiexec.hydra",
    flags=("-l", "-genvall", "-print-all-exitcodes"),
    valued=(("-ppn", "2"), ("-bind-to", "none"), ("-wdir", "/"), ("-launcher", "fork"), ("-usize", "4")),
    counts=(("-n", "#"), ("--n", "#"), ("-np", "#"), ("--np", "#"), ("-n=#",), ("--np=#",)),
    variables=(("-genv", "NAME", "VALUE"), ("-genv", "NAME=VALUE"), ("-env", "NAME", "VALUE")),
    ends=False,
)
SRUN = Launcher(
    name="srun",
    flags=("-l", "--label", "-u", "--exclusive", "-H", "--overlap", "--pty", "-lu"),
    valued=(("-c", "4"), ("-c4",), ("-N", "2"), ("-N2",), ("--mem", "1G"), ("--qos=debug",), ("-p", "sh")),
    counts=(("-n", "#"), ("-n#",), ("--ntasks=#",), ("--ntasks", "#"), ("-ln#",), ("-ln", "#")),
    variables=(("--export=ALL,NAME=VALUE",), ("--export", "ALL,NAME=VALUE")),
    ends=True,
)
LAUNCHERS = (OPENMPI_5, OPENMPI_4, HYDRA, SRUN)


@dataclass
class Line:
    """A command line and what it does: the processes of each of its programs, None where the launcher
    decides; the variables of the processes; the programs with their arguments."""

    launcher: Launcher
    words: list[str]
    counts: list[int | None] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    programs: list[list[str]] = field(default_factory=list)


@st.composite
def lines(
    draw: st.DrawFn,
    launcher: Launcher,
    *,
    most_programs: int = 2,
    always_counted: bool = False,
    programs: tuple[str, ...] = PROGRAMS,
) -> Line:
    """A launch command line of one launcher."""
    line = Line(launcher, [launcher.name])
    for number in range(draw(st.integers(1, most_programs if launcher.programs else 1))):
        if number:
            line.words.append(":")
        parts = [] if number else _options(draw, launcher)  # they hold for all programs
        count = draw(st.integers(1, 9)) if always_counted or draw(st.booleans()) else None
        if count is not None:
            form = draw(st.sampled_from(launcher.counts))
            parts.append([word.replace("#", str(count)) for word in form])
        if number == 0 and draw(st.booleans()):
            parts.append(_variable(draw, line))
        for part in draw(st.permutations(parts)):
            line.words += part
        if launcher.ends and draw(st.booleans()):
            line.words.append("--")
        program = [draw(st.sampled_from(programs)), *draw(st.lists(st.sampled_from(ARGUMENTS), max_size=5))]
        line.words += program
        line.counts.append(count)
        line.programs.append(program)
    return line


def _options(draw: st.DrawFn, launcher: Launcher) -> list[list[str]]:
    flags = draw(st.lists(st.sampled_from(launcher.flags), max_size=2, unique=True))
    valued = draw(st.lists(st.sampled_from(launcher.valued), max_size=2, unique_by=lambda one: one[0][:2]))
    return [[flag] for flag in flags] + [list(one) for one in valued]


def _variable(draw: st.DrawFn, line: Line) -> list[str]:
    name, value = draw(st.sampled_from(NAMES)), draw(st.sampled_from(VALUES))
    form = draw(st.sampled_from(line.launcher.variables))
    line.variables[f"OMPI_MCA_{name}" if "--mca" in form else name] = value
    return [word.replace("NAME", name).replace("VALUE", value) for word in form]
