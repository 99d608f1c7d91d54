#include "algorithms/bcast.hpp"
#include "algorithms/catalogue.hpp"
#include "algorithms/subcall.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace offbeat::algorithms {

namespace {

/** Receives the inputs of all lower ranks, and sends this rank's input to all higher ranks. */
std::vector<Span> receive_from_lower_ranks(Rank &rank) {
    std::vector<Span> received;
    for (int from = 0; from < rank.id; ++from) {
        received.push_back(rank.scratch(rank.call.count));
        rank.irecv(from, received.back());
    }
    for (int to = rank.id + 1; to < rank.p; ++to)
        rank.isend(to, rank.input());
    rank.wait_all();
    return received;
}

/** Open MPI's ompi_coll_base_scan_intra_linear: each rank waits for the previous rank.
 * Rounds: p - 1. Bytes: m. */
void linear_scan(Rank &rank) {
    rank.copy(rank.output(), rank.input());
    if (rank.id > 0) {
        const Span before = rank.scratch(rank.call.count);
        rank.recv(rank.id - 1, before);
        rank.reduce(rank.output(), before, Order::from_first);
    }
    if (rank.id < rank.p - 1)
        rank.send(rank.id + 1, rank.output());
}

/** Open MPI's ompi_coll_base_exscan_intra_linear.
 * Rounds: p - 1. Bytes: m. */
void exclusive_linear(Rank &rank) {
    if (rank.p == 1)
        return;
    if (rank.id > 0)
        rank.recv(rank.id - 1, rank.output());
    if (rank.id == rank.p - 1)
        return;
    if (rank.id == 0)
        return rank.send(1, rank.input());
    const Span sum = rank.scratch(rank.call.count);
    rank.copy(sum, rank.input());
    rank.reduce(sum, rank.output(), Order::from_first);
    rank.send(rank.id + 1, sum);
}

/** SMPI's simgrid::smpi::colls::scan: each rank sends its contribution to all higher ranks at once.
 * Rounds: 1. Bytes: m * (p - 1). */
void send_to_higher_ranks(Rank &rank) {
    rank.copy(rank.output(), rank.input());
    for (const Span &data : receive_from_lower_ranks(rank))
        rank.reduce(rank.output(), data, Order::from_first);
}

/** SMPI's simgrid::smpi::colls::exscan.
 * Rounds: 1. Bytes: m * (p - 1). */
void exclusive_send_to_higher_ranks(Rank &rank) {
    const std::vector<Span> received = receive_from_lower_ranks(rank);
    for (size_t i = 0; i < received.size(); ++i) {
        if (i == 0)
            rank.copy(rank.output(), received[i]);
        else
            rank.reduce(rank.output(), received[i], Order::from_first);
    }
}

/** Recursive doubling: in each round partners exchange the sums of their halves. `add_lower` is called with
 * each sum of lower ranks, the nearest ranks first. */
template <typename AddLower> void exchange_sums(Rank &rank, const AddLower &add_lower) {
    const Span sum = rank.scratch(rank.call.count);
    const Span received = rank.scratch(rank.call.count);
    rank.copy(sum, rank.input());
    for (int bit = 1; bit < rank.p; bit *= 2) {
        const int partner = rank.id ^ bit;
        if (partner >= rank.p)
            continue;
        rank.sendrecv(partner, sum, partner, received);
        if (partner < rank.id)
            add_lower(received);
        rank.reduce(sum, received, partner < rank.id ? Order::from_first : Order::into_first);
    }
}

/** Open MPI's ompi_coll_base_scan_intra_recursivedoubling, MPICH's MPIR_Scan_intra_recursive_doubling and
 * MPIR_Iscan_intra_sched_recursive_doubling.
 * Rounds: lg(p). Bytes: m * lg(p). */
void doubling(Rank &rank) {
    rank.copy(rank.output(), rank.input());
    exchange_sums(rank,
                  [&](const Span &lower_sum) { rank.reduce(rank.output(), lower_sum, Order::from_first); });
}

/** Open MPI's ompi_coll_base_exscan_intra_recursivedoubling, MPICH's MPIR_Exscan_intra_recursive_doubling
 * and MPIR_Iexscan_intra_sched_recursive_doubling.
 * Rounds: lg(p). Bytes: m * lg(p). */
void exclusive_doubling(Rank &rank) {
    bool is_empty = true;
    exchange_sums(rank, [&](const Span &lower_sum) {
        if (std::exchange(is_empty, false))
            rank.copy(rank.output(), lower_sum);
        else
            rank.reduce(rank.output(), lower_sum, Order::from_first);
    });
}

/** MPICH's MPIR_TSP_Iscan_sched_intra_recursive_doubling.
 * Rounds: lg(p). Bytes: m * lg(p). */
void task_doubling(Rank &rank) {
    const Span sum = rank.scratch(rank.call.count);
    const Span received = rank.scratch(rank.call.count);
    rank.copy(rank.output(), rank.input());
    rank.copy(sum, rank.input());
    bool is_lower_sum = false;
    for (int bit = 1; bit < rank.p; bit *= 2) {
        const int partner = rank.id ^ bit;
        if (partner >= rank.p)
            continue;
        const Request sent = rank.isend(partner, sum);
        if (is_lower_sum)
            rank.reduce(rank.output(), received, Order::from_first);
        rank.wait({sent, rank.irecv(partner, received)});
        is_lower_sum = partner < rank.id;
        rank.reduce(sum, received, is_lower_sum ? Order::from_first : Order::into_first);
    }
    if (is_lower_sum)
        rank.reduce(rank.output(), received, Order::from_first);
}

void scan_in(Rank &rank, const Group &group, Span input, Span output) {
    const Subcall subcall{Collective::scan, 0, rank.call.count, input, output};
    run_subcall(rank, group, subcall, "mpich", "recursive_doubling");
}

/** The bcast that MPICH chooses, from the first rank of a node. */
void bcast_in(Rank &rank, const Group &group, Span data, bool scheduled) {
    const int64_t bytes = data.length * rank.call.element_bytes;
    const Subcall subcall{Collective::bcast, 0, data.length, {}, data};
    run_subcall(rank, group, subcall, "mpich", bcast::mpich_choice(bytes, group.p, scheduled));
}

/** The leader announces to its node whether a sum of other nodes will follow: an int of four bytes. */
void announce(Rank &rank, const Group &node) {
    const Span flag = rank.scratch(std::max<int64_t>(1, 4 / rank.call.element_bytes));
    if (node.my_number == 0)
        for (int64_t i = 0; i < flag.length; ++i)
            rank.copy(flag.part(i, 1), rank.input().part(0, 1));
    bcast_in(rank, node, flag, false);
}

/** MPICH's MPIR_Scan_intra_smp and MPIR_Iscan_intra_sched_smp: a scan on each node, a scan of the leaders,
 * and a bcast on each node.
 * Rounds and bytes: the sum of those of the three steps and of the messages between them. */
void by_nodes(Rank &rank, bool scheduled) {
    if (!nodes_are_consecutive(rank.call) || nodes_used(rank.call) == rank.p)
        return doubling(rank);
    const Group node = same_node(rank);
    const Group leaders = node_leaders(rank);
    const bool shares_node = node.p > 1;
    Span node_sum = rank.output();
    if (shares_node)
        scan_in(rank, node, rank.input(), rank.output());
    else
        rank.copy(rank.output(), rank.input());
    if (shares_node && node.my_number == 0) {
        node_sum = rank.scratch(rank.call.count);
        rank.recv(node.rank(node.p - 1), node_sum);
    } else if (shares_node && node.my_number == node.p - 1) {
        rank.send(node.rank(0), rank.output());
    }
    const Span before = rank.scratch(rank.call.count);
    if (leaders.is_member()) {
        const Span inclusive_sum = rank.scratch(rank.call.count);
        scan_in(rank, leaders, node_sum, inclusive_sum);
        if (leaders.my_number < leaders.p - 1)
            rank.send(leaders.rank(leaders.my_number + 1), inclusive_sum);
        if (leaders.my_number > 0)
            rank.recv(leaders.rank(leaders.my_number - 1), before);
    }
    if (shares_node && !scheduled)
        announce(rank, node);
    if (rank.call.node(rank.id) == rank.call.node(0))
        return;
    if (shares_node)
        bcast_in(rank, node, before, scheduled);
    rank.reduce(rank.output(), before, Order::from_first);
}

} // namespace

/** SimGrid has one algorithm for each of both collectives, without a name. */
std::vector<Algorithm> scan_algorithms() {
    return {
        {"openmpi", "linear", linear_scan, ordered | scales},
        {"openmpi", "recursive_doubling", doubling, ordered | scales},
        {"mpich", "recursive_doubling", doubling, ordered | scales},
        {"mpich", "smp", fixed(by_nodes, false), ordered},
        {"mpich", "nb(sched_smp)", fixed(by_nodes, true), ordered},
        {"mpich", "nb(sched_recursive_doubling)", doubling, ordered | scales},
        {"mpich", "nb(tsp_recursive_doubling)", task_doubling, ordered | scales},
        {"simgrid", "linear", send_to_higher_ranks, scales},
    };
}

std::vector<Algorithm> exscan_algorithms() {
    return {
        {"openmpi", "linear", exclusive_linear, ordered | scales},
        {"openmpi", "recursive_doubling", exclusive_doubling, ordered | scales},
        {"mpich", "recursive_doubling", exclusive_doubling, ordered | scales},
        {"mpich", "nb(sched_recursive_doubling)", exclusive_doubling, ordered | scales},
        {"simgrid", "linear", exclusive_send_to_higher_ranks, scales},
    };
}

} // namespace offbeat::algorithms
