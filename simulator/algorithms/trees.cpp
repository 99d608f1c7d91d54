#include "algorithms/trees.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace offbeat::algorithms {

namespace {

/** Open MPI refuses or cuts larger fanouts. */
constexpr int largest_fanout = 32;

/** Numbers the ranks so that the root is 0, and back. */
struct Shifted {
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

/** The place (base^i) of v's lowest digit that is not 0; power_up_to(p, base) for v = 0. */
int64_t lowest_place(int v, int p, int base) {
    int64_t place = 1;
    while (place < p && v % (place * base) == 0)
        place *= base;
    return place;
}

void refuse_below(int value, int smallest, const char *sentence) {
    if (value < smallest)
        throw std::invalid_argument(sentence);
}

} // namespace

Tree binomial_tree(int p, int rank, int root) {
    const Shifted shifted{p, root};
    const int v = shifted.number(rank);
    int64_t above = 1; // the lowest power of two above v
    while (above <= v)
        above *= 2;
    Tree tree;
    if (v != 0)
        tree.parent = shifted.rank(v - above / 2);
    for (int64_t mask = above; mask < p; mask *= 2)
        shifted.add_child(tree, v + mask);
    return tree;
}

Tree in_order_binomial_tree(int p, int rank, int root) {
    const Shifted shifted{p, root};
    const int v = shifted.number(rank);
    const int64_t lowest = lowest_place(v, p, 2);
    Tree tree;
    if (v != 0)
        tree.parent = shifted.rank(v - lowest);
    for (int64_t mask = 1; mask < lowest; mask *= 2)
        shifted.add_child(tree, v + mask);
    return tree;
}

Tree knomial_tree(int p, int rank, int root, int radix) {
    refuse_below(radix, 2, "the radix of a k-nomial tree must be at least 2");
    const Shifted shifted{p, root};
    const int v = shifted.number(rank);
    const int64_t lowest = lowest_place(v, p, radix);
    Tree tree;
    if (v != 0)
        tree.parent = shifted.rank(v - v % (lowest * radix));
    for (int64_t place = lowest / radix; place > 0; place /= radix)
        for (int digit = 1; digit < radix; ++digit)
            shifted.add_child(tree, v + place * digit);
    return tree;
}

Tree balanced_tree(int p, int rank, int root, int fanout) {
    if (fanout < 1 || fanout > largest_fanout)
        throw std::invalid_argument("the fanout of a tree must be from 1 to 32");
    const Shifted shifted{p, root};
    const int v = shifted.number(rank);
    int64_t width = 1; // of v's level
    int64_t first = 0; // number of that level
    while (first + width <= v) {
        first += width;
        width *= fanout;
    }
    Tree tree;
    if (v != 0) {
        const int64_t parents = width / fanout;
        tree.parent = shifted.rank(first - parents + (v - first) % parents);
    }
    for (int i = 1; i <= fanout; ++i)
        shifted.add_child(tree, v + width * i);
    return tree;
}

Tree in_order_binary_tree(int p, int rank) {
    Tree tree;
    int first = 0; // the subtree at hand: `size` ranks from `first` on, whose root is the last one
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
    const Shifted shifted{p, root};
    const int v = shifted.number(rank);
    Tree tree;
    if (p == 1)
        return tree;
    const int chains = std::min(std::clamp(fanout, 1, largest_fanout), p - 1);
    const int shorter = (p - 1) / chains; // `longer` chains have one rank more, and come first
    const int longer = (p - 1) % chains;
    const auto head = [&](int chain) { return 1 + chain * shorter + std::min(chain, longer); };
    if (v == 0) {
        for (int chain = 0; chain < chains; ++chain)
            shifted.add_child(tree, head(chain));
        return tree;
    }
    const int in_longer = longer * (shorter + 1);
    const int chain = v - 1 < in_longer ? (v - 1) / (shorter + 1) : longer + (v - 1 - in_longer) / shorter;
    tree.parent = v == head(chain) ? root : shifted.rank(v - 1);
    if (v + 1 < head(chain + 1))
        shifted.add_child(tree, v + 1);
    return tree;
}

Tree pipeline_tree(int p, int rank, int root) {
    return chain_tree(p, rank, root, 1);
}

Tree mpich_kary_tree(int p, int rank, int root, int k) {
    refuse_below(k, 1, "the k of a k-ary tree must be at least 1");
    const Shifted shifted{p, root};
    const int v = shifted.number(rank);
    Tree tree;
    if (v != 0)
        tree.parent = shifted.rank((v - 1) / k);
    for (int child = 1; child <= k; ++child)
        shifted.add_child(tree, static_cast<int64_t>(v) * k + child);
    return tree;
}

Tree mpich_knomial_1_tree(int p, int rank, int root, int k) {
    refuse_below(k, 2, "the k of a k-nomial tree must be at least 2");
    const Shifted shifted{p, root};
    const int v = shifted.number(rank);
    int64_t current = 0; // a node of the way down to v, whose children from `next` on are still unseen
    int64_t next = 1;
    int64_t size = power_up_to(p, k);
    Tree tree;
    while (v != current) { // each round sees k - 1 children, of `size` ranks each
        size /= k;
        const int64_t part = (v - next) / size;
        if (part < k - 1) {
            tree.parent = shifted.rank(current);
            current = next + part * size;
            next = current + 1;
        } else {
            next += (k - 1) * size;
        }
    }
    while (size > 1) {
        size /= k;
        for (int i = 1; i < k; ++i, next += size)
            shifted.add_child(tree, next);
    }
    return tree;
}

Tree mpich_knomial_2_tree(int p, int rank, int root, int k) {
    refuse_below(k, 2, "the k of a k-nomial tree must be at least 2");
    const Shifted shifted{p, root};
    const int v = shifted.number(rank);
    const int64_t lowest = lowest_place(v, p, k);
    Tree tree;
    if (v != 0)
        tree.parent = shifted.rank(v - v % (lowest * k));
    for (int64_t place = lowest / k; place > 0; place /= k)
        for (int digit = k - 1; digit >= 1; --digit)
            shifted.add_child(tree, v + place * digit);
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

} // namespace offbeat::algorithms
