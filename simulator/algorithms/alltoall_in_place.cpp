#include "algorithms/alltoall.hpp"
#include "algorithms/exchange.hpp"

namespace offbeat::algorithms::alltoall {

using schedule::Rank;
using schedule::Span;

namespace {

/** Every pair of ranks meets in the order of the pairs (0, 0), (0, 1), ... (1, 1), (1, 2), ...: for one rank
 * that is rank 0, rank 1, ... */
void swap_in_order(Rank &rank, bool with_myself) {
    const int64_t n = rank.call.count;
    const Span moving = rank.scratch(n);
    rank.copy(rank.output(), rank.input());
    for (int peer = 0; peer < rank.p; ++peer) {
        if (peer == rank.id && !with_myself)
            continue;
        const Span here = block(rank.output(), peer, n);
        rank.copy(moving, here);
        rank.sendrecv(peer, moving, peer, here);
    }
}

} // namespace

void swap_with_all(Rank &rank, const Parameters & /*none*/) {
    swap_in_order(rank, true);
}

void swap_with_others(Rank &rank, const Parameters & /*none*/) {
    swap_in_order(rank, false);
}

} // namespace offbeat::algorithms::alltoall
