/** @file
 * Some of a collective's ranks as a communicator of their own: all of them, those of one node, or the nodes'
 * leaders. Algorithms that others are composed of take one, and number ranks and root within it.
 */
#pragma once

#include "schedule/program.hpp"

#include <vector>

namespace offbeat::algorithms {

struct Group {
    int p = 1;
    /** This rank's number in the group; -1 where it is no member. */
    int me = 0;
    /** The real ranks by number; empty: every rank, under its own number. */
    std::vector<int> ranks{};

    [[nodiscard]] int rank(int number) const {
        return ranks.empty() ? number : ranks[static_cast<size_t>(number)];
    }
    [[nodiscard]] bool has_me() const {
        return me >= 0;
    }
    /** The number of a real rank; -1 if it is no member. */
    [[nodiscard]] int number(int real_rank) const;
};

Group everyone(const schedule::Rank &rank);

/** The ranks that share a node with `rank`, ascending. */
Group same_node(const schedule::Rank &rank);

/** The lowest rank of each node, ascending. */
Group node_leaders(const schedule::Rank &rank);

/** The ranks of each node, ascending, in the order of the nodes' leaders. */
std::vector<std::vector<int>> ranks_of_nodes(const schedule::Call &call);

/** The lowest rank of the node where `of` is. */
int leader_of(const schedule::Call &call, int of);

/** Ranks on each node if all nodes have the same number of them; 0 otherwise. */
int ranks_on_every_node(const schedule::Call &call);

/** How many nodes have a rank. */
int nodes_used(const schedule::Call &call);

/** Whether the ranks of each node follow each other. */
bool nodes_are_consecutive(const schedule::Call &call);

} // namespace offbeat::algorithms
