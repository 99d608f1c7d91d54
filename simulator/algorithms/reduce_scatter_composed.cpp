#include "algorithms/exchange.hpp"
#include "algorithms/openmpi_choice.hpp"
#include "algorithms/reduce_scatter.hpp"

namespace offbeat::algorithms::reduce_scatter {

using namespace schedule;

namespace {

/** Everything to rank 0; returns where it has it. */
Span reduce_all(Rank &rank) {
    const Span all = rank.id == 0 ? rank.scratch(rank.input().length) : Span{};
    const Part part{Collective::reduce, 0, rank.input().length, rank.input(), all};
    run_openmpi_choice(rank, everyone(rank), part);
    return all;
}

} // namespace

void openmpi_reduce_scatterv(Rank &rank, const Parameters & /*none*/) {
    if (nothing_to_combine(rank))
        return;
    const Span all = reduce_all(rank);
    if (rank.id != 0) {
        rank.recv(0, rank.output());
        return;
    }
    rank.copy(rank.output(), block(all, 0, rank.call.count));
    for (int other = 1; other < rank.p; ++other)
        rank.send(other, block(all, other, rank.call.count));
}

void openmpi_reduce_scatter(Rank &rank, const Parameters & /*none*/) {
    if (nothing_to_combine(rank))
        return;
    const Span all = reduce_all(rank);
    const Part part{Collective::scatter, 0, rank.call.count, all, rank.output()};
    run_openmpi_choice(rank, everyone(rank), part);
}

void mpich_choice(Rank &rank) {
    constexpr int64_t long_bytes = 524288;
    const Parameters none({});
    if (!rank.call.commutative) {
        if (is_power_of_two(rank.p))
            permuted_butterfly(rank, none);
        else
            recursive_doubling(rank, none);
    } else if (rank.call.bytes() * rank.p < long_bytes) {
        recursive_halving(rank, none);
    } else {
        pairwise(rank, none);
    }
}

} // namespace offbeat::algorithms::reduce_scatter
