#include "algorithms/catalogue.hpp"
#include "algorithms/exchange.hpp"
#include "algorithms/recursive_exchange.hpp"
#include "algorithms/subcall.hpp"
#include "algorithms/trees.hpp"

#include <algorithm>
#include <bit>

namespace offbeat::algorithms {

namespace {

void release_along_tree(Rank &rank) {
    const Tree tree = knomial_tree({rank.p, rank.id, 0}, 2);
    if (!tree.is_root())
        rank.recv(tree.parent, no_data);
    for (const int child : tree.children)
        rank.send(child, no_data);
}

/** Open MPI's ompi_coll_base_barrier_intra_basic_linear: rank 0 releases one rank after the other.
 * Rounds: p. Bytes: 0. */
void linear_openmpi(Rank &rank) {
    report_to_rank_zero(rank);
    for (int other = 1; other < rank.p; ++other)
        transfer(rank, 0, no_data, other, no_data, barrier_tag);
}

/** Open MPI's ompi_coll_base_barrier_intra_doublering, SimGrid's barrier__ompi_doublering: twice around
 * the ring.
 * Rounds: 2 * p. Bytes: 0.
 * @tparam synchronous the second time by synchronous sends. */
template <bool synchronous> void double_ring(Rank &rank) {
    if (rank.p == 1)
        return;
    const int next = neighbour(rank, 1);
    const int previous = neighbour(rank, -1);
    for (const bool second : {false, true}) {
        if (rank.id > 0)
            rank.recv(previous, no_data);
        if (second && synchronous)
            rank.ssend(next, no_data);
        else
            rank.send(next, no_data);
        if (rank.id == 0)
            rank.recv(previous, no_data);
    }
}

/** Open MPI's ompi_coll_base_barrier_intra_tree, SimGrid's barrier__ompi_tree: up a binomial tree and down
 * again.
 * Rounds: 2 * lg(p). Bytes: 0. */
void tree(Rank &rank) {
    const Tree tree = in_order_binomial_tree({rank.p, rank.id, 0}, 2);
    for (const int child : tree.children)
        rank.recv(child, no_data);
    if (!tree.is_root())
        rank.send(tree.parent, no_data);
    release_along_tree(rank);
}

/** Posts a message for each of some ranks. */
template <typename Post> std::vector<Request> post_for_each(const std::vector<int> &ranks, Post post) {
    std::vector<Request> requests;
    requests.reserve(ranks.size());
    for (const int other : ranks)
        requests.push_back(post(other));
    return requests;
}

/** Open MPI's ompi_coll_base_barrier_intra_bruck, MPICH's MPIR_Ibarrier_intra_sched_recursive_doubling,
 * SimGrid's barrier__ompi_bruck, after Hensgen, Finkel and Manber, Two algorithms for barrier
 * synchronization (1988): in round k to the rank 2^k after, from the rank 2^k before.
 * Rounds: ceil(lg(p)). Bytes: 0. */
void dissemination(Rank &rank) {
    for (int distance = 1; distance < rank.p; distance *= 2)
        rank.sendrecv(neighbour(rank, distance), no_data, neighbour(rank, -distance), no_data);
}

/** MPICH's MPIR_Barrier_intra_k_dissemination: k - 1 messages at once, to the multiples of `k`^round.
 * Rounds: ceil(log(p, k)). Bytes: 0. */
void dissemination_radix(Rank &rank, const Parameters &parameters) {
    const int64_t k = std::min<int64_t>(parameters["k"], rank.p);
    if (k <= 2)
        return dissemination(rank);
    std::vector<Request> sends;
    std::vector<Request> receives;
    std::vector<Request> previous_receives;
    for (int64_t distance = 1; distance < rank.p; distance *= k) {
        sends.clear();
        receives.clear();
        for (int64_t i = 1; i < k; ++i) {
            receives.push_back(rank.irecv(neighbour(rank, -i * distance), no_data));
            if (i == 1)
                rank.wait(previous_receives);
            sends.push_back(rank.isend(neighbour(rank, i * distance), no_data));
        }
        rank.wait(sends);
        previous_receives = receives;
    }
    rank.wait(previous_receives);
}

/** MPICH's MPIR_TSP_Ibarrier_sched_intra_k_dissemination: a task graph; all receives are posted at the
 * start.
 * Rounds: ceil(log(p, k)). Bytes: 0. */
void dissemination_tasks(Rank &rank, const Parameters &parameters) {
    const int64_t k = parameters["k"];
    const Vertex start = rank.current_vertex();
    Vertex ready = start; // all receives of the previous rounds are complete
    std::vector<Request> receives;
    for (int64_t distance = 1; distance < rank.p; distance *= k) {
        receives.clear();
        for (int64_t i = 1; i < k; ++i) {
            rank.continue_at(start);
            receives.push_back(rank.irecv(neighbour(rank, -i * distance), no_data));
            rank.continue_at(ready);
            rank.isend(neighbour(rank, i * distance), no_data);
        }
        ready = rank.vertex_after(receives, std::span<const Vertex>(&ready, 1));
    }
    rank.continue_at(ready);
}

/** Open MPI's ompi_coll_base_barrier_intra_recursivedoubling, SimGrid's barrier__ompi_recursivedoubling
 * and barrier__mvapich2_pair: partners differ in one bit. Ranks above the last power of two send to a
 * rank below it, which releases them at the end.
 * Rounds: lg(p). Bytes: 0. Other p: two rounds more.
 * @tparam synchronous by a synchronous send. */
template <bool synchronous> void recursive_doubling(Rank &rank) {
    const int all = static_cast<int>(std::bit_floor(static_cast<uint32_t>(rank.p)));
    if (rank.id >= all)
        return rank.sendrecv(rank.id - all, no_data, rank.id - all, no_data);
    const bool has_folded_rank = rank.id + all < rank.p;
    if (has_folded_rank)
        rank.recv(rank.id + all, no_data);
    for (int distance = 1; distance < all; distance *= 2)
        rank.sendrecv(rank.id ^ distance, no_data, rank.id ^ distance, no_data);
    if (has_folded_rank && synchronous)
        rank.ssend(rank.id + all, no_data);
    else if (has_folded_rank)
        rank.send(rank.id + all, no_data);
}

/** Open MPI's ompi_coll_base_barrier_intra_two_procs, SimGrid's barrier__ompi_two_procs.
 * Rounds: 1. Bytes: 0. */
void two_proc(Rank &rank) {
    require_two_ranks(rank);
    rank.sendrecv(1 - rank.id, no_data, 1 - rank.id, no_data);
}

/** MPICH's MPIR_Barrier_intra_recexch: among `k` ranks; the receives of two phases are posted together
 * unless `single_phase_recv`.
 * Rounds: log(p, k). Bytes: 0. Other p: two rounds more. */
void recursive_exchange(Rank &rank, const Parameters &parameters) {
    const RecursiveExchange exchange(rank.p, rank.id, parameters["k"]);
    const int phases_at_once = parameters["single_phase_recv"] != 0 ? 1 : 2;
    const auto receive = [&](int from) { return rank.irecv(from, no_data); };
    const auto send = [&](int to) { return rank.isend(to, no_data); };
    if (!exchange.participates()) {
        rank.send(exchange.sends_to, no_data);
        rank.recv(exchange.sends_to, no_data);
        return;
    }
    rank.wait(post_for_each(exchange.receives_from, receive));
    for (int first = 0; first < exchange.phases; first += phases_at_once) {
        const int end = std::min(first + phases_at_once, exchange.phases);
        std::vector<std::vector<Request>> receives;
        for (int phase = first; phase < end; ++phase)
            receives.push_back(post_for_each(exchange.partners[static_cast<size_t>(phase)], receive));
        for (int phase = first; phase < end; ++phase) {
            rank.wait(post_for_each(exchange.partners[static_cast<size_t>(phase)], send));
            rank.wait(receives[static_cast<size_t>(phase - first)]);
        }
    }
    post_for_each(exchange.receives_from, send);
}

/** MPICH's MPIR_TSP_Ibarrier_sched_intra_recexch: a task graph; all receives are posted at the start.
 * Rounds: log(p, k). Bytes: 0. Other p: two rounds more. */
void recursive_exchange_tasks(Rank &rank, const Parameters &parameters) {
    const RecursiveExchange exchange(rank.p, rank.id, parameters["k"]);
    const Vertex start = rank.current_vertex();
    const auto receive = [&](int from) { return rank.irecv(from, no_data); };
    const auto send = [&](int to) { return rank.isend(to, no_data); };
    if (!exchange.participates()) {
        rank.isend(exchange.sends_to, no_data);
        rank.irecv(exchange.sends_to, no_data);
        return;
    }
    std::vector<Request> receives = post_for_each(exchange.receives_from, receive);
    Vertex ready = start;
    for (const std::vector<int> &partners : exchange.partners) {
        if (!receives.empty())
            ready = rank.vertex_after(receives, std::span<const Vertex>(&ready, 1));
        rank.continue_at(ready);
        post_for_each(partners, send);
        rank.continue_at(start);
        receives = post_for_each(partners, receive);
    }
    if (!receives.empty())
        rank.continue_at(rank.vertex_after(receives, std::span<const Vertex>(&ready, 1)));
    post_for_each(exchange.receives_from, send);
}

/** MPICH's MPIR_Barrier_intra_smp, SimGrid's barrier__mpich_smp: dissemination on each node, then among
 * the nodes' leaders; then a release along a binomial tree on each node.
 * Rounds: 2 * lg(s) + lg(N). Bytes: 0. */
void by_node(Rank &rank) {
    const Group node = same_node(rank);
    const Group leaders = node_leaders(rank);
    const Subcall subcall{Collective::barrier, 0, 0, {}, {}};
    const auto inner_barrier = [&](Rank &inner) { dissemination(inner); };
    run_subcall(rank, node, subcall, inner_barrier);
    if (leaders.is_member())
        run_subcall(rank, leaders, subcall, inner_barrier);
    run_subcall(rank, node, subcall, release_along_tree);
}

} // namespace

std::vector<Algorithm> barrier_algorithms() {
    return {
        {"openmpi", "linear", linear_openmpi, scales},
        {"openmpi", "double_ring", double_ring<true>, scales},
        {"openmpi", "recursive_doubling", recursive_doubling<true>, scales},
        {"openmpi", "bruck", dissemination, scales},
        {"openmpi", "two_proc", two_proc, scales},
        {"openmpi", "tree", tree, scales},
        {"mpich", "smp", by_node, scales},
        {"mpich", "k_dissemination", dissemination_radix, {{"k", 2, 2}}, scales},
        {"mpich", "recexch", recursive_exchange, {{"k", 2, 2}, {"single_phase_recv", 0}}, scales},
        {"mpich", "nb(sched_recursive_doubling)", dissemination, scales},
        {"mpich", "nb(tsp_recexch)", recursive_exchange_tasks, {{"k", 2, 2}}, scales},
        {"mpich", "nb(tsp_k_dissemination)", dissemination_tasks, {{"k", 2, 2}}, scales},
        {"simgrid", "ompi_basic_linear", linear_barrier, scales},
        {"simgrid", "ompi_doublering", double_ring<false>, scales},
        {"simgrid", "ompi_recursivedoubling", recursive_doubling<false>, scales},
        {"simgrid", "ompi_bruck", dissemination, scales},
        {"simgrid", "ompi_two_procs", two_proc, scales},
        {"simgrid", "ompi_tree", tree, scales},
        {"simgrid", "mpich_smp", by_node, scales},
        {"simgrid", "mvapich2_pair", recursive_doubling<false>, scales},
    };
}

} // namespace offbeat::algorithms
