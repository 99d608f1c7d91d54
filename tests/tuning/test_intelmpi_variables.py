"""Intel MPI's variables, evaluated as Intel MPI does."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from plan_factory import algorithms, choice, chosen, create_plan, installation, planned, telling_calls

from offbeat.base.errors import BadInput
from offbeat.libraries.families.intelmpi import LIBRARY
from offbeat.model.study.algorithm import Algorithm
from offbeat.model.study.collectives import COLLECTIVES
from offbeat.selection.tuning_files import intelmpi
from offbeat.selection.tuning_files.manifest import TuningFiles
from offbeat.selection.tuning_files.tuning_plan import Rule, TuningPlan, plan


def decided(environment: dict[str, str], collective: str, p: int, size: int) -> str:
    """The preset for a call; preset 0 and an unset variable are the library's decision.

    An entry holds up to its upper end, whatever its lower one, and the last for everything above.
    """
    value = environment.get(f"I_MPI_ADJUST_{collective.upper()}", "0")
    compared = size * p if collective == "reduce_scatter" else size
    for entry in value.split(";"):
        preset, _, condition = entry.partition(":")
        if not condition or compared <= int(condition.partition("-")[2]):
            return preset
    return value.rpartition(";")[2].partition(":")[0]


def written(tuning_plan: TuningPlan, folder: Path) -> TuningFiles:
    return intelmpi.write(tuning_plan, installation("intelmpi", (2021, 18, 1)), folder)


def preset(rule: Rule | None) -> str:
    return intelmpi.preset_of(rule) if rule else "0"


@settings(deadline=None, max_examples=60)
@given(
    configurations=chosen([name for name in COLLECTIVES if name not in (*LIBRARY.sizeless, "reduce_scatter")])
)
def test_calls_use_the_plan_or_else_the_librarys_default(
    tmp_path_factory: pytest.TempPathFactory, configurations: dict[tuple[str, int, int], str]
) -> None:
    tuning_plan = create_plan("intelmpi", configurations)
    files = written(tuning_plan, tmp_path_factory.mktemp("env"))
    for collective in tuning_plan.rules:
        for p, size in telling_calls(tuning_plan, collective):
            expected = preset(planned(tuning_plan, collective, p, size))
            assert decided(files.environment_for(p), collective, p, size) == expected, (p, size)


@settings(deadline=None, max_examples=30)
@given(configurations=chosen(["reduce_scatter"]))
def test_reduce_scatter_is_compared_by_the_sum_of_all_processes(
    tmp_path_factory: pytest.TempPathFactory, configurations: dict[tuple[str, int, int], str]
) -> None:
    tuning_plan = create_plan("intelmpi", configurations)
    files = written(tuning_plan, tmp_path_factory.mktemp("env"))
    for p in {rule.p for rule in tuning_plan.rules["reduce_scatter"]}:
        for _, size in telling_calls(tuning_plan, "reduce_scatter"):
            expected = preset(planned(tuning_plan, "reduce_scatter", p, size))
            assert decided(files.environment_for(p), "reduce_scatter", p, size) == expected


@settings(deadline=None, max_examples=30)
@given(configurations=chosen(list(LIBRARY.sizeless)))
def test_collectives_whose_size_is_ignored_get_one_preset(
    tmp_path_factory: pytest.TempPathFactory, configurations: dict[tuple[str, int, int], str]
) -> None:
    tuning_plan = create_plan("intelmpi", configurations)
    files = written(tuning_plan, tmp_path_factory.mktemp("env"))
    for collective in tuning_plan.rules:
        assert all(rule.is_sizeless for rule in files.rules)
        chosen = {rule.p: preset(rule) for rule in files.rules}
        for p, number in chosen.items():
            assert files.environment_for(p)[f"I_MPI_ADJUST_{collective.upper()}"] == number


def test_entries_ascend_without_a_gap_and_leave_the_rest_to_preset_0(tmp_path: Path) -> None:
    configurations = {
        ("reduce", 4, 64): "way1",
        ("reduce", 4, 256): "default",
        ("reduce", 4, 1024): "way2",
        ("reduce", 4, 4096): "way2",
    }
    files = written(create_plan("intelmpi", configurations), tmp_path)
    assert files.environment_for(4) == {
        "I_MPI_ADJUST_REDUCE": "0:0-63;1:64-127;0:128-511;2:512-4096;0:4097-2147483647"
    }


def test_each_range_of_processes_has_a_file_that_a_shell_can_source(tmp_path: Path) -> None:
    configurations = {("bcast", 4, 64): "way1", ("bcast", 16, 64): "way2"}
    files = written(create_plan("intelmpi", configurations, "2021.18.1"), tmp_path)
    assert [path.name for path in files.files] == ["intelmpi-p4-7.env", "intelmpi-p8-16.env"]
    assert files.files[0].read_text(encoding="utf-8") == (
        """\
# Written by offbeat from measurements with Intel MPI 2021.18.1.
# Each rule holds up to the geometric mean of its size and the next, from the first size to the last.
# Source it before launching 4 to 7 processes:  . intelmpi-p4-7.env
# Preset 0 is the library's built-in decision.
export I_MPI_ADJUST_BCAST='0:0-63;1:64-64;0:65-2147483647'
"""
    )
    script = f". {shlex.quote(str(files.files[1]))} && printenv I_MPI_ADJUST_BCAST"
    output = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert (
        output.stdout.strip()
        == files.environment_for(9)["I_MPI_ADJUST_BCAST"]
        == "0:0-63;2:64-64;0:65-2147483647"
    )


def test_a_launch_uses_the_settings_by_file_or_by_options(tmp_path: Path) -> None:
    files = written(create_plan("intelmpi", {("barrier", 4, 0): "way3"}), tmp_path)
    assert files.usage == [
        "# 4 processes",
        f". {tmp_path / 'intelmpi-p4.env'} && mpiexec -n 4 ./application",
        "mpiexec -genv I_MPI_ADJUST_BARRIER 3 -n 4 ./application",
    ]
    assert files.environment_for(5) == {}


def test_the_files_say_that_other_sizes_are_not_exactly_the_default(tmp_path: Path) -> None:
    files = written(create_plan("intelmpi", {("bcast", 4, 64): "way1"}), tmp_path)
    assert not files.exact_default
    assert any("preset 0" in note and "no longer reads its own tuning file" in note for note in files.notes)


def test_further_variables_are_in_the_file(tmp_path: Path) -> None:
    value = {"I_MPI_ADJUST_REDUCE": "7", "I_MPI_ADJUST_REDUCE_NODE_KNOMIAL_RADIX": "4"}
    algorithm = Algorithm(collective="reduce", name="preset_7(radix=4)", settings=value)
    fields = {"p": 4, "p_low": 4, "p_high": 4, "bytes": 64, "bytes_low": 64, "bytes_high": 64}
    tuning_plan = TuningPlan(
        family="intelmpi",
        version="2021.18.1",
        rules={"reduce": [Rule(collective="reduce", algorithm=algorithm, **fields)]},
    )
    files = written(tuning_plan, tmp_path)
    assert files.environment_for(4)["I_MPI_ADJUST_REDUCE_NODE_KNOMIAL_RADIX"] == "4"
    assert "export I_MPI_ADJUST_REDUCE_NODE_KNOMIAL_RADIX=4" in files.files[0].read_text(encoding="utf-8")


def test_settings_without_a_preset_are_refused_by_name(tmp_path: Path) -> None:
    algorithm = Algorithm(collective="reduce", name="odd", settings={"I_MPI_ADJUST_BCAST": "1"})
    fields = {"p": 4, "p_low": 4, "p_high": 4, "bytes": 64, "bytes_low": 64, "bytes_high": 64}
    tuning_plan = TuningPlan(
        family="intelmpi",
        version="",
        rules={"reduce": [Rule(collective="reduce", algorithm=algorithm, **fields)]},
    )
    with pytest.raises(BadInput, match="reduce's algorithm odd have no preset number"):
        written(tuning_plan, tmp_path)


def test_rules_for_communicators_of_a_launch_belong_to_the_launched_processes(tmp_path: Path) -> None:
    rows = choice("alltoall", 2, 1024, "way2", communicators=2, stride=1)
    everyone = choice("bcast", 4, 8, "way3")
    known = [*algorithms("intelmpi", "alltoall"), *algorithms("intelmpi", "bcast")]
    files = written(plan([rows, everyone], known), tmp_path)
    assert decided(files.environment_for(4), "alltoall", 2, 1024) == "2"
    assert decided(files.environment_for(4), "bcast", 4, 8) == "3"
    assert files.rule_for("alltoall", 2, 1024, launched_processes=4) is not None
    assert not any("ALLTOALL" in name for name in files.environment_for(2))


def test_sizes_of_communicators_that_a_launch_has_share_a_rule(tmp_path: Path) -> None:
    pairs = choice("alltoall", 2, 1024, "way2", communicators=2, stride=1, scores={"way2": 1.0, "way3": 1.5})
    everyone = choice("alltoall", 4, 1024, "way3", scores={"way2": 1.5, "way3": 1.2})
    tuning_plan = plan([pairs, everyone], algorithms("intelmpi", "alltoall"))
    assert [rule.algorithm.name for rule in tuning_plan.rules["alltoall"]] == ["way2"]
    assert (
        "with different choices; a tuning file cannot distinguish them and uses way2" in tuning_plan.notes[0]
    )
    both = plan([pairs, everyone], [*algorithms("openmpi", "alltoall")])
    assert [(rule.p, rule.algorithm.name) for rule in both.rules["alltoall"]] == [(2, "way2"), (4, "way3")]


def test_a_rule_names_a_preset_by_its_number_because_it_applies_to_other_processes_too():
    algorithm = Algorithm(
        collective="allreduce", name="recursive_doubling_7", settings={"I_MPI_ADJUST_ALLREDUCE": "7"}
    )
    rule = Rule(
        collective="allreduce",
        p=4,
        bytes=8,
        p_low=3,
        p_high=4,
        bytes_low=0,
        bytes_high=64,
        algorithm=algorithm,
    )
    assert rule.name == "preset_7"
