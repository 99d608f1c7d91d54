"""MPICH's selection trees, evaluated as MPICH does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpich_walk import Call, Stopped, walk
from plan_factory import chosen, create_plan, installation, planned, telling_calls

from offbeat.base.errors import BadInput
from offbeat.libraries.installations.installation import Installation
from offbeat.model.study.algorithm import Algorithm
from offbeat.model.study.collectives import COLLECTIVES
from offbeat.selection.tuning_files import mpich
from offbeat.selection.tuning_files.mpich_algorithms import SIZE_CONDITION
from offbeat.selection.tuning_files.mpich_tree import faults, read
from offbeat.selection.tuning_files.tuning_plan import Rule, TuningPlan

SIZELESS = [name for name in COLLECTIVES if not SIZE_CONDITION.get(name)]


def leaf(name: str) -> dict[str, Any]:
    return {f"algorithm={name}": {}}


def default_of(collective: str) -> dict[str, Any]:
    """A default tree in the manner of MPICH's: conditions on the communicator, then on the message."""
    cap = collective.capitalize()
    condition = SIZE_CONDITION.get(collective)
    inside: dict[str, Any] = leaf(f"MPIR_{cap}_intra_plain")
    if condition:
        inside = {
            f"{condition}<=300": leaf(f"MPIR_{cap}_intra_short"),
            f"{condition}=any": leaf(f"MPIR_{cap}_intra_long"),
        }
    flat = {"comm_size<8": leaf(f"MPIR_{cap}_intra_few"), "comm_size=pow2": inside, "comm_size=any": inside}
    if collective.endswith("alltoall"):
        flat = {"is_sendbuf_inplace=yes": leaf(f"MPIR_{cap}_intra_inplace"), "is_sendbuf_inplace=no": flat}
    tree = {"comm_hierarchy=parent": leaf(f"MPIR_{cap}_intra_smp"), "comm_hierarchy=any": flat}
    if collective in ("exscan", "scan"):
        return flat
    return {"comm_type=intra": tree, "comm_type=inter": leaf(f"MPIR_{cap}_inter_plain")}


GENERAL = {f"collective={i}{name}": default_of(f"{i}{name}") for i in ("", "i") for name in COLLECTIVES}
COMPOSITIONS = {
    "collective=reduce": {
        "comm_type=intra": {
            "comm_size<8": {"composition=MPIDI_Reduce_intra_composition_alpha": {}},
            "comm_size=any": {"composition=MPIDI_Reduce_intra_composition_gamma": {}},
        }
    },
    "collective=barrier": {
        "comm_hierarchy=parent": {"composition=MPIDI_Barrier_intra_composition_alpha": {}},
        "comm_hierarchy=any": {"composition=MPIDI_Barrier_intra_composition_beta": {}},
    },
    "collective=alltoall": {"comm_type=intra": {"composition=MPIDI_Alltoall_intra_composition_alpha": {}}},
}
NAMES = [
    *(
        f"MPIR_{f'{i}{name}'.capitalize()}_intra_way{n}"
        for i in ("", "i")
        for name in COLLECTIVES
        for n in (1, 2, 3)
    ),
    *(f"MPIR_{name.capitalize()}_allcomm_nb" for name in COLLECTIVES),
    "MPIR_Reduce_intra_smp",
    "MPIR_Reduce_intra_reduce_scatter_gather",
    "MPIR_Allgather_intra_recursive_doubling",
    "MPIR_Bcast_intra_scatter_recursive_doubling_allgather",
    "MPIR_Bcast_intra_tree",
    "MPIR_Alltoall_intra_brucks",
    "MPIR_Ireduce_intra_tsp_tree",
    "MPIR_Igather_intra_tsp_tree",
]


def library(folder: Path, compositions: dict[str, Any] | None = COMPOSITIONS) -> Path:
    """A file that holds, like libmpi.so, two trees and known names, among other things."""
    pieces = [b"\x7fELF\x01", b'{"collective=', b'{"collective=broken', msgspec.json.encode(GENERAL)]
    if compositions is not None:
        pieces.append(msgspec.json.encode(compositions))
    pieces += [f"algorithm={name}".encode() for name in NAMES]
    path = folder / "libmpi.so"
    path.write_bytes(b"\0".join(pieces) + b"\0\xff\xfe")
    return path


def installed(folder: Path, **other: Any) -> Installation:
    return installation("mpich", (5, 0, 2), library(folder, **other))


@pytest.fixture
def mpich_here(tmp_path: Path) -> Installation:
    return installed(tmp_path)


def trees(files: mpich.TuningFiles) -> list[dict[str, Any]]:
    return [msgspec.json.decode(path.read_bytes()) for path in files.files]


def expected_name(collective: str, rule: Rule) -> str:
    return f"MPIR_{collective.capitalize()}_intra_{rule.algorithm.name}"


SITUATIONS = [
    {},
    {"hierarchy": True},
    {"in_place": True},
    {"inter": True},
    {"commutative": False, "built_in": False},
]


@settings(deadline=None, max_examples=60)
@given(
    configurations=chosen(list(SIZE_CONDITION)[:4] + list(SIZE_CONDITION)[8:12]),
    situation=st.sampled_from(SITUATIONS),
)
def test_calls_use_the_plan_or_else_the_default_tree(
    tmp_path_factory: pytest.TempPathFactory,
    configurations: dict[tuple[str, int, int], str],
    situation: dict[str, bool],
) -> None:
    folder = tmp_path_factory.mktemp("trees")
    tuning_plan = create_plan("mpich", configurations)
    (tree, *_) = trees(mpich.write(tuning_plan, installed(folder), folder))
    for collective in tuning_plan.rules:
        for p, size in telling_calls(tuning_plan, collective):
            call = Call(collective, p, size, **situation)
            rule = planned(tuning_plan, collective, p, size)
            before = walk(GENERAL, call)
            expected = expected_name(collective, rule) if rule and not call.inter else before
            assert walk(tree, call) == expected, call


@settings(deadline=None, max_examples=40)
@given(configurations=chosen(SIZELESS), situation=st.sampled_from(SITUATIONS[:2]))
def test_collectives_whose_size_cannot_be_read_get_one_algorithm_for_all_sizes(
    tmp_path_factory: pytest.TempPathFactory,
    configurations: dict[tuple[str, int, int], str],
    situation: dict[str, bool],
) -> None:
    folder = tmp_path_factory.mktemp("trees")
    tuning_plan = create_plan("mpich", configurations)
    files = mpich.write(tuning_plan, installed(folder), folder)
    for collective in tuning_plan.rules:
        assert all(rule.is_sizeless for rule in files.rules)
        chosen = {rule.p: rule for rule in files.rules}
        for p, size in telling_calls(tuning_plan, collective):
            call = Call(collective, p, size, **situation)
            rule = next((rule for rule in chosen.values() if rule.p_low <= p <= rule.p_high), None)
            expected = expected_name(collective, rule) if rule else walk(GENERAL, call)
            assert walk(trees(files)[0], call) == expected


def test_collectives_that_were_not_measured_keep_their_trees_and_all_are_named(
    tmp_path: Path, mpich_here: Installation
) -> None:
    (tree, *_) = trees(mpich.write(create_plan("mpich", {("alltoall", 4, 64): "way1"}), mpich_here, tmp_path))
    assert list(tree) == list(GENERAL)
    assert {key for key in tree if tree[key] != GENERAL[key]} == {"collective=alltoall"}


def test_the_device_passes_on_the_tuned_configurations_only(tmp_path: Path, mpich_here: Installation) -> None:
    files = mpich.write(
        create_plan("mpich", {("reduce", 4, 64): "way1", ("reduce", 4, 512): "way2"}), mpich_here, tmp_path
    )
    assert list(files.environment) == [mpich.GENERAL_VARIABLE, mpich.COMPOSITION_VARIABLE]
    device = trees(files)[1]
    undivided, divided = "MPIDI_Reduce_intra_composition_gamma", "MPIDI_Reduce_intra_composition_alpha"
    for size, expected in ((63, divided), (64, undivided), (512, undivided), (513, divided)):
        assert walk(device, Call("reduce", 4, size)) == expected
    assert walk(device, Call("reduce", 5, 64)) == divided
    assert {key for key in device if device[key] != COMPOSITIONS[key]} == {"collective=reduce"}


def test_a_collective_that_the_device_never_divides_needs_no_second_file(
    tmp_path: Path, mpich_here: Installation
) -> None:
    files = mpich.write(create_plan("mpich", {("alltoall", 4, 64): "way1"}), mpich_here, tmp_path)
    assert [path.name for path in files.files] == ["mpich-algorithms.json"]
    assert list(files.environment) == [mpich.GENERAL_VARIABLE]


def test_a_device_that_cannot_pass_configurations_on_is_switched_off_for_the_collective_with_a_note(
    tmp_path: Path,
) -> None:
    other = {
        "collective=reduce": {
            "comm_size<8": {"composition=MPIDI_Reduce_one": {}},
            "comm_size=any": {"composition=MPIDI_Reduce_two": {}},
        }
    }
    files = mpich.write(
        create_plan("mpich", {("reduce", 4, 64): "way1"}), installed(tmp_path, compositions=other), tmp_path
    )
    assert files.environment["MPIR_CVAR_REDUCE_DEVICE_COLLECTIVE"] == "0"
    assert any(
        "MPIR_CVAR_REDUCE_DEVICE_COLLECTIVE turn the device's own collectives off" in n for n in files.notes
    )


def test_a_library_without_a_device_that_divides_needs_one_file(tmp_path: Path) -> None:
    here = installed(tmp_path, compositions=None)
    files = mpich.write(create_plan("mpich", {("reduce", 4, 64): "way1"}), here, tmp_path)
    assert len(files.files) == 1


def one(collective: str, name: str, value: dict[str, str], **other: Any) -> TuningPlan:
    """A plan of one rule for 64 to 512 bytes on 3 to 9 processes, measured on 4."""
    fields: dict[str, Any] = {
        "p": 4,
        "p_low": 3,
        "p_high": 9,
        "bytes": 64,
        "bytes_low": 64,
        "bytes_high": 512,
    }
    algorithm = Algorithm(collective=collective, name=name, settings=value)
    rule = Rule(collective=collective, algorithm=algorithm, **(fields | other))
    return TuningPlan(family="mpich", version="5.0.2", rules={collective: [rule]})


def forced(collective: str, value: str) -> dict[str, str]:
    return {f"MPIR_CVAR_{collective.upper()}_INTRA_ALGORITHM": value}


@pytest.mark.parametrize(
    ("collective", "value", "applies", "does_not"),
    [
        ("reduce", "reduce_scatter_gather", {"count": 4}, {"count": 3}),
        ("reduce", "reduce_scatter_gather", {}, {"built_in": False}),
        ("reduce", "smp", {"hierarchy": True}, {}),
        ("reduce", "smp", {"hierarchy": True}, {"hierarchy": True, "commutative": False}),
        ("allgather", "recursive_doubling", {"p": 8}, {"p": 6}),
        ("bcast", "scatter_recursive_doubling_allgather", {"p": 8}, {"p": 6}),
        ("alltoall", "brucks", {}, {"in_place": True}),
    ],
)
def test_an_algorithm_runs_only_where_it_applies(
    tmp_path: Path,
    mpich_here: Installation,
    collective: str,
    value: str,
    applies: dict[str, Any],
    does_not: dict[str, Any],
) -> None:
    files = mpich.write(one(collective, value, forced(collective, value)), mpich_here, tmp_path)
    call = {"p": 4, "size": 100, "collective": collective}
    assert walk(trees(files)[0], Call(**(call | applies))) == f"MPIR_{collective.capitalize()}_intra_{value}"
    other = Call(**(call | does_not))
    assert walk(trees(files)[0], other) == walk(GENERAL, other)


def test_files_with_smp_do_not_make_mpich_fall_back_silently_elsewhere(
    tmp_path: Path, mpich_here: Installation
) -> None:
    """It is measured with MPIR_CVAR_COLLECTIVE_FALLBACK=silent, which a file does not need."""
    settings = forced("reduce", "smp") | {"MPIR_CVAR_COLLECTIVE_FALLBACK": "silent"}
    files = mpich.write(one("reduce", "smp", settings), mpich_here, tmp_path)
    assert set(files.environment) == {mpich.GENERAL_VARIABLE, mpich.COMPOSITION_VARIABLE}
    assert walk(trees(files)[0], Call("reduce", 4, 100, hierarchy=True)) == "MPIR_Reduce_intra_smp"


def test_where_an_algorithm_does_not_apply_the_device_decides(
    tmp_path: Path, mpich_here: Installation
) -> None:
    files = mpich.write(one("reduce", "x", forced("reduce", "reduce_scatter_gather")), mpich_here, tmp_path)
    device = trees(files)[1]
    assert walk(device, Call("reduce", 4, 100)).endswith("gamma")
    assert walk(device, Call("reduce", 4, 100, built_in=False)).endswith("alpha")


def test_a_restriction_is_dropped_if_the_library_was_observed_without_it(
    tmp_path: Path, mpich_here: Installation
) -> None:
    value = "scatter_recursive_doubling_allgather"
    files = mpich.write(one("bcast", value, forced("bcast", value), p=6), mpich_here, tmp_path)
    assert walk(trees(files)[0], Call("bcast", 6, 100)) == f"MPIR_Bcast_intra_{value}"


def test_algorithms_seen_to_need_commutative_operations_are_guarded_or_left_out(
    tmp_path: Path, mpich_here: Installation
) -> None:
    guarded = mpich.write(
        one("allreduce", "way1", forced("allreduce", "way1"), commutative_only=True), mpich_here, tmp_path
    )
    assert walk(trees(guarded)[0], Call("allreduce", 4, 100)) == "MPIR_Allreduce_intra_way1"
    other = Call("allreduce", 4, 100, commutative=False)
    assert walk(trees(guarded)[0], other) == walk(GENERAL, other)
    left = mpich.write(
        one("scan", "way1", forced("scan", "way1"), commutative_only=True), mpich_here, tmp_path
    )
    assert left.rules == []
    assert any(
        "scan of 64 B on p=4 is left to the library's default: way1 needs" in note for note in left.notes
    )


def test_parameters_are_written_out_with_their_defaults(tmp_path: Path, mpich_here: Installation) -> None:
    value = forced("bcast", "tree") | {"MPIR_CVAR_BCAST_TREE_KVAL": "5"}
    tuning_plan = one("bcast", "tree", value, environment={"MPIR_CVAR_BCAST_TREE_TYPE": "knomial_1"})
    settings = walk(trees(mpich.write(tuning_plan, mpich_here, tmp_path))[0], Call("bcast", 4, 100)).split(
        ";"
    )
    assert settings[:4] == ["MPIR_Bcast_intra_tree", "tree_type=knomial_1", "k=5", "is_non_blocking=1"]


def test_other_variables_go_beside_the_file(tmp_path: Path, mpich_here: Installation) -> None:
    value = forced("alltoall", "way1") | {"MPIR_CVAR_ALLTOALL_THROTTLE": "4"}
    files = mpich.write(one("alltoall", "way1", value), mpich_here, tmp_path)
    assert files.environment["MPIR_CVAR_ALLTOALL_THROTTLE"] == "4"


def test_a_collective_by_its_nonblocking_variant_tunes_both_trees_with_a_note(
    tmp_path: Path, mpich_here: Installation
) -> None:
    value = forced("reduce", "nb") | forced("ireduce", "tsp_tree")
    files = mpich.write(one("reduce", "nb(tsp_tree)", value), mpich_here, tmp_path)
    (tree, _) = trees(files)
    assert walk(tree, Call("reduce", 4, 100)) == "MPIR_Reduce_allcomm_nb"
    assert walk(tree, Call("ireduce", 4, 100)).startswith("MPIR_Ireduce_intra_tsp_tree;tree_type=kary;k=2")
    for call in (Call("reduce", 4, 600), Call("ireduce", 4, 600), Call("ireduce", 10, 100)):
        assert walk(tree, call) == walk(GENERAL, call)
    other = Call("reduce", 4, 100, commutative=False)
    assert walk(tree, other) == walk(GENERAL, other)
    assert any("MPI_Ireduce uses the same algorithm" in note for note in files.notes)


def test_a_nonblocking_algorithm_that_a_tree_cannot_select_is_set_by_its_variable(
    tmp_path: Path, mpich_here: Installation
) -> None:
    value = forced("gather", "nb") | forced("igather", "tsp_tree")
    files = mpich.write(one("gather", "nb(tsp_tree)", value), mpich_here, tmp_path)
    (tree,) = trees(files)
    assert files.environment["MPIR_CVAR_IGATHER_INTRA_ALGORITHM"] == "tsp_tree"
    assert walk(tree, Call("gather", 4, 100)) == "MPIR_Gather_allcomm_nb"
    assert tree["collective=igather"] == GENERAL["collective=igather"]
    assert any("for every size and number of processes" in note for note in files.notes)


def test_nonblocking_algorithms_that_exclude_each_other_are_not_mixed(
    tmp_path: Path, mpich_here: Installation
) -> None:
    rules = []
    for size, inner in ((64, "tsp_scattered"), (512, "tsp_scattered"), (4096, "way1")):
        value = forced("alltoall", "nb") | forced("ialltoall", inner)
        algorithm = Algorithm(collective="alltoall", name=f"nb({inner})", settings=value)
        fields = {"p": 4, "p_low": 4, "p_high": 4, "bytes": size, "bytes_low": size, "bytes_high": size}
        rules.append(Rule(collective="alltoall", algorithm=algorithm, **fields))
    tuning_plan = TuningPlan(family="mpich", version="5.0.2", rules={"alltoall": rules})
    files = mpich.write(tuning_plan, mpich_here, tmp_path)
    assert files.environment["MPIR_CVAR_IALLTOALL_INTRA_ALGORITHM"] == "tsp_scattered"
    assert [rule.bytes for rule in files.rules] == [64, 512]
    assert any("alltoall of 4 KiB on p=4 is left to the library's default" in note for note in files.notes)


def test_an_algorithm_that_the_library_does_not_know_is_left_out_and_named(
    tmp_path: Path, mpich_here: Installation
) -> None:
    files = mpich.write(one("bcast", "brand_new", forced("bcast", "brand_new")), mpich_here, tmp_path)
    assert files.rules == []
    assert trees(files)[0] == GENERAL
    assert any("brand_new is not among the algorithms" in note for note in files.notes)


def test_sizes_beyond_the_range_of_a_condition_are_left_to_the_library(
    tmp_path: Path, mpich_here: Installation
) -> None:
    tuning_plan = create_plan("mpich", {("allgather", 8, 2**20): "way1", ("allgather", 8, 2**30): "way2"})
    (tree,) = trees(mpich.write(tuning_plan, mpich_here, tmp_path))
    assert walk(tree, Call("allgather", 8, 2**20)) == "MPIR_Allgather_intra_way1"
    assert walk(tree, Call("allgather", 8, 2**30)) == walk(GENERAL, Call("allgather", 8, 2**30))


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"comm_type=intra": {}},
        {"comm_size<=4": leaf("known")},
        {"comm_size=any": leaf("known"), "comm_size<=4": leaf("known")},
        {"comm_size=any": leaf("unknown")},
        leaf("known") | {"comm_size=any": leaf("known")},
    ],
)
def test_trees_that_would_stop_the_library_are_recognised(broken: dict[str, Any]) -> None:
    assert faults(broken, frozenset({"known"}))
    assert not faults({"comm_size<=4": leaf("known"), "comm_size=any": leaf("known")}, frozenset({"known"}))


def test_a_library_without_trees_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "libmpi.so"
    for content in (b"\x7fELF nothing of that kind", b'{"collective=', b""):
        path.write_bytes(content)
        with pytest.raises(BadInput, match=r"MPICH"):
            read(path)
    with pytest.raises(BadInput, match="cannot read MPICH's library"):
        read(tmp_path / "missing.so")


def test_the_walker_detects_trees_that_abort_the_library() -> None:
    for tree, call in (
        (
            {"collective=scan": {"avg_msg_size<=4": leaf("x"), "avg_msg_size=any": leaf("x")}},
            Call("scan", 2, 8),
        ),
        ({"collective=bcast": {"is_commutative=yes": leaf("x")}}, Call("bcast", 2, 8)),
        ({"collective=bcast": {"comm_size<=1": leaf("x")}}, Call("bcast", 2, 8)),
    ):
        with pytest.raises(Stopped):
            walk(tree, call)


def test_the_trees_of_a_real_library_are_found_and_tuned(
    mpi_installation: Installation, tmp_path: Path
) -> None:
    if mpi_installation.family != "mpich":
        with pytest.raises(BadInput, match="does not contain MPICH's default selection"):
            read(mpi_installation.library)
        return
    embedded = read(mpi_installation.library)
    assert {f"collective={name}" for name in COLLECTIVES} <= set(embedded.general)
    assert {"MPIR_Reduce_intra_binomial", "MPIR_Reduce_allcomm_nb"} <= embedded.names
    assert not [fault for below in embedded.general.values() for fault in faults(below, embedded.names)]
    assert embedded.compositions is not None
    undivided = [name for name in mpich.UNDIVIDED_COMPOSITIONS.values() if name not in embedded.names]
    assert not undivided
    files = mpich.write(one("reduce", "binomial", forced("reduce", "binomial")), mpi_installation, tmp_path)
    (tree, device) = trees(files)
    for size in (63, 64, 512, 513):
        call = Call("reduce", 4, size)
        tuned = 64 <= size <= 512
        assert walk(tree, call) == ("MPIR_Reduce_intra_binomial" if tuned else walk(embedded.general, call))
        own = walk(embedded.compositions, call)
        assert walk(device, call) == (mpich.UNDIVIDED_COMPOSITIONS["reduce"] if tuned else own)
