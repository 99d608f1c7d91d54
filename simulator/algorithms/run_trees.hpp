/** @file
 * Trees whose subtrees are runs of ranks, for gathers and scatters: each of their messages is one run of
 * blocks. Ranks are numbered from the root on, around the circle: v = (rank - root) mod p.
 */
#pragma once

#include "algorithms/blocks.hpp"
#include "algorithms/trees.hpp"
#include "schedule/program.hpp"

namespace offbeat::algorithms {

struct RunTree {
    Tree tree;
    int v = 0;
    /** Ranks in the whole subtree of this rank, itself included. */
    int size = 1;
    /** The v of each child, and how many ranks its subtree has. */
    std::vector<int> child_v{};
    std::vector<int> child_size{};
};

RunTree in_order_binomial_runs(const schedule::Rank &rank);
/** MPICH's first k-nomial tree, in depth-first order. */
RunTree mpich_knomial_runs(const schedule::Rank &rank, int64_t k);

/** The blocks of a rank's subtree, `count` elements each: at the root a part of the buffer of all blocks, by
 * rank; elsewhere the rank's own buffer and, behind it, a scratch buffer for the others. */
class SubtreeBlocks {
  public:
    /** @param all the root's buffer of p blocks. @param own any other rank's buffer of one block. */
    SubtreeBlocks(schedule::Rank &rank, const RunTree &runs, schedule::Span all, schedule::Span own);
    /** Those of a child's subtree. */
    [[nodiscard]] std::vector<schedule::Span> of_child(size_t child) const;
    /** Everything that passes between this rank, which is not the root, and its parent. */
    [[nodiscard]] std::vector<schedule::Span> to_parent() const;

  private:
    const RunTree &runs_;
    int first_; /**< place of the first child's block after v = 0 or this rank's own */
    schedule::Span own_;
    schedule::Span others_;
    Blocks blocks_;
};

} // namespace offbeat::algorithms
