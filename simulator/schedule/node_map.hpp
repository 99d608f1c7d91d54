/** @file
 * Which ranks of a call share a node, worked out once: what every rank's program asks about nodes is then
 * answered without looking at all ranks again.
 */
#pragma once

#include "schedule/collective.hpp"

#include <cstddef>
#include <vector>

namespace offbeat::schedule {

/** Nodes are numbered anew, in the order of their lowest ranks. */
class NodeMap {
  public:
    explicit NodeMap(const Call &call);

    /** The ranks of each node, ascending. */
    [[nodiscard]] const std::vector<std::vector<int>> &nodes() const {
        return nodes_;
    }
    /** The ranks that share a node with this one, itself included, ascending. */
    [[nodiscard]] const std::vector<int> &around(int rank) const {
        return nodes_[place_[static_cast<size_t>(rank)]];
    }
    /** The lowest rank of each node, ascending. */
    [[nodiscard]] const std::vector<int> &leaders() const {
        return leaders_;
    }
    /** Ranks on each node if all nodes have the same number of them; 0 otherwise. */
    [[nodiscard]] int ranks_on_every_node() const {
        return ranks_on_every_node_;
    }
    /** Whether the ranks of each node follow each other. */
    [[nodiscard]] bool consecutive() const {
        return consecutive_;
    }

  private:
    std::vector<size_t> place_; /**< per rank: its node */
    std::vector<std::vector<int>> nodes_;
    std::vector<int> leaders_;
    int ranks_on_every_node_ = 0;
    bool consecutive_ = true;
};

} // namespace offbeat::schedule
