#include "algorithms/exchange.hpp"
#include "algorithms/reduce_scatter.hpp"
#include "algorithms/rings.hpp"

namespace offbeat::algorithms::reduce_scatter {

using namespace schedule;

bool nothing_to_combine(Rank &rank) {
    if (rank.p == 1)
        copy_some(rank, rank.output(), rank.input());
    return rank.p == 1 || rank.call.count == 0;
}

void ring(Rank &rank, const Parameters & /*none*/) {
    if (nothing_to_combine(rank))
        return;
    const int64_t length = rank.call.count;
    const Span all = rank.scratch(length * rank.p);
    rank.copy(all, rank.input());
    const auto block_before = [&](int number) {
        return block(all, number == 0 ? rank.p - 1 : number - 1, length);
    };
    reduce_around(rank, block_before, {rank.scratch(length), rank.scratch(length)});
    rank.copy(rank.output(), block(all, rank.id, length));
}

void pairwise(Rank &rank, const Parameters & /*none*/) {
    if (nothing_to_combine(rank))
        return;
    const int64_t length = rank.call.count;
    const Span incoming = rank.scratch(length);
    rank.copy(rank.output(), block(rank.input(), rank.id, length));
    for (int step = 1; step < rank.p; ++step) {
        const int to = around(rank, step);
        rank.sendrecv(to, block(rank.input(), to, length), around(rank, -step), incoming);
        rank.reduce(rank.output(), incoming, Order::from_first);
    }
}

void mpich_pairwise(Rank &rank, const Parameters &none) {
    if (rank.call.commutative)
        pairwise(rank, none);
    else
        mpich_choice(rank);
}

} // namespace offbeat::algorithms::reduce_scatter
