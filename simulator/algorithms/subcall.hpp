/** @file
 * Collectives inside collectives: some ranks run an algorithm of any collective on pieces of their buffers,
 * as a step of a larger algorithm. The ranks are a group: all ranks of the call, those of one node, or the
 * nodes' leaders.
 */
#pragma once

#include "algorithms/catalogue.hpp"
#include "schedule/program.hpp"

#include <functional>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace offbeat::algorithms {

/** Some of a call's ranks, numbered from 0. */
struct Group {
    int p = 1;
    /** This rank's number in the group; -1 if it is no member. */
    int my_number = 0;
    /** Ranks by number; empty: all ranks of the call, with their own numbers. */
    std::vector<int> ranks{};

    [[nodiscard]] int rank(int number) const {
        return ranks.empty() ? number : ranks[static_cast<size_t>(number)];
    }
    [[nodiscard]] bool is_member() const {
        return my_number >= 0;
    }
    /** The number of a rank; -1 if it is no member. */
    [[nodiscard]] int number(int rank) const;
};

Group everyone(const Rank &rank);

/** The ranks that share a node with `rank`, ascending. */
Group same_node(const Rank &rank);

/** The lowest rank of each node, ascending. */
Group node_leaders(const Rank &rank);

/** The ranks of each node, ascending, in the order of the nodes' leaders. */
std::vector<std::vector<int>> ranks_of_nodes(const Call &call);

/** The lowest rank of a rank's node. */
int leader_of(const Call &call, int rank);

/** Ranks on each node if all nodes have the same number of them; 0 otherwise. */
int ranks_on_every_node(const Call &call);

/** The number of nodes with ranks. */
int nodes_used(const Call &call);

/** Whether the ranks of each node are consecutive. */
bool nodes_are_consecutive(const Call &call);

/** A collective call of a group. */
struct Subcall {
    Collective collective{};
    int root = 0;      /**< number in the group */
    int64_t count = 0; /**< as of Call */
    /** At least as long as the collective requires; unused buffers may be empty. */
    Span input;
    Span output;
};

using ParameterValue = std::pair<std::string_view, int64_t>;

/** Writes the program of a subcall. It starts at the rank's current vertex; later operations wait until the
 * rank and all its requests are complete. Every rank of the group must run the same subcalls in the same
 * order; tags are those of the subcall's algorithm. */
void run_subcall(Rank &rank, const Group &group, const Subcall &subcall,
                 const std::function<void(Rank &)> &write);
/** An algorithm of the catalogue, with default values for the parameters that are not listed.
 * std::logic_error if there is none with this name. */
void run_subcall(Rank &rank, const Group &group, const Subcall &subcall, std::string_view family,
                 std::string_view name, std::initializer_list<ParameterValue> values = {});

} // namespace offbeat::algorithms
