#include "algorithms/catalogue.hpp"

namespace offbeat::algorithms {

using schedule::Collective;
using schedule::Rank;
using schedule::Span;

namespace {

/** The block of one peer. */
Span block(const Span &buffer, const Rank &rank, int peer) {
    return buffer.part(peer * rank.call.count, rank.call.count);
}

/** In step k with the ranks k before and k behind. */
void ring(Rank &rank, const Parameters & /*none*/) {
    rank.copy(block(rank.output(), rank, rank.id), block(rank.input(), rank, rank.id));
    for (int step = 1; step < rank.p; ++step) {
        const int to = (rank.id + step) % rank.p;
        const int from = (rank.id - step + rank.p) % rank.p;
        rank.sendrecv(to, block(rank.input(), rank, to), from, block(rank.output(), rank, from));
    }
}

} // namespace

std::vector<Algorithm> alltoall_algorithms() {
    return {
        {Collective::alltoall, "openmpi", "pairwise", ring, {}, false, true},
    };
}

} // namespace offbeat::algorithms
