#include "algorithms/bcast.hpp"
#include "algorithms/composed.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/group.hpp"

namespace offbeat::algorithms::bcast {

using schedule::Collective;
using schedule::Rank;

namespace {

constexpr int64_t mpich_short = 12288;
constexpr int64_t mpich_long = 524288;
constexpr int mpich_few_ranks = 8;

/** A bcast of the whole message among some ranks. */
void among(Rank &rank, const Group &group, int root, std::string_view family, std::string_view name) {
    const Part part{.collective = Collective::bcast,
                    .root = root,
                    .count = rank.call.count,
                    .input = {},
                    .output = rank.output()};
    run(rank, group, part, family, name);
}

/** What SimGrid's MPICH chooses among ranks that it does not divide by nodes. */
std::string_view simgrid_choice(const Rank &rank, int p) {
    if (rank.call.bytes() < mpich_short || p <= mpich_few_ranks)
        return "binomial_tree";
    return rank.call.bytes() < mpich_long && p % 2 == 0 ? "scatter_rdb_allgather" : "scatter_LR_allgather";
}

/** What MPICH chooses on one node, or between the nodes. */
std::string_view mpich_choice(const Rank &rank, int p) {
    if (rank.call.bytes() <= mpich_short || p < mpich_few_ranks)
        return "binomial";
    return rank.call.bytes() <= mpich_long && is_power_of_two(p) ? "scatter_recursive_doubling_allgather"
                                                                 : "scatter_ring_allgather";
}

std::string_view mpich_nb_choice(const Rank &rank, int p) {
    if (rank.call.bytes() < mpich_short || p < mpich_few_ranks)
        return "nb(sched_binomial)";
    return rank.call.bytes() < mpich_long && is_power_of_two(p)
               ? "nb(sched_scatter_recursive_doubling_allgather)"
               : "nb(sched_scatter_ring_allgather)";
}

/** The root's message to the leader of its node; both wait for it. */
void to_leader(Rank &rank) {
    const int leader = leader_of(rank.call, rank.call.root);
    if (rank.call.root == leader)
        return;
    if (rank.id == rank.call.root)
        rank.send(leader, rank.output());
    else if (rank.id == leader)
        rank.recv(rank.call.root, rank.output());
}

using Choice = std::string_view (*)(const Rank &rank, int p);

/** Among the leaders of the nodes, from the leader of the root's node on. */
void among_leaders(Rank &rank, std::string_view family, Choice choice) {
    const Group leaders = node_leaders(rank);
    if (leaders.has_me() && leaders.p > 1)
        among(rank, leaders, leaders.number(leader_of(rank.call, rank.call.root)), family,
              choice(rank, leaders.p));
}

void inside_node(Rank &rank, int root, std::string_view family, Choice choice) {
    const Group node = same_node(rank);
    if (node.p > 1)
        among(rank, node, root, family, choice(rank, node.p));
}

} // namespace

void simgrid_mpich_choice(Rank &rank, const Parameters & /*parameters*/) {
    const std::string_view name =
        ranks_on_every_node(rank.call) > 0 ? "SMP_binomial" : simgrid_choice(rank, rank.p);
    among(rank, everyone(rank), rank.call.root, "simgrid", name);
}

void mvapich_two_level(Rank &rank, const Parameters & /*parameters*/) {
    constexpr int few_ranks = 64;
    constexpr int64_t small = 16384;
    constexpr int64_t large = 524288;
    constexpr int64_t large_for_a_node = 131072;
    const int64_t bytes = rank.call.bytes();
    if (bytes == 0)
        return;
    if (rank.p <= few_ranks && (bytes <= small || bytes >= large))
        return among(rank, everyone(rank), rank.call.root, "simgrid",
                     bytes <= small ? "binomial_tree" : "scatter_LR_allgather");
    to_leader(rank);
    among_leaders(rank, "simgrid", simgrid_choice);
    // SimGrid takes the root's number among all ranks for one on each node, up to 128 KiB: right for root 0
    // only. Here every node's leader is the root, as above 128 KiB.
    if (bytes <= large_for_a_node)
        inside_node(rank, 0, "simgrid", simgrid_choice);
    else
        among(rank, same_node(rank), 0, "simgrid", "mvapich2_knomial_intra_node");
}

void mpich_smp(Rank &rank, const Parameters & /*parameters*/) {
    const int64_t bytes = rank.call.bytes();
    if (bytes == 0)
        return;
    if (bytes < mpich_short || rank.p < mpich_few_ranks) {
        to_leader(rank);
        among_leaders(rank, "mpich", mpich_choice);
        inside_node(rank, 0, "mpich", mpich_choice);
    } else if (bytes < mpich_long && is_power_of_two(rank.p)) {
        // The root's node comes first, unless its leader is the root and can start among the nodes.
        const int root = rank.call.root;
        const bool node_first =
            rank.call.node(rank.id) == rank.call.node(root) && leader_of(rank.call, root) != root;
        if (node_first)
            inside_node(rank, same_node(rank).number(root), "mpich", mpich_choice);
        among_leaders(rank, "mpich", mpich_choice);
        if (!node_first)
            inside_node(rank, 0, "mpich", mpich_choice);
    } else {
        among(rank, everyone(rank), rank.call.root, "mpich", "scatter_ring_allgather");
    }
}

void mpich_nb_smp(Rank &rank, const Parameters & /*parameters*/) {
    to_leader(rank);
    among_leaders(rank, "mpich", mpich_nb_choice);
    inside_node(rank, 0, "mpich", mpich_nb_choice);
}

} // namespace offbeat::algorithms::bcast
