#include "algorithms/recursive_doubling.hpp"
#include "algorithms/exchange.hpp"

#include <algorithm>

namespace offbeat::algorithms {

using schedule::Rank;
using schedule::Span;

namespace {

/** Only the first `served` ranks of my half have a partner in the other half: a binomial tree brings its
 * blocks to the rest of mine. */
void pass_on(Rank &rank, const Span &other_half, int half, int served) {
    for (int distance = half / 2; distance > 0; distance /= 2) {
        const int peer = rank.id ^ distance;
        const int first_without = (rank.id & ~(2 * distance - 1)) + served;
        if (rank.id < first_without && peer >= first_without)
            rank.send(peer, other_half);
        else if (peer < first_without && rank.id >= first_without)
            rank.recv(peer, other_half);
    }
}

} // namespace

void recursive_doubling_of_blocks(Rank &rank, const Span &all, int64_t length) {
    const auto half_at = [&](int first, int half) {
        return blocks(all, first, std::min(half, rank.p - first), length);
    };
    for (int half = 1; half < rank.p; half *= 2) {
        const int mine = rank.id & ~(half - 1);
        const int other = mine ^ half;
        if (other >= rank.p)
            continue;
        const int partner = rank.id ^ half;
        if (partner < rank.p)
            rank.sendrecv(partner, half_at(mine, half), partner, half_at(other, half));
        if (other + half > rank.p)
            pass_on(rank, half_at(other, half), half, rank.p - other);
    }
}

} // namespace offbeat::algorithms
