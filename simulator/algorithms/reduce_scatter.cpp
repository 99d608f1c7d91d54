#include "algorithms/reduce_scatter.hpp"

#include "algorithms/exchange.hpp"
#include "algorithms/openmpi_choice.hpp"

namespace offbeat::algorithms::reduce_scatter {

/** Open MPI's ompi_coll_base_reduce_scatter_intra_ring, SimGrid's reduce_scatter__ompi_ring.
 * Rounds: p - 1. Bytes: m * (p - 1). */
void ring(Rank &rank) {
    const int64_t length = rank.call.count;
    const Span all = rank.scratch(length * rank.p);
    rank.copy(all, rank.input());
    const auto block_before = [&](int number) {
        return block(all, number == 0 ? rank.p - 1 : number - 1, length);
    };
    reduce_along_ring(rank, block_before, {rank.scratch(length), rank.scratch(length)});
    rank.copy(rank.output(), block(all, rank.id, length));
}

/** SimGrid's reduce_scatter__mpich_pair.
 * Rounds: p - 1. Bytes: m * (p - 1). */
void pairwise(Rank &rank) {
    const int64_t length = rank.call.count;
    const Span incoming = rank.scratch(length);
    rank.copy(rank.output(), block(rank.input(), rank.id, length));
    for (int step = 1; step < rank.p; ++step) {
        const int to = neighbour(rank, step);
        rank.sendrecv(to, block(rank.input(), to, length), neighbour(rank, -step), incoming);
        rank.reduce(rank.output(), incoming, Order::from_first);
    }
}

/** MPICH's MPIR_Reduce_scatter_intra_pairwise, MPIR_Reduce_scatter_block_intra_pairwise,
 * MPIR_Ireduce_scatter_intra_sched_pairwise and MPIR_Ireduce_scatter_block_intra_sched_pairwise.
 * Rounds: p - 1. Bytes: m * (p - 1). */
void mpich_pairwise(Rank &rank) {
    if (rank.call.commutative)
        pairwise(rank);
    else
        mpich_choice(rank);
}

namespace {

/** A reduce to rank 0; returns the buffer that has the result there. */
Span reduce_to_first(Rank &rank) {
    const Span all = rank.id == 0 ? rank.scratch(rank.input().length) : Span{};
    const Subcall subcall{Collective::reduce, 0, rank.input().length, rank.input(), all};
    run_openmpi_choice(rank, everyone(rank), subcall);
    return all;
}

} // namespace

/** Open MPI's ompi_coll_base_reduce_scatter_intra_nonoverlapping.
 * Rounds and bytes: p - 1 rounds in addition to those of the reduce that Open MPI chooses; rank 0 sends m
 * * (p - 1) bytes more. */
void openmpi_reduce_scatterv(Rank &rank) {
    const Span all = reduce_to_first(rank);
    if (rank.id != 0) {
        rank.recv(0, rank.output());
        return;
    }
    rank.copy(rank.output(), block(all, 0, rank.call.count));
    for (int other = 1; other < rank.p; ++other)
        rank.send(other, block(all, other, rank.call.count));
}

/** Open MPI's ompi_coll_base_reduce_scatter_block_basic_linear.
 * Rounds and bytes: the sum of those of the reduce and the scatter that Open MPI chooses. */
void openmpi_reduce_scatter(Rank &rank) {
    const Span all = reduce_to_first(rank);
    const Subcall subcall{Collective::scatter, 0, rank.call.count, all, rank.output()};
    run_openmpi_choice(rank, everyone(rank), subcall);
}

void mpich_choice(Rank &rank) {
    constexpr int64_t long_bytes =
        524288; // the default of MPIR_CVAR_IREDUCE_SCATTER_COMMUTATIVE_LONG_MSG_SIZE
    if (!rank.call.commutative) {
        if (is_power_of_two(rank.p))
            permuted_butterfly(rank);
        else
            recursive_doubling(rank);
    } else if (rank.call.bytes() * rank.p < long_bytes) {
        recursive_halving(rank);
    } else {
        pairwise(rank);
    }
}

} // namespace offbeat::algorithms::reduce_scatter

namespace offbeat::algorithms {

std::vector<Algorithm> reduce_scatter_algorithms() {
    using namespace reduce_scatter;
    return {
        {"openmpi", "non_overlapping", openmpi_reduce_scatterv},
        {"openmpi", "recursive_halving", recursive_halving, scales},
        {"openmpi", "ring", ring, scales},
        {"openmpi", "butterfly", butterfly, ordered | scales},
        {"mpich", "nb(sched_noncommutative)", mpich_noncommutative},
        {"mpich", "nb(sched_recursive_doubling)", recursive_doubling, scales},
        {"mpich", "nb(sched_pairwise)", mpich_pairwise, scales},
        {"mpich", "nb(sched_recursive_halving)", mpich_recursive_halving, scales},
        {"mpich", "nb(tsp_recexch)", task_exchange, {{"k", 2, 2}}, scales},
        {"mpich", "noncommutative", mpich_noncommutative},
        {"mpich", "pairwise", mpich_pairwise, scales},
        {"mpich", "recursive_doubling", recursive_doubling, scales},
        {"mpich", "recursive_halving", mpich_recursive_halving, scales},
        {"simgrid", "ompi_basic_recursivehalving", recursive_halving, scales},
        {"simgrid", "ompi_ring", ring, scales},
        {"simgrid", "ompi_butterfly", butterfly, ordered | scales},
        {"simgrid", "mpich_pair", pairwise, scales},
        {"simgrid", "mpich_rdb", recursive_doubling, scales},
        {"simgrid", "mpich_noncomm", permuted_butterfly, ordered | scales | powers_of_two},
    };
}

/** SMPI implements reduce_scatter_block by its algorithms for reduce_scatter. */
std::vector<Algorithm> reduce_scatter_block_algorithms() {
    using namespace reduce_scatter;
    return {
        {"openmpi", "basic_linear", openmpi_reduce_scatter},
        {"openmpi", "recursive_doubling", recursive_doubling, scales},
        {"openmpi", "recursive_halving", openmpi_recursive_halving},
        {"openmpi", "butterfly", openmpi_butterfly, ordered | scales},
        {"mpich", "noncommutative", mpich_noncommutative},
        {"mpich", "recursive_doubling", recursive_doubling, scales},
        {"mpich", "pairwise", mpich_pairwise, scales},
        {"mpich", "recursive_halving", mpich_recursive_halving, scales},
        {"mpich", "nb(sched_noncommutative)", mpich_noncommutative},
        {"mpich", "nb(sched_recursive_doubling)", recursive_doubling, scales},
        {"mpich", "nb(sched_pairwise)", mpich_pairwise, scales},
        {"mpich", "nb(sched_recursive_halving)", mpich_recursive_halving, scales},
        {"mpich", "nb(tsp_recexch)", task_exchange, {{"k", 2, 2}}, scales},
        {"simgrid", "ompi_basic_recursivehalving", recursive_halving, scales},
        {"simgrid", "ompi_ring", ring, scales},
        {"simgrid", "ompi_butterfly", butterfly, ordered | scales},
        {"simgrid", "mpich_pair", pairwise, scales},
        {"simgrid", "mpich_rdb", recursive_doubling, scales},
        {"simgrid", "mpich_noncomm", permuted_butterfly, ordered | scales | powers_of_two},
    };
}

} // namespace offbeat::algorithms
