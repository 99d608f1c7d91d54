/** @file
 * The trees that collectives run along, each as one rank sees it: its parent and its children, in the order
 * in which the libraries visit them. Every function takes a real rank and gives real ranks; all but the
 * in-order binary tree renumber the ranks so that the root comes first: v = (rank - root) mod p.
 */
#pragma once

#include <vector>

namespace offbeat::algorithms {

struct Tree {
    int parent = -1; /**< -1 at the root */
    std::vector<int> children;

    [[nodiscard]] bool is_root() const {
        return parent < 0;
    }
    [[nodiscard]] bool is_leaf() const {
        return children.empty();
    }
};

/** @name Open MPI's trees, which SimGrid's ompi_* algorithms share */
///@{
/** The parent clears the highest bit of v; children v + 2^i, ascending: 0 → 1 2 4, 1 → 3 5, 3 → 7. */
Tree binomial_tree(int p, int rank, int root);
/** The parent clears the lowest bit of v; children v + 2^i, ascending: 0 → 1 2 4, 2 → 3, 4 → 5 6. Subtrees
 * are runs of v. */
Tree in_order_binomial_tree(int p, int rank, int root);
/** The parent clears the lowest digit of v in base `radix`; children of the highest digit first, within a
 * digit ascending. */
Tree knomial_tree(int p, int rank, int root, int radix);
/** Level by level, each node's children one level's width apart: with fanout 2, 0 → 1 2, 1 → 3 5, 2 → 4 6.
 * Fanout 2 is the binary tree; at most 32. */
Tree balanced_tree(int p, int rank, int root, int fanout);
/** Post-order numbered: the root is p - 1, the first child v - 1, and the second child's ranks all come
 * before the first one's. */
Tree in_order_binary_tree(int p, int rank);
/** `fanout` chains of runs of v, whose lengths differ by one at most; fanout is cut to 1..32 and to p - 1. */
Tree chain_tree(int p, int rank, int root, int fanout);
/** One chain: 0 → 1 → 2 ... */
Tree pipeline_tree(int p, int rank, int root);
///@}

/** @name MPICH's trees */
///@{
/** Numbers of the tree types, in the order of MPICH's own enumeration. */
enum class MpichTree : int { kary = 0, knomial_1 = 1, knomial_2 = 2 };

/** Heap order: children k·v + 1 ... k·v + k. */
Tree mpich_kary_tree(int p, int rank, int root, int k);
/** A k-nomial tree in depth-first order: the largest subtree is the first child and starts at v + 1. */
Tree mpich_knomial_1_tree(int p, int rank, int root, int k);
/** knomial_tree() with each digit's children descending: with k = 2, 0 → 4 2 1, 2 → 3. */
Tree mpich_knomial_2_tree(int p, int rank, int root, int k);
Tree mpich_tree(MpichTree type, int p, int rank, int root, int k);
///@}

} // namespace offbeat::algorithms
