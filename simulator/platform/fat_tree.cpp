#include "platform/network.hpp"

#include <stdexcept>
#include <utility>

namespace offbeat::platform {

namespace {

/**
 * A switch or node is identified by its level and one digit per level of the tree. Digit i of a node is its
 * number among the children of its ancestor of level i + 1; in a switch of level l the digits below l are its
 * number among the parents instead. A child differs from its parent in one digit.
 *
 * The cables above level l are numbered by child and by port; port d of a child leads to parent d mod parents
 * by cable d / parents. Each cable is two links: up, then down.
 */
class FatTree : public Topology {
  public:
    FatTree(int nodes, std::vector<TreeLevel> levels, double reverse_weight)
        : Topology(nodes, reverse_weight), levels_(std::move(levels)) {
        for (size_t level = 0; level < levels_.size(); level++) {
            first_link_.push_back(static_cast<uint32_t>(bandwidths_.size()));
            bandwidths_.resize(bandwidths_.size() + 2 * elements(level) * ports(level),
                               levels_[level].cable.bandwidth);
        }
    }

  protected:
    double path(int source_node, int target_node, std::vector<Hop> &hops) const override {
        const auto source = static_cast<size_t>(source_node), target = static_cast<size_t>(target_node);
        const size_t top = common_level(source, target);
        double latency_s = 0;
        std::vector<size_t> switch_digits; // digits of the current switch below its level
        size_t target_rest = target;
        size_t source_digits = source; // digits of the source above the level
        for (size_t level = 0; level < top; level++) {
            const size_t port = target_rest % ports(level);
            target_rest /= ports(level);
            hops.push_back({link(level, index(level, switch_digits, source_digits), port), 1});
            latency_s += levels_[level].cable.latency_s;
            switch_digits.push_back(port % parents(level));
            source_digits /= children(level);
        }
        size_t subtree_nodes = 1; // nodes in the tree under a child of the current switch
        for (size_t level = 0; level + 1 < top; level++)
            subtree_nodes *= children(level);
        for (size_t level = top; level-- > 0;) {
            const size_t port = switch_digits[level] + source % cables(level) * parents(level);
            switch_digits.pop_back();
            hops.push_back({link(level, index(level, switch_digits, target / subtree_nodes), port) + 1, 1});
            latency_s += levels_[level].cable.latency_s;
            if (level > 0)
                subtree_nodes /= children(level - 1);
        }
        return latency_s;
    }

  private:
    [[nodiscard]] size_t children(size_t level) const {
        return static_cast<size_t>(levels_[level].children);
    }
    [[nodiscard]] size_t parents(size_t level) const {
        return static_cast<size_t>(levels_[level].parents);
    }
    [[nodiscard]] size_t cables(size_t level) const {
        return static_cast<size_t>(levels_[level].cables);
    }
    /** Cables from an element of a level to all of its parents. */
    [[nodiscard]] size_t ports(size_t level) const {
        return parents(level) * cables(level);
    }

    /** How many switches, or nodes at level 0, a level has. */
    [[nodiscard]] size_t elements(size_t level) const {
        size_t number = 1;
        for (size_t i = 0; i < levels_.size(); i++)
            number *= i < level ? parents(i) : children(i);
        return number;
    }

    /** The lowest level on which two different nodes have a common ancestor. */
    [[nodiscard]] size_t common_level(size_t first, size_t second) const {
        size_t level = 0;
        for (; first != second; level++) {
            first /= children(level);
            second /= children(level);
        }
        return level;
    }

    /** The number of an element in its level: `switch_digits` are its digits below the level, `source_digits`
     * is the number of its other digits. */
    [[nodiscard]] size_t index(size_t level, const std::vector<size_t> &switch_digits,
                               size_t source_digits) const {
        size_t number = source_digits;
        for (size_t i = level; i-- > 0;)
            number = number * parents(i) + switch_digits[i];
        return number;
    }

    /** The upward link of a child's port; the downward one follows it. */
    [[nodiscard]] uint32_t link(size_t level, size_t child, size_t port) const {
        return first_link_[level] + 2 * static_cast<uint32_t>(child * ports(level) + port);
    }

    std::vector<TreeLevel> levels_;
    std::vector<uint32_t> first_link_; // per level of the children
};

} // namespace

std::unique_ptr<Topology> fat_tree(int nodes, const std::vector<TreeLevel> &levels, double reverse_weight) {
    int64_t ports = 1;
    for (const auto &level : levels) {
        if (level.children < 1 || level.parents < 1 || level.cables < 1)
            throw std::invalid_argument("a level of a fat tree needs children, parents and cables");
        ports *= level.children;
    }
    if (levels.empty() || nodes < 1 || nodes > ports)
        throw std::invalid_argument("a fat tree needs a level, and a port for each of its nodes");
    return std::make_unique<FatTree>(nodes, levels, reverse_weight);
}

} // namespace offbeat::platform
