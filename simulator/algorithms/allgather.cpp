#include "algorithms/allgather.hpp"

#include "algorithms/exchange.hpp"

#include <stdexcept>
#include <string>

namespace offbeat::algorithms::allgather {

namespace {

void copy_own_block(Rank &rank) {
    rank.copy(block(rank.output(), rank.id, rank.call.count), rank.input());
}

} // namespace

/** SimGrid's allgather__ring.
 * Rounds: p - 1. Bytes: m * (p - 1). */
void direct_stepwise(Rank &rank) {
    copy_own_block(rank);
    for (int step = 1; step < rank.p; ++step) {
        const int from = neighbour(rank, -step);
        rank.sendrecv(neighbour(rank, step), rank.input(), from, block(rank.output(), from, rank.call.count));
    }
}

/** SimGrid's allgather__spreading_simple.
 * Rounds: 1. Bytes: m * (p - 1). */
void direct_nonblocking(Rank &rank) {
    copy_own_block(rank);
    for (int step = 1; step < rank.p; ++step) {
        const int from = neighbour(rank, step);
        rank.irecv(from, block(rank.output(), from, rank.call.count));
    }
    for (int step = 1; step < rank.p; ++step)
        rank.isend(neighbour(rank, step), rank.input());
}

namespace {

/** SimGrid's allgather__pair: in step k with rank xor k; powers of two only.
 * Rounds: p - 1. Bytes: m * (p - 1). */
void pair(Rank &rank) {
    if (!is_power_of_two(rank.p))
        throw std::invalid_argument("allgather by pairs needs a power of two of ranks; " +
                                    std::to_string(rank.p) + " is not one");
    copy_own_block(rank);
    for (int step = 1; step < rank.p; ++step) {
        const int peer = rank.id ^ step;
        rank.sendrecv(peer, rank.input(), peer, block(rank.output(), peer, rank.call.count));
    }
}

/** Open MPI's ompi_coll_base_allgather_intra_two_procs.
 * Rounds: 1. Bytes: m. */
void two_proc(Rank &rank) {
    require_two_ranks(rank);
    const int other = 1 - rank.id;
    rank.sendrecv(other, rank.input(), other, block(rank.output(), other, rank.call.count));
    copy_own_block(rank);
}

/** The block of the rank at a distance from this one. */
Span block_of_neighbour(const Rank &rank, int distance) {
    return block(rank.output(), neighbour(rank, distance), rank.call.count);
}

/** Each rank forwards to the next rank what the previous rank sent: Open MPI's
 * ompi_coll_base_allgather_intra_ring, MPICH's MPIR_Allgather_intra_ring and
 * MPIR_Iallgather_intra_sched_ring, SimGrid's allgather__NTSLR.
 * Rounds: p - 1. Bytes: m * (p - 1). */
void ring(Rank &rank) {
    const int next = neighbour(rank, 1);
    const int previous = neighbour(rank, -1);
    copy_own_block(rank);
    for (int step = 1; step < rank.p; ++step)
        rank.sendrecv(next, block_of_neighbour(rank, 1 - step), previous, block_of_neighbour(rank, -step));
}

/** SimGrid's allgather__NTSLR_NB: ring() with all receives posted at the start.
 * Rounds: p - 1. Bytes: m * (p - 1). */
void ring_preposted(Rank &rank) {
    copy_own_block(rank);
    std::vector<Request> receives;
    for (int step = 1; step < rank.p; ++step)
        receives.push_back(rank.irecv(neighbour(rank, -1), block_of_neighbour(rank, -step)));
    for (int step = 1; step < rank.p; ++step) {
        const Request sent = rank.isend(neighbour(rank, 1), block_of_neighbour(rank, 1 - step));
        rank.wait({receives[static_cast<size_t>(step - 1)], sent});
    }
}

/** MPICH's MPIR_TSP_Iallgather_sched_intra_ring: ring() as a task graph that receives into two buffers in
 * turn.
 * Rounds: p - 1. Bytes: m * (p - 1). */
void ring_tasks(Rank &rank) {
    copy_own_block(rank);
    pass_around_ring(rank, rank.input(), [&](int from, const Span &received) {
        rank.copy(block(rank.output(), from, rank.call.count), received);
    });
}

/** Open MPI's ompi_coll_base_allgather_intra_neighborexchange, SimGrid's allgather__ompi_neighborexchange,
 * after Chen et al., Performance evaluation of allgather algorithms on terascale Linux cluster (2005).
 * Pairs (even rank, next rank) exchange their own blocks. Then each rank exchanges the two blocks that it
 * received last, with its other neighbour and with this one in turn.
 * Rounds: p / 2. Bytes: m * (p - 1).
 * @param for_odd_p  another algorithm */
void neighbor_exchange(Rank &rank, void (*for_odd_p)(Rank &rank)) {
    if (rank.p % 2 != 0)
        return for_odd_p(rank);
    const int64_t n = rank.call.count;
    const Span output = rank.output();
    const int forward = rank.id % 2 == 0 ? 1 : -1;
    const int neighbors[] = {neighbour(rank, forward), neighbour(rank, -forward)};
    copy_own_block(rank);
    rank.sendrecv(neighbors[0], block(output, rank.id, n), neighbors[0], block(output, neighbors[0], n));
    const int own_pair = rank.id / 2 * 2;
    int last = own_pair; // the pair of blocks to send next
    for (int step = 1; step < rank.p / 2; ++step) {
        const int pairs_off = (step + 1) / 2 * (step % 2 == 0 ? forward : -forward);
        const int next = (own_pair + 2 * pairs_off + rank.p) % rank.p;
        const int neighbor = neighbors[step % 2];
        rank.sendrecv(neighbor, blocks(output, last, 2, n), neighbor, blocks(output, next, 2, n));
        last = next;
    }
}

} // namespace

} // namespace offbeat::algorithms::allgather

namespace offbeat::algorithms {

std::vector<Algorithm> allgather_algorithms() {
    using namespace allgather;
    return {
        {"openmpi", "linear", openmpi_gather_bcast},
        {"openmpi", "bruck", bruck, scales},
        {"openmpi", "recursive_doubling", openmpi_recursive_doubling, scales},
        {"openmpi", "ring", ring, scales},
        {"openmpi", "neighbor", fixed(neighbor_exchange, ring), scales},
        {"openmpi", "two_proc", two_proc, scales},
        {"openmpi", "sparbit", sparbit, scales},
        {"mpich", "brucks", bruck, scales},
        {"mpich", "k_brucks", bruck_radix, {{"k", 2, 2}}, scales},
        {"mpich", "recursive_doubling", mpich_recursive_doubling, scales},
        {"mpich", "ring", ring, scales},
        {"mpich",
         "recexch_doubling",
         fixed(exchange_in_phases, Distances::doubling),
         {{"k", 2, 2}, {"single_phase_recv", 0}},
         scales},
        {"mpich",
         "recexch_halving",
         fixed(exchange_in_phases, Distances::halving),
         {{"k", 2, 2}, {"single_phase_recv", 0}},
         scales},
        {"mpich", "nb(sched_ring)", ring, scales},
        {"mpich", "nb(sched_brucks)", bruck, scales},
        {"mpich", "nb(sched_recursive_doubling)", mpich_recursive_doubling, scales},
        {"mpich", "nb(tsp_ring)", ring_tasks, scales},
        {"mpich", "nb(tsp_brucks)", bruck_tasks, {{"k", 2, 2}}, scales},
        {"mpich",
         "nb(tsp_recexch_doubling)",
         fixed(exchange_as_tasks, Distances::doubling),
         {{"k", 2, 2}},
         scales},
        {"mpich",
         "nb(tsp_recexch_halving)",
         fixed(exchange_as_tasks, Distances::halving),
         {{"k", 2, 2}},
         scales},
        {"simgrid", "2dmesh", fixed(mesh, mesh_2d_shape), scales},
        {"simgrid", "3dmesh", fixed(mesh, mesh_3d_shape), scales},
        {"simgrid", "bruck", bruck, scales},
        {"simgrid", "GB", simgrid_gather_bcast, scales},
        {"simgrid", "loosely_lr", nodes_loose_ring, scales},
        {"simgrid", "NTSLR", ring, scales},
        {"simgrid", "NTSLR_NB", ring_preposted, scales},
        {"simgrid", "pair", pair, scales},
        {"simgrid", "rdb", recursive_doubling, scales},
        {"simgrid", "rhv", recursive_halving, scales},
        {"simgrid", "ring", direct_stepwise, scales},
        {"simgrid", "SMP_NTS", nodes_ring, scales},
        {"simgrid", "smp_simple", nodes_simple, scales},
        {"simgrid", "spreading_simple", direct_nonblocking, scales},
        {"simgrid", "ompi_neighborexchange", fixed(neighbor_exchange, direct_stepwise), scales},
        {"simgrid", "mvapich2_smp", nodes_mvapich},
    };
}

} // namespace offbeat::algorithms
