/** @file
 * The trees of collectives: a rank's parent and its children, in the order in which the libraries visit them.
 * Trees have ranks; their descriptions have numbers from the root on: v = (rank - root) mod p.
 */
#pragma once

#include "algorithms/blocks.hpp"
#include "schedule/program.hpp"

#include <cstdint>
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

/** One of p ranks that are numbered from a root. */
struct RootedRank {
    int p;
    int rank;
    int root;

    RootedRank(int ranks, int one_rank, int root_rank) : p(ranks), rank(one_rank), root(root_rank) {
    }
    RootedRank(const Rank &one) : RootedRank(one.p, one.id, one.call.root) {
    }
    [[nodiscard]] int v() const {
        return number(rank);
    }
    [[nodiscard]] int number(int other) const {
        return (other - root + p) % p;
    }
    [[nodiscard]] int rank_at(int64_t other) const {
        return static_cast<int>((other + root) % p);
    }
};

/** @param k  the degree: fanout or radix; ignored by binary and binomial trees */
using TreeFunction = Tree(const RootedRank &at, int k);

/** A degree that may be large: all degrees of at least p make the same tree. */
int limited_degree(int64_t k, int p);

/** @name Open MPI's trees, which SimGrid's ompi_* algorithms share */
///@{
/** The parent clears the highest bit of v; children v + 2^i, ascending: 0 → 1 2 4, 1 → 3 5, 3 → 7. */
TreeFunction binomial_tree;
/** The parent clears the lowest bit of v; children v + 2^i, ascending: 0 → 1 2 4, 2 → 3, 4 → 5 6. Subtrees
 * are runs of v. */
TreeFunction in_order_binomial_tree;
/** The parent clears the lowest digit of v in base k; children of the highest digit first, within a digit
 * ascending. With k = 2 the binomial tree with the largest subtree first: 0 → 4 2 1, 2 → 3. */
TreeFunction knomial_tree;
/** Numbered level by level; the children of a rank are one level's width apart: 0 → 1 2, 1 → 3 5, 2 → 4 6. */
TreeFunction binary_tree;
/** Numbered in post-order: the root is rank p - 1, the first child v - 1, and the ranks of the second child's
 * subtree come before those of the first child's. */
TreeFunction in_order_binary_tree;
/** k chains of consecutive v, whose lengths differ by one at most; k is limited to 1..32 and to p - 1. */
TreeFunction chain_tree;
///@}

/** MPICH's trees by their number in MPICH's own enumeration: 0 (kary), in heap order: children k·v + 1 ...
 * k·v + k; 1 (knomial_1), a k-nomial tree in depth-first order: the largest subtree is the first child and
 * starts at v + 1; 2 (knomial_2): knomial_tree() with each digit's children descending.
 * std::invalid_argument for other types, and for a k-nomial tree with k < 2. */
Tree mpich_tree_of_type(const RootedRank &at, int64_t type, int64_t k);
/** The number of knomial_1, whose subtrees are runs of v. */
inline constexpr int64_t mpich_knomial_1 = 1;

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

RunTree in_order_binomial_runs(const Rank &rank);
/** MPICH's first k-nomial tree, in depth-first order. */
RunTree mpich_knomial_runs(const Rank &rank, int64_t k);

/** The blocks of a rank's subtree, `count` elements each. At the root: a part of the buffer of all blocks, by
 * rank. On other ranks: the rank's own buffer, followed by a scratch buffer for the other blocks. */
class SubtreeBlocks {
  public:
    /** @param all  the root's buffer of p blocks
     * @param own  another rank's buffer of one block */
    SubtreeBlocks(Rank &rank, const RunTree &runs, Span all, Span own);
    /** The blocks of a child's subtree. */
    [[nodiscard]] std::vector<Span> of_child(size_t child) const;
    /** The blocks that this rank, which is not the root, exchanges with its parent. */
    [[nodiscard]] std::vector<Span> to_parent() const;

  private:
    const RunTree &runs_;
    int first_; /**< offset from a child's v to its block in others_ */
    Span own_;
    Span others_;
    Blocks blocks_;
};

} // namespace offbeat::algorithms
