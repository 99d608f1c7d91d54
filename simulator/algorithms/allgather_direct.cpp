#include "algorithms/allgather.hpp"
#include "algorithms/exchange.hpp"

#include <stdexcept>
#include <string>

namespace offbeat::algorithms::allgather {

using schedule::Rank;

namespace {

void keep_own(Rank &rank) {
    rank.copy(block(rank.output(), rank.id, rank.call.count), rank.input());
}

} // namespace

void pair(Rank &rank, const Parameters & /*none*/) {
    if (!is_power_of_two(rank.p))
        throw std::invalid_argument("allgather by pairs needs a power of two of ranks; " +
                                    std::to_string(rank.p) + " is not one");
    keep_own(rank);
    for (int step = 1; step < rank.p; ++step) {
        const int peer = rank.id ^ step;
        rank.sendrecv(peer, rank.input(), peer, block(rank.output(), peer, rank.call.count));
    }
}

void to_all_in_steps(Rank &rank, const Parameters & /*none*/) {
    keep_own(rank);
    for (int step = 1; step < rank.p; ++step) {
        const int from = around(rank, -step);
        rank.sendrecv(around(rank, step), rank.input(), from, block(rank.output(), from, rank.call.count));
    }
}

void to_all_at_once(Rank &rank, const Parameters & /*none*/) {
    keep_own(rank);
    for (int step = 1; step < rank.p; ++step) {
        const int from = around(rank, step);
        rank.irecv(from, block(rank.output(), from, rank.call.count));
    }
    for (int step = 1; step < rank.p; ++step)
        rank.isend(around(rank, step), rank.input());
}

void two_proc(Rank &rank, const Parameters & /*none*/) {
    if (rank.p != 2)
        throw std::invalid_argument("two_proc is for 2 ranks, not for " + std::to_string(rank.p));
    const int other = 1 - rank.id;
    rank.sendrecv(other, rank.input(), other, block(rank.output(), other, rank.call.count));
    keep_own(rank);
}

} // namespace offbeat::algorithms::allgather
