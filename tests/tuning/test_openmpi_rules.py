"""Open MPI's rules files, evaluated as Open MPI does."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan_factory import chosen, create_plan, installation, planned, telling_calls

from offbeat.base.errors import BadInput
from offbeat.model.study.algorithm import Algorithm
from offbeat.selection.tuning_files import openmpi
from offbeat.selection.tuning_files.openmpi import COLLECTIVES
from offbeat.selection.tuning_files.tuning_plan import NO_END, Rule, TuningPlan

Row = tuple[int, list[int]]  # message size, rest of the row
Block = tuple[int, list[Row]]  # communicator size, its rows
Table = dict[int, list[Block]]  # collective id → communicator sizes

PER_PROCESS = ["allreduce", "bcast", "reduce", "allgatherv"]
TOTAL = ["alltoall", "allgather", "reduce_scatter", "reduce_scatter_block"]
SIZELESS = ["gather", "scatter", "alltoallv", "barrier", "scan", "exscan"]


def numbers(text: str) -> tuple[int, list[int]]:
    """The version of a file and its numbers without comments."""
    version = 1
    if text.startswith("rule-file-version-"):
        first, _, text = text.partition("\n")
        version = int(first.removeprefix("rule-file-version-"))
    return version, [int(word) for line in text.splitlines() for word in line.partition("#")[0].split()]


def read(text: str) -> Table:
    """Collective id → communicator sizes → rows. Refuses files that Open MPI would ignore."""
    version, words = numbers(text)
    left = iter(words)
    table: Table = {}
    for _ in range(next(left)):
        collective = next(left)
        assert collective not in table
        blocks: list[Block] = []
        for _ in range(next(left)):
            p, rows = next(left), []
            for _ in range(next(left)):
                rows.append((next(left), [next(left) for _ in range(4 if version == 2 else 3)]))
            assert rows[0][0] == 0, "the first message size must be 0"
            assert [row[0] for row in rows] == sorted({row[0] for row in rows}), "message sizes must ascend"
            blocks.append((p, rows))
        assert [block[0] for block in blocks] == sorted({block[0] for block in blocks})
        table[collective] = blocks
    assert not list(left), "numbers are left over"
    return table


def message_size(collective: str, p: int, size: int) -> int:
    """What Open MPI looks up for a call of ``size`` bytes per process."""
    if collective in ("alltoallv", "barrier"):
        return 0
    return size if collective in PER_PROCESS else p * size


def decided(table: Table, collective: str, p: int, size: int) -> list[int]:
    """Algorithm, fan-out, segment size (and requests) for a call; 0 is the library's decision."""
    blocks = table.get(COLLECTIVES[collective].number, [(0, [(0, [0, 0, 0])])])
    rows = max((block for block in blocks if block[0] <= p), default=blocks[0], key=lambda block: block[0])[1]
    expected = message_size(collective, p, size)
    return max((row for row in rows if row[0] <= expected), key=lambda row: row[0])[1]


def written(tuning_plan: TuningPlan, folder: Path, version: int = 1) -> str:
    files = openmpi.write(tuning_plan, installation("openmpi", (5, 0, 11)), folder, version)
    return files.files[0].read_text(encoding="utf-8")


def obeyed(tuning_plan: TuningPlan, folder: Path, version: int = 1) -> Table:
    """A plan's file as Open MPI reads it."""
    return read(written(tuning_plan, folder, version))


def number(rule: Rule | None) -> int:
    return openmpi.entry_of_tuned(rule).number if rule else 0


@settings(deadline=None, max_examples=60)
@given(configurations=chosen([*PER_PROCESS, *TOTAL]), version=st.sampled_from([1, 2]))
def test_calls_use_the_plan_or_else_the_librarys_default(
    tmp_path_factory: pytest.TempPathFactory, configurations: dict[tuple[str, int, int], str], version: int
) -> None:
    tuning_plan = create_plan("openmpi", configurations)
    table = obeyed(tuning_plan, tmp_path_factory.mktemp("rules"), version)
    for collective in tuning_plan.rules:
        for p, size in telling_calls(tuning_plan, collective):
            assert decided(table, collective, p, size)[0] == number(
                planned(tuning_plan, collective, p, size)
            ), (
                p,
                size,
            )


@settings(deadline=None, max_examples=60)
@given(configurations=chosen(SIZELESS))
def test_collectives_that_must_not_depend_on_the_size_have_one_line_for_all_sizes(
    tmp_path_factory: pytest.TempPathFactory, configurations: dict[tuple[str, int, int], str]
) -> None:
    tuning_plan = create_plan("openmpi", configurations)
    table = obeyed(tuning_plan, tmp_path_factory.mktemp("rules"))
    for collective, rules in tuning_plan.rules.items():
        assert all(len(rows) == 1 for _, rows in table[COLLECTIVES[collective].number])
        spans = {(rule.p_low, rule.p_high) for rule in rules}
        for p, size in telling_calls(tuning_plan, collective):
            tuned = any(low <= p <= high for low, high in spans)
            assert (decided(table, collective, p, size)[0] != 0) == tuned


def test_the_file_is_what_open_mpi_expects(tmp_path: Path) -> None:
    tuning_plan = create_plan(
        "openmpi",
        {("reduce", 4, 64): "way3", ("reduce", 4, 1024): "way2", ("alltoall", 4, 16): "way1"},
        "5.0.11",
    )
    assert written(tuning_plan, tmp_path) == (
        """\
# Written by offbeat from measurements with Open MPI 5.0.11.
# Each rule holds up to the geometric mean of its size and the next, from the first size to the last.
# Each size line: message size, algorithm (0: the library's default), fan-in/out, segment size.
# Rules of reduce can change the last bits of floating-point results: they combine contributions in another \
order than the library's default, or it is unknown whether they do. --same-bits leaves such rules out.
2 # collectives

3 # alltoall
3 # communicator sizes
0 # processes and more: the library's decision
1
0 0 0 0
4 # for 4 processes
3 # message sizes
0 0 0 0
64 1 4 0 # way1
68 0 0 0
5 # processes and more: the library's decision
1
0 0 0 0

11 # reduce
3 # communicator sizes
0 # processes and more: the library's decision
1
0 0 0 0
4 # for 4 processes
4 # message sizes
0 0 0 0
64 3 4 0 # way3
256 2 4 0 # way2
1025 0 0 0
5 # processes and more: the library's decision
1
0 0 0 0
"""
    )


def test_a_launch_uses_the_files_by_options_or_by_environment(tmp_path: Path) -> None:
    files = openmpi.write(
        create_plan("openmpi", {("bcast", 4, 64): "way1"}), installation("openmpi", (4, 1, 4)), tmp_path
    )
    path = str(tmp_path / "openmpi.rules")
    assert files.environment == {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_dynamic_rules_filename": path,
    }
    assert files.launch_options == [
        *("--mca", "coll_tuned_use_dynamic_rules", "1"),
        *("--mca", "coll_tuned_dynamic_rules_filename", path),
    ]
    assert files.usage[0] == f"mpirun {' '.join(files.launch_options)} -n P ./application"
    assert files.usage[1] == (
        f"export OMPI_MCA_coll_tuned_use_dynamic_rules=1 OMPI_MCA_coll_tuned_dynamic_rules_filename={path}"
    )
    assert files.environment_for(64) == files.environment


def rule(collective: str, name: str, settings: dict[str, str], size: int = 64, **other: object) -> Rule:
    """A rule on p=4, of one size or of all where Open MPI does not read it.

    Settings are given without ``coll_tuned_X_algorithm``.
    """
    start = f"coll_tuned_{collective}_algorithm"
    full = {start + key: value for key, value in settings.items()}
    algorithm = Algorithm(collective=collective, name=name, settings=full)
    low, high = (0, NO_END) if collective in SIZELESS else (size, size)
    values = {"p": 4, "p_low": 4, "p_high": 4, "bytes": size, "bytes_low": low, "bytes_high": high} | other
    return Rule(collective=collective, algorithm=algorithm, **values)  # type: ignore[arg-type]


def plan_of(*rules: Rule, **other: object) -> TuningPlan:
    by_collective: dict[str, list[Rule]] = {}
    for entry in rules:
        by_collective.setdefault(entry.collective, []).append(entry)
    return TuningPlan(family="openmpi", version="5.0.11", rules=by_collective, **other)  # type: ignore[arg-type]


def test_parameters_are_in_the_line_and_reduce_takes_the_fan_out_of_the_chain(tmp_path: Path) -> None:
    settings = {"": "2", "_segmentsize": "65536", "_tree_fanout": "2", "_chain_fanout": "8"}
    table = obeyed(plan_of(rule("reduce", "chain", settings), rule("allgather", "x", settings)), tmp_path)
    assert decided(table, "reduce", 4, 64) == [2, 8, 65536]
    assert decided(table, "allgather", 4, 64) == [2, 2, 65536]


def test_without_a_fan_out_the_one_that_open_mpi_forces_algorithms_with_is_written(tmp_path: Path) -> None:
    assert decided(obeyed(plan_of(rule("reduce", "chain", {"": "2"})), tmp_path), "reduce", 4, 64) == [
        2,
        4,
        0,
    ]


def test_a_limit_of_requests_needs_format_2_and_is_otherwise_left_out_and_named(tmp_path: Path) -> None:
    limited = rule("reduce", "binary(requests=2)", {"": "4", "_max_requests": "2"})
    assert decided(obeyed(plan_of(limited), tmp_path, 2), "reduce", 4, 64) == [4, 4, 0, 2]
    tuning_plan = plan_of(limited, rule("bcast", "binomial", {"": "6"}))
    files = openmpi.write(tuning_plan, installation("openmpi", (5, 0, 11)), tmp_path)
    assert [entry.collective for entry in files.rules] == ["bcast"]
    assert any("left to the library's default: binary(requests=2)" in note for note in files.notes)


@pytest.mark.parametrize("version", [(4, 1, 4), (5, 0, 6)])
def test_format_2_is_refused_for_libraries_that_would_ignore_it(
    tmp_path: Path, version: tuple[int, ...]
) -> None:
    with pytest.raises(BadInput, match=r"would ignore the file silently.*Use --format 1"):
        openmpi.write(
            plan_of(rule("reduce", "chain", {"": "2"})), installation("openmpi", version), tmp_path, 2
        )
    assert list(tmp_path.iterdir()) == []


def test_other_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="formats 1 and 2"):
        openmpi.write(
            plan_of(rule("reduce", "chain", {"": "2"})), installation("openmpi", (5, 0, 11)), tmp_path, 3
        )


def test_settings_without_a_number_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"reduce's algorithm chain have no number"):
        written(plan_of(rule("reduce", "chain", {"": "chain"})), tmp_path)


def test_a_parameter_that_the_file_cannot_hold_becomes_a_variable(tmp_path: Path) -> None:
    knomial = rule("bcast", "knomial(radix=8)", {"": "7", "_knomial_radix": "8"})
    files = openmpi.write(plan_of(knomial), installation("openmpi", (5, 0, 11)), tmp_path)
    assert files.environment["OMPI_MCA_coll_tuned_bcast_algorithm_knomial_radix"] == "8"


def test_of_contradicting_parameters_the_most_chosen_is_used(
    tmp_path: Path,
) -> None:
    sized = [
        rule("bcast", f"knomial(radix={radix})", {"": "7", "_knomial_radix": str(radix)}, size)
        for radix, size in ((2, 8), (8, 64), (8, 512))
    ]
    files = openmpi.write(plan_of(*sized), installation("openmpi", (5, 0, 11)), tmp_path)
    assert files.environment["OMPI_MCA_coll_tuned_bcast_algorithm_knomial_radix"] == "8"
    assert [entry.bytes for entry in files.rules] == [64, 512]
    assert any("bcast of 8 B on p=4" in note and "one value only" in note for note in files.notes)


def test_wrong_algorithms_that_were_requested_are_named_in_the_header(tmp_path: Path) -> None:
    tuning_plan = plan_of(rule("reduce", "binomial", {"": "5"}))
    warning = "WRONG RESULTS: reduce by binomial is wrong for operations that are not commutative"
    tuning_plan = msgspec.structs.replace(tuning_plan, wrong_result_warnings=[warning])
    files = openmpi.write(tuning_plan, installation("openmpi", (5, 0, 11)), tmp_path)
    lines = files.files[0].read_text(encoding="utf-8").splitlines()
    assert f"# {warning}" in lines[:4]


def han_component(path: Path, collective: str, p: int, size: int) -> str:
    """Which component gets a collective by a rules file of ``han``, read as the library reads it.

    With the number of its algorithm: ``han @2``.
    """
    lines = [line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines()]
    words = iter(" ".join(lines).replace(" @", "@").split())
    assert not any("@" in line and " @" not in line for line in lines), "the library needs the blank"
    component_line = "han"
    for _ in range(int(next(words))):
        name, levels, level = next(words), next(words), next(words)
        assert (levels, level) == ("1", "2")
        for row in range(int(next(words))):
            p_low = int(next(words))
            assert row > 0 or p_low == 1, "the library ignores files that begin elsewhere"
            for line in range(int(next(words))):
                size_low, component = int(next(words)), next(words)
                assert line > 0 or size_low == 0, "the library ignores files that begin elsewhere"
                if name == collective and p_low <= p and (line == 0 or size_low <= size):
                    component_line = component.replace("@", " @")
    assert next(words, None) is None
    return component_line


def test_on_several_nodes_han_decides_calls_without_a_rule(tmp_path: Path) -> None:
    tuning_plan = plan_of(
        rule("reduce", "linear", {"": "1"}, 64),
        rule("allgather", "ring", {"": "4"}, 64),
        rule("gather", "binomial", {"": "2"}, 64),
        rule("alltoall", "pairwise", {"": "2"}, 64),
        several_nodes=True,
    )
    files = openmpi.write(tuning_plan, installation("openmpi", (5, 0, 11)), tmp_path)
    assert files.environment["OMPI_MCA_coll_han_use_dynamic_file_rules"] == "1"
    path = Path(files.environment["OMPI_MCA_coll_han_dynamic_rules_filename"])
    assert path in files.files and "OMPI_MCA_coll_han_priority" not in files.environment
    (reduce,) = [entry for entry in files.rules if entry.collective == "reduce"]
    for p in (1, 3, 4, 5, 99):
        for size in (0, reduce.bytes_low - 1, reduce.bytes_low, reduce.bytes_high, reduce.bytes_high + 1):
            inside = p == 4 and reduce.bytes_low <= size <= reduce.bytes_high
            expected = "tuned" if inside else "han"
            assert han_component(path, "reduce", p, size) == expected
            assert han_component(path, "allgather", p, size) == expected, "sizes are per process"
            assert han_component(path, "gather", p, size) == ("tuned" if p == 4 else "han"), (
                "whatever the size"
            )
            assert han_component(path, "bcast", p, size) == "han"


def han_rule(collective: str, name: str, number: int, size: int, **other: object) -> Rule:
    """A rule for an algorithm of ``han``, of one size on p=4."""
    settings = {
        f"coll_han_use_{collective}_algorithm": str(number),
        f"coll_han_{collective}_dynamic_global_communicator_module": "6",
    }
    algorithm = Algorithm(collective=collective, name=name, settings=settings, hierarchical=True)
    return msgspec.structs.replace(rule(collective, name, {}, size, **other), algorithm=algorithm)


def test_algorithms_of_han_are_in_its_file_and_not_in_that_of_tuned(tmp_path: Path) -> None:
    tuning_plan = plan_of(
        han_rule("reduce", "han_simple", 2, 64),
        rule("reduce", "linear", {"": "1"}, 65),
        han_rule("reduce", "han_reproducible", 3, 66),
        han_rule("barrier", "han_simple", 1, 0),
        several_nodes=True,
    )
    files = openmpi.write(tuning_plan, installation("openmpi", (5, 0, 11)), tmp_path)
    path = Path(files.environment["OMPI_MCA_coll_han_dynamic_rules_filename"])
    expected = {63: "han", 64: "han @2", 65: "tuned", 66: "han @3", 67: "han"}
    assert {size: han_component(path, "reduce", 4, size) for size in expected} == expected
    assert [han_component(path, "barrier", p, 0) for p in (3, 4, 5)] == ["han", "han @1", "han"]
    table = read((tmp_path / openmpi.FILE_NAME).read_text(encoding="utf-8"))
    assert set(table) == {COLLECTIVES["reduce"].number}
    assert [decided(table, "reduce", 4, size)[0] for size in (64, 65, 66)] == [0, 1, 0]
    assert files.rules == [entry for own in tuning_plan.rules.values() for entry in own]


def test_the_segment_size_of_han_is_a_variable_of_the_launch(tmp_path: Path) -> None:
    by_segments = han_rule("reduce", "han_intra(segment=8192)", 1, 64)
    settings = by_segments.settings | {"coll_han_reduce_segsize": "8192"}
    algorithm = msgspec.structs.replace(by_segments.algorithm, settings=settings)
    tuning_plan = plan_of(msgspec.structs.replace(by_segments, algorithm=algorithm), several_nodes=True)
    files = openmpi.write(tuning_plan, installation("openmpi", (5, 0, 11)), tmp_path)
    assert files.environment["OMPI_MCA_coll_han_reduce_segsize"] == "8192"
    assert han_component(files.files[0], "reduce", 4, 64) == "han @1"
    assert "coll_han_reduce_segsize=8192 applies to all calls that han divides, at every size." in files.notes


def test_if_only_algorithms_of_han_were_chosen_tuned_gets_no_file(tmp_path: Path) -> None:
    tuning_plan = plan_of(han_rule("allgather", "han_simple", 2, 64), several_nodes=True)
    files = openmpi.write(tuning_plan, installation("openmpi", (5, 0, 11)), tmp_path)
    assert [path.name for path in files.files] == ["openmpi-han.rules"]
    assert not any("tuned" in key for key in files.environment)
    assert files.not_in_place == [], "han takes the size of calls with MPI_IN_PLACE from what is received"


def test_algorithms_of_han_are_refused_for_open_mpi_4_and_without_a_number(tmp_path: Path) -> None:
    tuning_plan = plan_of(han_rule("reduce", "han_simple", 2, 64), several_nodes=True)
    with pytest.raises(BadInput, match=r"han_simple, chosen for reduce, .* openmpi-4.1.4 never uses"):
        openmpi.write(tuning_plan, installation("openmpi", (4, 1, 4)), tmp_path)
    nameless = Algorithm(
        collective="reduce", name="han_simple", settings={"coll_han_use_reduce_algorithm": "simple"}
    )
    odd = plan_of(
        msgspec.structs.replace(tuning_plan.rules["reduce"][0], algorithm=nameless), several_nodes=True
    )
    with pytest.raises(BadInput, match="no number under coll_han_use_reduce_algorithm"):
        openmpi.write(odd, installation("openmpi", (5, 0, 11)), tmp_path)


def test_files_for_one_node_and_for_open_mpi_4_say_nothing_of_han(tmp_path: Path) -> None:
    tuning_plan = plan_of(rule("reduce", "linear", {"": "1"}), several_nodes=True)
    four = openmpi.write(tuning_plan, installation("openmpi", (4, 1, 4)), tmp_path)
    assert not any("han" in key for key in four.environment)
    one_node = openmpi.write(
        plan_of(rule("reduce", "linear", {"": "1"})), installation("openmpi", (5, 0, 11)), tmp_path
    )
    assert not any("han" in key for key in one_node.environment)
    assert any("applies only to communicators inside one node" in note for note in one_node.notes)


def test_very_wide_ranges_of_processes_are_exact_at_the_measured_ones_and_close_elsewhere(
    tmp_path: Path,
) -> None:
    configurations = {
        ("alltoall", p, size): f"way{1 + (size > 100)}" for p in (512, 4096) for size in (64, 1024)
    }
    tuning_plan = create_plan("openmpi", configurations)
    table = obeyed(tuning_plan, tmp_path)
    assert len(table[COLLECTIVES["alltoall"].number]) < 100
    for p in (512, 4096):
        for size in (63, 64, 255, 256, 1024, 1025):
            assert decided(table, "alltoall", p, size)[0] == number(planned(tuning_plan, "alltoall", p, size))
    for p in range(512, 4097, 7):
        for size in (64, 240, 270, 1024):
            assert decided(table, "alltoall", p, size)[0] == number(planned(tuning_plan, "alltoall", p, size))
        assert decided(table, "alltoall", p, 61)[0] == 0
        assert decided(table, "alltoall", p, 1060)[0] == 0


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(BadInput, match=r"cannot write the tuning file .*--output"):
        written(create_plan("openmpi", {("bcast", 4, 64): "way1"}), tmp_path / "file")
