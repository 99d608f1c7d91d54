"""``offbeat doctor --rules`` says what a selection tree of MPICH forces, and what is wrong in it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from mpich_walk import Call, holds, walk
from real_libraries import real_installation
from typer.testing import CliRunner, Result

from offbeat.base.errors import BadInput
from offbeat.cli.app import build
from offbeat.selection.tuning_files.mpich_tree import Branch as ProcessBranch
from offbeat.selection.tuning_files.mpich_tree import EmbeddedTrees, Leaf, SizedLeaf, read, tuned_tree
from offbeat.selection.user_rules.mpich_check import Branch, Region, TreeEnd, check_trees, tree_ends

YES_OR_NO = ("is_commutative=yes", "is_commutative=no", "is_op_built_in=yes", "comm_hierarchy=parent")


def drawn_tree(draw: random.Random, depth: int, numbers: list[int]) -> dict[str, Any]:
    """A tree for allreduce in which each algorithm has another name and each walk ends."""
    if depth == 0 or draw.random() < 0.2:
        numbers.append(len(numbers))
        return {f"algorithm=a{numbers[-1]}": {}}
    conditions = [
        lambda: f"comm_size{draw.choice(['<', '<='])}{draw.randint(1, 9)}",
        lambda: f"avg_msg_size{draw.choice(['<', '<='])}{draw.randint(0, 9)}",
        lambda: draw.choice(["comm_size=pow2", "count<pow2", "comm_type=intra", *YES_OR_NO]),
    ]
    keys = dict.fromkeys(draw.choice(conditions)() for _ in range(draw.randint(0, 3)))
    return {key: drawn_tree(draw, depth - 1, numbers) for key in [*keys, "comm_size=any"]}


def has(region: Region, call: Call) -> bool:
    """Whether a call belongs to a region."""
    values = {"comm_size": call.p, "avg_msg_size": call.size}
    in_ranges = all(
        low <= values[name] and (high is None or values[name] <= high)
        for name, (low, high) in region.ranges.items()
    )
    return in_ranges and all(
        holds(name if "=" in name or "<" in name else f"{name}={_YES.get(name, 'yes')}", call, True) == answer
        for name, answer in region.answers.items()
    )


_YES = {"comm_type": "intra"}


def test_every_call_ends_where_the_library_ends_and_no_call_in_an_unreached_branch() -> None:
    draw = random.Random(45)
    for _ in range(200):
        tree = drawn_tree(draw, 4, [])
        unreached: list[Branch] = []
        ends = list(tree_ends(tree, Region(), unreached))
        for _ in range(30):
            call = Call(
                "allreduce",
                p=draw.randint(1, 10),
                size=draw.randint(0, 10),
                count=draw.randint(0, 10),
                hierarchy=draw.random() < 0.5,
                commutative=draw.random() < 0.5,
                built_in=draw.random() < 0.5,
                inter=draw.random() < 0.2,
            )
            expected = walk({"collective=allreduce": tree}, call)
            belonging = [end for end in ends if has(end.region, call)]
            assert [end.name for end in belonging] == [expected], (tree, call)


def ends_of(tree: dict[str, Any]) -> tuple[list[TreeEnd], list[str]]:
    unreached: list[Branch] = []
    return list(tree_ends(tree, Region(), unreached)), [branch.path for branch in unreached]


def test_branches_behind_a_wider_condition_are_never_reached() -> None:
    leaf: dict[str, Any] = {"algorithm=a": {}}
    tree = {"comm_size<=8": {"avg_msg_size<4": leaf, "comm_size<=9": leaf, "any": leaf}, "comm_size<5": leaf}
    ends, unreached = ends_of(tree | {"comm_size=any": leaf})
    assert unreached == ["comm_size<=8, any", "comm_size<5"]
    assert [str(end.region) for end in ends] == [
        "on 1 to 8 processes, 0 B to 3 B",
        "on 1 to 8 processes, 4 B and more",
        "on 9 and more processes",
    ]


@pytest.fixture(scope="module")
def embedded() -> EmbeddedTrees:
    return read(real_installation("mpich4").library)


def run(path: Path) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(build(), ["doctor", "--rules", str(path)])


def test_a_written_tree_forces_its_rules_and_nothing_else(embedded: EmbeddedTrees, tmp_path: Path) -> None:
    name = "algorithm=MPIR_Allreduce_intra_recursive_doubling"
    branches = [ProcessBranch(3, 3, [SizedLeaf(8192, 16384, Leaf(name))])]
    key = "collective=allreduce"
    trees = embedded.general | {key: tuned_tree(embedded.general[key], branches, "avg_msg_size")}
    path = tmp_path / "tree.json"
    path.write_text(json.dumps(trees))
    check = check_trees(path.read_bytes(), embedded)
    assert (check.wrong, check.unreached_branches) == ([], [])
    assert all(line.startswith("allreduce: on 3 processes, 8 KiB to 16 KiB") for line in check.forces)
    assert check.forces and all(line.endswith(name.partition("=")[2]) for line in check.forces)
    done = run(path)
    assert done.exit_code == 0 and "nothing is wrong" in done.stdout, done.output


def test_what_would_abort_programs_is_named(embedded: EmbeddedTrees, tmp_path: Path) -> None:
    trees = dict(embedded.general)
    del trees["collective=bcast"]
    leaf: dict[str, Any] = {"algorithm=MPIR_Scan_intra_smp": {}}
    trees["collective=scan"] = {"comm_sice<4": leaf, "comm_size<9": {"algorithm=nonexistent": {}}}
    path = tmp_path / "tree.json"
    path.write_text(json.dumps(trees))
    done = run(path)
    assert done.exit_code == 1
    for sentence in (
        "programs abort with 4 faults",
        "collective=bcast is missing",
        "does not know the condition comm_sice<4",
        "does not know algorithm=nonexistent",
        "comm_size<9 is the last of its kind",
    ):
        assert sentence in done.stdout, done.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: "),
        ('{"collective=scan":\n 3}', "collective=scan is no JSON object"),
        ('{"collective=scan": {},\n x}', "line 2: "),
        ("[1]", "the file is no JSON object"),
        ('{"a":' * 10**5, "nested too deeply"),
    ],
)
def test_a_file_that_is_no_tree_is_refused(text: str, message: str, embedded: EmbeddedTrees) -> None:
    with pytest.raises(BadInput, match=message):
        check_trees(text.encode(), embedded)
