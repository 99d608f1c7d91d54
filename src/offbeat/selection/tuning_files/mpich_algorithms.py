"""MPICH's algorithms as its selection trees name them: guards, parameters, and names.

Measured algorithms are identified by control variables (``MPIR_CVAR_REDUCE_INTRA_ALGORITHM=binomial``); trees
call the same algorithm ``MPIR_Reduce_intra_binomial``. An algorithm that does not apply is replaced silently
if it is forced by variable, but run if it is named in a tree, and aborts the program. The guards are the
restrictions that MPICH lists (its src/mpi/coll/coll_algorithms.txt), parameters those read by its tree parser
(csel_container.c); one that is omitted in the tree has no default but uninitialised memory.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from offbeat.selection.tuning_files.mpich_tree import COUNT_AT_LEAST_POW2, Leaf
from offbeat.selection.tuning_files.tuning_plan import Rule

_AVERAGE = ("allreduce", "bcast", "reduce", "alltoall")
_TOTAL = ("allgather", "allgatherv", "reduce_scatter", "reduce_scatter_block")

SIZE_CONDITION = dict.fromkeys([*_AVERAGE, *(f"i{name}" for name in _AVERAGE)], "avg_msg_size")
SIZE_CONDITION |= dict.fromkeys([*_TOTAL, *(f"i{name}" for name in _TOTAL[:-1])], "total_msg_size")
"""The condition on the message size that a collective can have: bytes per process (avg) or of all processes
(total).

The others have no safe condition: barrier, scan and exscan abort the program at either; gather, scatter and
alltoallv compute it from arguments that differ between processes; ireduce_scatter_block counts elements
instead of bytes.
"""

PARENT = "comm_hierarchy=parent"
POW2 = "comm_size=pow2"
CONSECUTIVE = "is_node_consecutive=yes"
NOT_IN_PLACE = "is_sendbuf_inplace=no"
IN_PLACE = "is_sendbuf_inplace=yes"
COMMUTATIVE = "is_commutative=yes"
BUILT_IN_OP = "is_op_built_in=yes"
REGULAR = "is_block_regular=yes"

WITH_COMMUTATIVE = ("allreduce", "reduce", "reduce_scatter", "reduce_scatter_block")
"""Blocking collectives whose tree can test whether the operation is commutative; scan's and exscan's cannot.
"""

GUARDS: dict[tuple[str, str], tuple[str, ...]] = {
    ("barrier", "smp"): (PARENT,),
    ("bcast", "smp"): (PARENT,),
    ("bcast", "scatter_recursive_doubling_allgather"): (POW2,),
    ("allgather", "recursive_doubling"): (POW2,),
    ("allgatherv", "recursive_doubling"): (POW2,),
    ("alltoall", "brucks"): (NOT_IN_PLACE,),
    ("alltoall", "k_brucks"): (NOT_IN_PLACE,),
    ("alltoall", "pairwise"): (NOT_IN_PLACE,),
    ("alltoall", "scattered"): (NOT_IN_PLACE,),
    ("alltoall", "pairwise_sendrecv_replace"): (IN_PLACE,),
    ("ialltoall", "sched_permuted_sendrecv"): (NOT_IN_PLACE,),
    ("ialltoall", "sched_inplace"): (IN_PLACE,),
    ("ialltoall", "tsp_ring"): (NOT_IN_PLACE,),
    ("ialltoall", "tsp_brucks"): (NOT_IN_PLACE,),
    ("ialltoall", "tsp_scattered"): (NOT_IN_PLACE,),
    ("alltoallv", "scattered"): (NOT_IN_PLACE,),
    ("alltoallv", "pairwise_sendrecv_replace"): (IN_PLACE,),
    ("ialltoallv", "sched_blocked"): (NOT_IN_PLACE,),
    ("ialltoallv", "tsp_scattered"): (NOT_IN_PLACE,),
    ("ialltoallv", "tsp_blocked"): (NOT_IN_PLACE,),
    ("ialltoallv", "sched_inplace"): (IN_PLACE,),
    ("ialltoallv", "tsp_inplace"): (IN_PLACE,),
    ("reduce", "smp"): (PARENT, COMMUTATIVE),
    ("reduce", "reduce_scatter_gather"): (BUILT_IN_OP, COUNT_AT_LEAST_POW2),
    ("ireduce", "tsp_tree"): (COMMUTATIVE,),
    ("allreduce", "smp"): (PARENT, COMMUTATIVE),
    ("allreduce", "reduce_scatter_allgather"): (BUILT_IN_OP, COUNT_AT_LEAST_POW2),
    ("allreduce", "ring"): (COMMUTATIVE,),
    ("allreduce", "k_reduce_scatter_allgather"): (COMMUTATIVE,),
    ("iallreduce", "tsp_ring"): (COMMUTATIVE,),
    ("iallreduce", "tsp_recexch_reduce_scatter_recexch_allgatherv"): (COMMUTATIVE,),
    ("reduce_scatter", "noncommutative"): (POW2, REGULAR),
    ("reduce_scatter", "pairwise"): (COMMUTATIVE,),
    ("reduce_scatter", "recursive_halving"): (COMMUTATIVE,),
    ("ireduce_scatter", "tsp_recexch"): (COMMUTATIVE,),
    ("reduce_scatter_block", "noncommutative"): (POW2,),
    ("reduce_scatter_block", "pairwise"): (COMMUTATIVE,),
    ("reduce_scatter_block", "recursive_halving"): (COMMUTATIVE,),
    ("ireduce_scatter_block", "tsp_recexch"): (COMMUTATIVE,),
    ("scan", "smp"): (CONSECUTIVE,),
}
GUARDS |= {
    (f"i{collective}", f"sched_{name}"): guards
    for (collective, name), guards in GUARDS.items()
    if not collective.startswith("i")
}
"""(collective, algorithm) → the conditions under which it applies; none for the others. A schedule of a
nonblocking collective has those of the blocking algorithm of its name."""

_TREE_VARIABLES = {
    "tree_type": "TREE_TYPE",
    "k": "TREE_KVAL",
    "chunk_size": "TREE_PIPELINE_CHUNK_SIZE",
    "buffer_per_child": "TREE_BUFFER_PER_CHILD",
    "is_non_blocking": "IS_NON_BLOCKING",
    "recv_pre_posted": "RECV_PRE_POST",
    "topo_overhead": "TOPO_OVERHEAD",
    "topo_diff_groups": "TOPO_DIFF_GROUPS",
    "topo_diff_switches": "TOPO_DIFF_SWITCHES",
    "topo_same_switches": "TOPO_SAME_SWITCHES",
}
_TOPOLOGY = {
    "topo_overhead": "200",
    "topo_diff_groups": "2800",
    "topo_diff_switches": "1900",
    "topo_same_switches": "1600",
}


def _tree(collective: str, **defaults: str) -> dict[str, tuple[str, str]]:
    """The parameters of an algorithm on a tree, by their defaults."""
    variables = {
        name: f"{collective.upper()}_{variable_suffix}" for name, variable_suffix in _TREE_VARIABLES.items()
    }
    return {name: (variables[name], default) for name, default in defaults.items()}


_IALLREDUCE_RECEXCH = {"k": ("IALLREDUCE_RECEXCH_KVAL", "2")}
_ALLREDUCE_RECEXCH = {
    "k": ("ALLREDUCE_RECEXCH_KVAL", "2"),
    "single_phase_recv": ("ALLREDUCE_RECEXCH_SINGLE_PHASE_RECV", "0"),
}
_ALLGATHER_RECEXCH = {
    "k": ("ALLGATHER_RECEXCH_KVAL", "2"),
    "single_phase_recv": ("ALLGATHER_RECEXCH_SINGLE_PHASE_RECV", "0"),
}

PARAMETERS: dict[tuple[str, str], dict[str, tuple[str, str]]] = {
    ("bcast", "tree"): _tree("bcast", tree_type="kary", k="2", is_non_blocking="1", **_TOPOLOGY),
    ("bcast", "pipelined_tree"): _tree(
        "bcast", tree_type="kary", k="2", is_non_blocking="1", chunk_size="8192", recv_pre_posted="0"
    ),
    ("ibcast", "tsp_tree"): _tree("ibcast", tree_type="kary", k="2", chunk_size="0"),
    ("ibcast", "tsp_ring"): {"chunk_size": ("IBCAST_RING_CHUNK_SIZE", "0")},
    ("ibcast", "tsp_scatterv_recexch_allgatherv"): {
        "scatterv_k": ("IBCAST_SCATTERV_KVAL", "2"),
        "allgatherv_k": ("IBCAST_ALLGATHERV_RECEXCH_KVAL", "2"),
    },
    ("ireduce", "tsp_tree"): _tree(
        "ireduce", tree_type="kary", k="2", chunk_size="-1", buffer_per_child="0", **_TOPOLOGY
    ),
    ("iallreduce", "tsp_tree"): _tree(
        "iallreduce", tree_type="kary", k="2", chunk_size="0", buffer_per_child="0"
    ),
    ("iallreduce", "tsp_recexch_single_buffer"): _IALLREDUCE_RECEXCH,
    ("iallreduce", "tsp_recexch_multiple_buffer"): _IALLREDUCE_RECEXCH,
    ("iallreduce", "tsp_recexch_reduce_scatter_recexch_allgatherv"): _IALLREDUCE_RECEXCH,
    ("allreduce", "recursive_multiplying"): {"k": ("ALLREDUCE_RECURSIVE_MULTIPLYING_KVAL", "2")},
    ("allreduce", "tree"): _tree(
        "allreduce", tree_type="knomial_1", k="2", chunk_size="0", buffer_per_child="0", **_TOPOLOGY
    ),
    ("allreduce", "recexch"): _ALLREDUCE_RECEXCH,
    ("allreduce", "k_reduce_scatter_allgather"): _ALLREDUCE_RECEXCH,
    ("allgather", "k_brucks"): {"k": ("ALLGATHER_BRUCKS_KVAL", "2")},
    ("allgather", "recexch_doubling"): _ALLGATHER_RECEXCH,
    ("allgather", "recexch_halving"): _ALLGATHER_RECEXCH,
    ("alltoall", "k_brucks"): {"k": ("ALLTOALL_BRUCKS_KVAL", "2")},
    ("barrier", "k_dissemination"): {"k": ("BARRIER_DISSEM_KVAL", "2")},
}
"""(collective, algorithm) → parameter in the tree → (control variable after MPIR_CVAR_, its default)."""

ONLY_BY_VARIABLE = frozenset(
    {
        ("barrier", "recexch"),
        ("allreduce", "ccl"),
        ("ibarrier", "tsp_recexch"),
        ("ibarrier", "tsp_k_dissemination"),
        ("ibcast", "tsp_scatterv_ring_allgatherv"),
        ("iallgather", "tsp_brucks"),
        ("iallgather", "tsp_recexch_doubling"),
        ("iallgather", "tsp_recexch_halving"),
        ("iallgatherv", "tsp_brucks"),
        ("iallgatherv", "tsp_recexch_doubling"),
        ("iallgatherv", "tsp_recexch_halving"),
        ("ialltoall", "tsp_brucks"),
        ("ialltoall", "tsp_scattered"),
        ("ialltoallv", "tsp_scattered"),
        ("ialltoallv", "tsp_blocked"),
        ("ireduce", "tsp_ring"),
        ("igather", "tsp_tree"),
        ("iscatter", "tsp_tree"),
        ("ireduce_scatter", "tsp_recexch"),
        ("ireduce_scatter_block", "tsp_recexch"),
    }
)
"""Algorithms that are not used in a tree: its parser does not read all of their parameters, so that they
would run with arbitrary values, or it has no condition for their restriction (ascending displacements)."""


UNKNOWN = "is not among the algorithms that this library accepts in a file"


class InexpressibleError(Exception):
    """A rule that a selection tree cannot hold; the text is the reason, as the end of a sentence."""


class TreeLeaves(Struct, frozen=True, kw_only=True):
    """The leaf of a rule's collective and, if that calls a nonblocking collective internally, the leaf of the
    latter. ``by_variable`` says that the nonblocking one can only be set by its control variable."""

    leaf: Leaf
    nonblocking_leaf: Leaf | None = None
    by_variable: bool = False


def tree_leaves(rule: Rule, names: frozenset[str]) -> TreeLeaves:
    """The leaves of a rule among the known ``names``; raises :class:`InexpressibleError`."""
    settings = rule.settings
    collective = rule.collective
    value = settings.get(variable(collective), "")
    if value != "nb":
        return TreeLeaves(leaf=_leaf(collective, value, settings, names, rule))
    function = f"MPIR_{collective.capitalize()}_allcomm_nb"
    if function not in names:
        raise InexpressibleError(UNKNOWN)
    blocking_leaf = Leaf(f"algorithm={function}", (), _commutative(rule))
    inner = settings.get(variable(f"i{collective}"), "auto")
    if inner == "auto":
        return TreeLeaves(leaf=blocking_leaf)
    if SIZE_CONDITION.get(collective) and not SIZE_CONDITION.get(f"i{collective}"):
        return TreeLeaves(leaf=blocking_leaf, by_variable=True)
    try:
        leaf = _leaf(f"i{collective}", inner, settings, names, rule)
    except InexpressibleError:
        return TreeLeaves(leaf=blocking_leaf, by_variable=True)
    guards = tuple(dict.fromkeys([*leaf.guards, *blocking_leaf.guards]))
    return TreeLeaves(leaf=Leaf(blocking_leaf.key, (), guards), nonblocking_leaf=leaf)


def variable(collective: str) -> str:
    """The control variable that forces an algorithm of a collective."""
    return f"MPIR_CVAR_{collective.upper()}_INTRA_ALGORITHM"


def _leaf(
    collective: str, value: str, settings: Mapping[str, str], names: frozenset[str], rule: Rule
) -> Leaf:
    key = (collective, value)
    if key in ONLY_BY_VARIABLE:
        raise InexpressibleError("needs a parameter or condition that MPICH does not read from such a file")
    function = f"MPIR_{collective.capitalize()}_intra_{value}"
    if function not in names:
        raise InexpressibleError(UNKNOWN)
    parameters = tuple(
        f"{name}={settings.get(f'MPIR_CVAR_{own}', default)}"
        for name, (own, default) in PARAMETERS.get(key, {}).items()
    )
    guards = [
        guard for guard in GUARDS.get(key, ()) if not (guard == POW2 and _ran_without_pow2(collective, rule))
    ]
    return Leaf(f"algorithm={function}", parameters, tuple(dict.fromkeys([*guards, *_commutative(rule)])))


def _ran_without_pow2(collective: str, rule: Rule) -> bool:
    """Whether an algorithm of bcast ran on any p: later versions lifted its restriction."""
    return collective == "bcast" and rule.p & (rule.p - 1) != 0


def _commutative(rule: Rule) -> tuple[str, ...]:
    """The guard of an algorithm that computed wrong results with non-commutative operations."""
    if not rule.commutative_only:
        return ()
    if rule.collective not in WITH_COMMUTATIVE:
        raise InexpressibleError(
            "needs a commutative operation, which MPICH's file cannot test for this collective"
        )
    return (COMMUTATIVE,)
