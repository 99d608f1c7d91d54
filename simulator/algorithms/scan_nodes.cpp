#include "algorithms/composed.hpp"
#include "algorithms/scan.hpp"

#include <algorithm>

namespace offbeat::algorithms::scan {

using namespace schedule;

namespace {

void scan_in(Rank &rank, const Group &group, Span input, Span output) {
    const Part part{Collective::scan, 0, rank.call.count, input, output};
    run(rank, group, part, "mpich", "recursive_doubling");
}

/** MPICH's choice for a bcast from the first rank of a communicator without node structure. */
void bcast_in(Rank &rank, const Group &group, Span data, bool scheduled) {
    const int64_t bytes = data.length * rank.call.element_bytes;
    const bool is_power_of_two = (group.p & (group.p - 1)) == 0;
    const Part part{Collective::bcast, 0, data.length, {}, data};
    if (group.p < 8 || bytes < 12288)
        run(rank, group, part, "mpich", scheduled ? "nb(sched_binomial)" : "binomial");
    else if (is_power_of_two && bytes < 524288)
        run(rank, group, part, "mpich",
            scheduled ? "nb(sched_scatter_recursive_doubling_allgather)"
                      : "scatter_recursive_doubling_allgather");
    else
        run(rank, group, part, "mpich",
            scheduled ? "nb(sched_scatter_ring_allgather)" : "scatter_ring_allgather");
}

/** The leader tells its node whether a sum of other nodes will follow: an int, so four bytes. */
void announce(Rank &rank, const Group &node) {
    const Span flag = rank.scratch(std::max<int64_t>(1, 4 / rank.call.element_bytes));
    if (node.me == 0)
        for (int64_t i = 0; i < flag.length; ++i)
            rank.copy(flag.part(i, 1), rank.input().part(0, 1));
    bcast_in(rank, node, flag, false);
}

void by_nodes(Rank &rank, const Parameters &none, bool scheduled) {
    if (rank.call.count == 0)
        return;
    if (!nodes_are_consecutive(rank.call) || nodes_used(rank.call) == rank.p) {
        doubling(rank, none);
        return;
    }
    const Group node = same_node(rank);
    const Group leaders = node_leaders(rank);
    const bool has_company = node.p > 1;
    Span of_node = rank.output();
    if (has_company)
        scan_in(rank, node, rank.input(), rank.output());
    else
        rank.copy(rank.output(), rank.input());
    if (has_company && node.me == 0) {
        of_node = rank.scratch(rank.call.count);
        rank.recv(node.rank(node.p - 1), of_node);
    } else if (has_company && node.me == node.p - 1) {
        rank.send(node.rank(0), rank.output());
    }
    const Span before = rank.scratch(rank.call.count);
    if (leaders.has_me()) {
        const Span up_to_here = rank.scratch(rank.call.count);
        scan_in(rank, leaders, of_node, up_to_here);
        if (leaders.me < leaders.p - 1)
            rank.send(leaders.rank(leaders.me + 1), up_to_here);
        if (leaders.me > 0)
            rank.recv(leaders.rank(leaders.me - 1), before);
    }
    if (has_company && !scheduled)
        announce(rank, node);
    if (rank.call.node(rank.id) == rank.call.node(0))
        return;
    if (has_company)
        bcast_in(rank, node, before, scheduled);
    rank.reduce(rank.output(), before, Order::from_first);
}

} // namespace

void mpich_nodes(Rank &rank, const Parameters &none) {
    by_nodes(rank, none, false);
}

void mpich_scheduled_nodes(Rank &rank, const Parameters &none) {
    by_nodes(rank, none, true);
}

} // namespace offbeat::algorithms::scan
