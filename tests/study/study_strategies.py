"""Random valid studies for the property tests, without files."""

from __future__ import annotations

from hypothesis import strategies as st

from offbeat.model.pattern.shapes import SHAPES
from offbeat.model.study.collectives import COLLECTIVES
from offbeat.model.study.schema import (
    ARITHMETIC,
    EXTENTS,
    OPS,
    CollectiveSection,
    MpiSection,
    PatternsSection,
    ProcessesSection,
    RepetitionsSection,
    SkewSection,
    StartSection,
    Study,
)

MARKS = "é\"\\'#[]\t\n µ=" + chr(0x1F) + chr(0x7F)
WORDS = st.text(st.sampled_from("abcXYZ019_-" + MARKS), min_size=1, max_size=12)
PRINTABLE = st.text(st.sampled_from("abc XYZ019_-é\"\\'#[]µ="), min_size=1, max_size=12).filter(str.strip)
SECONDS = st.floats(min_value=1e-9, max_value=1e4)


@st.composite
def sections(draw: st.DrawFn) -> list[CollectiveSection]:
    """Collectives divided among sections, so that no configuration is requested twice."""
    names = draw(st.lists(st.sampled_from(COLLECTIVES), min_size=1, max_size=6, unique=True))
    cut = draw(st.integers(0, len(names)))
    return [draw(section(part)) for part in (names[:cut], names[cut:]) if part]


@st.composite
def section(draw: st.DrawFn, names: list[str]) -> CollectiveSection:
    datatype = draw(st.sampled_from(sorted(EXTENTS)))
    ops = ARITHMETIC if datatype in ("float", "double") else OPS
    counts = draw(st.lists(st.integers(1, 4096), min_size=1, max_size=4, unique=True))
    return CollectiveSection(
        names=names,
        sizes=[] if names == ["barrier"] else [count * EXTENTS[datatype] for count in counts],
        algorithms=draw(
            st.lists(WORDS.filter(lambda word: word != "all" and word.strip()), min_size=1, unique=True)
        ),
        op=draw(st.sampled_from(ops)),
        datatype=datatype,
        root=draw(st.integers(0, 1)),
    )


COUNTS = st.lists(st.integers(2, 64), min_size=1, max_size=3, unique=True)
PROCESSES = st.one_of(
    st.builds(ProcessesSection, p=COUNTS), st.builds(ProcessesSection, nodes=COUNTS, ppn=COUNTS)
)
SKEWS = st.one_of(
    st.builds(
        SkewSection, policy=st.just("fixed"), times=st.lists(SECONDS, min_size=1, max_size=3, unique=True)
    ),
    st.builds(
        SkewSection,
        policy=st.sampled_from(["mean", "own"]),
        factors=st.lists(st.floats(min_value=1e-3, max_value=100), min_size=1, max_size=3, unique=True),
    ),
)


@st.composite
def studies(draw: st.DrawFn) -> Study:
    processes = draw(PROCESSES)
    shapes = sorted(set(SHAPES) - (set() if processes.nodes else {"node_delayed"}))
    minimum = draw(st.integers(1, 50))
    variables = st.dictionaries(st.from_regex(r"[A-Z_][A-Z0-9_]{0,8}", fullmatch=True), WORDS, max_size=3)
    return Study(
        name=draw(PRINTABLE),
        seed=draw(st.integers(0, 2**63 - 1)),
        collective=draw(sections()),
        processes=processes,
        patterns=PatternsSection(
            shapes=draw(st.lists(st.sampled_from(shapes), min_size=1, unique=True)),
            scale_files=draw(st.booleans()),
            seed=draw(st.integers(0, 2**31)),
        ),
        skew=draw(SKEWS),
        repetitions=RepetitionsSection(
            confidence_width=draw(st.floats(min_value=1e-3, max_value=0.5)),
            confidence=draw(st.floats(min_value=0.5, max_value=0.999)),
            minimum=minimum,
            maximum=draw(st.integers(minimum, 1000)),
            time_cap=draw(st.floats(min_value=0, max_value=1e4)),
            hang_after=draw(SECONDS),
        ),
        mpi=MpiSection(
            options=draw(
                st.lists(st.sampled_from(["--bind-to", "core", "-x", "A B", '"'])),
            ),
            environment=draw(variables),
            isolate=draw(st.booleans()),
            launcher=draw(st.sampled_from(["auto", "mpirun", "mpiexec", "srun"])),
        ),
        start=StartSection(tolerance=draw(st.one_of(st.just("auto"), SECONDS))),
    )
