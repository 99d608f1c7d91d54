"""On which node each rank sits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Nodes = NDArray[np.int32]
"""The node of each rank, nodes counted from 0."""


def block(p: int, nodes: int, per_node: int) -> Nodes:
    """Fill each node with ``per_node`` ranks before the next one; more ranks than that begin anew."""
    return (np.arange(p) // per_node % nodes).astype(np.int32)


def cyclic(p: int, nodes: int) -> Nodes:
    """One rank a node in turn."""
    return (np.arange(p) % nodes).astype(np.int32)


def most_on_a_node(node_of_rank: Nodes) -> int:
    """Ranks of the fullest node."""
    return int(np.bincount(node_of_rank).max())
