#include "algorithms/trees.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace offbeat::algorithms {

using schedule::Rank;
using schedule::Span;

namespace {

/** Open MPI refuses or limits larger fanouts. */
constexpr int largest_fanout = 32;

/** Converts between ranks and numbers relative to the root. */
struct RootedNumbers {
    int p;
    int root;

    [[nodiscard]] int number(int rank) const {
        return (rank - root + p) % p;
    }
    [[nodiscard]] int rank(int64_t number) const {
        return static_cast<int>((number + root) % p);
    }
    void add_child(Tree &tree, int64_t number) const {
        if (number < p)
            tree.children.push_back(rank(number));
    }
};

/** The smallest power of `base` that is at least p. */
int64_t power_up_to(int p, int base) {
    int64_t power = 1;
    while (power < p)
        power *= base;
    return power;
}

/** The weight (base^i) of v's lowest digit that is not 0; power_up_to(p, base) for v = 0. */
int64_t lowest_weight(int v, int p, int base) {
    int64_t weight = 1;
    while (weight < p && v % (weight * base) == 0)
        weight *= base;
    return weight;
}

void refuse_below(int value, int smallest, const char *sentence) {
    if (value < smallest)
        throw std::invalid_argument(sentence);
}

} // namespace

Tree binomial_tree(int p, int rank, int root) {
    const RootedNumbers numbers{p, root};
    const int v = numbers.number(rank);
    int64_t above = 1; // the lowest power of two above v
    while (above <= v)
        above *= 2;
    Tree tree;
    if (v != 0)
        tree.parent = numbers.rank(v - above / 2);
    for (int64_t mask = above; mask < p; mask *= 2)
        numbers.add_child(tree, v + mask);
    return tree;
}

Tree in_order_binomial_tree(int p, int rank, int root) {
    const RootedNumbers numbers{p, root};
    const int v = numbers.number(rank);
    const int64_t lowest = lowest_weight(v, p, 2);
    Tree tree;
    if (v != 0)
        tree.parent = numbers.rank(v - lowest);
    for (int64_t mask = 1; mask < lowest; mask *= 2)
        numbers.add_child(tree, v + mask);
    return tree;
}

Tree knomial_tree(int p, int rank, int root, int radix) {
    refuse_below(radix, 2, "the radix of a k-nomial tree must be at least 2");
    const RootedNumbers numbers{p, root};
    const int v = numbers.number(rank);
    const int64_t lowest = lowest_weight(v, p, radix);
    Tree tree;
    if (v != 0)
        tree.parent = numbers.rank(v - v % (lowest * radix));
    for (int64_t weight = lowest / radix; weight > 0; weight /= radix)
        for (int digit = 1; digit < radix; ++digit)
            numbers.add_child(tree, v + weight * digit);
    return tree;
}

Tree balanced_tree(int p, int rank, int root, int fanout) {
    if (fanout < 1 || fanout > largest_fanout)
        throw std::invalid_argument("the fanout of a tree must be from 1 to 32");
    const RootedNumbers numbers{p, root};
    const int v = numbers.number(rank);
    int64_t width = 1; // of v's level
    int64_t first = 0; // number of that level
    while (first + width <= v) {
        first += width;
        width *= fanout;
    }
    Tree tree;
    if (v != 0) {
        const int64_t parents = width / fanout;
        tree.parent = numbers.rank(first - parents + (v - first) % parents);
    }
    for (int i = 1; i <= fanout; ++i)
        numbers.add_child(tree, v + width * i);
    return tree;
}

Tree in_order_binary_tree(int p, int rank) {
    Tree tree;
    int first = 0; // the current subtree: `size` ranks from `first` on; its root is the last rank
    int size = p;
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

Tree chain_tree(int p, int rank, int root, int fanout) {
    const RootedNumbers numbers{p, root};
    const int v = numbers.number(rank);
    Tree tree;
    if (p == 1)
        return tree;
    const int chains = std::min(std::clamp(fanout, 1, largest_fanout), p - 1);
    const int shorter = (p - 1) / chains; // the first `longer` chains have one rank more
    const int longer = (p - 1) % chains;
    const auto head = [&](int chain) { return 1 + chain * shorter + std::min(chain, longer); };
    if (v == 0) {
        for (int chain = 0; chain < chains; ++chain)
            numbers.add_child(tree, head(chain));
        return tree;
    }
    const int in_longer = longer * (shorter + 1);
    const int chain = v - 1 < in_longer ? (v - 1) / (shorter + 1) : longer + (v - 1 - in_longer) / shorter;
    tree.parent = v == head(chain) ? root : numbers.rank(v - 1);
    if (v + 1 < head(chain + 1))
        numbers.add_child(tree, v + 1);
    return tree;
}

Tree pipeline_tree(int p, int rank, int root) {
    return chain_tree(p, rank, root, 1);
}

Tree mpich_kary_tree(int p, int rank, int root, int k) {
    refuse_below(k, 1, "the k of a k-ary tree must be at least 1");
    const RootedNumbers numbers{p, root};
    const int v = numbers.number(rank);
    Tree tree;
    if (v != 0)
        tree.parent = numbers.rank((v - 1) / k);
    for (int child = 1; child <= k; ++child)
        numbers.add_child(tree, static_cast<int64_t>(v) * k + child);
    return tree;
}

Tree mpich_knomial_1_tree(int p, int rank, int root, int k) {
    refuse_below(k, 2, "the k of a k-nomial tree must be at least 2");
    const RootedNumbers numbers{p, root};
    const int v = numbers.number(rank);
    int64_t current = 0; // a rank on the path to v; its children from `next` on were not visited yet
    int64_t next = 1;
    int64_t size = power_up_to(p, k);
    Tree tree;
    while (v != current) { // each round visits k - 1 children with subtrees of `size` ranks
        size /= k;
        const int64_t part = (v - next) / size;
        if (part < k - 1) {
            tree.parent = numbers.rank(current);
            current = next + part * size;
            next = current + 1;
        } else {
            next += (k - 1) * size;
        }
    }
    while (size > 1) {
        size /= k;
        for (int i = 1; i < k; ++i, next += size)
            numbers.add_child(tree, next);
    }
    return tree;
}

Tree mpich_knomial_2_tree(int p, int rank, int root, int k) {
    refuse_below(k, 2, "the k of a k-nomial tree must be at least 2");
    const RootedNumbers numbers{p, root};
    const int v = numbers.number(rank);
    const int64_t lowest = lowest_weight(v, p, k);
    Tree tree;
    if (v != 0)
        tree.parent = numbers.rank(v - v % (lowest * k));
    for (int64_t weight = lowest / k; weight > 0; weight /= k)
        for (int digit = k - 1; digit >= 1; --digit)
            numbers.add_child(tree, v + weight * digit);
    return tree;
}

Tree mpich_tree(MpichTree type, int p, int rank, int root, int k) {
    switch (type) {
    case MpichTree::kary:
        return mpich_kary_tree(p, rank, root, k);
    case MpichTree::knomial_1:
        return mpich_knomial_1_tree(p, rank, root, k);
    case MpichTree::knomial_2:
        return mpich_knomial_2_tree(p, rank, root, k);
    }
    throw std::invalid_argument("tree_type must be 0 (kary), 1 (knomial_1) or 2 (knomial_2)");
}

namespace {

using TreeOf = Tree (*)(int p, int rank, int root, int k);

/** The end of the subtree of v: the next sibling, or the end of the parent's subtree. */
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
    return blocks_.cyclic_run(others_, runs_.child_v[child] + first_, runs_.child_size[child]);
}

std::vector<Span> SubtreeBlocks::to_parent() const {
    if (runs_.size == 1)
        return {own_};
    return {own_, others_};
}

} // namespace offbeat::algorithms
