#include "algorithms/trees.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace offbeat::algorithms {

namespace {

/** Open MPI's MAXTREEFANOUT: larger fanouts are refused or limited. */
constexpr int largest_fanout = 32;

/** The weight (k^i) of v's lowest digit in base k that is not 0; the smallest power of k that is at least p
 * for v = 0. */
int64_t lowest_weight(const RootedRank &at, int k) {
    int64_t weight = 1;
    while (weight < at.p && at.v() % (weight * k) == 0)
        weight *= k;
    return weight;
}

/** @param v  of the parent; ignored for the root */
Tree tree_with_parent(const RootedRank &at, int64_t v) {
    return {.parent = at.v() == 0 ? -1 : at.rank_at(v), .children = {}};
}

void add_child(Tree &tree, const RootedRank &at, int64_t v) {
    if (v < at.p)
        tree.children.push_back(at.rank_at(v));
}

Tree knomial(const RootedRank &at, int k, bool descending) {
    if (k < 2)
        throw std::invalid_argument("the k of a k-nomial tree must be at least 2");
    const int64_t lowest = lowest_weight(at, k);
    Tree tree = tree_with_parent(at, at.v() - at.v() % (lowest * k));
    for (int64_t weight = lowest / k; weight > 0; weight /= k)
        for (int digit = 1; digit < k; ++digit)
            add_child(tree, at, at.v() + weight * (descending ? k - digit : digit));
    return tree;
}

} // namespace

int limited_degree(int64_t k, int p) {
    return static_cast<int>(std::min<int64_t>(k, std::max(p, 2)));
}

Tree binomial_tree(const RootedRank &at, int /*k*/) {
    int64_t above = 1; // the lowest power of two above v
    while (above <= at.v())
        above *= 2;
    Tree tree = tree_with_parent(at, at.v() - above / 2);
    for (int64_t mask = above; mask < at.p; mask *= 2)
        add_child(tree, at, at.v() + mask);
    return tree;
}

Tree in_order_binomial_tree(const RootedRank &at, int /*k*/) {
    const int64_t lowest = lowest_weight(at, 2);
    Tree tree = tree_with_parent(at, at.v() - lowest);
    for (int64_t mask = 1; mask < lowest; mask *= 2)
        add_child(tree, at, at.v() + mask);
    return tree;
}

Tree knomial_tree(const RootedRank &at, int k) {
    return knomial(at, k, false);
}

Tree binary_tree(const RootedRank &at, int /*k*/) {
    const int v = at.v();
    int64_t width = 1; // of v's level, which starts at number width - 1
    while (2 * width - 1 <= v)
        width *= 2;
    const int64_t parents = std::max<int64_t>(width / 2, 1);
    Tree tree = tree_with_parent(at, parents - 1 + (v - width + 1) % parents);
    add_child(tree, at, v + width);
    add_child(tree, at, v + 2 * width);
    return tree;
}

Tree in_order_binary_tree(const RootedRank &at, int /*k*/) {
    const int rank = at.rank;
    Tree tree;
    int first = 0; // the current subtree: `size` ranks from `first` on; its root is the last rank
    int size = at.p;
    while (rank != first + size - 1) {
        const int right = size / 2;
        tree.parent = first + size - 1;
        if (size >= 3 && rank < first + right) {
            size = right;
        } else {
            const int skipped = size >= 3 ? right : 0;
            first += skipped;
            size -= skipped + 1;
        }
    }
    if (size >= 2)
        tree.children.push_back(rank - 1);
    if (size >= 3)
        tree.children.push_back(first + size / 2 - 1);
    return tree;
}

Tree chain_tree(const RootedRank &at, int k) {
    const int p = at.p;
    const int v = at.v();
    if (p == 1)
        return {};
    const int chains = std::min(std::clamp(k, 1, largest_fanout), p - 1);
    const int shorter = (p - 1) / chains; // the first `longer` chains have one rank more
    const int longer = (p - 1) % chains;
    const auto head = [&](int chain) { return 1 + chain * shorter + std::min(chain, longer); };
    Tree tree;
    if (v == 0) {
        for (int chain = 0; chain < chains; ++chain)
            add_child(tree, at, head(chain));
        return tree;
    }
    const int in_longer = longer * (shorter + 1);
    const int chain = v - 1 < in_longer ? (v - 1) / (shorter + 1) : longer + (v - 1 - in_longer) / shorter;
    tree.parent = v == head(chain) ? at.root : at.rank_at(v - 1);
    if (v + 1 < head(chain + 1))
        add_child(tree, at, v + 1);
    return tree;
}

namespace {

Tree mpich_kary_tree(const RootedRank &at, int k) {
    Tree tree = tree_with_parent(at, (at.v() - 1) / k);
    for (int child = 1; child <= k; ++child)
        add_child(tree, at, static_cast<int64_t>(at.v()) * k + child);
    return tree;
}

Tree mpich_knomial_1_tree(const RootedRank &at, int k) {
    if (k < 2)
        throw std::invalid_argument("the k of a k-nomial tree must be at least 2");
    const int v = at.v();
    int64_t current = 0; // a rank on the path to v; its children from `next` on were not visited yet
    int64_t next = 1;
    int64_t size = lowest_weight({at.p, 0, 0}, k); // at least p
    Tree tree;
    while (v != current) { // each round visits k - 1 children with subtrees of `size` ranks
        size /= k;
        const int64_t part = (v - next) / size;
        if (part < k - 1) {
            tree.parent = at.rank_at(current);
            current = next + part * size;
            next = current + 1;
        } else {
            next += (k - 1) * size;
        }
    }
    while (size > 1) {
        size /= k;
        for (int i = 1; i < k; ++i, next += size)
            add_child(tree, at, next);
    }
    return tree;
}

} // namespace

Tree mpich_tree_of_type(const RootedRank &at, int64_t type, int64_t k) {
    const int degree = limited_degree(k, at.p);
    switch (type) {
    case 0:
        return mpich_kary_tree(at, degree);
    case mpich_knomial_1:
        return mpich_knomial_1_tree(at, degree);
    case 2:
        return knomial(at, degree, true);
    default:
        throw std::invalid_argument("tree_type must be 0 (kary), 1 (knomial_1) or 2 (knomial_2)");
    }
}

namespace {

/** The end of the subtree of v: the next sibling, or the end of the parent's subtree. */
int end_of_subtree(TreeFunction tree_of, int p, int v, int k) {
    while (v != 0) {
        const int parent = tree_of({p, v, 0}, k).parent;
        int end = p;
        for (const int sibling : tree_of({p, parent, 0}, k).children)
            if (sibling > v)
                end = std::min(end, sibling);
        if (end < p)
            return end;
        v = parent;
    }
    return p;
}

RunTree runs(TreeFunction tree_of, const RootedRank &at, int k) {
    RunTree result{.tree = tree_of(at, k), .v = at.v()};
    const int end = end_of_subtree(tree_of, at.p, result.v, k);
    result.size = end - result.v;
    for (const int child : result.tree.children)
        result.child_v.push_back(at.number(child));
    for (size_t i = 0; i < result.child_v.size(); ++i)
        result.child_size.push_back((i + 1 < result.child_v.size() ? result.child_v[i + 1] : end) -
                                    result.child_v[i]);
    return result;
}

} // namespace

RunTree in_order_binomial_runs(const Rank &rank) {
    return runs(in_order_binomial_tree, rank, 2);
}

RunTree mpich_knomial_runs(const Rank &rank, int64_t k) {
    return runs(mpich_knomial_1_tree, rank, limited_degree(k, rank.p));
}

SubtreeBlocks::SubtreeBlocks(Rank &rank, const RunTree &runs, Span all, Span own)
    : runs_(runs), first_(runs.tree.is_root() ? rank.id : -runs.v - 1), own_(own), others_(all),
      blocks_(Blocks::equal(rank.call.count, runs.tree.is_root() ? rank.p : runs.size - 1)) {
    if (!runs.tree.is_root())
        others_ = runs.size > 1 ? rank.scratch((runs.size - 1) * rank.call.count) : Span{};
}

std::vector<Span> SubtreeBlocks::of_child(size_t child) const {
    return blocks_.cyclic_run(others_, runs_.child_v[child] + first_, runs_.child_size[child]);
}

std::vector<Span> SubtreeBlocks::to_parent() const {
    if (runs_.size == 1)
        return {own_};
    return {own_, others_};
}

} // namespace offbeat::algorithms
