"""What a selection tree of MPICH decides: the algorithms that it forces, and branches that no call reaches.

The library walks a tree as :mod:`offbeat.selection.tuning_files.mpich_tree` describes. Here the same walk is
done for a region, a set of calls: each condition divides it into the calls for which the condition holds and
the others, which go on to the next condition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct, structs

from offbeat.base.errors import BadInput
from offbeat.base.reading import decode_json
from offbeat.base.units import format_size
from offbeat.selection.tuning_files.mpich_tree import (
    COMMUNICATOR,
    LEAVES,
    EmbeddedTrees,
    Tree,
    faults,
    leaves,
)

_LEAST = {"comm_size": 1, "comm_avg_ppn": 1, "avg_msg_size": 0, "total_msg_size": 0, "count": 0}
"""The quantities that conditions compare → the smallest value."""

_COMPARISON = re.compile(rf"({'|'.join(_LEAST)})(<=?)(-?\d+)")
_ANSWER = {"yes": True, "no": False, "intra": True, "inter": False}
"""The values of conditions of which a tree may name both: the answer that each stands for."""


class Region(Struct, frozen=True, kw_only=True):
    """A set of calls: the smallest and the largest value (None: there is none) of each quantity, and the
    other conditions that hold for all of the calls or for none.

    ``has_message`` tells that a condition on the message is above, below which ``comm_size<N`` acts like
    ``comm_size<=N``.
    """

    ranges: dict[str, tuple[int, int | None]] = {}
    answers: dict[str, bool] = {}
    has_message: bool = False

    def divide(self, condition: str) -> tuple[Region | None, Region | None]:
        """The calls for which a condition holds, and the others; None where there are no such calls."""
        if _is_any(condition):
            return self, None
        if not condition.startswith(COMMUNICATOR):
            return structs.replace(self, has_message=True)._divide(condition)
        return self._divide(condition)

    def _divide(self, condition: str) -> tuple[Region | None, Region | None]:
        comparison = _COMPARISON.fullmatch(condition)
        if comparison:
            name, operator, limit = comparison.groups()
            acts_as_le = operator == "<=" or (name == "comm_size" and self.has_message)
            return self._divide_at(name, int(limit) - (not acts_as_le))
        name, _, value = condition.partition("=")
        answer = _ANSWER.get(value, True)
        name = name if value in _ANSWER else condition
        if name in self.answers:
            return (self, None) if self.answers[name] == answer else (None, self)
        return self._with_answer(name, answer), self._with_answer(name, not answer)

    def _divide_at(self, name: str, largest: int) -> tuple[Region | None, Region | None]:
        low, high = self.ranges.get(name, (_LEAST[name], None))
        lower = self._with_range(name, low, largest if high is None else min(largest, high))
        upper = self._with_range(name, max(low, largest + 1), high)
        return lower, upper

    def _with_range(self, name: str, low: int, high: int | None) -> Region | None:
        is_empty = high is not None and high < low
        return None if is_empty else structs.replace(self, ranges=self.ranges | {name: (low, high)})

    def _with_answer(self, name: str, answer: bool) -> Region:
        return structs.replace(self, answers=self.answers | {name: answer})

    def __str__(self) -> str:
        """The calls, in words: ``on 3 to 8 processes, 0 B to 1 KiB``; empty for all calls."""
        words = [_WORDS[name](*self.ranges[name]) for name in _WORDS if name in self.ranges]
        words += [
            "on intercommunicators" if name == "comm_type" else f"{'if' if answer else 'unless'} {name}"
            for name, answer in self.answers.items()
            if name != "comm_type" or not answer
        ]
        return ", ".join(words)


def _range_text(low: str, high: str | None) -> str:
    return f"{low} and more" if high is None else low if low == high else f"{low} to {high}"


def _numbers(low: int, high: int | None) -> str:
    return _range_text(str(low), None if high is None else str(high))


def _sizes(low: int, high: int | None) -> str:
    return _range_text(format_size(low), None if high is None else format_size(high))


_WORDS = {
    "comm_size": lambda low, high: f"on {_numbers(low, high)} processes",
    "comm_avg_ppn": lambda low, high: f"with {_numbers(low, high)} processes on a node",
    "avg_msg_size": _sizes,
    "total_msg_size": lambda low, high: f"{_sizes(low, high)} in total",
    "count": lambda low, high: f"{_numbers(low, high)} elements",
}


class TreeEnd(Struct, frozen=True, kw_only=True):
    """Where a walk ends: the calls, the algorithm or composition, and its parameters."""

    region: Region
    name: str
    parameters: tuple[str, ...]

    @property
    def choice(self) -> str:
        """The name with the parameters."""
        return f"{self.name} ({', '.join(self.parameters)})" if self.parameters else self.name


class Branch(Struct, frozen=True, kw_only=True):
    """A condition of a tree: ``path`` is the condition after those above it, and ``siblings`` is the object
    of which the condition is a key."""

    path: str
    siblings: Tree


def tree_ends(
    tree: Tree, region: Region, unreached_branches: list[Branch], path: str = ""
) -> Iterator[TreeEnd]:
    """The ends of the walks of a region's calls; branches that none of them reaches join
    ``unreached_branches``.

    ``path`` are the conditions above the tree.
    """
    leaf = next((key for key in tree if key.startswith(LEAVES)), None)
    if leaf is not None:
        yield TreeEnd(region=region, name=leaf.partition("=")[2], parameters=tuple(tree[leaf]))
        return
    remainder: Region | None = region
    for key, subtree in tree.items():
        branch = f"{path}, {key}" if path else key
        matching, remainder = (
            remainder.divide(key.replace(" ", "")) if remainder is not None else (None, None)
        )
        if matching is None:
            unreached_branches.append(Branch(path=branch, siblings=tree))
        else:
            yield from tree_ends(subtree, matching, unreached_branches, branch)


class TreesCheck(Struct, frozen=True, kw_only=True):
    """The check of a file's trees, in sentences: what makes the library abort programs, what the trees decide
    otherwise than the library does without them, and the branches that no call reaches."""

    wrong: list[str]
    forces: list[str]
    unreached_branches: list[str]


def check_trees(content: bytes, embedded_trees: EmbeddedTrees) -> TreesCheck:
    """Check the content of a file; raises :class:`BadInput` for a content that is no tree of conditions."""
    trees = _decode(content)
    has_compositions = any(key.startswith("composition=") for tree in trees.values() for key in leaves(tree))
    defaults = (embedded_trees.compositions or {}) if has_compositions else embedded_trees.general
    forces, unreached_branches = [], []
    for key, tree in trees.items():
        collective, default, branches = key.partition("=")[2], defaults.get(key, {}), list[Branch]()
        ends = list(tree_ends(tree, Region(), branches))
        forces += [f"{collective}: {text}" for text in _forced_texts(ends, default)]
        default_parts = list(_subtrees(default))
        unreached_branches += [
            f"{collective}: no call reaches {branch.path}"
            for branch in branches
            if branch.siblings not in default_parts
        ]
    wrong = list(dict.fromkeys(_faults(trees, defaults, embedded_trees)))
    return TreesCheck(wrong=wrong, forces=forces, unreached_branches=unreached_branches)


def _subtrees(tree: Tree) -> Iterator[Tree]:
    """The tree and what is below it; a file contains parts of the default wherever it does not decide."""
    yield tree
    for subtree in tree.values():
        yield from _subtrees(subtree)


def _decode(content: bytes) -> dict[str, Tree]:
    try:
        trees = decode_json(content)
    except msgspec.DecodeError as error:
        byte_match = re.search(r"byte (\d+)", str(error))
        line = content[: int(byte_match[1])].count(b"\n") + 1 if byte_match else 1
        raise BadInput(f"line {line}: {error}") from None
    _expect_objects(trees, "the file")
    return dict(trees)


def _expect_objects(value: object, path: str) -> None:
    """Raise BadInput for a value that is no object of objects."""
    if not isinstance(value, dict):
        raise BadInput(f"{path} is no JSON object: conditions and algorithms are keys of objects")
    for key, subtree in value.items():
        _expect_objects(subtree, key)


def _forced_texts(ends: Sequence[TreeEnd], default: Tree) -> Iterator[str]:
    """The calls for which a collective's tree decides otherwise than the default, and its choice."""
    for end in ends:
        calls = structs.replace(end.region, has_message=False)
        usual = {(own.name, own.parameters) for own in tree_ends(default, calls, [])}
        if usual != {(end.name, end.parameters)}:
            yield f"{str(end.region) or 'all calls'}: {end.choice}"


def _faults(
    trees: Mapping[str, Tree], defaults: Mapping[str, Tree], embedded_trees: EmbeddedTrees
) -> Iterator[str]:
    """What makes the library abort programs."""
    for key in defaults:
        if key not in trees:
            yield f"{key} is missing: a call of the collective aborts the program"
    for key, tree in trees.items():
        if key not in defaults:
            yield f"{key}: the library has no tree of this name"
            continue
        collective = key.partition("=")[2]
        yield from (f"{collective}: {fault}" for fault in faults(tree, embedded_trees.names))
        unknown = dict.fromkeys(name for name in _conditions(tree) if not _is_known(name, embedded_trees))
        yield from (f"{collective}: the library does not know the condition {name}" for name in unknown)


def _conditions(tree: Tree) -> Iterator[str]:
    for key, subtree in tree.items():
        if not key.startswith(LEAVES):
            yield key
            yield from _conditions(subtree)


def _is_known(condition: str, embedded_trees: EmbeddedTrees) -> bool:
    """Whether the library's text contains the condition, or what stands before its number."""
    key = condition.replace(" ", "")
    if comparison := _COMPARISON.fullmatch(key):
        key = "".join(comparison.groups()[:2])
    return _is_any(key) or key in embedded_trees.conditions


def _is_any(condition: str) -> bool:
    """Whether a condition holds for all calls."""
    return condition == "any" or condition.endswith("=any")
