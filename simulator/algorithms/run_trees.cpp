#include "algorithms/run_trees.hpp"

#include <algorithm>

namespace offbeat::algorithms {

using schedule::Rank;
using schedule::Span;

namespace {

using TreeOf = Tree (*)(int p, int rank, int root, int k);

/** Where the subtree of v ends: at its next sibling, or where its parent's does. */
int end_of_subtree(TreeOf tree_of, int p, int v, int k) {
    while (v != 0) {
        const int parent = tree_of(p, v, 0, k).parent;
        int end = p;
        for (const int sibling : tree_of(p, parent, 0, k).children)
            if (sibling > v)
                end = std::min(end, sibling);
        if (end < p)
            return end;
        v = parent;
    }
    return p;
}

RunTree runs(TreeOf tree_of, const Rank &rank, int k) {
    RunTree result;
    result.tree = tree_of(rank.p, rank.id, rank.call.root, k);
    result.v = (rank.id - rank.call.root + rank.p) % rank.p;
    const int end = end_of_subtree(tree_of, rank.p, result.v, k);
    result.size = end - result.v;
    for (const int child : result.tree.children)
        result.child_v.push_back((child - rank.call.root + rank.p) % rank.p);
    for (size_t i = 0; i < result.child_v.size(); ++i)
        result.child_size.push_back((i + 1 < result.child_v.size() ? result.child_v[i + 1] : end) -
                                    result.child_v[i]);
    return result;
}

Tree in_order_binomial(int p, int rank, int root, int /*k*/) {
    return in_order_binomial_tree(p, rank, root);
}

} // namespace

RunTree in_order_binomial_runs(const Rank &rank) {
    return runs(in_order_binomial, rank, 2);
}

RunTree mpich_knomial_runs(const Rank &rank, int64_t k) {
    return runs(mpich_knomial_1_tree, rank, static_cast<int>(std::min<int64_t>(k, std::max(rank.p, 2))));
}

SubtreeBlocks::SubtreeBlocks(Rank &rank, const RunTree &runs, Span all, Span own)
    : runs_(runs), first_(runs.tree.is_root() ? rank.id : -runs.v - 1), own_(own), others_(all),
      blocks_(Blocks::equal(rank.call.count, runs.tree.is_root() ? rank.p : runs.size - 1)) {
    if (!runs.tree.is_root())
        others_ = runs.size > 1 ? rank.scratch((runs.size - 1) * rank.call.count) : Span{};
}

std::vector<Span> SubtreeBlocks::of_child(size_t child) const {
    return blocks_.around(others_, runs_.child_v[child] + first_, runs_.child_size[child]);
}

std::vector<Span> SubtreeBlocks::to_parent() const {
    if (runs_.size == 1)
        return {own_};
    return {own_, others_};
}

} // namespace offbeat::algorithms
