#include "algorithms/reduce_scatter.hpp"

#include "algorithms/exchange.hpp"
#include "algorithms/openmpi_choice.hpp"

namespace offbeat::algorithms::reduce_scatter {

using namespace schedule;

void ring(Rank &rank, const Parameters & /*parameters*/) {
    if (reduces_without_messages(rank))
        return;
    const int64_t length = rank.call.count;
    const Span all = rank.scratch(length * rank.p);
    rank.copy(all, rank.input());
    const auto block_before = [&](int number) {
        return block(all, number == 0 ? rank.p - 1 : number - 1, length);
    };
    reduce_along_ring(rank, block_before, {rank.scratch(length), rank.scratch(length)});
    rank.copy(rank.output(), block(all, rank.id, length));
}

void pairwise(Rank &rank, const Parameters & /*parameters*/) {
    if (reduces_without_messages(rank))
        return;
    const int64_t length = rank.call.count;
    const Span incoming = rank.scratch(length);
    rank.copy(rank.output(), block(rank.input(), rank.id, length));
    for (int step = 1; step < rank.p; ++step) {
        const int to = neighbour(rank, step);
        rank.sendrecv(to, block(rank.input(), to, length), neighbour(rank, -step), incoming);
        rank.reduce(rank.output(), incoming, Order::from_first);
    }
}

void mpich_pairwise(Rank &rank, const Parameters &parameters) {
    if (rank.call.commutative)
        pairwise(rank, parameters);
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

void openmpi_reduce_scatterv(Rank &rank, const Parameters & /*parameters*/) {
    if (reduces_without_messages(rank))
        return;
    const Span all = reduce_to_first(rank);
    if (rank.id != 0) {
        rank.recv(0, rank.output());
        return;
    }
    rank.copy(rank.output(), block(all, 0, rank.call.count));
    for (int other = 1; other < rank.p; ++other)
        rank.send(other, block(all, other, rank.call.count));
}

void openmpi_reduce_scatter(Rank &rank, const Parameters & /*parameters*/) {
    if (reduces_without_messages(rank))
        return;
    const Span all = reduce_to_first(rank);
    const Subcall subcall{Collective::scatter, 0, rank.call.count, all, rank.output()};
    run_openmpi_choice(rank, everyone(rank), subcall);
}

void mpich_choice(Rank &rank) {
    constexpr int64_t long_bytes = 524288;
    const Parameters no_parameters({});
    if (!rank.call.commutative) {
        if (is_power_of_two(rank.p))
            permuted_butterfly(rank, no_parameters);
        else
            recursive_doubling(rank, no_parameters);
    } else if (rank.call.bytes() * rank.p < long_bytes) {
        recursive_halving(rank, no_parameters);
    } else {
        pairwise(rank, no_parameters);
    }
}

} // namespace offbeat::algorithms::reduce_scatter

namespace offbeat::algorithms {

using schedule::Collective;

std::vector<Algorithm> reduce_scatter_algorithms() {
    using namespace reduce_scatter;
    std::vector<Algorithm> list;
    add_family(list, Collective::reduce_scatter, "openmpi",
               {
                   {"non_overlapping", openmpi_reduce_scatterv},
                   {"recursive_halving", recursive_halving, scales},
                   {"ring", ring, scales},
                   {"butterfly", butterfly, ordered | scales},
               });
    add_family(list, Collective::reduce_scatter, "mpich",
               {
                   {"nb(sched_noncommutative)", mpich_noncommutative},
                   {"nb(sched_recursive_doubling)", recursive_doubling, scales},
                   {"nb(sched_pairwise)", mpich_pairwise, scales},
                   {"nb(sched_recursive_halving)", mpich_recursive_halving, scales},
                   {"nb(tsp_recexch)", task_exchange, {{"k", 2, 2}}, scales},
                   {"noncommutative", mpich_noncommutative},
                   {"pairwise", mpich_pairwise, scales},
                   {"recursive_doubling", recursive_doubling, scales},
                   {"recursive_halving", mpich_recursive_halving, scales},
               });
    add_family(list, Collective::reduce_scatter, "simgrid",
               {
                   {"ompi_basic_recursivehalving", recursive_halving, scales},
                   {"ompi_ring", ring, scales},
                   {"ompi_butterfly", butterfly, ordered | scales},
                   {"mpich_pair", pairwise, scales},
                   {"mpich_rdb", recursive_doubling, scales},
                   {"mpich_noncomm", simgrid_noncommutative, ordered | scales},
               });
    return list;
}

using namespace reduce_scatter;

/** SMPI implements reduce_scatter_block by its algorithms for reduce_scatter. */
std::vector<Algorithm> reduce_scatter_block_algorithms() {
    using namespace reduce_scatter;
    std::vector<Algorithm> list;
    add_family(list, Collective::reduce_scatter_block, "openmpi",
               {
                   {"basic_linear", openmpi_reduce_scatter},
                   {"recursive_doubling", recursive_doubling, scales},
                   {"recursive_halving", openmpi_recursive_halving},
                   {"butterfly", openmpi_butterfly, ordered | scales},
               });
    add_family(list, Collective::reduce_scatter_block, "mpich",
               {
                   {"noncommutative", mpich_noncommutative},
                   {"recursive_doubling", recursive_doubling, scales},
                   {"pairwise", mpich_pairwise, scales},
                   {"recursive_halving", mpich_recursive_halving, scales},
                   {"nb(sched_noncommutative)", mpich_noncommutative},
                   {"nb(sched_recursive_doubling)", recursive_doubling, scales},
                   {"nb(sched_pairwise)", mpich_pairwise, scales},
                   {"nb(sched_recursive_halving)", mpich_recursive_halving, scales},
                   {"nb(tsp_recexch)", task_exchange, {{"k", 2, 2}}, scales},
               });
    add_family(list, Collective::reduce_scatter_block, "simgrid",
               {
                   {"ompi_basic_recursivehalving", recursive_halving, scales},
                   {"ompi_ring", ring, scales},
                   {"ompi_butterfly", butterfly, ordered | scales},
                   {"mpich_pair", pairwise, scales},
                   {"mpich_rdb", recursive_doubling, scales},
                   {"mpich_noncomm", simgrid_noncommutative, ordered | scales},
               });
    return list;
}

} // namespace offbeat::algorithms
