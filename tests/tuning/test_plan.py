"""The plan: choices extended to their ranges, and no others."""

from __future__ import annotations

import pytest
from plan_factory import algorithms, choice, create_plan, planned

from offbeat.base.errors import BadInput
from offbeat.libraries.families.libraries import LIBRARIES
from offbeat.model.study.algorithm import Algorithm, Verdict
from offbeat.model.study.collectives import COLLECTIVES
from offbeat.selection.tuning_files import openmpi
from offbeat.selection.tuning_files.mpich_algorithms import SIZE_CONDITION
from offbeat.selection.tuning_files.tuning_plan import plan

OPENMPI = {"family": "openmpi", "version": [5, 0, 11]}


def test_each_measured_configuration_covers_its_range_and_no_other() -> None:
    tuning_plan = create_plan(
        "openmpi", {("reduce", 4, 64): "way1", ("reduce", 4, 1024): "way2", ("reduce", 16, 64): "way3"}
    )
    first, second, third = tuning_plan.rules["reduce"]
    assert (first.p_low, first.p_high, first.bytes_low, first.bytes_high) == (4, 7, 64, 255)
    assert (second.p_low, second.p_high, second.bytes_low, second.bytes_high) == (4, 7, 256, 1024)
    assert (third.p_low, third.p_high, third.bytes_low, third.bytes_high) == (8, 16, 64, 64)
    outside = [(3, 64), (17, 64), (4, 63), (4, 1025), (16, 65)]
    assert [planned(tuning_plan, "reduce", p, size) for p, size in outside] == [None] * 5


def test_configurations_where_the_default_is_best_are_left_alone_but_bound_their_neighbours() -> None:
    tuning_plan = create_plan(
        "openmpi", {("bcast", 4, 64): "default", ("bcast", 4, 256): "way1", ("bcast", 4, 1024): "default"}
    )
    (rule,) = tuning_plan.rules["bcast"]
    assert (rule.bytes_low, rule.bytes_high) == (128, 511)


def test_a_plan_without_any_choice_is_empty() -> None:
    assert plan([], []).rules == {}
    assert create_plan("openmpi", {("bcast", 4, 64): "default"}).rules == {}


def test_collectives_come_in_the_order_of_the_studies_and_rules_by_processes_and_size() -> None:
    configurations = {
        ("scan", 4, 8): "way1",
        ("reduce", 8, 64): "way1",
        ("reduce", 4, 64): "way2",
        ("reduce", 4, 8): "way1",
    }
    tuning_plan = create_plan("openmpi", configurations)
    assert list(tuning_plan.rules) == ["reduce", "scan"]
    assert [(rule.p, rule.bytes) for rule in tuning_plan.rules["reduce"]] == [(4, 8), (4, 64), (8, 64)]


def test_imported_measurements_without_settings_are_refused() -> None:
    imported = [Algorithm(collective="alltoall", name="Pairwise")]
    with pytest.raises(
        BadInput, match=r"no settings are known for Pairwise.*imported without settings.*offbeat run"
    ):
        plan([choice("alltoall", 4, 64, "Pairwise")], imported)
    with pytest.raises(BadInput, match="no settings are known for Pairwise"):
        plan([choice("alltoall", 4, 64, "Pairwise")], [])


def test_configurations_that_a_file_cannot_distinguish_use_the_most_frequent_choice_and_are_named() -> None:
    choices = [
        choice("reduce", 4, 64, "way1", op="sum"),
        choice("reduce", 4, 64, "way2", op="max"),
        choice("reduce", 4, 64, "way2", op="min"),
    ]
    tuning_plan = plan(choices, algorithms("openmpi", "reduce"))
    assert [rule.algorithm.name for rule in tuning_plan.rules["reduce"]] == ["way2"]
    assert "reduce of 64 B on p=4" in tuning_plan.notes[0]
    assert "way2, chosen most often, not way1" in tuning_plan.notes[0]


def test_of_equally_many_choices_the_better_score_wins() -> None:
    scores = {"way1": 1.3, "way2": 1.0}
    choices = [
        choice("reduce", 4, 64, "way1", op="sum", scores={"way1": 1.0, "way2": 1.1}),
        choice("reduce", 4, 64, "way2", op="max", scores=scores),
    ]
    tuning_plan = plan(choices, algorithms("openmpi", "reduce"))
    assert [rule.algorithm.name for rule in tuning_plan.rules["reduce"]] == ["way2"]


def test_algorithms_that_need_commutative_operations_are_marked() -> None:
    verdict = Verdict(
        collective="reduce", algorithm="way1", p=2, bytes=8, status="proved", commutative_only=True
    )
    choices = [choice("reduce", 4, 64, "way1"), choice("reduce", 4, 1024, "way2")]
    tuning_plan = plan(choices, algorithms("openmpi", "reduce"), verdicts=[verdict])
    assert [rule.commutative_only for rule in tuning_plan.rules["reduce"]] == [True, False]


@pytest.mark.parametrize(
    ("collective", "name", "spans"),
    [
        ("allgather", "two_proc", [(4, 4), (16, 16)]),
        ("allgather", "neighbor", [(4, 4), (16, 16)]),
        ("allgather", "recursive_doubling", [(4, 4), (16, 16)]),
        ("allreduce", "recursive_doubling", [(4, 7), (8, 16)]),
        ("allgather", "ring", [(4, 7), (8, 16)]),
    ],
)
def test_open_mpi_algorithms_that_need_certain_numbers_of_processes_keep_to_the_measured_one(
    collective: str, name: str, spans: list[tuple[int, int]]
) -> None:
    settings = {f"coll_tuned_{collective}_algorithm": "3"}
    known = [Algorithm(collective=collective, name=name, settings=settings)]
    tuning_plan = plan([choice(collective, 4, 64, name), choice(collective, 16, 64, name)], known)
    assert [(rule.p_low, rule.p_high) for rule in tuning_plan.rules[collective]] == spans


def test_variables_of_the_study_are_settings_of_their_own_collective_only() -> None:
    settings = {"MPIR_CVAR_REDUCE_INTRA_ALGORITHM": "nb", "MPIR_CVAR_IREDUCE_INTRA_ALGORITHM": "tsp_tree"}
    known = [Algorithm(collective="reduce", name="nb(tsp_tree)", settings=settings)]
    environment = {"MPIR_CVAR_IREDUCE_TREE_KVAL": "4", "MPIR_CVAR_REDUCE_SCATTER_X": "1", "HOME": "/"}
    tuning_plan = plan([choice("reduce", 4, 64, "nb(tsp_tree)")], known, environment=environment)
    assert tuning_plan.rules["reduce"][0].settings == settings | {"MPIR_CVAR_IREDUCE_TREE_KVAL": "4"}


def test_open_mpi_settings_of_the_environment_are_read_like_those_of_algorithms() -> None:
    environment = {"OMPI_MCA_coll_tuned_reduce_algorithm_chain_fanout": "8"}
    tuning_plan = plan(
        [choice("reduce", 4, 64, "way1")], algorithms("openmpi", "reduce"), environment=environment
    )
    assert tuning_plan.rules["reduce"][0].settings["coll_tuned_reduce_algorithm_chain_fanout"] == "8"


def test_the_library_has_its_usual_name() -> None:
    tuning_plan = plan([choice("reduce", 4, 64, "way1")], algorithms("openmpi", "reduce"), library=OPENMPI)
    assert (tuning_plan.family, tuning_plan.library) == ("openmpi", "Open MPI 5.0.11")


def test_settings_of_several_libraries_are_refused() -> None:
    known = [*algorithms("openmpi", "reduce"), *algorithms("mpich", "bcast")]
    with pytest.raises(BadInput, match="MPICH, Open MPI"):
        plan([choice("reduce", 4, 64, "way1"), choice("bcast", 4, 64, "way1")], known)
    with pytest.raises(BadInput, match="one of"):
        plan([choice("reduce", 4, 64, "way1")], algorithms("mpich", "reduce"), library=OPENMPI)


def test_the_number_of_nodes_is_stored_in_the_plan() -> None:
    assert plan(
        [choice("reduce", 4, 64, "way1", nodes=2, ppn=2)], algorithms("openmpi", "reduce")
    ).several_nodes
    assert not plan([choice("reduce", 4, 64, "way1")], algorithms("openmpi", "reduce")).several_nodes


@pytest.mark.parametrize("family", list(LIBRARIES))
@pytest.mark.parametrize(
    ("algorithms_by_size", "winner", "size"),
    [
        ({8: "way1", 64: "way2", 512: "way2"}, "way2", 512),
        ({8: "way2", 64: "way2", 512: "way1"}, "way2", 64),
        ({8: "way1", 64: "way2"}, "way2", 64),
        ({8: "way1"}, "way1", 8),
    ],
)
def test_all_sizes_share_a_rule_where_the_library_does_not_read_the_size(
    family: str, algorithms_by_size: dict[int, str], winner: str, size: int
) -> None:
    tuning_plan = create_plan(
        family, {("alltoallv", 4, size): name for size, name in algorithms_by_size.items()}
    )
    (rule,) = tuning_plan.rules["alltoallv"]
    assert (rule.algorithm.name, rule.bytes) == (winner, size)
    assert all(tuning_plan.rule_for("alltoallv", 4, size) == rule for size in (0, 8, 100, 10**12))
    named = [note for note in tuning_plan.notes if note.startswith("alltoallv on p=4")]
    assert bool(named) == (len(algorithms_by_size) > 1)
    assert all(f"uses {winner}, chosen most often, not way1" in note for note in named)


def test_a_disagreement_about_a_rule_for_all_sizes_says_why_there_is_one() -> None:
    sizes = {("gather", 4, 8): "way1", ("gather", 4, 64): "way2", ("gather", 4, 512): "way2"}
    (note,) = create_plan("openmpi", sizes).notes
    assert note.startswith("gather on p=4")
    assert "hangs or computes wrong results in programs that use MPI_IN_PLACE" in note


def test_a_rule_for_all_sizes_is_left_to_the_library_if_most_sizes_are() -> None:
    sizes = {("scan", 4, 8): "default", ("scan", 4, 64): "default", ("scan", 4, 512): "way1"}
    tuning_plan = create_plan("mpich", sizes)
    assert tuning_plan.rules == {}
    assert any("uses default, chosen most often, not way1" in note for note in tuning_plan.notes)


def test_the_plan_says_which_rules_hold_for_all_sizes() -> None:
    of_sizes = {("reduce", 4, 64): "way1", ("bcast", 4, 64): "way1"}
    sizeless = {("gather", 4, 64): "way1", ("barrier", 4, 0): "way1"}
    assert create_plan("openmpi", of_sizes).extent.startswith("Each rule holds up to the geometric mean")
    assert create_plan("openmpi", sizeless).extent == "Each rule holds for all sizes."
    both = create_plan("openmpi", of_sizes | sizeless).extent
    assert both.startswith("The rules of gather and barrier hold for all sizes. Each other rule holds up to")


def test_the_libraries_name_the_collectives_whose_rules_have_no_size() -> None:
    rules_file = {name for name, row in openmpi.COLLECTIVES.items() if row.size in ("ignored", "unsafe")}
    assert set(LIBRARIES["openmpi"].sizeless) == rules_file
    trees = {name for name in COLLECTIVES if not SIZE_CONDITION.get(name)}
    assert set(LIBRARIES["mpich"].sizeless) == trees
