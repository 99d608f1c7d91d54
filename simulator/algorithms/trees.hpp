/** @file
 * The trees of collectives: a rank's parent and its children, in the order in which the libraries visit them.
 * All functions take and return ranks; all but the in-order binary tree number the ranks from the root: v =
 * (rank - root) mod p.
 */
#pragma once

#include "algorithms/blocks.hpp"
#include "schedule/program.hpp"

#include <vector>

namespace offbeat::algorithms {

struct Tree {
    int parent = -1; /**< -1 for the root */
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
/** Numbered level by level; the children of a rank are one level's width apart: with fanout 2, 0 → 1 2, 1 → 3
 * 5, 2 → 4 6. Fanout 2 is the binary tree; at most 32. */
Tree balanced_tree(int p, int rank, int root, int fanout);
/** Numbered in post-order: the root is p - 1, the first child v - 1, and the ranks of the second child's
 * subtree come before those of the first child's. */
Tree in_order_binary_tree(int p, int rank);
/** `fanout` chains of consecutive v, whose lengths differ by one at most; fanout is limited to 1..32 and to p
 * - 1. */
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

/** A tree whose subtrees are runs of v, for gathers and scatters: each message is one run of blocks. */
struct RunTree {
    Tree tree;
    int v = 0;
    /** Ranks in the subtree of this rank, itself included. */
    int size = 1;
    /** The v of each child, and the number of ranks in its subtree. */
    std::vector<int> child_v{};
    std::vector<int> child_size{};
};

RunTree in_order_binomial_runs(const schedule::Rank &rank);
/** MPICH's first k-nomial tree, in depth-first order. */
RunTree mpich_knomial_runs(const schedule::Rank &rank, int64_t k);

/** The blocks of a rank's subtree, `count` elements each. At the root: a part of the buffer of all blocks, by
 * rank. On other ranks: the rank's own buffer, followed by a scratch buffer for the other blocks. */
class SubtreeBlocks {
  public:
    /** @param all  the root's buffer of p blocks
     * @param own  another rank's buffer of one block */
    SubtreeBlocks(schedule::Rank &rank, const RunTree &runs, schedule::Span all, schedule::Span own);
    /** The blocks of a child's subtree. */
    [[nodiscard]] std::vector<schedule::Span> of_child(size_t child) const;
    /** The blocks that this rank, which is not the root, exchanges with its parent. */
    [[nodiscard]] std::vector<schedule::Span> to_parent() const;

  private:
    const RunTree &runs_;
    int first_; /**< offset from a child's v to its block in others_ */
    schedule::Span own_;
    schedule::Span others_;
    Blocks blocks_;
};

} // namespace offbeat::algorithms
